"""Tokens for a client's id and secret, from an endpoint on loopback."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs

import pytest

pytest.importorskip("kafka")

from partage.errors import InputError, PartageError
from partage.live.admin.client_config import client_config
from partage.live.admin.oauth import ClientCredentials
from partage.properties import Setting, Settings, read_settings

JAAS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
URL = "sasl.oauthbearer.token.endpoint.url"
CLIENT = "sasl.oauthbearer.client.credentials.client"


class Provider(ThreadingHTTPServer):
    """An identity provider that gives token-1, token-2 and so on to a client with the secret."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, list[str]]] = []
        self.accepts = "client:hunter2"
        self.answer: bytes | None = None
        self.redirect = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        provider = self.server
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        provider.asked.append(parse_qs(body))
        expected = f"Basic {b64encode(provider.accepts.encode()).decode()}"
        if provider.redirect:
            self.send_response(302)
            self.send_header("Location", provider.redirect)
            self.end_headers()
        elif self.headers["Authorization"] != expected:
            self.send_error(401)
        else:
            token = {"access_token": f"token-{len(provider.asked)}", "expires_in": 100}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(provider.answer or json.dumps(token).encode())

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join(20)


def settings_of(values: dict[str, str]) -> Settings:
    usual = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    return {name: Setting(f"f: {name}", value) for name, value in (usual | values).items()}


def credentials(**values: str) -> ClientCredentials:
    config = client_config(settings_of(values), "f")
    assert config["sasl_mechanism"] == "OAUTHBEARER"
    found = config["sasl_oauth_token_provider"]
    assert isinstance(found, ClientCredentials)
    return found


def of(url: str, secret: str = "hunter2", **more: str) -> ClientCredentials:
    return credentials(**{URL: url, f"{CLIENT}.id": "client", f"{CLIENT}.secret": secret, **more})


def test_one_token_serves_until_four_fifths_of_its_lifetime(provider: Provider) -> None:
    now = [1000.0]
    made = of(provider.url, **{"sasl.oauthbearer.scope": "kafka read"})
    shared = ClientCredentials(made._endpoint, {}, clock=lambda: now[0])
    assert [shared.token(), shared.token()] == ["token-1", "token-1"]
    now[0] += 79.9
    assert shared.token() == "token-1"
    now[0] += 0.1
    assert shared.token() == "token-2"
    asked = {"grant_type": ["client_credentials"], "scope": ["kafka read"]}
    assert provider.asked == [asked, asked]


def test_credentials_of_the_login_module(provider: Provider) -> None:
    jaas = JAAS + 'clientId="client" clientSecret="hunter2" scope=all extension_cluster=\'lkc-1\';'
    made = credentials(**{URL: provider.url, "sasl.jaas.config": jaas})
    assert made.token() == "token-1"
    assert made.extensions() == {"cluster": "lkc-1"}
    assert provider.asked == [{"grant_type": ["client_credentials"], "scope": ["all"]}]


def test_id_and_secret_are_encoded_where_asked(provider: Provider) -> None:
    provider.accepts = "client:a%2Fb%20c"
    encode = {"sasl.oauthbearer.header.urlencode": "true"}
    assert of(provider.url, "a/b c", **encode).token() == "token-1"
    with pytest.raises(PartageError, match="answers 401"):
        of(provider.url, "a/b c").token()


def test_from_variables(provider: Provider) -> None:
    variables = {
        "PARTAGE_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "PARTAGE_SASL_MECHANISM": "OAUTHBEARER",
        "PARTAGE_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": provider.url,
        "PARTAGE_SASL_OAUTHBEARER_CLIENT_CREDENTIALS_CLIENT_ID": "client",
        "PARTAGE_SASL_OAUTHBEARER_CLIENT_CREDENTIALS_CLIENT_SECRET": "hunter2",
        # of another login: they do not replace the token
        "PARTAGE_SASL_USERNAME": "me",
        "PARTAGE_SASL_PASSWORD": "mine",
    }
    config = client_config(read_settings(None, variables), "the environment")
    assert config["sasl_oauth_token_provider"].token() == "token-1"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("secret", "answers 401 Unauthorized: check the client's id and secret"),
        ("redirect", "answers 302 Found"),
        ("no JSON", "does not answer with an access_token in JSON"),
        ("no token", "does not answer with an access_token in JSON"),
        ("two lines", "does not answer with an access_token in JSON"),
        ("nobody", "cannot be reached: "),
    ],
)
def test_what_is_wrong_is_one_line_without_secrets(
    provider: Provider, wrong: str, said: str
) -> None:
    secret, url = "hunter2", provider.url
    match wrong:
        case "secret":
            secret = "wrong-hunter2"
        case "redirect":
            provider.redirect = "http://127.0.0.1:1/elsewhere"
        case "no JSON":
            provider.answer = b"<html>"
        case "no token":
            provider.answer = b'["access_token"]'
        case "two lines":
            provider.answer = b'{"access_token": "a\\r\\nb"}'
        case "nobody":
            url = "http://127.0.0.1:1/token"
    with pytest.raises(PartageError) as raised:
        of(url, secret).token()
    assert str(raised.value).startswith(f"f: {URL}: the token endpoint {said}")
    assert "\n" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, f"f: {URL} is missing: expected https://HOST/PATH"),
        ({URL: "file:///etc/token"}, f"f: {URL}: expected http:// or https://HOST/PATH"),
        ({URL: "https://me:secret@host/"}, f"f: {URL}: expected http:// or https://HOST/PATH"),
        ({URL: "https://host/"}, f"f: {CLIENT}.id or .secret is missing"),
        (
            {URL: "https://host/", "sasl.jaas.config": "x.PlainLoginModule required;"},
            "f: sasl.jaas.config: expected the OAuthBearerLoginModule, which goes with OAUTHBEARER",
        ),
        (
            {URL: "https://host/", "sasl.login.callback.handler.class": "my.Handler"},
            "f: sasl.login.callback.handler.class: expected Kafka's OAuthBearerLoginCallback",
        ),
    ],
)
def test_settings_that_are_missing_or_wrong(values: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as raised:
        client_config(settings_of(values), "f")
    assert said in str(raised.value)
    assert "secret@" not in str(raised.value)
