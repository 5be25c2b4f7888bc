"""size, as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

Run = Callable[..., Any]


@pytest.fixture
def group(tmp_path: Path) -> str:
    """Three members; together they process 100 a second."""
    value = {
        "topics": {"t": 4},
        "weights": {"t": [40, 30, 20, 10]},
        "members": [
            {"id": "a", "topics": ["t"], "owned": [["t", 0]], "generation": 1},
            {"id": "b", "topics": ["t"], "owned": [["t", 1]], "generation": 1},
            {"id": "c", "topics": ["t"], "owned": [["t", 2], ["t", 3]], "generation": 1},
        ],
    }
    (tmp_path / "group.json").write_text(json.dumps(value))
    return "group.json"


def test_members_and_moves(run: Run, group: str) -> None:
    ended = run("size", group, "--member-rate", "70", "--headroom", "20%")
    assert (ended.code, ended.err) == (0, "")
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert lines[-3:-1] == [
        "2 members for 100, at 70.0 each with 20% headroom; today 3",
        "Fewer are proven not to suffice. 2 partitions moved (proven minimum).",
    ]
    assert lines[-1].startswith("Not needed: ")
    assert "member partitions load of its rate" in lines
    found = run("size", group, "--member-rate", "70", "--headroom", "20%", "--json").json
    assert (found["members"], found["lower_bound"], found["proven"]) == (2, 2, True)
    assert (found["today"], found["moves"], found["moves_lower_bound"]) == (3, 2, 2)
    assert max(found["loads"].values()) <= found["capacity"] == 56
    assert (found["member_rate"], found["headroom"], found["unit"]) == (70, 0.2, "")


def test_more_members(run: Run, group: str) -> None:
    found = run("size", group, "--member-rate", "40", "--headroom", "0%", "--json").json
    assert (found["members"], found["moves"]) == (3, 0)
    found = run("size", group, "--member-rate", "50", "--json").json
    assert (found["members"], sum(found["loads"].values())) == (3, 100)


def test_a_profile(run: Run, group: str, tmp_path: Path) -> None:
    """Bytes per second of its partitions."""
    table = {"topic": ["t"] * 4, "partition": [0, 1, 2, 3], "records": [1] * 4, "bytes": [9] * 4}
    table |= {
        "bytes_per_second": [4e6, 3e6, 2e6, 1e6],
        "peak_bytes_per_second": [8e6, 3e6, 2e6, 1e6],
    }
    table |= {"distinct_keys": [1] * 4, "null_keys": [0] * 4}
    (tmp_path / "prof/partitions").mkdir(parents=True)
    pq.write_table(pa.table(table), tmp_path / "prof/partitions/part-0.parquet")
    totals = {"records": 4, "bytes": 36, "rejected": 0, "topics": 1, "partitions": 4}
    about = {"format_version": 1, "sources": ["x"], "window_seconds": 60, "totals": totals}
    (tmp_path / "prof/profile.json").write_text(json.dumps(about))
    words = ("size", group, "--profile", "prof", "--member-rate", "10MB")
    ended = run(*words)
    assert "\n2 members for 10.0 MB/s, at 10.0 MB/s each with 20% headroom; today 3\n" in ended.out
    peak = run(*words, "--rate", "peak", "--json").json
    assert (peak["members"], peak["unit"], peak["capacity"]) == (2, "bytes", 8e6)
    assert sorted(peak["loads"].values()) == [6e6, 8e6]


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--member-rate", "fast"), 2, "--member-rate fast: expected a rate such as 50MB"),
        (("--member-rate", "9", "--headroom", "100%"), 2, "--headroom 100%: must be below 100%"),
        (("--member-rate", "9", "--group", "g"), 2, "--group: needs --profile"),
        (("--member-rate", "9", "--rate", "peak"), 2, "--rate: needs measured loads"),
        (("--member-rate", "9"), 1, "t-0 alone has 40, a member can own 7: no number of members"),
    ],
)
def test_refused(run: Run, group: str, words: tuple[str, ...], code: int, problem: str) -> None:
    ended = run("size", group, *words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert ended.err.count("\n") == 1


def test_without_weights(run: Run, tmp_path: Path) -> None:
    bare = {"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}]}
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    ended = run("size", "bare.json", "--member-rate", "9")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "partage: bare.json: has no weights: add --profile, or weights to the file\n"
    )
