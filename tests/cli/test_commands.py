"""The commands doing what they are for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import partage
from partage.brokers.strategies import STRATEGIES
from partage.outputs import LIST, write_directory
from tests.cli.executed import after_plan
from tests.matrices import partitions

Run = Callable[..., Any]
Files = Callable[[], dict[str, bytes]]

FIGURES = {
    *("strategy", "moves", "moves_lower_bound", "bytes_moved", "bytes_moved_lower_bound"),
    *("optimal", "replicas_per_broker", "leaders_per_broker"),
    *("leaders_after_failure", "leaders_after_rack_failure"),
    *("worst_survivor_lower_bound", "rack_survivor_lower_bound"),
    *("rack_violations", "topic_spread", "bytes_max_over_mean", "leader_changes"),
    *("settled", "waves", "waves_lower_bound", "seconds", "binding", "gaps"),
}
DELETED = {"replicas_deleted", "partitions_with_fewer_replicas"}
"""Only where a plan deletes replicas."""

EXAMPLE_OPTIONS = [
    (),
    ("--add-broker", "10:a", "--add-broker", "11:c"),
    ("--remove-broker", "8"),
    ("--replace-broker", "3=10"),
    ("--replication-factor", "2", "--replication-factor", "kafka=3"),
    ("--topics", "k.*"),
    ("--no-moves",),
    ("--spread", "topic"),
    ("--leader-racks", "kafka=a,b"),
    ("--demote-broker", "2", "--no-moves"),
    ("--concurrency", "5", "--throttle", "50MB"),
    ("--strategy", "generate"),
]


# ---------------------------------------------------------------- --json


@pytest.mark.parametrize("options", EXAMPLE_OPTIONS, ids=" ".join)
def test_plan_prints_one_json_object(run: Run, grown: str, options: tuple[str, ...]) -> None:
    ended = run("plan", grown, "--json", *options)
    assert ended.code == 0
    assert ended.err == ""
    figures = ended.json
    assert set(figures) == FIGURES | (DELETED if "--replication-factor" in options else set())
    assert figures["rack_violations"] >= 0
    assert figures["moves"] >= figures["moves_lower_bound"]
    assert len(figures["replicas_per_broker"]) == len(figures["leaders_per_broker"]) == 2
    assert set(figures["leaders_after_failure"]) == {"max", "ideal"}
    assert isinstance(figures["binding"], list)
    assert isinstance(figures["gaps"], dict)
    assert figures["settled"] is True


def test_explain_is_one_key_more(run: Run, grown: str) -> None:
    found = run("plan", grown, "--explain", "kafka-0", "--json").json
    assert set(found) == FIGURES | {"explain"}
    assert found["explain"]["partition"] == "kafka-0"
    text = run("plan", grown, "--explain", "kafka-0")
    assert (text.code, text.err) == (0, "")
    assert max(map(len, text.out.splitlines())) <= 100


def test_the_numbers_of_the_grown_cluster(run: Run, grown: str) -> None:
    figures = run("plan", grown, "--json").json
    assert figures["moves"] == figures["moves_lower_bound"] == 200
    assert figures["rack_violations"] == 0
    assert figures["optimal"] is True
    assert figures["replicas_per_broker"] == [54, 54]
    assert figures["leaders_per_broker"] == [18, 18]


LOWERED = ("--topics", "sarama", "--replication-factor", "2", "--max-moves", "0")


def test_a_plan_says_how_many_replicas_it_deletes(run: Run, grown: str) -> None:
    figures = run("plan", grown, *LOWERED, "--json").json
    assert set(figures) == FIGURES | DELETED
    assert (figures["moves"], figures["replicas_deleted"]) == (0, 6)
    assert figures["partitions_with_fewer_replicas"] == 6
    text = run("plan", grown, *LOWERED).out
    assert "No replica moves: the plan deletes 6 replicas of 6 partitions in 1 wave." in text
    assert "486 replicas        480 replicas        deletes 6 replicas of 6 partitions" in text
    compared = run("compare", grown, *LOWERED, "--strategy", "exact")
    assert compared.out.count("6 replicas deleted.") == 1


def test_the_picture_of_a_plan_says_how_many_replicas_it_deletes(
    run: Run, grown: str, tmp_path: Path
) -> None:
    assert run("plan", grown, *LOWERED, "--picture", "plan.svg").code == 0
    assert "exact: 0 moves, 6 replicas deleted" in (tmp_path / "plan.svg").read_text()


def test_compare_prints_one_json_object(run: Run, grown: str) -> None:
    ended = run("compare", grown, "--json")
    assert ended.code == 0
    assert ended.err == ""
    strategies = ended.json["strategies"]
    assert set(ended.json) == {"strategies"}
    assert list(strategies) == list(STRATEGIES)
    for name, figures in strategies.items():
        if set(figures) != {"cannot"}:
            assert set(figures) == FIGURES | {"deterministic"}
            assert figures["strategy"] == name
            assert figures["deterministic"] is True
    assert all("cannot" not in strategies[name] for name in ("exact", "generate", "leader-flow"))


def test_compare_shows_why_a_strategy_fails(run: Run, grown: str) -> None:
    strategies = run(
        "compare", grown, "--remove-broker", "8", "--replication-factor", "2", "--json"
    )
    cannot = strategies.json["strategies"]["leader-flow"]
    assert set(cannot) == {"cannot"}
    assert "changes only the order" in cannot["cannot"]
    text = run("compare", grown, "--replication-factor", "2").out
    assert "leader-flow" in text


def test_compare_where_no_strategy_has_a_plan(run: Run, grown: str) -> None:
    ended = run("compare", grown, "--max-moves", "3")
    assert ended.code == 1
    assert ended.out.endswith("\n\nNo strategy has a plan for this.\n")
    assert run("compare", grown, "--max-moves", "3", "--json").code == 1


def test_compare_leads_to_a_strategy_that_has_a_plan(run: Run, small: str) -> None:
    value = json.loads(Path(small).read_text())
    for broker in value["brokers"]:
        broker["disk_bytes"] = 10
    Path("full.json").write_text(json.dumps(value))
    words = ("compare", "full.json", "--strategy", "exact", "--strategy", "leader-flow")
    ended = run(*words)
    assert ended.code == 0
    assert ended.out.endswith("\nNext: partage plan full.json --strategy leader-flow -o plan/\n")


def test_compare_of_some_strategies(run: Run, grown: str) -> None:
    ended = run("compare", grown, "--strategy", "generate", "--strategy", "exact", "--json")
    assert list(ended.json["strategies"]) == ["generate", "exact"]


def test_check_and_report_print_one_json_object(run: Run, grown: str, tmp_path: Path) -> None:
    run("plan", grown, "-o", "p")
    ended = run("check", "p", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["sound"] is True
    assert ended.json["defects"] == []
    assert len(ended.json["held"]) >= 6
    drawn = (tmp_path / "p" / "report.html").read_bytes()
    assert b"partage check p<" in drawn
    (tmp_path / "p" / "report.html").unlink()
    ended = run("report", "p", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json == {"report": "p/report.html"}
    assert (tmp_path / "p" / "report.html").read_bytes() == drawn


def test_check_of_an_incorrect_plan_exits_with_1(run: Run, grown: str, tmp_path: Path) -> None:
    run("plan", grown, "-o", "p")
    (tmp_path / "p" / "rollback.json").unlink()
    ended = run("check", "p", "--json")
    assert (ended.code, ended.err) == (1, "")
    assert ended.json["sound"] is False
    assert ended.json["defects"] == ["rollback.json: missing"]
    ended = run("check", "p")
    assert (ended.code, ended.err) == (1, "")
    assert "rollback.json: missing" in ended.out
    assert "The plan is not valid." in ended.out


# ---------------------------------------------------------------- the plan directory


def test_the_plan_directory(run: Run, grown: str, tmp_path: Path, files_now: Files) -> None:
    figures = run("plan", grown, "-o", "p", "--json").json
    names = set(files_now())
    waves = {f"p/waves/{i:03d}.json" for i in range(1, figures["waves"] + 1)}
    tops = {f"p/{n}" for n in ("plan.json", "reassignment.json", "rollback.json", "report.html")}
    tops.add(f"p/{LIST}")
    assert names == tops | waves | {grown}

    def read(name: str) -> Any:
        return json.loads((tmp_path / "p" / name).read_text(encoding="utf-8"))

    plan = read("plan.json")
    assert plan["format_version"] == 1
    assert plan["figures"]["after"] == {k: v for k, v in figures.items() if k != "seconds"}
    assert plan["changes"] is True
    part = plan["partitions"]
    name = [
        f"{plan['topics'][t]}-{p}" for t, p in zip(part["topic"], part["partition"], strict=True)
    ]
    before, after = (dict(zip(name, part[k], strict=True)) for k in ("before", "after"))
    changed = {n for n in name if before[n] != after[n]}

    def lists(value: Any) -> dict[str, list[int]]:
        assert value["version"] == 1
        assert all(set(p) == {"topic", "partition", "replicas"} for p in value["partitions"])
        return {f"{p['topic']}-{p['partition']}": p["replicas"] for p in value["partitions"]}

    assert lists(read("reassignment.json")) == {n: after[n] for n in changed}
    assert lists(read("rollback.json")) == {n: before[n] for n in changed}
    together: dict[str, list[int]] = {}
    for wave in plan["waves"]:
        part_of = lists(read(wave["file"]))
        assert not part_of.keys() & together.keys()
        together |= part_of
    assert together == {n: after[n] for n in changed}
    assert (tmp_path / "p" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html")


def test_the_plan_directory_is_readable_by_all(run: Run, small: str, tmp_path: Path) -> None:
    run("plan", small, "-o", "p")
    run("report", "p")
    for path in [tmp_path / "p", *(tmp_path / "p").rglob("*")]:
        assert path.stat().st_mode & 0o044, path


def test_a_reassignment_can_be_the_next_input(run: Run, grown: str, tmp_path: Path) -> None:
    run("plan", grown, "-o", "p")
    after = after_plan(tmp_path / grown, tmp_path / "p")
    (tmp_path / "after.json").write_text(after, encoding="utf-8")
    figures = run("plan", "after.json", "-o", "q", "--json").json
    assert (figures["moves"], figures["leader_changes"], figures["waves"]) == (0, 0, 0)
    plan = json.loads((tmp_path / "q/plan.json").read_text(encoding="utf-8"))
    assert plan["changes"] is False
    assert plan["partitions"]["before"] == plan["partitions"]["after"]
    assert plan["waves"] == []
    assert not (tmp_path / "q/waves").exists()
    for name in ("reassignment.json", "rollback.json"):
        value = json.loads((tmp_path / "q" / name).read_text(encoding="utf-8"))
        assert value == {"version": 1, "partitions": []}
    ended = run("plan", "after.json")
    assert "Nothing to do" in ended.out
    assert run("check", "q").code == 0


def test_an_older_plan_is_replaced(run: Run, grown: str, files_now: Files) -> None:
    run("plan", grown, "-o", "p")
    assert "p/waves/028.json" in files_now()
    run("plan", grown, "--max-moves", "60", "-o", "p")
    assert "p/waves/028.json" not in files_now()
    assert run("check", "p").code == 0
    assert not [name for name in files_now() if name.startswith(".")]


def test_missing_parents_are_created(run: Run, small: str, tmp_path: Path) -> None:
    assert run("plan", small, "-o", "a/b/c").code == 0
    assert (tmp_path / "a/b/c/plan.json").is_file()


def test_an_empty_directory_is_used(run: Run, small: str, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    assert run("plan", small, "-o", "p").code == 0
    assert (tmp_path / "p/plan.json").is_file()


def test_a_link_to_a_directory_is_not_followed(run: Run, small: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "p").symlink_to("real")
    ended = run("plan", small, "-o", "p")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "partage: p: is a symbolic link: name what it points to\n"
    assert (tmp_path / "p").is_symlink()
    assert list((tmp_path / "real").iterdir()) == []


@pytest.mark.parametrize("nth", [1, 2], ids=["the old one stays", "the old one comes back"])
def test_a_directory_that_cannot_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    target = tmp_path / "p"
    old = "{}"
    write_directory(target, {"marker": old, "a/b": old}, "marker")
    real, calls = Path.rename, []

    def rename(self: Path, other: Path) -> Path:
        calls.append(self)
        if len(calls) == nth:
            raise OSError(5, "Input/output error")
        return real(self, other)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(partage.InputError, match="Input/output error"):
        write_directory(target, {"marker": "new"}, "marker")
    assert (target / "marker").read_text() == (target / "a/b").read_text() == old
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_output_is_deterministic(run: Run, grown: str, files_now: Files) -> None:
    run("plan", grown, "-o", "one")
    run("plan", grown, "-o", "two")

    def said(folder: str) -> dict[str, str]:
        return {
            name.removeprefix(folder): content.decode()
            for name, content in files_now().items()
            if name.startswith(folder) and not name.endswith(("html", LIST))  # name the folder
        }

    assert said("one/") == said("two/")


# ---------------------------------------------------------------- on a terminal


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", EXAMPLE_OPTIONS, ids=" ".join)
def test_plan_in_a_hundred_columns(run: Run, grown: str, options: tuple[str, ...]) -> None:
    ended = run("plan", grown, "-o", "p", *options)
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "Written: p" in ended.out
    assert "\x1b" not in ended.out
    ended = run("check", "p")
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 100


@pytest.mark.long
def test_compare_in_a_hundred_columns(run: Run, grown: str) -> None:
    for options in ((), ("--replication-factor", "2"), ("--remove-broker", "3")):
        ended = run("compare", grown, *options)
        assert (ended.code, ended.err) == (0, "")
        assert max(map(len, ended.out.splitlines())) <= 100


def test_long_names_and_many_brokers_in_a_hundred_columns(run: Run, tmp_path: Path) -> None:
    value = {
        "brokers": [{"id": 2**31 - 60 + b, "rack": "rack-" + "x" * 200} for b in range(40)],
        "partitions": [
            {"topic": "t" * 249, "partition": p, "replicas": [2**31 - 60], "size_bytes": 2**52}
            for p in range(100)
        ],
    }
    (tmp_path / "wide.json").write_text(json.dumps(value), encoding="utf-8")
    for command in ("plan", "compare"):
        ended = run(command, "wide.json", "--throttle", "1KB")
        assert ended.code == 0
        assert max(map(len, ended.out.splitlines())) <= 100


def test_a_plan_without_changes(run: Run, tmp_path: Path) -> None:
    text = json.dumps({"partitions": partitions([[1], [2], [3]])})
    (tmp_path / "even.json").write_text(text, encoding="utf-8")
    ended = run("plan", "even.json")
    assert "\nNothing to do: the cluster is already as balanced as the rules allow.\n" in ended.out
    assert "-o DIR" not in ended.out


@pytest.mark.parametrize(
    "command", [(), *[(c,) for c in ("plan", "compare", "check", "report", "profile", "demo")]]
)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(run: Run, command: tuple[str, ...], flag: str) -> None:
    ended = run(*command, flag)
    assert (ended.code, ended.err) == (0, "")
    assert "Usage: partage" in ended.out
    if command in (("plan",), ("compare",), ("check",), ("report",), ("profile",)):
        assert f"partage {command[0]} " in ended.out.partition("Examples:")[2]


def test_no_command_at_all_shows_the_help(run: Run) -> None:
    ended = run()
    assert ended.err == ""
    assert "Usage: partage" in ended.out


# ---------------------------------------------------------------- as a process


def in_a_process(*arguments: str | bytes, **settings: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "partage", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **settings)


def test_as_a_process(grown: str, tmp_path: Path) -> None:
    ended = in_a_process("plan", grown, "--json", "-o", "p", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["moves"] == 200
    (tmp_path / "p/reassignment.json").unlink()
    ended = in_a_process("check", "p", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "")
    ended = in_a_process("plan", "none.json", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "partage: none.json: no such file\n"
    ended = in_a_process("plan", b"\xff.json", cwd=tmp_path)  # a name that is not UTF-8
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "partage: \\udcff.json: no such file\n"


def test_a_closed_pipe_is_not_an_error(grown: str, tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m partage plan {grown} | head -1'
    ended = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ended.stdout == "Criteria\n"
    assert ended.stderr == ""


def test_ascii_output(grown: str, tmp_path: Path) -> None:
    world = {"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for arguments in (("plan", grown, "-o", "p"), ("check", "p")):
        ended = in_a_process(*arguments, cwd=tmp_path, env=world)
        assert (ended.returncode, ended.stderr) == (0, "")
