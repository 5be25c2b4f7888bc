"""What becomes of a command whose output nobody takes: one line at most, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from partage.brokers import solving

CLUSTER = str(files("partage") / "data" / "cluster-grown.json")
PARTAGE = [sys.executable, "-m", "partage"]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_closed_pipe(more: tuple[str, ...]) -> None:
    """Of ``apply`` or ``check`` a 0 would state that the plan is applied, or valid."""
    with subprocess.Popen(
        [*PARTAGE, "plan", CLUSTER, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("more", [("plan", CLUSTER), ("plan", CLUSTER, "--json"), ("--help",)])
def test_a_full_disk(more: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*PARTAGE, *more], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "partage: output: No space left on device\n")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "not enough memory for this input"),
        (type("OfNumpy", (MemoryError,), {})(), "not enough memory for this input"),
        (RecursionError(), "the input is nested too deep to be processed"),
        (OverflowError(), "the input has a number too large to be processed"),
    ],
)
def test_what_no_reader_has_refused_is_named(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    monkeypatch.setattr(solving, "solve", Mock(side_effect=error))
    ended = run("plan", CLUSTER)
    assert (ended.code, ended.out, ended.err) == (1, "", f"partage: {line}\n")


def test_a_long_line_is_cut_in_its_middle(run: Callable[..., Any]) -> None:
    ended = run("plan", CLUSTER, "--reassignment", "x" * 100_000)
    assert ended.code == 2
    assert len(ended.err) < 2000
    assert ended.err.startswith("partage: xxx")
    assert ended.err.endswith(" cannot be read (File name too long)\n")


def test_a_closed_output() -> None:
    command = subprocess.list2cmdline([*PARTAGE, "plan", CLUSTER])
    ended = subprocess.run(
        ["/bin/sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, env=os.environ, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
