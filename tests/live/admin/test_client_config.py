"""Client properties: Java's form of a file, and what becomes of the settings."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("kafka")

from partage.errors import InputError
from partage.live.admin.client_config import client_config
from partage.live.admin.connection import Connection
from partage.properties import KNOWN, Setting, Settings, parse_properties, read_settings

PLAIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'
)
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required "


def settings_of(values: Mapping[str, str]) -> Settings:
    """Settings of a file f."""
    return {name: Setting(f"f: {name}", value) for name, value in values.items()}


def values(settings: Settings) -> dict[str, str]:
    return {name: one.value for name, one in settings.items()}


def test_the_forms_of_a_line() -> None:
    text = r"""
# a comment
! another
a=1
 b : 2
c 3
d.e = with = and : inside
f = one \
    two \
    three
g\ h=\tx\u00e9\\
empty=
alone
"""
    assert values(parse_properties(text, "f")) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d.e": "with = and : inside",
        "f": "one two three",
        "g h": "\txé\\",
        "empty": "",
        "alone": "",
    }


def test_invalid_properties() -> None:
    with pytest.raises(InputError, match=r"^f: line 2: expected name=value"):
        parse_properties("a=1\n=2\n", "f")
    with pytest.raises(InputError, match=r"^f: line 1: an invalid"):
        parse_properties("a=\\u12", "f")


def test_the_file_comes_before_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=file\n")
    said = {"PARTAGE_CLIENT_ID": "variable", "PARTAGE_SECURITY_PROTOCOL": "SSL", "OTHER": "x"}
    assert read_settings(file, said) == {
        "client.id": Setting(f"{file}: line 1: client.id", "file"),
        "security.protocol": Setting("PARTAGE_SECURITY_PROTOCOL", "SSL"),
    }
    assert values(
        read_settings(None, {f"PARTAGE_{KNOWN[0].upper().replace('.', '_')}": "h:1"})
    ) == {"bootstrap.servers": "h:1"}


def test_the_place_of_a_setting() -> None:
    text = "\n# c\nsasl.mechanism=PLAIN\\\n  x\nssl.protocol=TLS\nabc+/=\n"
    places = [one.place for one in parse_properties(text, "f").values()]
    assert places == [
        "f: lines 3–4, joined by a backslash: sasl.mechanism",
        "f: line 5: ssl.protocol",
        "f: line 6: unknown setting",
    ]
    assert "PLAIN" not in repr(parse_properties(text, "f"))


def test_plain_and_scram() -> None:
    config = client_config(
        settings_of(
            {
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": PLAIN,
                "metric.reporters": "x",
                "request.timeout.ms": "5000",
            }
        ),
        "f",
    )
    assert config == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "u",
        "sasl_plain_password": "p",
        "request_timeout_ms": 5000,
    }
    jaas = SCRAM + r"""password='a "b;c' username="d\"e" tokenauth=false;"""
    login = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}
    config = client_config(settings_of({"security.protocol": "SASL_PLAINTEXT"} | login), "f")
    assert (config["sasl_plain_username"], config["sasl_plain_password"]) == ('d"e', 'a "b;c')


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"security.protocol": "TLS"}, "f: security.protocol: expected one of PLAINTEXT"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism is missing"),
        ({"sasl.mechanism": "NTLM"}, "f: sasl.mechanism: expected one of PLAIN"),
        ({"sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "secret"}, "expected a login module"),
        (
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": PLAIN},
            "expected the ScramLoginModule",
        ),
        ({"ssl.cipher.suites": "X"}, "ssl.cipher.suites: partage does not support this security"),
        ({"request.timeout.ms": "soon"}, "f: request.timeout.ms: expected a number"),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "BCFKS"}
            | {"ssl.truststore.location": "a.bcfks"},
            "f: ssl.truststore.type: expected one of PEM, PKCS12, JKS",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}
            | {"ssl.truststore.location": "not-there.pem"},
            "f: ssl.truststore.location: the file: no such file",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.certificates": "secret"},
            "f: ssl.truststore.certificates: expected ssl.truststore.type=PEM beside it",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}
            | {"ssl.truststore.certificates": "secret"},
            "f: ssl.truststore.certificates: the certificates cannot be used",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.key": "secret"},
            "ssl.keystore.certificate.chain and ssl.keystore.key go together",
        ),
    ],
)
def test_an_unsupported_setting_is_named_without_secrets(
    settings: dict[str, str], said: str
) -> None:
    with pytest.raises(InputError) as raised:
        client_config(settings_of({"security.protocol": "SASL_PLAINTEXT"} | settings), "f")
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_tls_checks_certificates_and_names() -> None:
    context = client_config(settings_of({"security.protocol": "SSL"}), "f")["ssl_context"]
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    unnamed = {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}
    context = client_config(settings_of(unnamed), "f")["ssl_context"]
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert not context.check_hostname


def test_where_the_cluster_is(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:1\n")
    variables = {"PARTAGE_BOOTSTRAP_SERVERS": "variable:1"}
    assert Connection.of("option:1,other:2", file, variables).servers == "option:1,other:2"
    assert Connection.of(None, file, variables).servers == "file:1"
    assert Connection.of(None, None, variables).servers == "variable:1"
    with pytest.raises(
        InputError, match=r"^bootstrap_server: expected HOST:PORT, here or in PARTAGE"
    ):
        Connection.of(None, None, {})
    with pytest.raises(InputError, match=r"^bootstrap_server: expected HOST:PORT\[,HOST:PORT\]$"):
        Connection.of("localhost", None, {})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_login_out_of_variables(tmp_path: Path, mechanism: str) -> None:
    said = {
        "PARTAGE_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "PARTAGE_SASL_MECHANISM": mechanism,
        "PARTAGE_SASL_USERNAME": "me",
        "PARTAGE_SASL_PASSWORD": r'a "\" b;',
    }
    config = Connection.of("h:1", None, said).config
    assert (config["sasl_plain_username"], config["sasl_plain_password"]) == ("me", r'a "\" b;')
    file = tmp_path / "client.properties"
    file.write_text(f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN}\n")
    assert Connection.of("h:1", file, said).config["sasl_plain_username"] == "u"
    file.write_text("security.protocol=PLAINTEXT\n")
    assert "sasl_plain_username" not in Connection.of("h:1", file, said).config
    for name in ("PARTAGE_SASL_USERNAME", "PARTAGE_SASL_PASSWORD"):
        half = {key: value for key, value in said.items() if key != name}
        with pytest.raises(
            InputError, match=rf"^{name}: is missing: a login needs user name and password"
        ):
            Connection.of("h:1", None, half)


def test_secrets_are_not_shown() -> None:
    secrets = {
        "PARTAGE_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "PARTAGE_SASL_MECHANISM": "PLAIN",
        "PARTAGE_SASL_JAAS_CONFIG": PLAIN.replace('"p"', '"secret"'),
    }
    connection = Connection.of("h:1", None, secrets)
    assert connection.config["sasl_plain_password"] == "secret"
    assert "secret" not in repr(connection)
