"""Any file is read as a cluster or refused with a one-line InputError."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from partage import Cluster, InputError
from partage.cluster.kafka_tools import read_log_dir_sizes
from partage.printable import is_printable
from tests.profiles import examples
from tests.strategies import clusters

FIELDS = (
    *("brokers", "partitions", "id", "rack", "disk_bytes", "capacity", "alive", "topic"),
    *("partition", "replicas", "size_bytes", "version", "logDirs", "size", "isFuture"),
)


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "file"


def reads(content: bytes, path: Path, as_sizes: bool = False) -> Cluster | None:
    """The cluster, or None if it is refused with a proper message."""
    path.write_bytes(content)
    try:
        if as_sizes:
            return BASE.with_sizes_of(read_log_dir_sizes(path), str(path))
        return Cluster.read(path)
    except InputError as error:
        text = str(error)
        assert text.startswith(f"{path}: ")
        assert text.splitlines() == [text]
        assert is_printable(text)
        assert len(text) < 1000
        return None


BASE = Cluster.from_json(
    {
        "brokers": [{"id": 1}, {"id": 2}],
        "partitions": [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in range(3)],
    }
)
VALID = [
    json.dumps(BASE.to_json()).encode(),
    json.dumps(BASE.to_reassignment()).encode(),
    b"Topic: t\tTopicId: 3b0nSXNjQMSmSNQk5Kc3Rw\tPartitionCount: 2\tReplicationFactor: 2\t"
    b"Configs: \n"
    b"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n"
    b"\tTopic: t\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 1,2\tElr: \tLastKnownElr: \n",
    b'Querying\nReceived\n{"version":1,"brokers":[{"broker":1,"logDirs":[{"logDir":"/d",'
    b'"error":null,"partitions":[{"partition":"t-0","size":7,"offsetLag":0,"isFuture":false},'
    b'{"partition":"t-2","size":9,"offsetLag":0,"isFuture":true}]}]}]}',
]
VALID += [gzip.compress(content, mtime=0) for content in VALID]

numbers = st.one_of(
    st.integers(-2, 5),
    st.sampled_from([2**31 - 1, 2**31, 2**60, 2**63 - 1, 2**63, 2**64, 10**400, 0.5, 1e300, -0.0]),
    st.integers(),
    st.floats(allow_nan=True),
)
texts = st.one_of(
    st.sampled_from(["t", "t-0", "t-1", "a.b", "", "a", "\ud800", "a\n-0"]), st.text()
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(FIELDS), texts), inner, max_size=5),
    ),
    max_leaves=25,
)


@examples(300)
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes(path: Path, content: bytes) -> None:
    reads(content, path)
    reads(content, path, as_sizes=True)


@examples(300)
@given(content=st.binary(max_size=100))
def test_any_bytes_after_a_gzip_header(path: Path, content: bytes) -> None:
    reads(b"\x1f\x8b" + content, path)
    reads(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + content, path)


@examples(500)
@given(value=values)
@example(value={"partitions": {}})
def test_any_json(path: Path, value: Any) -> None:
    content = json.dumps(value).encode()
    reads(content, path)
    reads(content, path, as_sizes=True)


@st.composite
def spoiled_bytes(draw: st.DrawFn) -> bytes:
    """A valid file with some bytes changed, repeated or removed."""
    content = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 12))
        match draw(st.integers(0, 3)):
            case 0:
                del content[at : at + length]
            case 1:
                content[at:at] = draw(st.binary(max_size=4))
            case 2:
                content[at : at + length] = draw(st.sampled_from([b"9" * 12, b'"', b"\n", b"-1"]))
            case _:
                content[at:at] = content[at : at + length]
    return bytes(content)


@examples(500)
@given(content=spoiled_bytes())
def test_valid_files_with_bytes_changed(path: Path, content: bytes) -> None:
    reads(content, path)
    reads(content, path, as_sizes=True)


@st.composite
def spoiled_values(draw: st.DrawFn, valid: Any) -> Any:
    """A valid value with other values somewhere inside."""
    value = json.loads(json.dumps(valid))
    for _ in range(draw(st.integers(1, 3))):
        places: list[tuple[Any, Any]] = []

        def walk(inside: Any, found: list[tuple[Any, Any]]) -> None:
            keys = inside if isinstance(inside, dict) else range(len(inside))
            for key in list(keys):
                found.append((inside, key))
                if isinstance(inside[key], (dict, list)):
                    walk(inside[key], found)

        walk(value, places)
        if not places:
            break
        inside, key = draw(st.sampled_from(places))
        if draw(st.booleans()):
            inside[key] = draw(values)
        else:
            del inside[key]
    return value


@examples(400)
@given(value=spoiled_values(BASE.to_json()))
def test_valid_clusters_with_values_changed(path: Path, value: Any) -> None:
    cluster = reads(json.dumps(value).encode(), path)
    if cluster is not None:
        assert reads(json.dumps(cluster.to_json()).encode(), path) is not None


@examples(400)
@given(value=spoiled_values(json.loads(VALID[3].partition(b"Received\n")[2])))
def test_valid_sizes_with_values_changed(path: Path, value: Any) -> None:
    reads(json.dumps(value).encode(), path, as_sizes=True)


@examples(100)
@given(value=clusters(), packed=st.booleans())
def test_valid_clusters_are_read(path: Path, value: Any, packed: bool) -> None:
    content = json.dumps(value).encode()
    assert reads(gzip.compress(content) if packed else content, path) is not None
