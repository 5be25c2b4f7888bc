"""Check a plan against a cluster, and run it if nothing is in the way."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka import KafkaAdminClient

from partage.errors import SeveralError
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.executor import Executor, Interrupts, check_failure_choice
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.preflight import Ready, prepare
from partage.live.execution.progress import ProgressUpdate
from partage.live.execution.throttles import restore_leftovers

_SHOWN = 3
"""Damaged lines of a journal that a run names."""


def execute(
    plan: ExecutionPlan,
    admin: KafkaAdminClient,
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
    """Run a plan in its direction.

    ``throttle``: bytes per second, or "auto"; ``confirm`` is called before anything changes, and
    may raise; ``steps`` reports the checks, ``progress`` the run.

    Raises SeveralError with the reasons not to start, and what kafka-python raises.
    """
    check_failure_choice(on_broker_failure, plan.direction)
    with Journal.open(plan.directory, tolerant=plan.direction is Direction.ROLLBACK) as journal:
        plan = plan.with_topic_ids(journal.topic_ids)
        # without a whole journal, what the cluster does to the plan's partitions is taken for ours
        submitted = set(plan.changes) if journal.damaged else journal.submitted
        try:
            ready = prepare(
                plan,
                admin,
                throttle=throttle,
                concurrency=concurrency,
                submitted=submitted,
                replanned=on_broker_failure == "replan",
                progress=steps,
                clock=clock,
                sleep=sleep,
            )
        except SeveralError:
            restore_leftovers(admin, journal)
            raise
        ready.warnings.extend(
            f"{journal.path.name}: {line}: ignored; a throttle that was saved there is not restored"
            for line in journal.damaged[:_SHOWN]
        )
        confirm(ready)
        topics = {state.topic: state.topic_id for state in ready.cluster.partitions}
        planned = {topic for topic, _ in plan.original_replicas}
        ids = {t: one for t, one in topics.items() if one is not None and t in planned}
        return Executor(
            ready.plan.with_topic_ids(ids),
            admin,
            journal,
            throttle=throttle,
            on_failure=on_broker_failure,
            progress=progress,
            interrupts=interrupts,
            clock=clock,
            sleep=sleep,
        ).run()
