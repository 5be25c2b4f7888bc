"""The stores of keys and certificates that Java clients use, as PEM: PKCS12 and JKS.

Like Java (``keystore.type.compat``), this goes by the content of the file, so ``ssl.keystore.type``
may be either. JKS is a format of Java alone: Java's own keytool converts it to PKCS12, in a folder
that only the owner can read.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from partage.errors import InputError, PartageError
from partage.files import read_bytes
from partage.java import find_java
from partage.properties import Setting

_JKS = bytes.fromhex("feedfeed")
_SECONDS = 60
_ENGLISH = ("-J-Duser.language=en", "-J-Duser.country=US")
_KEY_ENTRY = re.compile(r"^(.*), \w+ \d+, \d{4}, PrivateKeyEntry,", re.MULTILINE)
"""A key in keytool's list: its alias and a date."""


@dataclass(frozen=True)
class KeyStore:
    """What a store contains, as PEM. ``certificates``: the key's own first, then the others."""

    certificates: str
    key: str | None


def read_key_store(
    location: Setting, password: Setting | None, key_password: Setting | None = None
) -> KeyStore:
    """The first key of a store and all certificates. ``key_password``: of the key, where it is not
    that of the store (JKS only). Raises InputError that names the setting."""
    try:
        content = read_bytes(location.value)
    except InputError as error:
        raise InputError(location.place, f"the file: {error.problem}") from None
    secret = "" if password is None else password.value
    if content.startswith(_JKS):
        key_secret = secret if key_password is None else key_password.value
        content, secret = _converted(location, secret, key_secret)
    try:
        store = load_pkcs12(content, secret.encode() or None)
    except ValueError:
        problem = "is not a PKCS12 or JKS store, or its password is wrong"
        if password is None:
            name = re.sub(r"location$", "password", location.place.rpartition(" ")[2])
            problem = f"is not a PKCS12 or JKS store, or needs {name}"
        raise InputError(location.place, f"the file {problem}") from None
    own = [] if store.cert is None else [store.cert.certificate]
    certificates = own + [one.certificate for one in store.additional_certs]
    key = store.key and store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyStore(
        "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates),
        key.decode() if key else None,
    )


def _converted(location: Setting, password: str, key_password: str) -> tuple[bytes, str]:
    """A JKS store as PKCS12, and its new password. The key's password is that of the store, unless
    they differ: then only the first key comes over, with its certificates."""
    try:
        keytool = find_java("a JKS store").joinpath("bin", "keytool")
    except PartageError as error:
        raise InputError(location.place, f"{error}, or use PKCS12 or PEM") from None
    new = secrets.token_urlsafe(24)
    # in the environment: other users of the machine can read command lines
    environment = os.environ | {"STORE": password, "KEY": key_password, "NEW": new}

    def run(*words: str) -> str:
        command = [str(keytool), *_ENGLISH, *words]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            raise InputError(location.place, f"{keytool} cannot be run") from None
        if done.returncode != 0:
            # keytool quotes no passwords, but names of keys
            raise InputError(location.place, "the JKS store cannot be read: check its passwords")
        return done.stdout

    store = (location.value, "JKS", "STORE")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "store.p12"
        words = [*_store("src", *store), *_store("dest", str(target), "PKCS12", "NEW")]
        if key_password != password:
            listed = run("-list", *_store("", *store))
            for alias in _KEY_ENTRY.findall(listed)[:1]:
                words += ["-srcalias", alias, "-srckeypass:env", "KEY", "-destkeypass:env", "NEW"]
        run("-importkeystore", "-noprompt", *words)
        return target.read_bytes(), new


def _store(side: str, file: str, kind: str, password: str) -> tuple[str, ...]:
    """keytool's options for a store; ``password``: the variable that has it."""
    return (f"-{side}keystore", file, f"-{side}storetype", kind, f"-{side}storepass:env", password)
