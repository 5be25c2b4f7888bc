"""Processes identified by id and command line; no signal reaches any other."""

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

IGNORES_SIGTERM = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True);"
)


@pytest.fixture(params=["proc", "ps"])
def listing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source of command lines: /proc or ps."""
    if request.param == "ps":
        monkeypatch.setattr(process, "_PROC", Path("/nowhere"))
        try:
            subprocess.run(["ps", "-p", "1"], capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("ps is not installed")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def spawned(log: Path, *arguments: str) -> tuple[int, str]:
    """A Python process, and the end of its command line."""
    return process.spawn([sys.executable, *arguments], log), " ".join(arguments)


@pytest.fixture
def sleeper(log: Path) -> Iterator[tuple[int, str]]:
    pid, ending = spawned(log, "-c", "import time; time.sleep(600)", "one two")
    yield pid, ending
    process.end({pid: ending}, timeout=0)


def test_it_runs_in_its_own_session_and_is_ended(listing: None, sleeper: tuple[int, str]) -> None:
    pid, ending = sleeper
    assert os.getsid(pid) == pid != os.getsid(0)
    assert process.runs(pid, ending)
    assert process.runs(pid, "one two")
    assert not process.runs(pid, "one")
    assert not process.runs(pid, "other.properties")
    process.end({pid: ending}, timeout=20)
    assert not process.runs(pid, ending)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_another_process_of_that_id_is_left_alone(listing: None, sleeper: tuple[int, str]) -> None:
    pid, ending = sleeper
    process.end({pid: "kafka.Kafka elsewhere"}, timeout=20)
    process.end({pid: "kafka.Kafka elsewhere"}, timeout=0)
    assert process.runs(pid, ending)


def test_a_process_that_ignores_sigterm_is_killed(log: Path) -> None:
    pid, ending = spawned(log, "-c", f"{IGNORES_SIGTERM} time.sleep(600)")
    while "ready" not in log.read_text():
        time.sleep(0.02)
    process.end({pid: ending}, timeout=0.3)
    assert not process.runs(pid, ending)


def test_a_process_that_cannot_be_killed_is_named(
    sleeper: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, ending = sleeper
    with monkeypatch.context() as patched:
        patched.setattr(process, "_KILL_SECONDS", 0.1)
        patched.setattr(os, "kill", lambda *_: None)
        with pytest.raises(
            PartageError, match=f"killed, but still running after .* process {pid}$"
        ):
            process.end({pid: ending}, timeout=0.1)


def test_its_output_is_appended(log: Path) -> None:
    log.write_text("before\n")
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.stdin.read()"
    pid, ending = spawned(log, "-c", code)
    while process.runs(pid, ending):
        time.sleep(0.02)
    assert log.read_text() == "before\nout\nerr\n"
