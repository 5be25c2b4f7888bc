"""Settings of Kafka's Java clients (``partage.properties``) as those of kafka-python.

Security settings that kafka-python cannot honour are refused: a connection must not be less secure
than requested. Other settings that only Java clients have (such as ``metric.reporters``) are
ignored, as Kafka's own tools do.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from partage.errors import InputError
from partage.files import read_text
from partage.properties import KNOWN, Setting, Settings

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_JAVA_ONLY = ("ssl.protocol", "ssl.provider", "ssl.secure.random.implementation")
"""They select a Java library: ignoring them is not less secure."""

_JAAS = re.compile(
    r"\s*[\w.$]+\.(?P<module>\w+)LoginModule\s+required\b(?P<options>.*?);?\s*", re.DOTALL
)
_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")


def client_config(settings: Settings, where: str) -> dict[str, Any]:
    """The settings of kafka-python. Raises InputError that names the setting and its place."""
    config: dict[str, Any] = {}
    for name, setting in settings.items():
        guarded = name.startswith(("ssl.", "sasl.", "security."))
        if guarded and name not in KNOWN and name not in _JAVA_ONLY:
            raise InputError(setting.place, "partage does not support this security setting")
    if "client.id" in settings:
        config["client_id"] = settings["client.id"].value
    if "request.timeout.ms" in settings:
        config["request_timeout_ms"] = _positive(settings["request.timeout.ms"])
    protocol = _one_of(settings.get("security.protocol"), _PROTOCOLS) or "PLAINTEXT"
    config["security_protocol"] = protocol
    if protocol.startswith("SASL"):
        config |= _sasl(settings, where)
    if protocol.endswith("SSL"):
        config["ssl_context"] = _ssl_context(settings, where)
    return config


# ---------------------------------------------------------------------- security


def _sasl(settings: Settings, where: str) -> dict[str, Any]:
    mechanism = _one_of(settings.get("sasl.mechanism"), _MECHANISMS)
    if mechanism is None:
        raise InputError(
            where, f"sasl.mechanism is missing: expected one of {', '.join(_MECHANISMS)}"
        )
    jaas = settings.get("sasl.jaas.config")
    if jaas is None:
        raise InputError(where, "sasl.jaas.config is missing: expected the user name and password")
    match = _JAAS.fullmatch(jaas.value)
    options = dict(_OPTION.findall(match["options"])) if match else {}
    if "username" not in options or "password" not in options:
        raise InputError(
            jaas.place,
            'expected a login module, "required", username="…" and password="…";',
        )
    assert match is not None
    expected = "Plain" if mechanism == "PLAIN" else "Scram"
    if match["module"] != expected:
        raise InputError(
            jaas.place, f"expected the {expected}LoginModule, which goes with {mechanism}"
        )
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": _unquoted(options["username"]),
        "sasl_plain_password": _unquoted(options["password"]),
    }


def _ssl_context(settings: Settings, where: str) -> ssl.SSLContext:
    algorithm = settings.get("ssl.endpoint.identification.algorithm")
    named = "https" if algorithm is None else algorithm.value.strip().lower()
    if algorithm is not None and named not in ("", "https"):
        raise InputError(algorithm.place, "expected https, or nothing to turn it off")
    context = ssl.create_default_context()
    context.check_hostname = bool(named)
    context.verify_mode = ssl.CERT_REQUIRED
    _trust(context, settings)
    _identify(context, settings, where)
    return context


def _trust(context: ssl.SSLContext, settings: Settings) -> None:
    inline = settings.get("ssl.truststore.certificates")
    location = _pem(settings, "ssl.truststore")
    given = inline or location
    if given is None:
        return  # the certificates that the system trusts
    with _ssl_errors(given.place, "the certificates"):
        text = given.value if inline else _read(given)
        # between certificates there may be names of their authorities, in any language
        context.load_verify_locations(cadata=text.encode("ascii", "ignore").decode())


def _identify(context: ssl.SSLContext, settings: Settings, where: str) -> None:
    chain, key = (settings.get(f"ssl.keystore.{part}") for part in ("certificate.chain", "key"))
    location = _pem(settings, "ssl.keystore")
    password = settings["ssl.key.password"].value if "ssl.key.password" in settings else ""
    if (chain is None) != (key is None):
        raise InputError(where, "ssl.keystore.certificate.chain and ssl.keystore.key go together")
    if chain is not None and key is not None:
        with (
            _ssl_errors(key.place, "the certificate or the key"),
            _private_file(f"{key.value}\n{chain.value}\n") as path,
        ):
            context.load_cert_chain(path, password=password)
    elif location is not None:
        _read(location)
        with _ssl_errors(location.place, "the certificate or the key"):
            context.load_cert_chain(location.value, password=password)


@contextmanager
def _ssl_errors(place: str, what: str) -> Iterator[None]:
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise InputError(place, f"{what} cannot be used ({reason})") from None


def _pem(settings: Settings, store: str) -> Setting | None:
    """The location of a store. Raises InputError unless it is PEM."""
    location, kind = (settings.get(f"{store}.{part}") for part in ("location", "type"))
    inline = (settings.get(f"{store}.{part}") for part in ("certificates", "key"))
    used = next((one for one in (location, *inline) if one is not None), None)
    if used is not None and (kind is None or kind.value.strip().upper() != "PEM"):
        raise InputError(
            (kind or used).place,
            f"{store}.type is {'missing' if kind is None else 'not PEM'}, expected PEM: convert "
            "JKS to PKCS12 with keytool -importkeystore, and that to PEM with openssl pkcs12",
        )
    return location


def _read(location: Setting) -> str:
    """The text of the file that a setting names."""
    try:
        return read_text(location.value)
    except InputError as error:
        raise InputError(location.place, f"the file: {error.problem}") from None


@contextmanager
def _private_file(text: str) -> Iterator[str]:
    """A temporary file that only its owner can read: Python's ssl loads keys from files only."""
    handle, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
    finally:
        Path(path).unlink(missing_ok=True)


# ---------------------------------------------------------------------- words


def _one_of(setting: Setting | None, choices: tuple[str, ...]) -> str | None:
    if setting is None:
        return None
    word = setting.value.strip().upper()
    if word not in choices:
        raise InputError(setting.place, f"expected one of {', '.join(choices)}")
    return word


def _positive(setting: Setting) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", setting.value.strip(), re.ASCII):
        raise InputError(setting.place, "expected a number of milliseconds")
    return int(setting.value)


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value
