"""TLS: the truststore and the keystore of a client's settings as a context of Python's ssl.

Stores are PEM, in a file or in the settings themselves, or files of PKCS12 or JKS.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from partage.errors import InputError
from partage.files import read_text
from partage.live.admin.key_stores import read_key_store
from partage.properties import Setting, Settings

STORE_TYPES = ("PEM", "PKCS12", "JKS")


def ssl_context(settings: Settings, where: str) -> ssl.SSLContext:
    """How to meet a broker. Raises InputError that names the setting."""
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
    location = settings.get("ssl.truststore.location")
    given = inline or location
    if given is None:
        return  # the certificates that the system trusts
    if inline is not None:
        _is_pem(settings, "ssl.truststore", inline)
        text = inline.value
    elif _is_pem(settings, "ssl.truststore", given):
        text = _read(given)
    else:
        text = read_key_store(given, settings.get("ssl.truststore.password")).certificates
    with _ssl_errors(given.place, "the certificates"):
        # between certificates there may be names of their authorities, in any language
        context.load_verify_locations(cadata=text.encode("ascii", "ignore").decode())


def _identify(context: ssl.SSLContext, settings: Settings, where: str) -> None:
    chain, key = (settings.get(f"ssl.keystore.{part}") for part in ("certificate.chain", "key"))
    location = settings.get("ssl.keystore.location")
    password = settings.get("ssl.key.password")
    secret = "" if password is None else password.value
    if (chain is None) != (key is None):
        raise InputError(where, "ssl.keystore.certificate.chain and ssl.keystore.key go together")
    if chain is not None and key is not None:
        _is_pem(settings, "ssl.keystore", key)
        _load(context, key.place, f"{key.value}\n{chain.value}\n", secret)
    elif location is not None and _is_pem(settings, "ssl.keystore", location):
        _read(location)
        with _ssl_errors(location.place, "the certificate or the key"):
            context.load_cert_chain(location.value, password=secret)
    elif location is not None:
        store = read_key_store(location, settings.get("ssl.keystore.password"), password)
        if store.key is None:
            raise InputError(location.place, "the store contains no key")
        _load(context, location.place, store.key + store.certificates, "")


def _load(context: ssl.SSLContext, place: str, pem: str, password: str) -> None:
    with (
        _ssl_errors(place, "the certificate or the key"),
        _private_file(pem) as path,
    ):
        context.load_cert_chain(path, password=password)


def _is_pem(settings: Settings, store: str, used: Setting) -> bool:
    """Whether a store is PEM, and not PKCS12 or JKS, which is Java's default. Certificates and keys
    in the settings themselves are PEM, and need the type."""
    kind = settings.get(f"{store}.type")
    name = "JKS" if kind is None else kind.one_of(STORE_TYPES)
    if name != "PEM" and used is not settings.get(f"{store}.location"):
        raise InputError((kind or used).place, f"expected {store}.type=PEM beside it")
    return name == "PEM"


@contextmanager
def _ssl_errors(place: str, what: str) -> Iterator[None]:
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise InputError(place, f"{what} cannot be used ({reason})") from None


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
