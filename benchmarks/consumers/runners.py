"""Processes that assign with the peers' own classes, a group a line in, an answer a line out.

A group is a GROUP.json value with ``"assignor"`` beside it, and ``"repeat"`` if it is to be done
several times. An answer is ``{"assignment": {member: [[topic, partition]]}, "seconds": s}``, with
the seconds inside the class in the fastest time, or ``{"error": text}``.

Kafka's are compiled on first use beside the other peers (``environments.py``); kafka-python's are
those of this environment (the extra ``kafka``).
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
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import environments  # noqa: E402

Json = dict[str, Any]


def kafka() -> list[str]:
    """The command of Kafka's runner. Raises UnavailableError where it cannot be had."""
    return environments.compiled(HERE / "RunAssignors.java", "assignors")


def kafka_python() -> list[str]:
    """The command of kafka-python's runner. Raises UnavailableError where it is not there."""
    if importlib.util.find_spec("kafka") is None:
        raise environments.UnavailableError("no kafka-python: install the extra kafka")
    return [sys.executable, str(HERE / "run_kafka_python.py")]


class Runner:
    """A runner's process, started when asked first, and again after it was ended at a limit.

    ``warm_up``: groups to be assigned at every start, so that code is compiled.
    """

    def __init__(self, command: Callable[[], list[str]], warm_up: Iterable[Json] = ()) -> None:
        self._command, self._warm_up = command, tuple(warm_up)
        self._process: subprocess.Popen[str] | None = None
        self._said: queue.Queue[str] = queue.Queue()

    def ask(self, group: Json, seconds: float) -> Json | None:
        """The answer; None where there is none within ``seconds``. Raises UnavailableError."""
        if self._process is None:
            self._start()
            for known in self._warm_up:
                answer = self._ask(known, seconds)
                if answer is None or "error" in answer:
                    self.close()  # nothing is timed without the whole warm-up
                    return answer
        return self._ask(group, seconds)

    def _ask(self, group: Json, seconds: float) -> Json | None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(group) + "\n")
            self._process.stdin.flush()
            line = self._said.get(timeout=seconds)
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
        # sets of words have one order, so that an answer is the same in every run
        self._process = process = subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        self._said = said = queue.Queue()

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                said.put(line)
            said.put("")

        threading.Thread(target=listen, daemon=True).start()

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answers(groups: Iterable[tuple[str, Json]], seconds: float = 600) -> list[Json]:
    """What Kafka's assignor of each name says to each group."""
    with Runner(kafka) as runner:
        found = [runner.ask({"assignor": name, **group}, seconds) for name, group in groups]
    return [answer or {"error": "no answer"} for answer in found]
