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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from partage.errors import InputError
from partage.files import read_text
from partage.properties import KNOWN

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_JAVA_ONLY = ("ssl.protocol", "ssl.provider", "ssl.secure.random.implementation")
"""They select a Java library: ignoring them is not less secure."""

_JAAS = re.compile(
    r"\s*[\w.$]+\.(?P<module>\w+)LoginModule\s+required\b(?P<options>.*?);?\s*", re.DOTALL
)
_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")


def client_config(settings: Mapping[str, str], where: str) -> dict[str, Any]:
    """The settings of kafka-python. Raises InputError that names the setting."""
    config: dict[str, Any] = {}
    for name in settings:
        guarded = name.startswith(("ssl.", "sasl.", "security."))
        if guarded and name not in KNOWN and name not in _JAVA_ONLY:
            raise InputError(where, f"{name}: partage does not support this setting")
    if "client.id" in settings:
        config["client_id"] = settings["client.id"]
    if "request.timeout.ms" in settings:
        config["request_timeout_ms"] = _positive(settings, "request.timeout.ms", where)
    protocol = _one_of(settings, "security.protocol", _PROTOCOLS, where) or "PLAINTEXT"
    config["security_protocol"] = protocol
    if protocol.startswith("SASL"):
        config |= _sasl(settings, where)
    if protocol.endswith("SSL"):
        config["ssl_context"] = _ssl_context(settings, where)
    return config


# ---------------------------------------------------------------------- security


def _sasl(settings: Mapping[str, str], where: str) -> dict[str, Any]:
    mechanism = _one_of(settings, "sasl.mechanism", _MECHANISMS, where)
    if mechanism is None:
        raise InputError(
            where, f"sasl.mechanism is missing: expected one of {', '.join(_MECHANISMS)}"
        )
    jaas = settings.get("sasl.jaas.config")
    if jaas is None:
        raise InputError(where, "sasl.jaas.config is missing: expected the user name and password")
    match = _JAAS.fullmatch(jaas)
    options = dict(_OPTION.findall(match["options"])) if match else {}
    if "username" not in options or "password" not in options:
        raise InputError(
            where,
            'sasl.jaas.config: expected a login module, "required", username="…" and password="…";',
        )
    assert match is not None
    expected = "Plain" if mechanism == "PLAIN" else "Scram"
    if match["module"] != expected:
        raise InputError(
            where, f"sasl.jaas.config: {mechanism} goes with the {expected}LoginModule"
        )
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": _unquoted(options["username"]),
        "sasl_plain_password": _unquoted(options["password"]),
    }


def _ssl_context(settings: Mapping[str, str], where: str) -> ssl.SSLContext:
    algorithm = settings.get("ssl.endpoint.identification.algorithm", "https").strip()
    if algorithm.lower() not in ("", "https"):
        raise InputError(
            where,
            "ssl.endpoint.identification.algorithm: expected https, or nothing to turn it off",
        )
    context = ssl.create_default_context()
    context.check_hostname = bool(algorithm)
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        _trust(context, settings, where)
        _identify(context, settings, where)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise InputError(where, f"the certificates or the key cannot be used ({reason})") from None
    return context


def _trust(context: ssl.SSLContext, settings: Mapping[str, str], where: str) -> None:
    inline = settings.get("ssl.truststore.certificates")
    location = _pem(settings, "ssl.truststore", where)
    if inline is None and location is None:
        return  # the certificates that the system trusts
    context.load_verify_locations(cadata=inline or read_text(str(location)))


def _identify(context: ssl.SSLContext, settings: Mapping[str, str], where: str) -> None:
    chain, key = (settings.get(f"ssl.keystore.{part}") for part in ("certificate.chain", "key"))
    location = _pem(settings, "ssl.keystore", where)
    password = settings.get("ssl.key.password", "")
    if (chain is None) != (key is None):
        raise InputError(where, "ssl.keystore.certificate.chain and ssl.keystore.key go together")
    if chain is not None and key is not None:
        with _private_file(f"{key}\n{chain}\n") as path:
            context.load_cert_chain(path, password=password)
    elif location is not None:
        read_text(location)  # raises InputError for a missing file
        context.load_cert_chain(location, password=password)


def _pem(settings: Mapping[str, str], store: str, where: str) -> str | None:
    """The location of a store. Raises InputError unless it is PEM."""
    location = settings.get(f"{store}.location")
    kind = settings.get(f"{store}.type", "JKS").upper()
    inline = any(name in settings for name in (f"{store}.certificates", f"{store}.key"))
    if kind != "PEM" and (location is not None or inline):
        raise InputError(
            where,
            f"{store}.type is {kind}, expected PEM: convert JKS to PKCS12 with "
            "keytool -importkeystore, and that to PEM with openssl pkcs12",
        )
    return location


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


def _one_of(
    settings: Mapping[str, str], name: str, choices: tuple[str, ...], where: str
) -> str | None:
    value = settings.get(name)
    if value is None:
        return None
    if value.strip().upper() not in choices:
        raise InputError(where, f"{name}: {value!r}, expected one of {', '.join(choices)}")
    return value.strip().upper()


def _positive(settings: Mapping[str, str], name: str, where: str) -> int:
    value = settings[name].strip()
    if not re.fullmatch(r"[1-9]\d{0,8}", value):
        raise InputError(where, f"{name}: {value!r}, expected a number of milliseconds")
    return int(value)


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value
