"""``partage apply`` and ``rollback`` as processes of their own, to be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LONGEST_SECONDS = 150.0
"""A command that takes longer than this hangs."""


class Executor:
    """One command on its way. ``said``: its JSON lines, with when they came (monotonic seconds)."""

    def __init__(self, command: str, plan: Path, servers: str, options: Sequence[str]) -> None:
        self.said: list[tuple[float, dict[str, Any]]] = []
        self.command, self.began = command, time.monotonic()
        self._journal = plan / "journal.jsonl"
        self._steps_before = self._steps()
        self._errors = plan.parent / "stderr.txt"
        words = [command, str(plan), "--yes", "--json", *options]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "partage", *words],
                env={**os.environ, "PARTAGE_BOOTSTRAP_SERVERS": servers},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __str__(self) -> str:
        said = [line for _, line in self.said if line.get("event") != "progress" or line["note"]]
        errors = self._errors.read_text().splitlines()[-2:]
        return f"{self.command} ended {self._process.poll()}: {said} {errors}"

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def outcome(self) -> dict[str, Any]:
        """How it ended, as it said itself; empty where it was killed or refused."""
        return next((line for _, line in self.said if line.get("event") == "ended"), {})

    def heard(self, words: str) -> float | None:
        """When it first said these words."""
        return next((at for at, line in list(self.said) if words in json.dumps(line)), None)

    def reach_step(self, step: int) -> bool:
        """Wait until so many lines are in the journal by this command; whether it still runs."""
        while self.runs and self._steps() - self._steps_before < step:
            self._check()
            time.sleep(0.002)
        return self.runs

    def listened(self) -> None:
        """All that it said is heard, if it has ended."""
        if not self.runs:
            self._listener.join()

    def signal(self, how: signal.Signals) -> None:
        self._process.send_signal(how)

    def wait(self) -> int:
        """Its exit code."""
        while self.runs:
            self._check()
            time.sleep(0.05)
        self._listener.join()
        return int(self._process.returncode)

    def kill(self) -> None:
        """kill -9, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._listener.join()

    def _check(self) -> None:
        if time.monotonic() - self.began > LONGEST_SECONDS:
            self._process.kill()
            raise AssertionError(f"it hangs: {self}")

    def _steps(self) -> int:
        try:
            return self._journal.read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append((time.monotonic(), json.loads(line)))
        self._process.stdout.close()
