"""Client settings in the form of Kafka's tools: ``--command-config client.properties``.

The file has Java's format, and the names are those of Kafka's clients. The same settings can be
environment variables: ``PARTAGE_SASL_JAAS_CONFIG`` is ``sasl.jaas.config``. The file has priority.
``PARTAGE_SASL_USERNAME`` and ``PARTAGE_SASL_PASSWORD`` can replace ``sasl.jaas.config``.

Messages name a setting, its file and line, and what is accepted. They never contain its value, nor
a name that is not one of Kafka's: a value that was cut into two lines goes on as a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from partage.errors import InputError
from partage.files import read_text
from partage.redaction import hide

PREFIX = "PARTAGE_"
USERNAME, PASSWORD = "PARTAGE_SASL_USERNAME", "PARTAGE_SASL_PASSWORD"

KNOWN = (
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "sasl.kerberos.service.name",
    "sasl.login.callback.handler.class",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.header.urlencode",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)
"""The supported settings."""

UNSUPPORTED = (
    "security.providers",
    *(
        f"sasl.{name}"
        for name in (
            "client.callback.handler.class",
            "kerberos.kinit.cmd",
            "kerberos.min.time.before.relogin",
            "kerberos.ticket.renew.jitter",
            "kerberos.ticket.renew.window.factor",
            "login.class",
            "login.connect.timeout.ms",
            "login.read.timeout.ms",
            "login.refresh.buffer.seconds",
            "login.refresh.min.period.seconds",
            "login.refresh.window.factor",
            "login.refresh.window.jitter",
            "login.retry.backoff.max.ms",
            "login.retry.backoff.ms",
            "oauthbearer.assertion.algorithm",
            "oauthbearer.clock.skew.seconds",
            "oauthbearer.expected.audience",
            "oauthbearer.expected.issuer",
            "oauthbearer.jwks.endpoint.url",
            "oauthbearer.scope.claim.name",
            "oauthbearer.sub.claim.name",
        )
    ),
    *(
        f"ssl.{name}"
        for name in (
            "cipher.suites",
            "enabled.protocols",
            "engine.factory.class",
            "keymanager.algorithm",
            "protocol",
            "provider",
            "secure.random.implementation",
            "trustmanager.algorithm",
        )
    ),
)
"""Security settings of Kafka's clients that partage does not support, for messages that name them.
"""

_KEYWORDS = frozenset(
    (
        *("", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        *("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"),
        *("PEM", "JKS", "PKCS12", "HTTPS", "TRUE", "FALSE"),
    )
)
"""Values that are no secrets."""

NAME = re.compile(r"[a-z0-9_-]{1,20}(\.[a-z0-9_-]{1,20})+")
"""What names of settings look like."""

_ADDRESS = re.compile(r"(?:[A-Za-z_]+://)?(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.%]+\]):\d{1,5}")

_JAAS_PASSWORD = re.compile(r"""(?i)\b(?:password|clientSecret)\s*=\s*["']?((?:[^"'\\;\s]|\\.)+)""")
"""The password or client secret in a value of ``sasl.jaas.config``."""

_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Mechanisms whose login is a user name and a password."""

_LOGIN_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Setting:
    """The value of a setting. ``place``: ``client.properties: line 3: sasl.mechanism``, or a
    variable. The value may be a secret, so messages never contain it."""

    place: str
    value: str = field(repr=False)

    def one_of(self, choices: Collection[str]) -> str:
        """The value in capitals. Raises InputError unless it is one of the choices."""
        word = self.value.strip().upper()
        if word not in choices:
            raise InputError(self.place, f"expected one of {', '.join(choices)}")
        return word


Settings: TypeAlias = Mapping[str, Setting]
"""Settings by name."""


def addresses(text: str) -> list[str]:
    """The addresses in a list of brokers, ``HOST:PORT,HOST:PORT``; a protocol may precede the host.

    Raises ValueError that names the first other part by its position: it may be a login.
    """
    found = [one.strip() for one in text.split(",")]
    for position, one in enumerate(found, 1):
        if not _ADDRESS.fullmatch(one):
            which = f", not part {position} of {len(found)}" if len(found) > 1 else ""
            login = ", and the login in a client properties file" if "@" in one else ""
            raise ValueError(f"expected HOST:PORT[,HOST:PORT]{which}{login}")
    return found


def _hide(name: str, value: str) -> None:
    """Hide a value unless it is a keyword, a number, or made to be seen."""
    if value.strip().upper() in _KEYWORDS or value.strip().isdecimal() or name == "client.id":
        return
    with suppress(ValueError):
        if name == "bootstrap.servers" and addresses(value):
            return
    hide(value)
    for password in _JAAS_PASSWORD.findall(value):
        hide(password)


def read_settings(
    path: str | os.PathLike[str] | None, environment: Mapping[str, str] | None = None
) -> dict[str, Setting]:
    """The settings of a properties file, completed from the environment.

    Raises InputError for a file that cannot be read or parsed, and for a user without a password.
    """
    environment = os.environ if environment is None else environment
    variables = {name: variable(name) for name in KNOWN}
    found = {
        name: Setting(key, environment[key])
        for name, key in variables.items()
        if environment.get(key)
    }
    if path is not None:
        found |= parse_properties(read_text(path), os.fspath(path))
    for name, setting in found.items():
        _hide(name, setting.value)
    protocol = found["security.protocol"].value if "security.protocol" in found else ""
    mechanism = found["sasl.mechanism"].value.strip().upper() if "sasl.mechanism" in found else ""
    wants_login = protocol.strip().upper().startswith("SASL") and mechanism in _PASSWORD_MECHANISMS
    if wants_login and "sasl.jaas.config" not in found:
        found |= _login(mechanism, environment)
    return found


def _login(mechanism: str, environment: Mapping[str, str]) -> dict[str, Setting]:
    """``sasl.jaas.config`` from the variables with user name and password, if they are set."""
    user, password = environment.get(USERNAME, ""), environment.get(PASSWORD, "")
    if not user and not password:
        return {}
    if not user or not password:
        raise InputError(
            PASSWORD if user else USERNAME, "is missing: a login needs user name and password"
        )
    hide(password)
    quoted = (re.sub(r'([\\"])', r"\\\1", word) for word in (user, password))
    module = login_module(mechanism, 'username="{}" password="{}"'.format(*quoted))
    return {"sasl.jaas.config": Setting(PASSWORD, module)}


def login_module(mechanism: str, options: str) -> str:
    """A value of ``sasl.jaas.config``: the login module of PLAIN or one of SCRAM, and its options
    as Java writes them, ``name="value"`` (may be empty)."""
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return " ".join(filter(None, (f"{_LOGIN_MODULES}.{kind}LoginModule required", options))) + ";"


def variable(setting: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + setting.upper().replace(".", "_")


def parse_properties(text: str, where: str) -> dict[str, Setting]:
    """``java.util.Properties``: ``name=value``, ``name: value`` or ``name value`` to a line;
    ``#`` and ``!`` start a comment, a trailing backslash continues a line. Raises InputError."""
    found: dict[str, Setting] = {}
    for lines, line in _logical_lines(text):
        name, value = _split(line)
        if not name:
            raise InputError(where, f"{lines}: expected name=value")
        try:
            name, value = _unescaped(name), _unescaped(value)
        except ValueError:
            raise InputError(where, f"{lines}: an invalid \\u escape") from None
        # a name that no client knows may be part of a value that was cut
        known = name if name in KNOWN or name in UNSUPPORTED else "unknown setting"
        found[name] = Setting(f"{where}: {lines}: {known}", value)
        if known != name and not NAME.fullmatch(name):
            hide(name)
    return found


def _logical_lines(text: str) -> Iterator[tuple[str, str]]:
    """("line 3", line) without comments and blank lines; ("lines 3–4", line) where continued ones
    are joined."""
    whole, start = "", 0
    number = 0
    for number, physical in enumerate(text.splitlines(), 1):
        line = physical.lstrip(" \t\f")
        if not whole:
            if not line or line[0] in "#!":
                continue
            start = number
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2:
            whole += line[:-1]
            continue
        yield _lines(start, number), whole + line
        whole = ""
    if whole:
        yield _lines(start, number), whole


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}, joined by a backslash"


def _split(line: str) -> tuple[str, str]:
    match = re.match(r"((?:[^\\\s=:]|\\.)*)\s*[=:]?\s*(.*)", line, re.DOTALL)
    assert match is not None
    return match[1], match[2]


def _unescaped(text: str) -> str:
    letters = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

    def one(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] == "u":
            if not re.fullmatch("[0-9a-fA-F]{4}", escape[1:]):
                raise ValueError
            return chr(int(escape[1:], 16))
        return letters.get(escape, escape)

    return re.sub(r"\\(u.{0,4}|.)", one, text, flags=re.DOTALL)
