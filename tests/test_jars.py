"""Jars are pinned: downloaded over TLS, compared before each use, refused otherwise."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import pytest
import trustme
from cyclonedx.spdx import is_expression

from partage import jars
from partage.errors import InputError, PartageError
from partage.jars import fetched_jars, jars_at_hand, locked_jars, locked_versions
from partage.live.sandbox.jars import KAFKA
from partage.pipeline.sources import added_jars
from partage.pipeline.sources import kafka as connector

CONTENTS = {
    "/m/org/example/a/1.0/a-1.0.jar": b"first",
    "/m/org/example/b/2.0/b-2.0.jar": b"second",
}


class Maven(ThreadingHTTPServer):
    """A Maven repository with TLS on loopback."""

    def __init__(self) -> None:
        self.contents = dict(CONTENTS)
        self.asked: list[str] = []
        self.redirect = ""
        super().__init__(("127.0.0.1", 0), Files)

    @property
    def address(self) -> str:
        return f"https://localhost:{self.server_port}"


class Files(BaseHTTPRequestHandler):
    server: Maven

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.contents.get(self.path)
        if self.server.redirect:
            self.send_response(302)
            self.send_header("Location", self.server.redirect + self.path)
            self.end_headers()
        elif content is None:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def maven(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Maven]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = Maven()
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.setenv(jars.MIRROR, f"{server.address}/m/")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a set of two jars, which does not exist yet."""
    locks = tmp_path / "locks"
    locks.mkdir()
    lines = (
        f'"org.example:{path.split("/")[4]}:{path.split("/")[5]}" = '
        f'{{ sha256 = "{hashlib.sha256(content).hexdigest()}", licence = "MIT" }}\n'
        for path, content in CONTENTS.items()
    )
    (locks / "example-1.0.toml").write_text("".join(lines))
    monkeypatch.setattr(jars, "LOCKS", locks)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "partage" / "example-1.0"


def fetch(steps: list[str] | None = None) -> Path:
    report = (lambda _: None) if steps is None else steps.append
    return fetched_jars("example-1.0", "Example 1.0", "bring your own", report)


def refused() -> str:
    """The one line of a refusal."""
    with pytest.raises(PartageError) as raised:
        fetch()
    assert raised.value.exit_code == 1
    assert "\n" not in str(raised.value)
    return str(raised.value)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_jars_are_downloaded_once(maven: Maven, folder: Path) -> None:
    assert jars_at_hand("example-1.0", "Example 1.0") is None
    steps: list[str] = []
    assert fetch(steps) == folder
    assert files(folder) == ["a-1.0.jar", "b-2.0.jar"]
    assert files(folder.parent) == ["example-1.0"]
    assert steps == [f"downloading Example 1.0, once: {n} of 2 jars" for n in (1, 2)]
    assert jars_at_hand("example-1.0", "Example 1.0") == folder
    assert fetch() == folder
    assert maven.asked == list(CONTENTS)


def test_a_jar_with_another_hash_is_not_kept(maven: Maven, folder: Path) -> None:
    path = "/m/org/example/b/2.0/b-2.0.jar"
    maven.contents[path] = b"evil"
    evil, good = (hashlib.sha256(one).hexdigest() for one in (b"evil", b"second"))
    expected = f"{maven.address}{path}: SHA-256 is {evil}, expected {good}: not kept"
    assert refused() == expected
    assert files(folder) == ["a-1.0.jar"]
    assert files(folder.parent) == ["example-1.0"]
    maven.contents = CONTENTS
    fetch()
    assert files(folder) == ["a-1.0.jar", "b-2.0.jar"]


def test_a_jar_that_was_changed_later_is_deleted(maven: Maven, folder: Path) -> None:
    (fetch() / "a-1.0.jar").write_bytes(b"evil")
    assert re.search(r"a-1.0.jar: SHA-256 is \w{64}, expected \w{64}; deleted: ", refused())
    assert files(folder) == ["b-2.0.jar"]
    (folder / "b-2.0.jar").write_bytes(b"")
    with pytest.raises(PartageError, match=r"b-2.0.jar: SHA-256 is .*; deleted: "):
        jars_at_hand("example-1.0", "Example 1.0")
    assert files(fetch()) == ["a-1.0.jar", "b-2.0.jar"]


@pytest.mark.parametrize("name", ["0.jar", "0.JAR", ".0.jar"])
def test_other_jars_in_the_folder_are_refused(maven: Maven, folder: Path, name: str) -> None:
    """Java loads every jar of the folder."""
    (fetch() / name).write_bytes(b"evil")
    assert refused() == f"{folder}/{name}: is not one of the jars of Example 1.0: delete it"


def test_a_certificate_that_is_not_trusted(
    maven: Maven, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    assert "certificate verify failed" in refused()
    assert maven.asked == []
    assert files(folder) == []


def test_a_redirect_to_an_address_without_tls(maven: Maven, folder: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as plain:
        plain.contents, plain.asked, plain.redirect = CONTENTS, [], ""  # type: ignore[attr-defined]
        thread = Thread(target=plain.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        maven.redirect = f"http://localhost:{plain.server_port}"
        message = refused()
        plain.shutdown()
        thread.join()
    assert "(redirected to an address without TLS): bring your own" in message
    assert files(folder) == []


@pytest.mark.parametrize(
    "address", ["http://h/m", "h", "ftp://h", "https://", "https://u:canary@h"]
)
def test_mirrors_that_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(jars.MIRROR, address)
    with pytest.raises(InputError, match=r"^PARTAGE_MAVEN: must be https://HOST") as raised:
        fetch()
    assert "canary" not in str(raised.value)
    assert not folder.exists()


def test_what_cannot_be_downloaded(
    maven: Maven, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del maven.contents["/m/org/example/a/1.0/a-1.0.jar"]
    assert refused() == (
        f"Example 1.0 cannot be downloaded from {maven.address}/m/org/example/a/1.0/a-1.0.jar "
        "(Not Found): bring your own"
    )
    monkeypatch.setenv(jars.MIRROR, "https://localhost:1")
    assert "Connection refused" in refused()
    monkeypatch.setattr(jars, "_LARGEST", 3)
    monkeypatch.setenv(jars.MIRROR, f"{maven.address}/m")
    maven.contents = CONTENTS
    assert "(more than 0 MB)" in refused()
    assert files(folder) == []


def test_an_interrupt_leaves_nothing(maven: Maven, folder: Path) -> None:
    def interrupt(step: str) -> None:
        if "2 of 2" in step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetched_jars("example-1.0", "Example 1.0", "", interrupt)
    assert files(folder) == ["a-1.0.jar"]
    assert files(folder.parent) == ["example-1.0"]


def test_a_cache_that_is_a_file(folder: Path, maven: Maven) -> None:
    folder.parent.parent.write_text("mine")
    assert "Example 1.0 cannot be stored there" in refused()


# ---------------------------------------------------------------- the lock files


@pytest.mark.parametrize("lock", sorted(jars.LOCKS.glob("*.toml")), ids=lambda path: path.stem)
def test_lock_files(lock: Path) -> None:
    found = locked_jars(lock.stem)
    assert any(lock.stem == f"{jar.artifact}-{jar.version}" for jar in found) or len(found) >= 5
    assert len({jar.file for jar in found}) == len(found)
    for jar in found:
        assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256)
        assert is_expression(jar.licence)


def test_what_is_used_by_default_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(connector.CONNECTOR, raising=False)
    assert KAFKA in locked_versions("kafka")
    known = locked_versions("spark-sql-kafka-0-10_2.13")
    assert connector._wanted() == added_jars.fitting(known)
    assert added_jars._release(added_jars.fitting(known)) <= added_jars._release(version("pyspark"))
