"""A profile in S3, read without Spark: only the files that its marker lists count."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from partage.errors import InputError, PartageError
from partage.measured_loads import Profile, places
from tests.measured_loads.conftest import WINDOWS, Write, add
from tests.s3_server import BUCKET, SECRET, S3Server, s3_server

RUN = f"run-{'0' * 16}"
URL = f"s3a://{BUCKET}/profile"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def s3(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    server.use(monkeypatch)
    return server


def in_store(directory: Path, put: Callable[[str, bytes], Any]) -> None:
    """Put a profile as Spark writes it into a store, with a file of a run that was killed."""
    marker = json.loads((directory / "profile.json").read_text())
    files = sorted(directory.rglob("*.parquet"))
    names = {file: f"{RUN}/{file.relative_to(directory)}" for file in files}
    marker["files"] = {name: file.stat().st_size for file, name in names.items()}
    for file, name in names.items():
        put(f"profile/{name}", file.read_bytes())
    put(f"profile/run-{'1' * 16}/partitions/part-00000.parquet", b"half a")
    put("profile/profile.json", json.dumps(marker).encode())


def test_a_profile_in_s3_is_that_of_a_directory(s3: S3Server, write: Write) -> None:
    here = write()
    add(here, "windows", WINDOWS)
    in_store(here, s3.put)
    stored, local = Profile.read(URL), Profile.read(here)
    assert stored.to_arrow().equals(local.to_arrow())
    assert stored.hot_keys() == local.hot_keys()
    assert stored.reach() == local.reach()
    assert stored.sizes() is stored.lags() is None


def test_a_copy_of_a_stored_profile_is_read(write: Write, tmp_path: Path) -> None:
    def put(name: str, content: bytes) -> None:
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)

    here = write()
    in_store(here, put)
    copied = Profile.read(tmp_path / "copy" / "profile")
    assert copied.to_arrow().equals(Profile.read(here).to_arrow())


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ([], "files: expected paths in a folder run-…"),
        ({f"{RUN}/../../secret/x.parquet": 1}, "files: expected paths in a folder run-…"),
        ({"/etc/passwd": 1}, "files: expected paths in a folder run-…"),
        ({}, "has no Parquet files: the profile is not whole"),
        ({f"{RUN}/partitions/gone.parquet": 1}, "no such file: was it replaced meanwhile?"),
    ],
)
def test_a_damaged_list(s3: S3Server, write: Write, files: Any, problem: str) -> None:
    in_store(write(), s3.put)
    marker = json.loads(s3.read("profile/profile.json")) | {"files": files}
    s3.put("profile/profile.json", json.dumps(marker).encode())
    with pytest.raises(InputError, match=f"^{URL}/.*{problem}"):
        Profile.read(URL)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"s3a://{BUCKET}/nothing", "has no profile.json: not a directory written by"),
        ("s3a://no-such-bucket/profile", "no such bucket"),
        ("hdfs://host/profile", "Python reads profiles from s3a:// and local directories: copy"),
    ],
)
def test_what_is_not_there(s3: S3Server, url: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{url}: {problem}"):
        Profile.read(url)


def test_a_store_that_does_not_answer(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(places, "_REQUEST_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (1, silent.getsockname()[1]):
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            with pytest.raises(PartageError, match=f"^{URL}: the store does not answer: ") as found:
                Profile.read(URL)
            assert SECRET not in str(found.value)
