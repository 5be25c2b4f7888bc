"""What is checked before a run changes anything: ACLs, what the plan assumed about the cluster
(``assumptions.py``), reassignments of others, brokers and disks that receive, and the throttle.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from kafka import KafkaAdminClient

from partage.brokers.least_time import refusal
from partage.errors import InputError, SeveralError
from partage.live.admin.permissions import NEEDS, require_acls
from partage.live.admin.snapshot import take_snapshot
from partage.live.admin.states import BrokerState, Key, PartitionState, Snapshot
from partage.live.execution.assumptions import (
    Findings,
    compare_assumptions,
    lowered_topics,
    some,
)
from partage.live.execution.changes import Change, MoveStatus, received_bytes
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.health import read_min_isr
from partage.live.execution.rescheduling import reschedule
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.live.execution.write_rates import (
    MEASUREMENT_SECONDS,
    required_bandwidth,
    with_measured_rates,
)

_SHOWN = 3


@dataclass(frozen=True)
class Ready:
    """A plan that can start on ``cluster`` as it is now. ``required``: bytes per second that
    replication takes on the busiest broker without any copying, and by ``source``; None without a
    throttle."""

    plan: ExecutionPlan
    cluster: Snapshot
    warnings: list[str]
    required: float | None = None
    source: str = ""

    @cached_property
    def statuses(self) -> dict[Key, MoveStatus]:
        """How far each change has come, by partition."""
        return self.plan.statuses(self.cluster.partitions)

    @property
    def left(self) -> list[Change]:
        """The changes that are not done."""
        done = MoveStatus.DONE
        return [self.plan.changes[key] for key, one in self.statuses.items() if one is not done]


def prepare(
    plan: ExecutionPlan,
    admin: KafkaAdminClient,
    *,
    throttle: int | str | None,
    concurrency: int | None = None,
    submitted: Iterable[Key] = (),
    replanned: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Ready:
    """Read the cluster, schedule the waves again if another ``concurrency`` is requested, measure
    write rates that the plan does not know if there is a throttle, and check everything.

    Raises SeveralError with the reasons not to start, PartageError where an ACL is missing.
    """
    progress("reading the cluster")
    acls = NEEDS["apply" if throttle is None else "apply --throttle"]
    require_acls(admin, acls, sorted({topic for topic, _ in plan.original_replicas}), plan.topics)
    cluster = take_snapshot(
        admin, groups=False, throttles=False, settings=False, complete=False, sleep=sleep
    )
    submitted = set(submitted)
    plan = plan.with_current_sizes(cluster.partitions)
    if concurrency is not None:
        plan = reschedule(plan, cluster, concurrency)
    lowered = lowered_topics(plan.changes.values())
    min_isr = read_min_isr(RetryingAdmin(admin, 1.0, clock, sleep), lowered) if lowered else {}
    check = partial(
        preflight, cluster=cluster, submitted=submitted, replanned=replanned, min_isr=min_isr
    )
    found = check(plan, throttle=None)
    _raise_errors(found, plan)
    if throttle is None:
        return Ready(plan, cluster, found.warnings)
    known = all(change.bytes_per_second is not None for change in plan.changes.values())
    source = "from the plan's profile" if known else f"measured for {MEASUREMENT_SECONDS:g} s"
    plan = with_measured_rates(
        plan, admin, cluster.partitions, progress=progress, clock=clock, sleep=sleep
    )
    rate = throttle if isinstance(throttle, int) else None
    found = check(plan, throttle=rate)
    _raise_errors(found, plan)
    required, *_ = busiest_broker(plan, {state.key: state for state in cluster.partitions})
    return Ready(plan, cluster, found.warnings, required, source)


def refuse_months(ready: Ready, throttle: int | str | None) -> None:
    """Raise InputError for a throttle at which the run takes over a month."""
    if not isinstance(throttle, int):
        return
    refused = refusal(received_bytes(ready.left).values(), throttle)
    if refused is not None:
        raise InputError(f"throttle {int(throttle)}", refused)


def _raise_errors(found: Findings, plan: ExecutionPlan) -> None:
    if found.errors:
        raise SeveralError(f"{plan.directory}: {error}" for error in found.errors)


def preflight(
    plan: ExecutionPlan,
    cluster: Snapshot,
    *,
    throttle: int | None,
    submitted: Iterable[Key] = (),
    replanned: bool = False,
    min_isr: Mapping[str, int] | None = None,
) -> Findings:
    """Whether the plan can start, or resume, on ``cluster`` as it is now.

    ``throttle`` is in bytes per second; ``submitted``: partitions whose reassignment an earlier run
    of the plan has requested; ``replanned``: moves to a dead broker will be planned again;
    ``min_isr``: min.insync.replicas of topics whose replication factor goes down.
    """
    found = Findings(warnings=list(plan.warnings))
    states = {state.key: state for state in cluster.partitions}
    compare_assumptions(plan, cluster, set(submitted), min_isr or {}, found)
    _check_other_reassignments(plan, cluster, set(submitted), found)
    _check_targets(plan, cluster, states, found, replanned)
    _check_log_dirs(plan, cluster, states, found)
    _check_disks(plan, cluster, states, found)
    if throttle is not None:
        _check_throttle(plan, throttle, states, found)
    return found


def _check_other_reassignments(
    plan: ExecutionPlan, cluster: Snapshot, submitted: set[Key], found: Findings
) -> None:
    others = []
    for state in cluster.reassigning:
        change = plan.changes.get(state.key)
        if change is None or (state.replicas != change.target and state.key not in submitted):
            others.append(state.name)
    if others:
        found.errors.append(
            f"someone else is reassigning {some(others)}: wait until it ends, or cancel it"
        )


def _check_targets(
    plan: ExecutionPlan,
    cluster: Snapshot,
    states: Mapping[Key, PartitionState],
    found: Findings,
    replanned: bool,
) -> None:
    brokers = {broker.id: broker for broker in cluster.brokers}
    receivers = {
        broker
        for change in plan.changes.values()
        if change.status(states.get(change.key)) is MoveStatus.WAITING
        for broker in change.adding
    }
    for broker in sorted(receivers):
        if broker not in brokers:
            found.errors.append(f"broker {broker} should receive replicas: not in the cluster")
        elif not brokers[broker].alive:
            problems = found.warnings if replanned else found.errors
            problems.append(f"broker {broker} should receive replicas: it does not answer")
        elif brokers[broker].cordoned:
            found.errors.append(f"broker {broker} should receive replicas: it is cordoned")


def _check_log_dirs(
    plan: ExecutionPlan,
    cluster: Snapshot,
    states: Mapping[Key, PartitionState],
    found: Findings,
) -> None:
    """Log dirs that the plan names must be there, and take replicas."""
    there = {(one.id, own.path): own for one in cluster.brokers for own in one.log_dirs}
    named = {
        (broker, path)
        for change in plan.changes.values()
        if (state := states.get(change.key)) is not None
        for broker, path in change.placing.items()
        if state.log_dirs.get(broker) != path
    }
    read = {broker for broker, _ in there}
    for broker, path in sorted(one for one in named if one[0] in read):
        own = there.get((broker, path))
        if own is None:
            problem = "it is not there"
        elif own.offline is not None:
            problem = "it is offline"
        elif own.cordoned:
            problem = "it is cordoned"
        else:
            continue
        found.errors.append(f"log dir {path} of broker {broker} should receive replicas: {problem}")
    inside = {
        broker
        for change in plan.changes.values()
        if (state := states.get(change.key)) is not None
        for broker, path in change.between_log_dirs.items()
        if state.log_dirs.get(broker) != path
    }
    for (broker, path), own in sorted(there.items()):
        if broker in inside and own.offline is not None:
            found.errors.append(
                f"replicas should move between the log dirs of broker {broker}: Kafka moves none "
                f"while {path} is offline"
            )


def _check_disks(
    plan: ExecutionPlan,
    cluster: Snapshot,
    states: Mapping[Key, PartitionState],
    found: Findings,
) -> None:
    """Wave by wave: new replicas arrive before old ones are deleted."""
    free = {
        broker.id: size for broker in cluster.brokers if (size := _free_bytes(broker)) is not None
    }
    for number, wave in enumerate(plan.waves, 1):
        freed: dict[int, int] = {}
        for key in wave:
            change, state = plan.changes[key], states.get(key)
            if state is None or change.status(state) is MoveStatus.DONE or change.is_left(state):
                continue
            size = state.size_bytes if state.size_bytes is not None else change.size_bytes or 0
            for broker in change.adding:
                if broker in free and broker not in state.adding:
                    free[broker] -= size
            for broker in change.origin:
                if broker not in change.target:
                    freed[broker] = freed.get(broker, 0) + state.sizes.get(broker, size)
        short = [broker for broker, size in sorted(free.items()) if size < 0]
        if short:
            lack = ", ".join(f"{broker} by {-free[broker]:,} bytes" for broker in short[:_SHOWN])
            found.errors.append(f"wave {number} would overfill the disks of broker {lack}")
            return
        for broker, size in freed.items():
            if broker in free:
                free[broker] += size


def _free_bytes(broker: BrokerState) -> int | None:
    usable = [log_dir.usable_bytes for log_dir in broker.log_dirs if log_dir.offline is None]
    known = [size for size in usable if size is not None]
    return sum(known) if known and len(known) == len(usable) else None


def _check_throttle(
    plan: ExecutionPlan, throttle: int, states: Mapping[Key, PartitionState], found: Findings
) -> None:
    required, broker, wave, verb = busiest_broker(plan, states)
    if required >= throttle:
        found.errors.append(
            f"a throttle of {throttle:,} bytes per second is too low: in wave {wave} broker "
            f"{broker} {verb} {required:,.0f} bytes per second of new records alone, so the wave "
            "would never finish"
        )


def busiest_broker(
    plan: ExecutionPlan, states: Mapping[Key, PartitionState]
) -> tuple[float, int, int, str]:
    """The broker that sends or receives most in any wave while nothing is copied: its bytes per
    second, its id, the wave, and "sends" or "receives"."""
    leaders = {key: state.leader for key, state in states.items()}
    busiest = (0.0, -1, 0, "sends")
    for number, wave in enumerate(plan.waves, 1):
        changes = [plan.changes[key] for key in wave]
        rates = {change.key: change.bytes_per_second or 0.0 for change in changes}
        loads = required_bandwidth(changes, rates, leaders)
        for verb, by_broker in zip(("sends", "receives"), loads, strict=True):
            for broker, load in sorted(by_broker.items()):
                if load > busiest[0]:
                    busiest = (load, broker, number, verb)
    return busiest
