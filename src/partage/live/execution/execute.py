"""Check a plan against a cluster, and run it if nothing is in the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from partage.errors import PartageError, SeveralError
from partage.live.admin.connection import alive_brokers
from partage.live.admin.snapshot import read_throttles
from partage.live.admin.states import Throttles
from partage.live.execution.assumptions import some
from partage.live.execution.claim import Claim
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.executor import POLL_SECONDS, Executor, Interrupts, check_failure_choice
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.preflight import Ready, prepare
from partage.live.execution.progress import ProgressUpdate
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.live.execution.throttles import ReplicationThrottles

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
    begin: Callable[[], None] = lambda: None,
    steps: Callable[[str], None] = lambda _: None,
    progress: Callable[[ProgressUpdate], None] = lambda _: None,
    interrupts: Interrupts | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Run a plan in its direction.

    ``throttle``: bytes per second, or "auto"; ``confirm`` is called before anything changes, and
    may raise; ``begin`` once this run has the cluster to itself, just before it changes the first
    throttle or partition; ``steps`` reports the checks, ``progress`` the run.

    Raises SeveralError with the reasons not to start, PartageError if another plan is being applied
    to the cluster, and what kafka-python raises.
    """
    check_failure_choice(on_broker_failure, plan.direction)
    with Journal.open(plan.directory, tolerant=plan.direction is Direction.ROLLBACK) as journal:
        journal.check_plan(plan)
        plan = plan.with_topic_ids(journal.topic_ids)
        # without a whole journal, what the cluster does to the plan's partitions is taken for ours
        submitted = set(plan.changes) if journal.damaged else journal.submitted
        retrying = RetryingAdmin(admin, POLL_SECONDS, clock, sleep)
        pause = partial(sleep, POLL_SECONDS)
        claim = Claim(retrying, journal, lambda note: progress(_note(plan, note)))
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
            with suppress(PartageError):  # the refusal is what counts
                _restore_leftovers(admin, journal, Claim(retrying, journal, lambda _: None), pause)
            raise
        ready.warnings.extend(
            f"{journal.path.name}: {line}: ignored; a throttle that was saved there is not restored"
            for line in journal.damaged[:_SHOWN]
        )
        ready.warnings.extend(_restored_throttles(journal.saved_throttles))
        confirm(ready)
        claim.take(pause)
        try:
            begin()
            return Executor(
                _with_topic_ids(ready),
                admin,
                journal,
                throttle=throttle,
                on_failure=on_broker_failure,
                progress=progress,
                interrupts=interrupts,
                check_claim=lambda: claim.check(pause),
                clock=clock,
                sleep=sleep,
            ).run()
        finally:
            with suppress(KafkaError, PartageError):  # the next run of this plan removes it
                claim.release()


def _note(plan: ExecutionPlan, note: str) -> ProgressUpdate:
    return ProgressUpdate(0, len(plan.waves), 0, 0, 0, note=note)


def _restored_throttles(saved: Throttles) -> list[str]:
    """What an earlier run found, and this one sets again at its end: a journal may be forged."""
    owners = [(f"broker {broker}", own) for broker, own in sorted(saved.brokers.items())]
    owners += [(f"topic {topic}", own) for topic, own in sorted(saved.topics.items())]
    found = [
        f"{owner} {name}={value[:50]}"
        for owner, own in owners
        for name, value in own.items()
        if value
    ]
    return [f"throttles of before the first run, set again at the end: {some(found)}"][: len(found)]


def _restore_leftovers(
    admin: KafkaAdminClient, journal: Journal, claim: Claim, pause: Callable[[], None]
) -> None:
    """Restore the throttles that a killed run left, and remove its claim, if no reassignment is in
    progress that they should limit: for a command that is refused, and does not get to do it. Where
    no throttle is set, none was left, whatever the journal has. Raises PartageError if the run was
    not killed."""
    if journal.entries and not admin.list_partition_reassignments():
        if claim.is_left:
            claim.take(pause)
        alive, saved = alive_brokers(admin.describe_cluster()), journal.saved_throttles
        left = read_throttles(admin, sorted(saved.brokers.keys() & set(alive)), [*saved.topics])
        if any((*left.brokers.values(), *left.topics.values())):
            ReplicationThrottles(admin, journal).restore(alive)
        claim.release()


def _with_topic_ids(ready: Ready) -> ExecutionPlan:
    """The plan for the topics that exist now, where an earlier run did not record their ids."""
    planned = {topic for topic, _ in ready.plan.original_replicas}
    ids = {one.topic: one.topic_id for one in ready.cluster.partitions if one.topic in planned}
    return ready.plan.with_topic_ids({t: one for t, one in ids.items() if one is not None})
