"""Client settings in the form of Kafka's tools: ``--command-config client.properties``.

The file has Java's format, and the names are those of Kafka's clients. The same settings can be
environment variables: ``PARTAGE_SASL_JAAS_CONFIG`` is ``sasl.jaas.config``. The file has priority.
``PARTAGE_SASL_USERNAME`` and ``PARTAGE_SASL_PASSWORD`` can replace ``sasl.jaas.config``. Messages
never contain values, since these may be secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from partage.errors import InputError
from partage.files import read_text

PREFIX = "PARTAGE_"
USERNAME, PASSWORD = "PARTAGE_SASL_USERNAME", "PARTAGE_SASL_PASSWORD"

KNOWN = (
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)
"""The supported settings."""

_LOGIN_MODULES = "org.apache.kafka.common.security"


def read_settings(
    path: str | os.PathLike[str] | None, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings of a properties file, completed from the environment.

    Raises InputError for a file that cannot be read or parsed, and for a user without a password.
    """
    environment = os.environ if environment is None else environment
    variables = {name: variable(name) for name in KNOWN}
    found = {name: environment[key] for name, key in variables.items() if environment.get(key)}
    if path is not None:
        found |= parse_properties(read_text(path), os.fspath(path))
    wants_login = found.get("security.protocol", "").strip().upper().startswith("SASL")
    if wants_login and "sasl.jaas.config" not in found and "sasl.mechanism" in found:
        found |= _login(found["sasl.mechanism"], environment)
    return found


def _login(mechanism: str, environment: Mapping[str, str]) -> dict[str, str]:
    """``sasl.jaas.config`` from the variables with user name and password, if they are set."""
    user, password = environment.get(USERNAME, ""), environment.get(PASSWORD, "")
    if not user and not password:
        return {}
    if not user or not password:
        raise InputError(
            PASSWORD if user else USERNAME, "is missing: a login needs user name and password"
        )
    quoted = (re.sub(r'([\\"])', r"\\\1", word) for word in (user, password))
    module = login_module(mechanism.strip().upper(), 'username="{}" password="{}"'.format(*quoted))
    return {"sasl.jaas.config": module}


def login_module(mechanism: str, options: str) -> str:
    """A value of ``sasl.jaas.config``: the login module of PLAIN or one of SCRAM, and its options
    as Java writes them, ``name="value"`` (may be empty)."""
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return " ".join(filter(None, (f"{_LOGIN_MODULES}.{kind}LoginModule required", options))) + ";"


def variable(setting: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + setting.upper().replace(".", "_")


def parse_properties(text: str, where: str) -> dict[str, str]:
    """``java.util.Properties``: ``name=value``, ``name: value`` or ``name value`` to a line;
    ``#`` and ``!`` start a comment, a trailing backslash continues a line. Raises InputError."""
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        name, value = _split(line)
        if not name:
            raise InputError(where, f"line {number}: expected name=value")
        try:
            found[_unescaped(name)] = _unescaped(value)
        except ValueError:
            raise InputError(where, f"line {number}: an invalid \\u escape") from None
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) without comments and blank lines, continued ones joined."""
    whole, start = "", 0
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
        yield start, whole + line
        whole = ""
    if whole:
        yield start, whole


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
