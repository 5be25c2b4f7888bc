"""Stores of Java clients, made by openssl and by Java's keytool, in a TLS handshake that needs both
sides' certificates."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("kafka")

from partage.errors import InputError, PartageError
from partage.java import find_java
from partage.live.admin import key_stores
from partage.live.admin.tls import ssl_context
from partage.properties import Setting, Settings

PASSWORD, KEY_PASSWORD = "store-secret", "key-secret"


def openssl(folder: Path, command: str) -> None:
    subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a certificate of it: ca.pem, one.key, one.crt, client.p12, trust.p12."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    path = tmp_path_factory.mktemp("stores")
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(path, f"req -x509 {curve} -keyout ca.key -out ca.pem -subj /CN=authority")
    openssl(path, f"req {curve} -keyout one.key -out one.csr -subj /CN=one")
    (path / "names").write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid")
    openssl(path, "x509 -req -in one.csr -CA ca.pem -CAkey ca.key -out one.crt -extfile names")
    openssl(
        path,
        "pkcs12 -export -in one.crt -inkey one.key -certfile ca.pem -name one "
        f"-out client.p12 -passout pass:{PASSWORD}",
    )
    openssl(path, f"pkcs12 -export -nokeys -in ca.pem -out trust.p12 -passout pass:{PASSWORD}")
    return path


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[tuple[str, int]]:
    """A server that shows its certificate, wants the client's, and answers with its name."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "one.crt", folder / "one.key")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            with raw:
                raw.settimeout(10)
                try:
                    with context.wrap_socket(raw, server_side=True) as peer:
                        names = dict(part[0] for part in peer.getpeercert()["subject"])  # type: ignore
                        peer.sendall(names["commonName"].encode())
                except OSError:
                    continue

    server = Thread(target=serve)
    server.start()
    try:
        yield listener.getsockname()
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        server.join(20)


def settings_of(**values: str | Path) -> Settings:
    """Settings of a file f: ``ssl_keystore_location`` and so on."""
    named = {name.replace("_", "."): str(value) for name, value in values.items()}
    return {name: Setting(f"f: {name}", value) for name, value in named.items()}


def answer(address: tuple[str, int], settings: Settings) -> str:
    """What the server answers a client with these settings."""
    context = ssl_context(settings, "f")
    with (
        socket.create_connection(address, timeout=10) as raw,
        context.wrap_socket(raw, server_hostname=address[0]) as peer,
    ):
        return peer.recv(100).decode()


@pytest.mark.parametrize("kind", ["PKCS12", "JKS", None])
def test_pkcs12(folder: Path, address: tuple[str, int], kind: str | None) -> None:
    """Whatever the type says, as in Java: the default is JKS."""
    types = {} if kind is None else {"ssl_keystore_type": kind, "ssl_truststore_type": kind}
    settings = settings_of(
        ssl_truststore_location=folder / "trust.p12",
        ssl_truststore_password=PASSWORD,
        ssl_keystore_location=folder / "client.p12",
        ssl_keystore_password=PASSWORD,
        **types,
    )
    assert answer(address, settings) == "one"


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "key_password"), [("JKS", PASSWORD), ("JKS", KEY_PASSWORD), ("PKCS12", PASSWORD)]
)
def test_stores_of_keytool(
    folder: Path, address: tuple[str, int], tmp_path: Path, kind: str, key_password: str
) -> None:
    keytool = find_java("this test") / "bin" / "keytool"
    trust, keys = tmp_path / "trust", tmp_path / "keys"

    def run(words: str, *paths: Path) -> None:
        command = [keytool, *words.format(*paths).split(), "-noprompt"]
        subprocess.run(command, check=True, capture_output=True)

    run(
        f"-importcert -alias ca -file {{}} -keystore {{}} -storetype {kind} -storepass {PASSWORD}",
        folder / "ca.pem",
        trust,
    )
    run(
        f"-importkeystore -srckeystore {{}} -srcstorepass {PASSWORD} -destkeystore {{}} "
        f"-deststoretype {kind} -deststorepass {PASSWORD} "
        f"-srcalias one -destkeypass {key_password}",
        folder / "client.p12",
        keys,
    )
    assert keys.read_bytes().startswith(bytes.fromhex("feedfeed")) == (kind == "JKS")
    settings = settings_of(
        ssl_truststore_location=trust,
        ssl_truststore_password=PASSWORD,
        ssl_keystore_location=keys,
        ssl_keystore_password=PASSWORD,
        ssl_key_password=key_password,
    )
    assert answer(address, settings) == "one"


def test_what_is_wrong_is_named_without_passwords(folder: Path, tmp_path: Path) -> None:
    def problem(**values: str | Path) -> str:
        with pytest.raises(InputError) as raised:
            ssl_context(settings_of(**values), "f")
        assert "secret" not in str(raised.value)
        return str(raised.value)

    store = folder / "client.p12"
    assert problem(ssl_keystore_location=store) == (
        "f: ssl.keystore.location: the file is not a PKCS12 or JKS store, or needs "
        "ssl.keystore.password"
    )
    assert problem(ssl_keystore_location=store, ssl_keystore_password="not-the-secret") == (
        "f: ssl.keystore.location: the file is not a PKCS12 or JKS store, or its password is wrong"
    )
    trust = {"ssl_keystore_location": folder / "trust.p12", "ssl_keystore_password": PASSWORD}
    assert problem(**trust) == "f: ssl.keystore.location: the store contains no key"
    missing = problem(ssl_truststore_location=tmp_path / "none.jks")
    assert missing == "f: ssl.truststore.location: the file: no such file"


def test_without_java_a_jks_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(needed_by: str) -> Path:
        raise PartageError(f"{needed_by} needs Java")

    monkeypatch.setattr(key_stores, "find_java", none)
    store = tmp_path / "trust.jks"
    store.write_bytes(bytes.fromhex("feedfeed00000002"))
    with pytest.raises(InputError, match=r"a JKS store needs Java, or use PKCS12 or PEM$"):
        ssl_context(settings_of(ssl_truststore_location=store), "f")
