"""An interrupted command ends with one line and exit code 130."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from partage.brokers import check


def test_an_interrupt_prints_one_line(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(check, "check", interrupted)
    # a shell lets background jobs ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ended = run("check", "plan")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ended.code, ended.out, ended.err) == (130, "", "partage: interrupted\n")


def not_ignored() -> None:
    """A shell lets background jobs ignore Ctrl-C, and nohup the end of the terminal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def in_a_session(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command with a process group of its own, ended after five minutes."""
    with subprocess.Popen(
        [sys.executable, "-m", "partage", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=not_ignored,
    ) as process:
        late = threading.Timer(300, process.kill)
        late.start()
        try:
            yield process
        finally:
            late.cancel()


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.xdist_group("interrupts of spark")
@pytest.mark.parametrize("step", ["starting Spark", "reading", "windows"])
def test_an_interrupt_of_spark_is_one_line(step: str, tmp_path: Path, change_events: str) -> None:
    """As a terminal sends it: to the whole process group."""
    with in_a_session(tmp_path, "profile", change_events, "-o", "out") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line == f"… {step}\n":
                break
        os.killpg(process.pid, signal.SIGINT)
        rest = [line for line in process.stderr if not line.startswith("… ")]
    assert (process.returncode, rest) == (130, ["partage: interrupted\n"])
    assert list(tmp_path.iterdir()) == [], "nothing is left"


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.xdist_group("interrupts of spark")
@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_the_whole_group_ends_a_watch_as_one_to_itself(
    sent: signal.Signals, tmp_path: Path, change_events: str
) -> None:
    """As a closed terminal and ``timeout`` send it. Java is needed until the batch is committed."""
    (tmp_path / "records").mkdir()
    copyfile(change_events, tmp_path / "records" / "1.parquet")
    grown = os.fspath(files("partage") / "data" / "cluster-grown.json")
    words = ("watch", "records", "--cluster", grown, "-o", "out", "--window", "86400")
    more = ("--over", "86400", "--every", "1", "--json")
    with in_a_session(tmp_path, *words, *more) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "batch":
                break
        os.killpg(process.pid, sent)
        output, err = process.communicate()
    events = [json.loads(line)["event"] for line in output.splitlines()]
    assert (process.returncode, events[-1], err) == (0, "stopped", "")
