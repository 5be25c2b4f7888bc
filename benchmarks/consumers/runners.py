"""Processes that run the peers' own assignors: a group per line in, an answer per line out.

A group is a GROUP.json value with ``"assignor"`` and, optionally, ``"repeat"``: the number of runs.
An answer is ``{"assignment": {member: [[topic, partition]]}, "seconds": s}``, with the fastest call
of the class, or ``{"error": text}``.

Kafka's runner is compiled on first use (``environments.py``); kafka-python's uses this environment
(the extra ``kafka``).
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import environments  # noqa: E402
from environments import KAFKA  # noqa: E402

Json = dict[str, Any]


def kafka(version: str = KAFKA) -> list[str]:
    """The command of Kafka's runner. Raises UnavailableError if it cannot be made."""
    return environments.compiled(HERE / "RunAssignors.java", "assignors", version)


def kafka_python() -> list[str]:
    """The command of kafka-python's runner. Raises UnavailableError if it is not installed."""
    if importlib.util.find_spec("kafka") is None:
        raise environments.UnavailableError(
            "kafka-python is not installed: install the extra kafka"
        )
    return [sys.executable, str(HERE / "run_kafka_python.py")]


class Runner:
    """A runner's process, started on first use, and again after it was stopped at a limit.

    ``warm_up``: groups to assign at every start, so that Java compiles its code.
    """

    def __init__(self, command: Callable[[], list[str]], warm_up: Iterable[Json] = ()) -> None:
        self._command, self._warm_up = command, tuple(warm_up)
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def ask(self, group: Json, seconds: float) -> Json | None:
        """The answer; None if there is none within ``seconds``. Raises UnavailableError."""
        if self._process is None:
            self._start()
            for small in self._warm_up:
                answer = self._ask(small, seconds)
                if answer is None or "error" in answer:
                    self.close()  # time nothing without the whole warm-up
                    return answer
        return self._ask(group, seconds)

    def _ask(self, group: Json, seconds: float) -> Json | None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(group) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.close()
            return None
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            return {"error": "the process ended"}
        answer: Json = json.loads(line)
        return answer

    def _start(self) -> None:
        # sets of strings have a fixed order, so that answers are the same in every run
        self._process = process = subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        self._lines = lines = queue.Queue()

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=listen, daemon=True).start()

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answers(
    groups: Iterable[tuple[str, Json]], seconds: float = 600, version: str = KAFKA
) -> list[Json]:
    """The answers of Kafka's assignors, of this version, to (assignor name, group) pairs."""
    with Runner(partial(kafka, version)) as runner:
        found = [runner.ask({"assignor": name, **group}, seconds) for name, group in groups]
    return [answer or {"error": "no answer"} for answer in found]
