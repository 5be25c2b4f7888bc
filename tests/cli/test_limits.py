"""Each row of docs/reference/limits.md: what is at a limit is read, what is beyond is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from partage import Cluster, Group, Member, files
from partage.brokers.new_partitions import place
from partage.brokers.options import PlanOptions
from partage.consumers.history import events_of
from partage.consumers.history.events import Event
from partage.consumers.scenario import Scenario
from partage.errors import InputError
from partage.live.sandbox.nodes import layout
from partage.producers.candidates import parse_counts
from tests.cli.conftest import Run

pytest.importorskip("pyspark")

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "limits.md"
Case = Callable[[Run, Any], str]
"""Reads input of a size, and returns the line that refuses it, empty where none does."""


def line(ended: Any) -> str:
    """What refuses the input, apart from other mistakes."""
    assert ended.err.count("\n") <= 1
    assert ended.code in (0, 2)
    assert not (ended.code and ended.out)
    return "" if re.search("no such file|no topic", ended.err) else ended.err


def text(run: Run, size: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        assert files.MAX_BYTES == 10**9
        patch.setattr(files, "MAX_BYTES", 10**3)
        cluster()
        content = Path("cluster.json").read_text(encoding="utf-8")
        Path("cluster.json").write_text(content.ljust(size // 10**6), encoding="utf-8")
        return line(run("plan", "cluster.json"))


def cluster(replicas: Iterable[int] = (1,)) -> None:
    entry = {"topic": "t", "partition": 0, "replicas": list(replicas)}
    value = {"brokers": [{"id": one} for one in entry["replicas"]], "partitions": [entry]}
    Path("cluster.json").write_text(json.dumps(value), encoding="utf-8")


def settings(run: Run, size: int) -> str:
    cluster()
    Path("partage.toml").write_text("#" * (size - 1) + "\n", encoding="utf-8")
    return line(run("plan", "cluster.json"))


def topics(run: Run, pattern: str) -> str:
    cluster()
    return line(run("plan", "cluster.json", "--topics", pattern))


def log(run: Run, partition: int) -> str:
    head = "[2026-01-01 00:00:00,000] INFO [Consumer clientId=c, groupId=g] "
    (one, *_) = events_of(
        [("a.log", [(1, f"{head}Adding newly assigned partitions: t-{partition}")])]
    )
    return "" if isinstance(one, Event) else one.reason


def generation(run: Run, number: int) -> str:
    head = "[2026-01-01 00:00:00,000] INFO [Consumer clientId=c, groupId=g] "
    (one, *_) = events_of(
        [("a.log", [(1, f"{head}Successfully joined group with generation {number}")])]
    )
    return "" if isinstance(one, Event) else one.reason


def problem_of(call: Callable[[], Any]) -> str:
    try:
        call()
    except InputError as error:
        return error.problem
    return ""


def csv(run: Run, size: int) -> str:
    from partage.pipeline.records import RECORDS
    from partage.pipeline.sources.csv import _names

    return problem_of(lambda: _names("a" * size, RECORDS, "records.csv"))


def scenario(run: Run, value: dict[str, Any]) -> str:
    whole = {"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}], "until": 1, **value}
    return problem_of(lambda: Scenario.from_json(whole, "scenario.json"))


def member(run: Run, value: dict[str, Any]) -> str:
    return scenario(run, {"members": [{"id": "a", "topics": ["t"], **value}]})


def window(run: Run, seconds: int) -> str:
    from partage.period import ALWAYS
    from partage.pipeline.profile import check_options

    return problem_of(lambda: check_options(seconds, 1, ALWAYS))


def top(run: Run, count: int) -> str:
    from partage.period import ALWAYS
    from partage.pipeline.profile import check_options

    return problem_of(lambda: check_options(1, count, ALWAYS))


def runs(run: Run, count: int) -> str:
    from partage.pipeline.what_ifs.growth import Growth

    placements: Any = SimpleNamespace(bytes_per_second=np.ones(1))
    return problem_of(Growth(placements, count).checked)


def watched(run: Run, seconds: int) -> str:
    Path("records").mkdir(exist_ok=True)
    words = ("watch", "records", "--cluster", "none.json", "-o", "out")
    return line(run(*words, *(f"--{name}={seconds}" for name in ("window", "over", "every"))))


def replicas(run: Run, count: int) -> str:
    cluster(range(count))
    return problem_of(lambda: Cluster.read("cluster.json"))


def brokers(run: Run, count: int) -> str:
    partition = {"topic": "t", "partition": 0, "replicas": [0]}
    value = {"brokers": [{"id": one} for one in range(count)], "partitions": [partition]}
    return problem_of(lambda: Cluster.from_json(value))


def reassigned(run: Run, count: int) -> str:
    entry = {"topic": "t", "partition": 0, "replicas": list(range(count))}
    Path("lists.json").write_text(json.dumps({"version": 1, "partitions": [entry]}))
    return problem_of(lambda: Cluster.read("lists.json"))


def replication_factor(run: Run, count: int) -> str:
    return problem_of(lambda: PlanOptions(replication_factor=count))


def partitions(run: Run, count: int) -> str:
    ended = run("partition", "k", "--partitions", str(count))
    return ended.err if ended.code else ""


def candidates(run: Run, count: int) -> str:
    return problem_of(lambda: parse_counts(f"1,{count}"))


def placed(run: Run, count: int) -> str:
    cluster([1])
    return problem_of(lambda: place("cluster.json", "u", count, 1))


def group(run: Run, count: int) -> str:
    return problem_of(lambda: Group({"t": count - 1, "u": 1}, [Member("a", ["t"])]))


def sandboxed(run: Run, count: int) -> str:
    return problem_of(lambda: layout(count, None))


CASES: dict[str, list[tuple[Case, Any, Any]]] = {
    "a file of text": [(text, 10**9, 10**9 + 10**6)],
    "`partage.toml`": [(settings, 2**16, 2**16 + 1)],
    "`--topics`": [
        (topics, "(?!x)t*t*", "(?!x)t*t*t*"),
        (topics, "(?!x)t?t?t?t?", "(?!x)t?t?t?t?t?"),
        (topics, "(?!x)t*", "(?!x)(t)*"),
    ],
    "consumer logs": [(log, 99_999, 100_000), (generation, 2**31 - 1, 2**31)],
    "CSV": [(csv, 2**17, 2**17 + 1)],
    "SCENARIO: times": [
        (member, {"buffer": 10**9}, {"buffer": 10**9 + 1}),
        (member, {"rate": 0.001}, {"rate": 0.0009}),
        (scenario, {"rebalance_timeout": 0.001}, {"rebalance_timeout": 0.0009}),
        (scenario, {"produce": {"t": 10**9}}, {"produce": {"t": 10**9 + 1}}),
    ],
    "SCENARIO: partitions": [
        (scenario, {"topics": {"t": 100_000}}, {"topics": {"t": 100_000, "u": 1}}),
        (
            scenario,
            {"until": 3_000_000, "heartbeat_interval": 1},
            {"until": 3_000_001, "heartbeat_interval": 1},
        ),
    ],
    "CLUSTER, reassignment JSON, plan: brokers": [(brokers, 10_000, 10_001)],
    "CLUSTER, reassignment JSON, `--replication-factor`": [
        (replicas, 128, 129),
        (reassigned, 128, 129),
        (replication_factor, 128, 129),
    ],
    "`partition`, `keys`, `place`": [
        (read, 100_000, 100_001) for read in (partitions, candidates, placed)
    ],
    "GROUP": [(group, 50_000_000, 50_000_001)],
    "`sandbox up`": [(sandboxed, 30, 31)],
    "profile": [(window, 10**9, 10**9 + 1), (watched, 10**9, 10**9 + 1)],
    "`--top`": [(top, 2**31 - 1, 2**31), (runs, 2**31 - 1, 2**31)],
}
"""By the beginning of a row."""


def rows() -> list[str]:
    table = PAGE.read_text(encoding="utf-8").partition("|---|---|\n")[2]
    return [row.removeprefix("| ") for row in table.splitlines() if row.startswith("|")]


def test_every_row_has_a_case() -> None:
    for row in rows():
        assert len([start for start in CASES if row.startswith(start)]) == 1, row
    assert len(rows()) == len(CASES)


@pytest.mark.parametrize("start", CASES)
def test_a_limit(run: Run, start: str) -> None:
    for read, at, beyond in CASES[start]:
        assert read(run, at) == "", (read, at)
        assert read(run, beyond), (read, beyond)
