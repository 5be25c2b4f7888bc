"""Every command on a terminal of 80 columns, with what the package ships: no line is wider.

A new command must be added to ``CALLS``.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.main import get_command

pytest.importorskip("kafka")

import partage
from partage.cli import app, settings
from partage.testing import FakeCluster

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]
Way = tuple[str, ...]

COLUMNS = 80
COPIED = re.compile(r"(Next|Written|Report|Resume|Undo[^:]*|With Kafka's tool): ")
"""Begins a line with a command or a path: not broken, so that it can be copied."""

RUNNING = ("--bootstrap-server", "a-host-with-a-long-name.example.org:9092")
THROTTLE = ("--throttle", "50MB")
ASSIGNORS = {"connect": "connect", "failover": "failover", "streams": "streams"}


def assign_calls() -> Iterator[Way]:
    of_files = {
        **dict.fromkeys(("two-by-four", "kip-429", "unequal", "ten-over-three"), "sticky"),
        **dict.fromkeys(("five-topics", "four-topics", "four-topics-left"), "cooperative-sticky"),
        **dict.fromkeys(("member-left", "static-members", "two-topics", "two-by-three"), "range"),
        **dict.fromkeys(("streams-crash", "streams-racks", "streams-scale-out"), "streams"),
        "broker-unfair": "uniform",
        "failover": "failover",
        "share": "share",
        "lagging": "weighted",
        "zones": "sticky",
    }
    for name, assignor in of_files.items():
        yield (f"groups/{name}.json", "--assignor", assignor)


def simulate_calls() -> Iterator[Way]:
    for path in sorted((files("partage") / "data" / "groups").iterdir(), key=lambda one: one.name):
        kind = path.name.removesuffix("-scenario.json")
        if kind == path.name:
            continue
        assignor = ASSIGNORS.get(kind, "cooperative-sticky")
        if kind not in ("migration", "strategies"):
            yield (f"groups/{path.name}", "--assignor", assignor)
        for by in ("member", "partition"):
            yield (f"groups/{path.name}", "--assignor", ASSIGNORS.get(kind, "range"), "--by", by)
    yield ("groups/migration-scenario.json",)
    yield ("groups/rolling-restart-scenario.json", "--protocol", "consumer")


CALLS: Mapping[Way, list[Way]] = {
    (): [("--version",)],
    ("plan",): [
        ("cluster.json", "--add-broker", "10:c", "--verbose", *THROTTLE),
        ("cluster.json", "--remove-broker", "3", "--max-moves", "160"),
        ("cluster.json", "--balance", "load", "--explain", "kafka-0"),
        ("cluster.json", "--balance", "bytes", "-o", "new"),
        ("cluster-256.json", "--verbose"),
    ],
    ("compare",): [("cluster.json",), ("cluster.json", "--verbose"), ("cluster-256.json",)],
    ("place",): [
        ("new", "cluster.json", "--partitions", "12", "--replication-factor", "3"),
        ("kafka", "cluster.json", "--partitions", "30"),
    ],
    ("check",): [("plan",), ("broken",)],
    ("report",): [("plan",)],
    ("assign",): list(assign_calls()),
    ("simulate",): list(simulate_calls()),
    ("size",): [("weighted.json", "--member-rate", "8"), ("cluster.json", "--headroom", "60%")],
    ("partition",): [("a", "order-1", "x" * 200, "--partitions", "12")],
    ("snapshot",): [(*RUNNING, "-o", "snapshot.json")],
    ("groups",): [RUNNING],
    ("apply",): [("plan", *RUNNING, *THROTTLE, "--yes")],
    ("verify",): [("plan", *RUNNING)],
    ("rollback",): [("plan", *RUNNING, *THROTTLE, "--yes")],
    ("doctor",): [(), ("--bootstrap-server", "nonsense")],
}
ON_SPARK: Mapping[Way, list[Way]] = {
    ("profile",): [
        ("events.parquet", "--cluster", "cluster.json", "-o", "new"),
        ("events.parquet", "-o", "new", "--format", "csv"),
    ],
    ("keys",): [("events.parquet", "--partitions", "12,24,48", "--fail-above", "1.5")],
    ("history",): [("groups/logs",)],
    ("demo",): [("-o", "new")],
    ("what-if", "churn"): [("groups/deploy-scenario.json", "--runs", "20")],
    ("what-if", "failures"): [("cluster.json",)],
    ("what-if", "growth"): [("cluster.json", "--profile", "profile", "--runs", "20")],
}
ELSEWHERE = {("throttle",), ("watch",), ("what-if",)}
"""Needs a run; prints a line of a log per alert; a group of commands. The sandbox has none of
what the package ships, and prints addresses to copy."""


class Terminal(io.StringIO):
    """Takes what is printed, as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answered_by: Callable[[FakeCluster], None],
) -> None:
    """What the package ships, a plan of it, one with a defect, and a cluster to apply a plan to."""
    with as_file(files("partage") / "data") as data:
        for name in ("cluster-256.json", "groups"):
            (tmp_path / name).symlink_to(data / name)
        (tmp_path / "cluster.json").symlink_to(data / "cluster-grown.json")
        (tmp_path / "events.parquet").symlink_to(data / "change-events.parquet")
    topic = "a.topic.with.a.rather.long.name.for.a.terminal"
    cluster = FakeCluster({(topic, n): (1, 2) for n in range(8)}, brokers=[1, 2, 3, 4])
    found = partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep))
    for name in ("plan", "broken"):
        found.write(tmp_path / name)
    weights = {"topics": {"orders": 4}, "weights": {"orders": [1, 2, 3, 5]}}
    member = {"id": "app-1", "topics": ["orders"], "owned": [["orders", 0]], "generation": 4}
    (tmp_path / "weighted.json").write_text(json.dumps({**weights, "members": [member]}))
    rollback = tmp_path / "broken" / "rollback.json"
    rollback.write_text(json.dumps({"version": 1, "partitions": []}))

    answered_by(cluster)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")


def cases(calls: Mapping[Way, list[Way]]) -> list[Any]:
    return [
        pytest.param(
            way,
            words,
            id=" ".join((*way, *words))[:COLUMNS],
            marks=[pytest.mark.long] if "cluster-256.json" in words else [],
        )
        for way, several in calls.items()
        for words in several
    ]


def fits(run: Run, monkeypatch: pytest.MonkeyPatch, words: Way) -> None:
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        ended = run(*words)
    assert ended.code in (0, 1), ended
    lines = [line for line in terminal.getvalue().splitlines() if not COPIED.match(line)]
    wide = [line for line in lines if cell_len(line) > COLUMNS]
    assert lines
    assert not wide
    assert not [line for line in lines if re.search(r"(^|\s)[0-9][0-9.,]*…", line)]  # a cut number


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("way", "words"), cases(CALLS))
def test_no_line_is_wider(
    here: None, run: Run, monkeypatch: pytest.MonkeyPatch, way: Way, words: Way
) -> None:
    fits(run, monkeypatch, (*way, *words))


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(("way", "words"), cases(ON_SPARK))
def test_no_line_is_wider_on_spark(
    here: None, run: Run, monkeypatch: pytest.MonkeyPatch, spark: Any, way: Way, words: Way
) -> None:
    if "profile" in words:
        assert run("profile", "events.parquet", "-o", "profile").code == 0
    fits(run, monkeypatch, (*way, *words))


def test_every_command_is_walked() -> None:
    commands = {way for way, _ in settings.commands(get_command(app)) if way[:1] != ("sandbox",)}
    assert commands == CALLS.keys() | ON_SPARK.keys() | ELSEWHERE
