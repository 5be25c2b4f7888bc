"""What becomes of a command whose output nobody takes: one line at most, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

CLUSTER = str(files("partage") / "data" / "cluster-grown.json")
PARTAGE = [sys.executable, "-m", "partage"]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_closed_pipe(more: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [*PARTAGE, "plan", CLUSTER, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("more", [("plan", CLUSTER), ("plan", CLUSTER, "--json"), ("--help",)])
def test_a_full_disk(more: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*PARTAGE, *more], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "partage: output: No space left on device\n")


def test_a_closed_output() -> None:
    command = subprocess.list2cmdline([*PARTAGE, "plan", CLUSTER])
    ended = subprocess.run(
        ["/bin/sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, env=os.environ, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
