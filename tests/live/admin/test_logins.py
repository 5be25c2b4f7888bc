"""Logins with a token (OAUTHBEARER) and with a Kerberos ticket (GSSAPI), at a real broker that
checks them: the token's signature by the provider's public key, the ticket by a KDC."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("kafka")

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from partage.live.sandbox.settings import to_properties
from partage.properties import parse_properties
from tests.sasl_sandbox import SaslSandbox

pytestmark = [pytest.mark.long, pytest.mark.kafka]

REALM = "SANDBOX.TEST"
OAUTH = "org.apache.kafka.common.security.oauthbearer"
MAP = "listener.name.sasl_plaintext"


# ---------------------------------------------------------------------- an identity provider


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Provider(ThreadingHTTPServer):
    """Signs tokens for everyone, and publishes its key."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = rsa.generate_private_key(65537, 2048)
        self.signs_with = self.key
        self.url = f"http://127.0.0.1:{self.server_port}"

    def token(self) -> str:
        now = int(time.time())
        claims = {"sub": "partage", "iss": "tests", "aud": "kafka", "iat": now, "exp": now + 300}
        parts = ({"alg": "RS256", "typ": "JWT", "kid": "one"}, claims)
        signed = ".".join(_base64(json.dumps(part).encode()) for part in parts)
        signature = self.signs_with.sign(signed.encode(), padding.PKCS1v15(), SHA256())
        return f"{signed}.{_base64(signature)}"

    def keys(self) -> dict[str, Any]:
        public = self.key.public_key().public_numbers()
        numbers = {"n": public.n, "e": public.e}
        encoded = {
            name: _base64(value.to_bytes(-(-value.bit_length() // 8), "big"))
            for name, value in numbers.items()
        }
        return {"keys": [{"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256", **encoded}]}


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def _answer(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def do_GET(self) -> None:
        self._answer(self.server.keys())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({"access_token": self.server.token(), "expires_in": 300})

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join(20)


# ---------------------------------------------------------------------- Kerberos


@dataclass(frozen=True)
class Kdc:
    """A KDC on loopback, with keytabs of the broker and of the client."""

    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        return {
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
        }

    def run(self, *words: str) -> None:
        path = f"{os.environ['PATH']}:/usr/sbin"
        program = shutil.which(words[0], path=path)
        assert program is not None
        environment = os.environ | self.environment
        subprocess.run(
            [program, *words[1:]], env=environment, check=True, capture_output=True, timeout=60
        )

    def write(self) -> None:
        self.folder.joinpath("krb5.conf").write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
            " dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self.port}\n }}\n"
            f"[domain_realm]\n 127.0.0.1 = {REALM}\n"
        )
        self.folder.joinpath("kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{self.port}\n"
            f" kdc_tcp_listen = 127.0.0.1:{self.port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {self.folder}/principal\n"
            f"  key_stash_file = {self.folder}/stash\n }}\n"
        )

    def keytab(self, principal: str) -> Path:
        path = self.folder / f"{principal.partition('/')[0]}.keytab"
        self.run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}@{REALM}")
        self.run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {principal}@{REALM}")
        return path


@pytest.fixture(scope="module")
def gssapi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package gssapi alone: there are no wheels, Debian has it for its Python."""
    folder = tmp_path_factory.mktemp("gssapi")
    for name in ("gssapi", "decorator.py"):
        source = Path("/usr/lib/python3/dist-packages") / name
        if source.exists():
            folder.joinpath(name).symlink_to(source)
    check = [sys.executable, "-c", "import gssapi"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    if subprocess.run(check, env=environment, capture_output=True).returncode:
        pytest.skip("needs the package gssapi: scripts/ensure-kerberos")
    return folder


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    program = shutil.which("krb5kdc", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("needs krb5kdc: scripts/ensure-kerberos")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = Kdc(tmp_path_factory.mktemp("kdc"), port)
    made.write()
    made.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "not-a-secret")
    made.keytab("kafka/127.0.0.1")
    made.keytab("partage")
    environment = os.environ | made.environment
    with subprocess.Popen([program, "-n", "-r", REALM], env=environment) as process:
        try:
            deadline = time.monotonic() + 30
            while True:
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield made
        finally:
            process.terminate()


# ---------------------------------------------------------------------- the broker


@pytest.fixture(scope="module")
def sandbox(
    provider: Provider, kdc: Kdc, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SaslSandbox]:
    keytab = kdc.folder / "kafka.keytab"
    SaslSandbox.settings = {
        "sasl.enabled.mechanisms": "OAUTHBEARER,GSSAPI",
        f"{MAP}.oauthbearer.sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        f"{MAP}.oauthbearer.sasl.server.callback.handler.class": (
            f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
        ),
        f"{MAP}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": f"{provider.url}/keys",
        f"{MAP}.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
        f"{MAP}.gssapi.sasl.jaas.config": (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
            f'keyTab="{keytab}" principal="kafka/127.0.0.1@{REALM}";'
        ),
        "sasl.kerberos.service.name": "kafka",
    }
    options = {
        "org.apache.kafka.sasl.oauthbearer.allowed.urls": f"{provider.url}/keys",
        "java.security.krb5.conf": f"{kdc.folder}/krb5.conf",
    }
    with pytest.MonkeyPatch.context() as patch:
        words = " ".join(f"-D{name}={value}" for name, value in options.items())
        patch.setenv("JAVA_TOOL_OPTIONS", words)
        folder = tmp_path_factory.mktemp("logins") / "sandbox"
        with SaslSandbox.start(folder, brokers=1) as started:
            yield started


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def snapshot(
    sandbox: SaslSandbox, folder: Path, settings: dict[str, str], **environment: str
) -> Ended:
    """``partage snapshot`` in a process of its own: Kerberos' settings are a process's."""
    address = sandbox.servers("SASL_PLAINTEXT")
    text = to_properties({"security.protocol": "SASL_PLAINTEXT", **settings})
    file = folder / "client.properties"
    file.write_text(text)
    assert parse_properties(text, "f")
    command = [sys.executable, "-m", "partage", "snapshot", "--bootstrap-server", address]
    done = subprocess.run(
        [*command, "--command-config", str(file), "--json"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def oauth(url: str) -> dict[str, str]:
    client = "sasl.oauthbearer.client.credentials.client"
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
        f"{client}.id": "partage",
        f"{client}.secret": "hunter2",
    }


def test_a_token(sandbox: SaslSandbox, provider: Provider, tmp_path: Path) -> None:
    ended = snapshot(sandbox, tmp_path, oauth(f"{provider.url}/token"))
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["cluster_id"] == sandbox.cluster_id


def test_a_token_of_another_provider(
    sandbox: SaslSandbox, provider: Provider, tmp_path: Path
) -> None:
    provider.signs_with = rsa.generate_private_key(65537, 2048)
    try:
        ended = snapshot(sandbox, tmp_path, oauth(f"{provider.url}/token"))
    finally:
        provider.signs_with = provider.key
    assert ended.code == 1
    assert "the login is refused: the broker does not accept the token" in ended.err
    assert ended.err.count("\n") == 1
    assert "hunter2" not in ended.err


def kerberos(keytab: Path, principal: str = "partage") -> dict[str, str]:
    return {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
            f'keyTab="{keytab}" principal="{principal}@{REALM}";'
        ),
    }


def test_a_ticket(sandbox: SaslSandbox, kdc: Kdc, gssapi: Path, tmp_path: Path) -> None:
    environment = kdc.environment | {"PYTHONPATH": str(gssapi)}
    settings = kerberos(kdc.folder / "partage.keytab")
    ended = snapshot(sandbox, tmp_path, settings, **environment)
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["cluster_id"] == sandbox.cluster_id


def test_no_ticket_for_another_principal(
    sandbox: SaslSandbox, kdc: Kdc, gssapi: Path, tmp_path: Path
) -> None:
    environment = kdc.environment | {"PYTHONPATH": str(gssapi)}
    settings = kerberos(kdc.folder / "partage.keytab", "somebody")
    ended = snapshot(sandbox, tmp_path, settings, **environment)
    assert (ended.code, ended.out) == (1, "")
    assert "sasl.jaas.config: no ticket from Kerberos: " in ended.err
    assert ended.err.count("\n") == 1


def test_no_ticket_for_another_service(
    sandbox: SaslSandbox, kdc: Kdc, gssapi: Path, tmp_path: Path
) -> None:
    environment = kdc.environment | {"PYTHONPATH": str(gssapi)}
    settings = kerberos(kdc.folder / "partage.keytab")
    settings["sasl.kerberos.service.name"] = "other"
    ended = snapshot(sandbox, tmp_path, settings, **environment)
    assert (ended.code, ended.out) == (1, "")
    assert re.match(r"partage: Kafka at 127\.0\.0\.1:\d+: no ticket from Kerberos: ", ended.err)
    assert ended.err.count("\n") == 1


@pytest.mark.skipif(find_spec("gssapi") is not None, reason="has the package gssapi")
def test_without_the_package(sandbox: SaslSandbox, kdc: Kdc, tmp_path: Path) -> None:
    ended = snapshot(sandbox, tmp_path, kerberos(kdc.folder / "partage.keytab"))
    assert ended.code == 2
    assert "GSSAPI needs the Python package gssapi" in ended.err
    assert ended.err.count("\n") == 1
