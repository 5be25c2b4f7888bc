"""Records small enough to count by hand, and the bundled ones measured once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

Tables = Mapping[str, Any]

_RECORDS: list[dict[str, Any]] = [
    {"topic": t, "partition": p, "offset": o, "timestamp": ms, "key": k, "value_bytes": b}
    for t, p, o, ms, k, b in [
        ("orders", 0, 0, 1_700_000_000_000, "anna", 100),
        ("orders", 0, 1, 1_700_000_000_000, "anna", 50),
        ("orders", 0, 2, 1_700_003_600_000, None, 10),
        ("orders", 0, 3, 1_700_007_200_000, "", 7),
        ("orders", 1, 0, 1_700_000_500_000, "béa", 1000),
        ("orders", 1, 1, 1_700_007_200_000, "béa", 0),
        ("clicks", 3, 9, 1_700_000_000_000, "k,1", 5),
        ("clicks", 3, 10, 1_700_000_001_000, 'say "hi"', 5),
    ]
]


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of two workers: ``tests.pipeline.standalone.Standalone``."""
    from tests.pipeline.standalone import opened

    with opened(tmp_path_factory.mktemp("standalone")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def connect(standalone: Any) -> Iterator[str]:
    """The URL of a Connect server on that cluster."""
    pytest.importorskip("grpc")
    from tests.pipeline.standalone import connect_server

    with connect_server(standalone, standalone.url) as (url, _):
        yield url


@pytest.fixture
def records() -> list[dict[str, Any]]:
    """Eight records of two topics: a null key, an empty one, commas, quotes and an accent."""
    return [dict(record) for record in _RECORDS]


@pytest.fixture(scope="session")
def measured(spark: Any, change_events: str) -> Tables:
    """The tables of the bundled records, by day."""
    from partage.pipeline import profile_tables

    return profile_tables(spark, [change_events], window=86_400)


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., str]:
    """Write lines (text, or a value that becomes one line of JSON) to a file; gives its path."""

    def write(name: str, *lines: Any) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        return str(path)

    return write
