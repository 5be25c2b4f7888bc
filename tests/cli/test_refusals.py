"""Bad input and bad options: exit code 2, one line on stderr, nothing on stdout, no file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.executed import after_plan

Run = Callable[..., Any]
Files = Callable[[], dict[str, bytes]]


@pytest.fixture
def refused(run: Run, files_now: Files) -> Callable[..., str]:
    """The run must be refused and leave every file as it was; gives the line without its start."""

    def call(*arguments: str) -> str:
        before = files_now()
        ended = run(*arguments)
        assert ended.code == 2, ended
        assert ended.out == ""
        assert ended.err.startswith("partage: ")
        assert ended.err.endswith("\n")
        assert len(ended.err.splitlines()) == 1
        assert "Traceback" not in ended.err
        assert files_now() == before
        return str(ended.err.removeprefix("partage: ").rstrip("\n"))

    return call


Refused = Callable[..., str]

BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    (("--strateg", "exact"), "--strateg"),
    (("--add-brokers", "9:a"), "--add-brokers"),
    (("--bogus",), "--bogus"),
    (("-x",), "-x"),
    (("--add-broker",), "--add-broker"),
    (("more.json",), "more.json"),
    (("--strategy", "none"), "--strategy none: expected one of exact, generate,"),
    (("--strategy", ""), "--strategy '': expected "),
    (("--remove-broker", "9"), "--remove-broker 9: broker 9 is not in the cluster"),
    (("--remove-broker", "x"), "--remove-broker x: expected a broker id from 0 to 2147483647"),
    (("--remove-broker", "-1"), "--remove-broker -1: expected a broker id from 0 to 2147483647"),
    (("--remove-broker", "1.0"), "--remove-broker 1.0: expected a broker id from 0 to 2147483647"),
    (("--remove-broker", "٣"), "--remove-broker ٣: expected a broker id from 0 to 2147483647"),
    (("--remove-broker", ""), "--remove-broker '': expected a broker id from 0 to 2147483647"),
    (("--remove-broker", "9" * 5000), "--remove-broker"),
    (("--remove-broker", "1", "--remove-broker", "1"), "broker 1 is removed twice"),
    (("--remove-broker", "1", "--remove-broker", "2", "--remove-broker", "3"), "none is left"),
    (("--remove-broker", "1", "--replication-factor", "3"), "needs 3 live brokers, 2 can be used"),
    (("--add-broker", "1:r1"), "--add-broker 1:r1: broker 1 is already in the cluster"),
    (("--add-broker", "9"), "--add-broker 9: needs its rack: 9:RACK"),
    (("--add-broker", "9:"), "--add-broker 9:: expected the rack after the colon"),
    (("--add-broker", ":r1"), "--add-broker :r1: expected a broker id from 0 to 2147483647"),
    (("--add-broker", "r1:9"), "--add-broker r1:9: expected a broker id from 0 to 2147483647"),
    (("--add-broker", "9:a", "--add-broker", "9:b"), "broker 9 is already in the cluster"),
    (
        ("--add-broker", "2147483648:a"),
        "--add-broker 2147483648:a: expected a broker id from 0 to 2147483647",
    ),
    (("--add-broker", "9:a", "--remove-broker", "9"), "broker 9 is not in the cluster"),
    (("--replace-broker", "3"), "--replace-broker 3: expected OLD=NEW, for instance 3=9"),
    (("--replace-broker", "9=10"), "--replace-broker 9=10: broker 9 is not in the cluster"),
    (
        ("--replace-broker", "3=x"),
        "--replace-broker 3=x: expected a broker id from 0 to 2147483647",
    ),
    (("--replace-broker", "3=3"), "--replace-broker 3=3: the new broker is removed"),
    (("--replace-broker", "3=9", "--replace-broker", "3=10"), "broker 3 is removed twice"),
    (("--replace-broker", "3=1", "--remove-broker", "1"), "the new broker is removed"),
    (("--replication-factor", "4"), "replication factor: t-0 needs 4 live brokers, 3 can be used"),
    (
        ("--replication-factor", "0"),
        "--replication-factor 0: expected 3 or topic=3, a whole number from 1",
    ),
    (
        ("--replication-factor", "-1"),
        "--replication-factor -1: expected 3 or topic=3, a whole number from 1",
    ),
    (
        ("--replication-factor", "two"),
        "--replication-factor two: expected 3 or topic=3, a whole number from 1",
    ),
    (
        ("--replication-factor", "t="),
        "--replication-factor t=: expected 3 or topic=3, a whole number from 1",
    ),
    (
        ("--replication-factor", "none=2"),
        "--replication-factor none=2: topic 'none' is not in the cluster",
    ),
    (("--replication-factor", "2", "--replication-factor", "3"), "is given twice"),
    (("--replication-factor", "t=2", "--replication-factor", "t=2"), "t is given twice"),
    (("--replication-factor", "t=2", "--topics", "u"), "topic 't' is left out by --topics"),
    (("--topics", "["), "--topics [: is not a regular expression (unterminated"),
    (("--topics", "(" * 5000), "--topics '(((((((((((((((((((((((((((((("),
    (("--topics", "none"), "--topics none: matches no topic of the cluster"),
    (("--topics", ""), "--topics '': matches no topic of the cluster"),
    (("--topics", "t", "--remove-broker", "3"), "--topics: leaves out u-0"),
    (("--leaders", "size"), "--leaders size: expected count or rate"),
    (("--leaders", "rate"), "--leaders rate: needs rates: give --profile, or bytes_in"),
    (("--spread", "rack"), "--spread rack: expected cluster or topic"),
    (("--concurrency", "0"), "--concurrency 0: expected a whole number from 1 to 2147483647"),
    (("--concurrency", "-3"), "--concurrency -3: expected a whole number from 1 to 2147483647"),
    (
        ("--concurrency", str(2**63)),
        "--concurrency 9223372036854775808: expected a whole number",
    ),
    (("--add-broker", "9:\x1b[31m"), "--add-broker '9:\\x1b[31m': expected a rack: printable"),
    (("--concurrency", "two"), "--concurrency"),
    (("--concurrency", "1.5"), "--concurrency"),
    (("--throttle", "fast"), "--throttle fast: expected a rate such as 50MB or 50MB/s"),
    (("--throttle", "0"), "--throttle 0: must be above 0"),
    (("--throttle", "-5MB"), "--throttle"),
    (("--throttle", ""), "--throttle '': expected a rate such as 50MB or 50MB/s"),
    (("--throttle", "1e3"), "--throttle 1e3: expected a rate such as 50MB or 50MB/s"),
    (("--no-moves", "--remove-broker", "3"), "--no-moves: forbids the moves that --remove-broker"),
    (("--no-moves", "--replace-broker", "3=9"), "--no-moves: forbids the moves that --replace-"),
    (
        ("--no-moves", "--replication-factor", "1"),
        "--no-moves: cannot be combined with --replication-factor: to lower it without a move, "
        "give --max-moves 0 instead",
    ),
    (("--sizes", "none.txt"), "none.txt: no such file"),
    (
        ("--sizes", "small.json"),
        "small.json: brokers[0].logDirs: missing, expected a list of objects",
    ),
    (("--profile", "none"), "none: no such directory"),
    (("--profile", "small.json"), "small.json: is a file, expected a directory"),
    (("--profile", "."), ".: has no profile.json"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("options", "problem"), BAD_OPTIONS, ids=lambda v: " ".join(v)[:40])
@pytest.mark.parametrize("command", ["plan", "compare"])
def test_bad_options(
    refused: Refused, small: str, command: str, options: tuple[str, ...], problem: str
) -> None:
    more = ("-o", "out") if command == "plan" else ()
    assert problem in refused(command, small, *more, *options)
    assert problem in refused(command, small, "--json", *options)


@pytest.mark.parametrize(
    "name", ["t", "t-9", "none-0", "", "t-", "-0", "t-x", "t-٠", "t-" + "9" * 5000]
)
def test_an_unknown_partition(refused: Refused, small: str, name: str) -> None:
    assert refused("plan", small, "--explain", name, "-o", "out").startswith("--explain ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("plam",),
        ("plan",),
        ("compare",),
        ("check",),
        ("report",),
        ("profile",),
        ("profile", "x.csv"),
        ("--version=3",),
        ("demo", "extra"),
        ("check", "p", "q"),
        ("plan", "small.json", "--json=yes"),
    ],
    ids=" ".join,
)
def test_unknown_commands(refused: Refused, small: str, arguments: tuple[str, ...]) -> None:
    assert refused(*arguments)


BAD_FILES = {
    "empty.json": b"",
    "cut.json": b'{"brokers":[{"id":1}],"partitions":[{"topic":"t","par',
    "latin.json": b'{"brokers": "\xe9"}',
    "broken.json.gz": b"\x1f\x8b\x08\x00junk",
    "deep.json": b"[" * 200_000,
    "list.json": b"[1, 2]",
    "text.txt": b"hello\nworld\n",
    "twice.json": b'{"partitions":[{"topic":"t","partition":0,"replicas":[1]},'
    b'{"topic":"t","partition":0,"replicas":[1]}]}',
    "double.json": b'{"brokers":[{"id":1},{"id":2}],"partitions":[{"topic":"t","partition":0,'
    b'"replicas":[1,1]}]}',
    "unlisted.json": b'{"brokers":[{"id":1}],"partitions":[{"topic":"t","partition":0,'
    b'"replicas":[2]}]}',
    "nothing.json": b'{"brokers":[{"id":1}],"partitions":[]}',
    "surrogate.json": b'{"partitions":[{"topic":"\\ud800","partition":0,"replicas":[1]}]}',
    "newline.json": b'{"partitions":[{"topic":"a\\nb","partition":0,"replicas":[1]}]}',
    "negative.json": b'{"partitions":[{"topic":"t","partition":0,"replicas":[1],"size_bytes":-1}]}',
    "nan.json": b'{"partitions":[{"topic":"t","partition":0,"replicas":[1],"size_bytes":NaN}]}',
    "dead.json": b'{"brokers":[{"id":1},{"id":2,"alive":false}],"partitions":[{"topic":"t",'
    b'"partition":0,"replicas":[1,2]}]}',
    "alldead.json": b'{"brokers":[{"id":1,"alive":false}],"partitions":[{"topic":"t",'
    b'"partition":0,"replicas":[1]}]}',
    "flight.txt": b"Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tAdding Replicas: 2\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("command", ["plan", "compare"])
def test_bad_clusters(refused: Refused, tmp_path: Path, command: str, name: str) -> None:
    (tmp_path / name).write_bytes(BAD_FILES[name])
    said = refused(command, name, "--json")
    asked = ("replication factor: t-0 needs 2 live brokers", "brokers: none is left")
    assert said.startswith((f"{name}: ", *asked))


def test_clusters_that_are_not_files(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert refused("plan", "folder") == "folder: is a directory, expected a file"
    assert refused("plan", "none.json") == "none.json: no such file"
    assert refused("plan", "a" * 400).endswith("cannot be read (File name too long)")
    assert refused("plan", "two\nlines.json") == "two\\nlines.json: no such file"


# ---------------------------------------------------------------- where nothing can be written


def test_a_file_in_place_of_the_directory(refused: Refused, small: str) -> None:
    for command in (("plan", small), ("profile", "x.csv")):
        assert "is a file" in refused(*command, "-o", small)
        assert refused(*command, "-o", f"{small}/p").startswith(f"{small}/p: cannot be written")


def test_a_directory_with_other_files(refused: Refused, small: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    said = refused("plan", small, "-o", "mine")
    assert said.startswith("mine: contains files that partage did not write")
    assert refused("profile", "x.csv", "-o", "mine").startswith("mine: contains files")
    (tmp_path / "out/plan").mkdir(parents=True)
    (tmp_path / "out/plan/thesis.txt").write_text("years of work")
    assert refused("demo", "-o", "out").startswith("out/plan: contains files")


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            ("r.jsonl", "--sizes", "s.csv"),
            "--append: measures records, not --sizes",
        ),
        (("--lags", "s.csv"), "--append: measures records, not --lags"),
        (("r.jsonl", "--format", "json"), "--append: needs a profile in Parquet, found --format j"),
        (("r.jsonl", "--approximate"), "--append: adds exact counts of keys: leave out --approxim"),
        ((), "no records given: name files, folders, kafka://HOST/TOPIC or a --table"),
    ],
)
def test_what_a_profile_cannot_append(refused: Refused, more: tuple[str, ...], line: str) -> None:
    assert refused("profile", *more, "--append", "-o", "profile").startswith(line)


def test_a_hidden_file_is_a_file(refused: Refused, small: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/.git").write_text("x")
    assert refused("plan", small, "-o", "mine").startswith("mine: contains files")


@pytest.mark.parametrize(
    "out", [".", "..", "/", "/proc/p", "/dev/null", "a" * 300, "", "small.json/.."]
)
def test_impossible_output_paths(refused: Refused, small: str, out: str) -> None:
    assert refused("plan", small, "-o", out)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(refused: Refused, small: str, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert refused("plan", small, "-o", "closed/p").startswith("closed/p: cannot be written")


def test_a_failed_run_keeps_the_older_plan(refused: Refused, run: Run, small: str) -> None:
    assert run("plan", small, "-o", "p").code == 0
    refused("plan", "none.json", "-o", "p")
    refused("plan", small, "--remove-broker", "9", "-o", "p")
    assert run("check", "p").code == 0


@pytest.mark.parametrize("command", ["plan", "size"])
def test_a_rollback_of_an_executed_plan_is_kept(
    refused: Refused, run: Run, small: str, tmp_path: Path, command: str
) -> None:
    run("plan", small, "-o", "p")
    later = after_plan(tmp_path / small, tmp_path / "p")
    (tmp_path / "later.json").write_text(later, encoding="utf-8")
    assert refused(command, "later.json", "-o", "p") == (
        "p: has the rollback.json of a plan that was executed, or for another cluster (t-1 is "
        "where it put it): name another directory, or delete this one if you do not need that "
        "rollback"
    )
    assert run("plan", small, "--no-moves", "-o", "p").code == 0
    assert run("check", "p").code == 0


def test_an_infeasible_plan_keeps_the_older_plan(
    run: Run, small: str, tmp_path: Path, files_now: Files
) -> None:
    run("plan", small, "-o", "p")
    value = json.loads((tmp_path / small).read_text(encoding="utf-8"))
    for broker in value["brokers"]:
        broker["disk_bytes"] = 10
    (tmp_path / "full.json").write_text(json.dumps(value), encoding="utf-8")
    before = files_now()
    ended = run("plan", "full.json", "-o", "p")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("partage: broker ")
    assert len(ended.err.splitlines()) == 1
    assert files_now() == before


# ---------------------------------------------------------------- check and report


def test_not_a_plan_directory(refused: Refused, small: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for command in ("check", "report"):
        for name in ("none", "folder", small, "a" * 300, ""):
            assert refused(command, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "{}",
        "null",
        '{"format_version":1}',
        '{"format_version":2}',
        '{"format_version":1,"brokers":[],"topics":[],"partitions":{}}',
        "[" * 100_000,
    ],
)
def test_a_plan_without_a_report(refused: Refused, tmp_path: Path, text: str) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/plan.json").write_text(text)
    assert "plan.json" in refused("report", "p")


@pytest.mark.parametrize("text", ["[7]", "7"])
@pytest.mark.parametrize("name", ["compare.json", "measured.json"])
def test_damaged_files_next_to_a_plan(
    run: Run, small: str, tmp_path: Path, name: str, text: str
) -> None:
    run("plan", small, "-o", "p")
    (tmp_path / "p" / name).write_text(text)
    ended = run("report", "p")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: p/{name}: expected an object")
    (tmp_path / "p/plan.json").write_text('{"format_version":1}')
    assert run("report", "p").err.startswith("partage: p/plan.json: brokers: missing")


def test_a_drawn_plan_with_parts_missing(run: Run, small: str, tmp_path: Path) -> None:
    run("plan", small, "-o", "p")
    path = tmp_path / "p/plan.json"
    text = path.read_text(encoding="utf-8")
    for key in json.loads(text):
        for other in (None, 7, [], {}, "x"):
            path.write_text(json.dumps(json.loads(text) | {key: other}), encoding="utf-8")
            ended = run("report", "p")
            assert ended.code in (0, 2), (key, other)
            assert len(ended.err.splitlines()) == (ended.code == 2)
