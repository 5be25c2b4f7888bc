"""watch through the command line: silent, an alert, silent, balanced again; and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from tests.matrices import cluster_json

Run = Callable[..., Any]
Files = Callable[[], dict[str, bytes]]

NOON = 1_790_000_040


@pytest.fixture
def watched(run: Run, tmp_path: Path) -> Callable[..., Any]:
    """``watched({0: 100, 1: 50}, "--json")``: add a minute in which partitions of t take in so many
    bytes, then take what is there."""
    (tmp_path / "records").mkdir()
    cluster = cluster_json("1,2 2,1 1,2 2,1", "1 2")
    (tmp_path / "cluster.json").write_text(json.dumps(cluster), encoding="utf-8")
    minutes = 0

    def call(sizes: dict[int, int], *more: str) -> Any:
        nonlocal minutes
        lines = [
            {
                "topic": "t",
                "partition": partition,
                "offset": minutes,
                "timestamp": (NOON + minutes * 60) * 1000,
                "key": None,
                "value_bytes": size,
            }
            for partition, size in sizes.items()
        ]
        minutes += 1
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / "records" / f"{minutes}.jsonl").write_text(text, encoding="utf-8")
        options = (
            "--cluster",
            "cluster.json",
            "-o",
            "watch",
            "--over",
            "60",
            "--allowed-lateness",
            "0",
        )
        return run("watch", "records", *options, *more)

    return call


EVEN = dict.fromkeys(range(4), 6000)
SKEWED = {0: 9000, 1: 1000, 2: 12000, 3: 2000}


@pytest.mark.long
@pytest.mark.spark
def test_an_alert_once_and_a_plan(
    watched: Callable[..., Any], run: Run, spark: Any, tmp_path: Path
) -> None:
    def once(sizes: dict[int, int], *more: str) -> Any:
        ended = watched(sizes, "--once", *more)
        assert ended.code == 0, ended.err
        return ended

    # a minute is judged when the next one has begun
    told = "--alert-command", "sh -c 'cat >> events.json; exit 3'"
    assert once(EVEN).out == ""
    healthy = once(SKEWED)
    assert healthy.out == ""
    assert "stopped: 4 records in closed windows from 2026-09-21T14:14:00Z" in healthy.err
    trouble, _, alert = once(SKEWED, *told).out.partition("\n")
    assert trouble == "problem: --alert-command: sh: ended with exit code 3"
    assert json.loads((tmp_path / "events.json").read_text())["fairness"] == 1.75
    plan = "watch/plans/2026-09-21T14-16-00Z"
    assert alert == (
        "2026-09-21T14:16:00Z alert: broker 1 receives 30.2 MB/day, 1.75 times the mean "
        "(threshold 1.2), largest: t-2 17.3 MB/day, t-0 13.0 MB/day. "
        f"Plan: {plan}, 1.00 times the mean after it\n"
    )
    ended = run("check", plan, "--json")
    assert (ended.code, ended.json["sound"]) == (0, True)
    document = json.loads((tmp_path / plan / "plan.json").read_text())
    assert document["options"]["leaders"] == "rate"
    assert document["figures"]["after"]["moves"] == 0
    assert (tmp_path / plan / "report.html").is_file()
    # the same plan by hand, out of what the watch measured
    figures = run(
        *("plan", "cluster.json", "--profile", "watch", "--leaders", "rate", "--no-moves", "--json")
    ).json
    assert figures["leader_changes"] == document["figures"]["after"]["leader_changes"] == 1

    still = once(EVEN, "--json", "--metrics", "watch.prom").out
    lines = [json.loads(line) for line in still.splitlines()]
    assert [line["event"] for line in lines] == ["closed", "batch", "stopped"], "said once"
    assert lines[0]["fairness"] == lines[1]["fairness"] == 1.75
    assert lines[0]["counts"]["records"] == 12
    assert (lines[1]["batch"], lines[1]["records"], lines[1]["open_windows"]) == (3, 4, 4)
    assert lines[2]["counts"]["open_records"] == 4
    assert "\npartage_watch_records_total 12\n" in (tmp_path / "watch.prom").read_text()
    assert once(EVEN, "--metrics", "watch.prom").out == (
        "2026-09-21T14:18:00Z balanced again: broker 1 receives 17.3 MB/day, 1.00 times the mean "
        "(threshold 1.2)\n"
    )
    assert [path.name for path in (tmp_path / "watch" / "plans").iterdir()] == [Path(plan).name]
    assert "\npartage_watch_records_total 16\n" in (tmp_path / "watch.prom").read_text()

    refused = watched(EVEN, "--once", "--window", "30")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "partage: watch: was started with --window 60, not 30: name another directory\n"
    )


@pytest.mark.long
@pytest.mark.spark
def test_it_stops_cleanly_and_resumes(
    watched: Callable[..., Any], spark: Any, tmp_path: Path
) -> None:
    def interrupt() -> None:
        limit = time.monotonic() + 60
        while not (tmp_path / "watch" / "state.json").exists() and time.monotonic() < limit:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    ended = watched(EVEN, "--every", "1", "--plan", "moves", "--alert-above", "1.5", "--json")
    thread.join()
    assert ended.code == 0, ended.err
    events = [json.loads(line)["event"] for line in ended.out.splitlines()]
    assert events == ["batch", "stopped"]
    assert signal.getsignal(signal.SIGINT) is before
    ended = watched(EVEN, "--once", "--json")
    events = [json.loads(line)["event"] for line in ended.out.splitlines()]
    assert events == ["closed", "batch", "stopped"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--window", "0"), "--window: 0: must be from 1 to 1,000,000,000 seconds"),
        (("--window", f"{10**30}"), f"--window: {10**30}: must be from 1 to 1,000,000,000 seconds"),
        (
            ("--allowed-lateness", "-1"),
            "--allowed-lateness: -1: must be from 0 to 1,000,000,000 seconds",
        ),
        (("--over", "59"), "--over: 59: must be from 60 to 1,000,000,000 seconds"),
        (("--every", "0"), "--every: 0: must be from 1 to 1,000,000,000 seconds"),
        (("--alert-above", "0.9"), "--alert-above: 0.9: must be 1 or more (busiest / mean)"),
        (("--alert-above", "nan"), "--alert-above: nan: must be 1 or more (busiest / mean)"),
        (
            ("--max-offsets-per-trigger", "9"),
            "--max-offsets-per-trigger: does not apply to records: use --max-files-per-trigger",
        ),
        (("--max-files-per-trigger", "0"), "--max-files-per-trigger: 0: must be at least 1"),
        (("--min-traffic", "some"), "--min-traffic some: expected a rate"),
        (("--alert-command", "no-such-x -a"), "--alert-command: no-such-x: is not a command"),
        (("--alert-command", "a 'b"), "--alert-command: a 'b: No closing quotation"),
        (("--metrics", "records"), "records: is a directory, expected a file"),
        (("--plan", "all"), "--plan: 'all': expected leaders or moves"),
        (("--cluster", "none.json"), "none.json: no such file"),
        (("-o", "small.json"), "small.json: is a file, expected a directory to write"),
        (("-o", "records"), "records: contains files that partage did not write (no watch.json"),
        (("-o", "records/watch"), "records/watch: is inside the folder of records: name"),
        (("--throttle", "5MB"), "--throttle: needs --apply"),
        (("--hours", "22:00-06:00"), "--hours: needs --apply"),
    ],
)
def test_bad_options_of_watch(
    run: Run, small: str, files_now: Files, tmp_path: Path, options: Sequence[str], problem: str
) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "one.csv").touch()
    given = {"--cluster": small, "-o": "watch"} | dict([tuple(options)])
    before = files_now()
    ended = run("watch", "records", *(word for pair in given.items() for word in pair))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert len(ended.err.splitlines()) == 1
    assert files_now() == before


MOVES = ("--apply", "--plan", "moves", "--throttle", "5MB", "--bytes-per-day", "5GB")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "--cluster: is missing: name a file, or a running cluster with --bootstrap-server"),
        (("--yes",), "--yes: needs --apply"),
        (("--apply",), "--cluster: is missing: name a file, or a running cluster with"),
        (("--apply", "--cluster", "small.json"), "--cluster: --apply acts on the running cluster"),
        (MOVES[:3], "--bytes-per-day: is needed for --apply with --plan moves"),
        ((*MOVES[:3], "--bytes-per-day", "5GB"), "--throttle: is needed for --apply with --plan"),
        ((*MOVES, "--hours", "22-6"), "--hours 22-6: expected hours such as 22:00-06:00"),
        ((*MOVES, "--racks", "a,,b"), "--racks a,,b: expected names of racks, separated by"),
        ((*MOVES, "--bytes-per-day", "all"), "--bytes-per-day all: expected a size such as"),
        ((*MOVES, "--throttle", "fast"), "--throttle fast: expected a rate such as"),
    ],
)
def test_bad_options_of_apply(
    run: Run, small: str, files_now: Files, tmp_path: Path, options: Sequence[str], problem: str
) -> None:
    (tmp_path / "records").mkdir()
    before = files_now()
    ended = run("watch", "records", "-o", "watch", *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert len(ended.err.splitlines()) == 1
    assert files_now() == before


@pytest.mark.parametrize("records", ["none", "small.json", "kafka://h/t"])
def test_topics_without_records(run: Run, small: str, records: str) -> None:
    ended = run("watch", records, "--cluster", small, "-o", "watch")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {records}: ")
    assert not Path("watch").exists()


@pytest.mark.long
@pytest.mark.spark
def test_modes_of_what_spark_writes(tmp_path: Path) -> None:
    """Its checkpoint, too, has what the umask leaves; Spark's own files have modes of their own."""
    (tmp_path / "cluster.json").write_text(json.dumps(cluster_json("1,2 2,1", "1 2")))
    (tmp_path / "records").mkdir()
    line = {"topic": "t", "partition": 0, "offset": 0, "timestamp": NOON * 1000, "value_bytes": 1}
    (tmp_path / "records/1.jsonl").write_text(json.dumps(line | {"key": None}) + "\n")
    words = ("watch", "records", "--cluster", "cluster.json", "-o", "out", "--once")
    subprocess.run([sys.executable, "-m", "partage", *words], cwd=tmp_path, umask=0o077, check=True)
    written = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert any("checkpoint" in path.parts for path in written)
    assert [path for path in written if path.stat().st_mode & 0o077] == []
