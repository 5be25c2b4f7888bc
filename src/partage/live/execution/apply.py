"""Apply a plan directory over an admin client, or roll it back: ``partage apply`` from Python."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient

from partage.errors import SeveralError
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.executor import Executor, Interrupts, check_failure_choice
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.preflight import Ready, prepare
from partage.live.execution.progress import ProgressUpdate
from partage.live.execution.throttles import restore_leftovers


def apply(directory: str | os.PathLike[str], admin: KafkaAdminClient, **options: Any) -> Outcome:
    """Apply the plan of a directory, or resume it; ``options`` are those of ``execute``."""
    return execute(directory, admin, Direction.FORWARD, **options)


def rollback(directory: str | os.PathLike[str], admin: KafkaAdminClient, **options: Any) -> Outcome:
    """Roll a plan back to the original placement; ``options`` are those of ``execute``."""
    return execute(directory, admin, Direction.ROLLBACK, **options)


def execute(
    directory: str | os.PathLike[str],
    admin: KafkaAdminClient,
    direction: Direction,
    *,
    throttle: int | str | None = None,
    concurrency: int | None = None,
    on_broker_failure: str = "cancel",
    confirm: Callable[[Ready], None] = lambda _: None,
    steps: Callable[[str], None] = lambda _: None,
    progress: Callable[[ProgressUpdate], None] = lambda _: None,
    interrupts: Interrupts | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Check a plan against the cluster and run it in one direction.

    ``throttle`` in bytes per second, or "auto"; ``confirm`` is called before anything changes, and
    may raise; ``steps`` and ``progress`` report the checks and the run.

    Raises SeveralError with the reasons not to start, InputError for a directory that is not a
    plan, and what kafka-python raises.
    """
    check_failure_choice(on_broker_failure, direction)
    plan = ExecutionPlan.read(directory)
    if direction is Direction.ROLLBACK:
        plan = plan.reversed()
    with Journal.open(directory) as journal:
        try:
            ready = prepare(
                plan,
                admin,
                throttle=throttle,
                concurrency=concurrency,
                submitted=journal.submitted,
                replanned=on_broker_failure == "replan",
                progress=steps,
                clock=clock,
                sleep=sleep,
            )
        except SeveralError:
            restore_leftovers(admin, journal)
            raise
        confirm(ready)
        return Executor(
            ready.plan,
            admin,
            journal,
            throttle=throttle,
            on_failure=on_broker_failure,
            progress=progress,
            interrupts=interrupts,
            clock=clock,
            sleep=sleep,
        ).run()
