"""Processes known by id and command line: never another's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from partage.errors import PartageError
from partage.live.sandbox import process

DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True);"


@pytest.fixture(params=["proc", "ps"])
def listing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where command lines come from."""
    if request.param == "ps":
        monkeypatch.setattr(process, "_PROC", Path("/nowhere"))
        try:
            subprocess.run(["ps", "-p", "1"], capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("no ps here")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def spawned(log: Path, *words: str) -> tuple[int, str]:
    """A Python process, and how its command line ends."""
    return process.spawn([sys.executable, *words], log), " ".join(words)


@pytest.fixture
def sleeper(log: Path) -> Iterator[tuple[int, str]]:
    pid, ending = spawned(log, "-c", "import time; time.sleep(600)", "one two")
    yield pid, ending
    process.end({pid: ending}, patience=0)


def test_it_runs_apart_and_is_ended(listing: None, sleeper: tuple[int, str]) -> None:
    pid, ending = sleeper
    assert os.getsid(pid) == pid != os.getsid(0)
    assert process.runs(pid, ending)
    assert process.runs(pid, "one two")
    assert not process.runs(pid, "one")
    assert not process.runs(pid, "other.properties")
    process.end({pid: ending}, patience=20)
    assert not process.runs(pid, ending)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_another_process_of_that_id_is_left_alone(listing: None, sleeper: tuple[int, str]) -> None:
    pid, ending = sleeper
    process.end({pid: "kafka.Kafka elsewhere"}, patience=20)
    process.end({pid: "kafka.Kafka elsewhere"}, patience=0)
    assert process.runs(pid, ending)


def test_what_does_not_listen_is_killed(log: Path) -> None:
    pid, ending = spawned(log, "-c", f"{DEAF} time.sleep(600)")
    while "deaf" not in log.read_text():
        time.sleep(0.02)
    process.end({pid: ending}, patience=0.3)
    assert not process.runs(pid, ending)


def test_what_does_not_end_is_named(
    sleeper: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, ending = sleeper
    with monkeypatch.context() as patched:
        patched.setattr(process, "_KILL_SECONDS", 0.1)
        patched.setattr(os, "kill", lambda *_: None)
        with pytest.raises(PartageError, match=f"killed, but still there after .* process {pid}$"):
            process.end({pid: ending}, patience=0.1)


def test_its_output_is_appended(log: Path) -> None:
    log.write_text("before\n")
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.stdin.read()"
    pid, ending = spawned(log, "-c", code)
    while process.runs(pid, ending):
        time.sleep(0.02)
    assert log.read_text() == "before\nout\nerr\n"
