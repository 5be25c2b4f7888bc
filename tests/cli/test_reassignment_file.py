"""Another tool's reassignment JSON, as a user types it: plan, compare, apply."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Files = Callable[[], dict[str, bytes]]


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Broker 3 of ``small.json`` gets t-0 and t-1, as a tool proposes it; u-0 is in place."""
    lists = {("t", 0): [3, 1], ("t", 1): [2, 3], ("u", 0): [1, 3]}
    entries = [
        {"topic": topic, "partition": number, "replicas": row, "log_dirs": ["any", "any"]}
        for (topic, number), row in lists.items()
    ]
    (tmp_path / "other.json").write_text(json.dumps({"version": 1, "partitions": entries}))
    return "other.json"


def test_plan_wraps_it(run: Run, small: str, other: str, tmp_path: Path) -> None:
    figures = run("plan", small, "--reassignment", other, "--batch", "1", "-o", "p", "--json").json
    assert figures["strategy"] == "given"
    assert (figures["moves"], figures["moves_lower_bound"], figures["waves"]) == (2, 3, 2)
    waves = [json.loads(f.read_text()) for f in sorted((tmp_path / "p" / "waves").iterdir())]
    assert sorted(p["replicas"] for wave in waves for p in wave["partitions"]) == [[2, 3], [3, 1]]
    ended = run("check", "p")
    assert (ended.code, ended.err) == (0, "")
    assert "The plan is valid, but not optimal." in ended.out
    text = run("plan", small, "--reassignment", other)
    assert text.code == 0
    assert "--strategy given --reassignment other.json" in text.out
    page = (tmp_path / "p" / "report.html").read_text()
    assert "--reassignment other.json" in page


def test_check_ends_with_1_where_the_lists_break_a_rule(
    run: Run, tmp_path: Path, other: str
) -> None:
    cluster = {
        "brokers": [{"id": b, "rack": "ab"[b % 2]} for b in (1, 2, 3)],
        "partitions": [
            {"topic": topic, "partition": n, "replicas": [1, 2]} for topic in "tu" for n in (0, 1)
        ],
    }
    (tmp_path / "racks.json").write_text(json.dumps(cluster))
    assert run("plan", "racks.json", "--reassignment", other, "-o", "p").code == 0
    ended = run("check", "p")
    assert ended.code == 1
    assert "plan.json: t-0: [3, 1] breaks the rack rule" in ended.out


def test_compare_shows_it_next_to_the_strategies(run: Run, small: str, other: str) -> None:
    found = run("compare", small, "--strategy", "exact", "--reassignment", other, "--json").json
    assert list(found["strategies"]) == ["exact", "given"]
    assert found["strategies"]["given"]["deterministic"] is True
    assert found["strategies"]["given"]["moves"] == 2
    assert "\n given " in run("compare", small, "--reassignment", other).out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--strategy", "exact"),
            "--reassignment: the lists decide: leave out --strategy exact",
        ),
        (("--topics", "v"), "--topics v: matches no topic of the cluster"),
    ],
)
def test_refusals(run: Run, small: str, other: str, options: tuple[str, ...], said: str) -> None:
    ended = run("plan", small, "--reassignment", other, *options)
    assert (ended.code, ended.out, ended.err) == (2, "", f"partage: {said}\n")


def test_the_given_strategy_needs_a_file(run: Run, small: str) -> None:
    ended = run("plan", small, "--strategy", "given")
    assert ended.code == 2
    assert ended.err == "partage: --strategy given: needs replica lists: give --reassignment\n"
    assert run("plan", small, "--reassignment", "none.json").err == (
        "partage: none.json: no such file\n"
    )


# ---------------------------------------------------------------- apply, before it asks


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("p", "--batch", "2"), "--batch: only for another tool's reassignment JSON"),
        (("p", "-o", "q"), "-o: only for another tool's reassignment JSON"),
        (("p/reassignment.json",), "p/reassignment.json: is part of a plan: use partage apply p"),
        (("small.json",), "small.json: has brokers: this is a cluster, expected a reassignment"),
        (("other.json", "-o", "foreign"), "foreign: contains files that partage did not write"),
        (("other.json",), "--bootstrap-server: expected HOST:PORT"),
    ],
)
def test_apply_refuses(
    run: Run,
    small: str,
    other: str,
    tmp_path: Path,
    files_now: Files,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    pytest.importorskip("kafka")
    assert run("plan", small, "--reassignment", other, "-o", "p").code == 0
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    before = files_now()
    ended = run("apply", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {said}")
    assert files_now() == before


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that is only read: the replicas of ``small.json``."""
    pytest.importorskip("kafka")
    from partage.live.admin import connection, snapshot, states

    lists = {("t", n): (1 + n % 2, 2 - n % 2) for n in range(4)} | {("u", 0): (1, 3)}
    now = states.Snapshot(
        "id",
        datetime(2026, 1, 1, tzinfo=UTC),
        1,
        tuple(states.BrokerState(b, None, "h", 9, alive=True) for b in (1, 2, 3)),
        tuple(states.PartitionState(*key, row, row[0], row) for key, row in lists.items()),
        states.Throttles(),
    )
    monkeypatch.setattr(snapshot, "take_snapshot", lambda _admin, **_: now)
    monkeypatch.setattr(connection.Connection, "admin", lambda _: nullcontext())


SERVER = ("--bootstrap-server", "h:1")


@pytest.mark.usefixtures("running")
def test_apply_without_changes_writes_nothing(run: Run, tmp_path: Path, files_now: Files) -> None:
    entry = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d/1", "/d/2"]}
    (tmp_path / "now.json").write_text(json.dumps({"version": 1, "partitions": [entry]}))
    before = files_now()
    ended = run("apply", "now.json", *SERVER)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "Nothing to do: every given replica list is in place.",
        "! log_dirs are ignored, each broker chooses: 1 partition",
    ]
    lines = [
        json.loads(line) for line in run("apply", "now.json", *SERVER, "--json").out.splitlines()
    ]
    assert [line["event"] for line in lines] == ["planned", "ended"]
    assert (lines[0]["plan"], lines[1]["state"]) == (None, "done")
    assert files_now() == before


@pytest.mark.usefixtures("running")
def test_apply_writes_the_plan_before_it_asks(
    run: Run, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        "partage.cli.execution_commands._execute", lambda plan, *_, **__: asked.append(plan)
    )
    ended = run("apply", other, *SERVER, "--batch", "1", "--concurrency", "1", "-o", "d")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "2 replicas move (proven minimum) in 2 waves: sizes unknown.",
        "Written: d",
    ]
    assert asked == ["d"]
    options = json.loads((tmp_path / "d" / "plan.json").read_text())["options"]
    assert options == {
        "strategy": "given",
        "reassignment": "other.json",
        "concurrency": 1,
        "batch": 1,
    }
    assert run("check", "d").code == 0
    (tmp_path / "d" / "journal.jsonl").write_text('{"at":"","event":"started"}\n')
    ended = run("apply", other, *SERVER, "--batch", "1", "-o", "d")
    assert (ended.out, asked) == ("Resuming d\n", ["d", "d"])
    ended = run("apply", other, *SERVER, "--batch", "2", "-o", "d")
    assert (ended.code, ended.err) == (2, "partage: --batch: 2: d has begun with 1\n")
    ended = run("apply", other, *SERVER, "--json")
    assert ended.json["event"] == "planned"
    assert (ended.json["plan"], ended.json["moves"]) == ("other-plan", 2)


@pytest.mark.parametrize("command", ["rollback", "verify"])
def test_rollback_uses_the_directory(run: Run, other: str, command: str) -> None:
    pytest.importorskip("kafka")
    ended = run(command, other, "--bootstrap-server", "127.0.0.1:1")
    assert (ended.code, ended.err) == (
        2,
        "partage: other.json: is a file, expected a plan directory: "
        "partage plan other.json -o plan/ makes one\n",
    )
