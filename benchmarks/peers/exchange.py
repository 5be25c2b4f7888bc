"""The protocol between ``peers.py`` and a runner: arguments, the answer file, and a clock.

A runner is ``python run_NAME.py CLUSTER ANSWER REMOVED [VARIANT]``: CLUSTER is CLUSTER JSON,
REMOVED the ids of the brokers to empty, such as ``8,9``, or empty. It writes ANSWER: ``replicas``,
the lists of broker ids in the cluster's order, and ``stages``, each with its wall and CPU seconds.
Stages named ``read ...`` are not part of planning. Only the standard library is used, because every
runner has a separate environment.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Clock:
    """Seconds by stage, summed if a stage is entered several times."""

    stages: dict[str, dict[str, float]] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to the stage ``name``."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            spent = self.stages.setdefault(name, {"seconds": 0.0, "cpu_seconds": 0.0})
            spent["seconds"] += time.perf_counter() - wall
            spent["cpu_seconds"] += time.process_time() - cpu


@dataclass(frozen=True)
class Request:
    """The arguments of a runner."""

    path: Path
    answer: Path
    removed: list[int]
    variant: str

    def read(self) -> dict[str, Any]:
        """The cluster as a JSON value."""
        value: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return value

    def reply(self, replicas: list[list[int]], clock: Clock, **more: Any) -> None:
        """Write the answer."""
        value = {"replicas": replicas, "stages": clock.stages, **more}
        self.answer.write_text(json.dumps(value), encoding="utf-8")


def request() -> Request:
    """The arguments of this process."""
    path, answer, removed, *variant = sys.argv[1:]
    return Request(
        Path(path),
        Path(answer),
        [int(word) for word in removed.split(",") if word],
        variant[0] if variant else "",
    )
