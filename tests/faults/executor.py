"""``partage apply`` and ``rollback`` as processes that a trial can kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LONGEST_SECONDS = 150.0
"""A command that takes longer counts as hanging."""


class Executor:
    """A running command. ``output``: its JSON lines, each with its time (monotonic seconds)."""

    def __init__(
        self,
        command: str,
        plan: Path,
        servers: str,
        options: Sequence[str],
        environment: Mapping[str, str],
    ) -> None:
        self.output: list[tuple[float, dict[str, Any]]] = []
        self.command, self.began = command, time.monotonic()
        self._journal = plan / "journal.jsonl"
        self._steps_before = self._steps()
        self._errors = plan.parent / f"{plan.name}-stderr.txt"
        words = [command, str(plan), "--yes", "--json", *options]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "partage", *words],
                env={**os.environ, "PARTAGE_BOOTSTRAP_SERVERS": servers, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __str__(self) -> str:
        lines = [line for _, line in self.output if line.get("event") != "progress" or line["note"]]
        errors = self._errors.read_text().splitlines()[-2:]
        return f"{self.command} ended {self._process.poll()}: {lines} {errors}"

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def errors(self) -> str:
        """What it printed besides: why it was refused."""
        return self._errors.read_text()

    @property
    def outcome(self) -> dict[str, Any]:
        """The outcome that it reported; empty if it was killed or refused."""
        return next((line for _, line in self.output if line.get("event") == "ended"), {})

    def reported(self, words: str) -> float | None:
        """When it first printed these words."""
        return next((at for at, line in list(self.output) if words in json.dumps(line)), None)

    def reach_step(self, step: int) -> bool:
        """Wait until it has written so many journal lines; returns whether it still runs."""
        while self.runs and self._steps() - self._steps_before < step:
            self._check()
            time.sleep(0.002)
        return self.runs

    def read_all(self) -> None:
        """Wait until all output is read, if it has ended."""
        if not self.runs:
            self._reader.join()

    def signal(self, how: signal.Signals) -> None:
        self._process.send_signal(how)

    def wait(self) -> int:
        """Its exit code."""
        while self.runs:
            self._check()
            time.sleep(0.05)
        self._reader.join()
        return int(self._process.returncode)

    def kill(self) -> None:
        """kill -9, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _check(self) -> None:
        if time.monotonic() - self.began > LONGEST_SECONDS:
            self._process.kill()
            raise AssertionError(f"the command hangs: {self}")

    def _steps(self) -> int:
        try:
            return self._journal.read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append((time.monotonic(), json.loads(line)))
        self._process.stdout.close()
