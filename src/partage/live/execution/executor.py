"""Executes a plan wave by wave: throttled, watched, and ended in order whatever happens.

The executor requests the reassignments of a wave, then waits until all of its partitions are on
their target with all replicas in sync, then begins the next wave. Between two waves the cluster
must be healthy: no partition out of sync except those of the plan. Where one falls out of sync
during a wave, the wave continues at the minimum rate (``rate_control.py``). The state of the
cluster decides what is left to do, so a run that resumes after another was killed repeats nothing.

Three events change the course of a wave:

- a broker dies that should receive or keep replicas. By choice its moves are cancelled and the rest
  continues, or they are planned again without it, or the run waits, or stops and cancels all;
- an interrupt. The first lets the wave finish and stops then, the second cancels what is moving;
- a partition that the controller refuses to move, or that no longer exists. It is skipped, and
  reported at the end.

Whatever ends a run, the throttles are restored, unless another run has taken over (``claim.py``).
After the last wave preferred leaders are elected, and every partition is compared with its target
(``outcome.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from partage.errors import CannotError, InputError
from partage.live.admin.connection import alive_brokers, describe_error
from partage.live.admin.snapshot import take_snapshot
from partage.live.admin.states import Key, PartitionState, Snapshot
from partage.live.execution.assumptions import lowered_below_min_isr, lowered_topics
from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.copy_meter import CopyMeter
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.failure_detector import FailureDetector
from partage.live.execution.health import Health, HealthMonitor, read_min_isr
from partage.live.execution.journal import Journal
from partage.live.execution.leader_election import elect_preferred_leaders
from partage.live.execution.log_dirs import LogDirs
from partage.live.execution.outcome import Outcome
from partage.live.execution.overrides import Overrides
from partage.live.execution.progress import Progress, ProgressUpdate
from partage.live.execution.replanning import blocking_brokers
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.live.execution.throttle_controller import ThrottleController
from partage.live.execution.throttles import ReplicationThrottles
from partage.units import plural

POLL_SECONDS = 1.0
DEAD_SECONDS = 10.0
"""How long a broker may be missing before it counts as dead: a restart is not a failure."""

SILENT_SECONDS = 5.0
"""How long requests may fail before it is reported."""

RESTORE_SECONDS = 20.0
"""How long to retry where a live broker does not restore its throttle."""

REQUEST_MS = 10_000
"""Timeout of a request: an unreachable broker must not hold up the others' rounds."""

ON_BROKER_FAILURE = ("cancel", "replan", "wait", "stop")
_CONTINUES = ("cancel", "replan")


def check_failure_choice(on_failure: str, direction: Direction) -> None:
    """Raise InputError for a choice that does not exist in this direction: a rollback restores the
    original placement, so it cannot be planned again."""
    forward = direction is Direction.FORWARD
    choices = [choice for choice in ON_BROKER_FAILURE if forward or choice != "replan"]
    if on_failure not in choices:
        problem = f"{on_failure!r}: expected one of {', '.join(choices)}"
        raise InputError("on_broker_failure", problem)


class Interrupts:
    """Counts how often the operator asked to stop; an instance is a signal handler. ``again``: what
    another time does, for the operator."""

    def __init__(self, again: str = "; interrupt again to cancel it") -> None:
        self.count, self.again = 0, again

    def __call__(self, *_: Any) -> None:
        self.count += 1


class Executor:
    """Runs a plan once over an admin client, with its steps in a journal. ``throttle``: bytes per
    second, ``AUTO``, or None."""

    def __init__(
        self,
        plan: ExecutionPlan,
        admin: KafkaAdminClient,
        journal: Journal,
        *,
        throttle: int | str | None = None,
        on_failure: str = "cancel",
        progress: Callable[[ProgressUpdate], None] = lambda _: None,
        interrupts: Interrupts | None = None,
        check_claim: Callable[[], None] = lambda: None,
        poll_seconds: float = POLL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        check_failure_choice(on_failure, plan.direction)
        self._progress = Progress(plan)
        self._directory, self._direction = plan.directory, plan.direction
        self._requested_throttle, self._on_failure = throttle, on_failure
        self._report, self._interrupts = progress, interrupts or Interrupts()
        self._check_claim = check_claim
        self._poll, self._clock, self._sleep = poll_seconds, clock, sleep
        self._journal = journal
        self._admin = RetryingAdmin(admin, poll_seconds, clock, sleep, self._notify_waiting)
        self._throttles = ReplicationThrottles(admin, journal)
        self._throttle = ThrottleController(
            throttle, self._admin, self._throttles, clock, self._notify
        )
        self._health = HealthMonitor(self._admin, clock)
        self._log_dirs = LogDirs(self._admin)
        self._failures = FailureDetector(clock)
        self._last_note: str | None = None
        self._interrupts_noted = 0

    def run(self) -> Outcome:
        """Run all waves. Raises what kafka-python raises, after restoring the throttles."""
        progress = self._progress
        Overrides.clear(self._directory)
        self._journal.start(progress.plan, self._requested_throttle)
        progress.begin(self._admin.states(progress.plan.changes))
        outcome = Outcome()
        try:
            while progress.remaining_waves:
                self._read_concurrency_override()
                keys = progress.begin_next_wave()
                left = self._pending(keys)
                if left and (self._interrupts.count or not self._run_wave(left)):
                    outcome.state = "stopped"
                    outcome.waves_left = len(progress.remaining_waves) + 1
                    break
        finally:
            outcome.dead = self._restore_throttles()
        wrong_leaders: dict[Key, str] = {}
        if outcome.state == "done":
            wrong_leaders = elect_preferred_leaders(
                progress.plan, self._admin, self._journal, self._pause
            )
        states = self._admin.states(progress.plan.changes)
        if outcome.state == "done":
            self._compare_log_dirs(states)
        outcome.compare(progress.plan, states, progress.skipped, wrong_leaders)
        self._journal.write("ended", direction=self._direction, state=outcome.state)
        return outcome

    def _restore_throttles(self) -> list[int]:
        """Restore them, with retries for live brokers; returns the brokers where it failed. Raises
        TakenOverError where another run does it."""
        self._check_claim()
        deadline = self._clock() + RESTORE_SECONDS
        while True:
            alive = self._admin.alive_brokers()
            missing = self._admin.retry(partial(self._throttles.restore, alive))
            if not set(missing) & set(alive) or self._clock() > deadline:
                return missing
            self._pause()

    def _snapshot(self) -> Snapshot:
        return self._admin.retry(self._take_snapshot)

    def _take_snapshot(self) -> Snapshot:
        return take_snapshot(
            self._admin.client,
            groups=False,
            throttles=False,
            settings=False,
            complete=False,
            sleep=self._sleep,
        )

    def _pause(self) -> None:
        self._sleep(self._poll)
        self._check_claim()

    # ------------------------------------------------------------------ one wave

    def _run_wave(self, changes: list[Change]) -> bool:
        """Run a wave; returns False where the run has to stop after it."""
        ready = self._wait_until_ready(changes)
        if ready is None:
            return False
        ready = self._pending([change.key for change in ready])
        changes = self._cancel_opposite_moves(self._without_lowered(ready))
        rates = {c.key: r for c in changes if (r := c.bytes_per_second) is not None}
        meter = CopyMeter(self._admin.client, changes, rates, self._clock)
        alive = self._admin.alive_brokers()
        self._check_claim()
        self._throttle.update(changes, meter, Health(), alive, new_wave=True)
        if inside := [change.key for change in changes if change.between_log_dirs]:
            self._journal.submit(inside)
        self._progress.skipped |= self._log_dirs.request(changes, alive)
        changes = [change for change in changes if change.key not in self._progress.skipped]
        reassigned = [change for change in changes if change.reassigns]
        self._reassign(reassigned, {change.key: change.target for change in reassigned})
        finished = self._watch(changes, meter)
        topics = {change.topic for change in changes}
        self._admin.retry(lambda: self._throttles.restore_topics(topics))
        if finished:
            self._journal.write("wave done", wave=self._progress.wave)
        return finished

    def _wait_until_ready(self, changes: list[Change]) -> list[Change] | None:
        """Wait until every broker of the wave answers or is known to be dead, and every partition
        that is not being moved is in sync. Returns the changes that no dead broker blocks; None to
        stop."""
        while not self._interrupts.count:
            alive = self._admin.alive_brokers()
            copies = [change for change in changes if change.copying]
            dead, suspected = self._missing_brokers(copies, alive)
            names = _names(dead or suspected)
            if dead and self._on_failure == "stop":
                self._notify(changes, f"broker {names} does not answer: stopped")
                return None
            if dead and self._on_failure in _CONTINUES:
                blocked = self._continue_without(dead, copies)
                changes = [change for change in changes if change.key not in blocked]
                continue
            if dead or suspected:
                self._notify(changes, f"waiting for broker {names}, which does not answer")
            else:
                health = self._health.check_unmoved(self._ignored_brokers(alive))
                if not health.out_of_sync:
                    return changes
                self._notify(changes, f"waiting: {health}")
            self._pause()
        return None

    def _without_lowered(self, changes: list[Change]) -> list[Change]:
        """The changes without those that would now leave fewer replicas than
        min.insync.replicas."""
        if lowered := lowered_topics(changes):
            min_isr = read_min_isr(self._admin, lowered)
            self._progress.skipped |= {
                change.key: f"min.insync.replicas of its topic is {min_isr[change.topic]} now"
                for change in changes
                if lowered_below_min_isr(change, min_isr)
            }
        return [change for change in changes if change.key not in self._progress.skipped]

    def _ignored_brokers(self, alive: Iterable[int]) -> set[int]:
        """Dead brokers whose replicas need not be in sync, where the run continues without them:
        those of the plan, and those that were dead when it was made or made again."""
        if self._on_failure not in _CONTINUES:
            return set()
        plan = self._progress.plan
        return {*plan.brokers, *plan.dead} - set(alive)

    def _cancel_opposite_moves(self, changes: list[Change]) -> list[Change]:
        """Cancel reassignments in the other direction; returns the changes that are left.

        Requesting the earlier replicas instead does not work: where the new replicas are already in
        sync at that moment, Kafka 4.3 keeps them as both adding and removing, forever.
        """
        states = self._admin.states(change.key for change in changes)
        opposite = [
            change
            for change in changes
            if (state := states.get(change.key)) is not None
            and change.must_be_cancelled_first(state)
        ]
        if not opposite:
            return changes
        self._reassign(opposite, dict.fromkeys(change.key for change in opposite))
        for change in opposite:
            # refused where the reassignment ended just before: then it is a move like any other
            self._progress.skipped.pop(change.key, None)
        states = self._admin.states(change.key for change in changes)
        return [
            c for c in changes if c.placing or c.status(states.get(c.key)) is not MoveStatus.DONE
        ]

    def _pending(self, keys: Sequence[Key]) -> list[Change]:
        """The changes that are still to do: other replicas, or replicas in other log dirs."""
        states = self._admin.states(keys)
        pending = self._progress.pending(keys, states)
        placed = self._in_place(keys, states)
        left = self._log_dirs.unsettled(placed, self._admin.alive_brokers()) if placed else {}
        return [*pending, *(change for change in placed if change.key in left)]

    def _in_place(self, keys: Iterable[Key], states: Mapping[Key, PartitionState]) -> list[Change]:
        """Changes with the replicas of their target whose log dirs the plan names."""
        changes = (self._progress.plan.changes[key] for key in keys)
        return [
            change
            for change in changes
            if change.placing
            and change.key not in self._progress.skipped
            and change.is_complete(states.get(change.key))
        ]

    def _compare_log_dirs(self, states: Mapping[Key, PartitionState]) -> None:
        """Skipped, at the end: partitions with a replica in another log dir than planned."""
        if placed := self._in_place(self._progress.plan.changes, states):
            alive = self._admin.alive_brokers()
            elsewhere = self._log_dirs.unsettled(placed, alive)
            self._progress.skipped |= {key: one.where for key, one in elsewhere.items()}

    def _cancel(self, changes: Sequence[Change]) -> None:
        """Cancel reassignments, and restore the order that the replicas had."""
        reassigned = [change for change in changes if change.reassigns]
        self._reassign(reassigned, dict.fromkeys(change.key for change in reassigned))
        states = self._admin.states(change.key for change in reassigned)
        reordered = [
            change
            for change in reassigned
            if (state := states.get(change.key)) is not None
            and state.replicas != change.origin
            and sorted(state.current) == sorted(change.origin)
        ]
        self._reassign(reordered, {change.key: change.origin for change in reordered})
        self._log_dirs.back(changes, self._admin.alive_brokers())

    def _reassign(
        self, changes: Sequence[Change], targets: Mapping[Key, tuple[int, ...] | None]
    ) -> None:
        """Request these replicas, None to cancel; partitions that Kafka refuses are skipped."""
        if not changes:
            return
        self._check_claim()
        keys = [change.key for change in changes]
        if None in targets.values():
            self._journal.write("cancelled", partitions=[list(key) for key in keys])
        else:
            self._journal.submit(keys)
        self._progress.skipped |= self._admin.reassign(targets)

    # ------------------------------------------------------------------ watching a wave

    def _watch(self, changes: list[Change], meter: CopyMeter) -> bool:
        """Wait until all changes are complete; returns False where they were cancelled.

        A round reads the partitions that the one before it found incomplete; only once there are
        none, all again."""
        watched = changes
        while True:
            states = self._admin.states(change.key for change in watched)
            left = self._progress.incomplete(watched, states)
            alive = self._admin.alive_brokers()
            placed = self._in_place([change.key for change in watched], states)
            misplaced, refused = self._log_dirs.misplaced(placed, alive)
            self._progress.skipped |= refused
            left += misplaced
            meter.drop(self._progress.skipped)
            meter.update(states, left, alive)
            self._report_progress(left, meter)
            if not left and len(watched) == len(changes):
                return True
            if not left:
                watched = changes
                continue
            if self._interrupts.count > 1:
                self._cancel_rest(left, meter)
                return False
            if self._interrupts.count > self._interrupts_noted:
                self._interrupts_noted = self._interrupts.count
                self._notify(left, f"finishing this wave{self._interrupts.again}")
            dead, _ = self._missing_brokers(left, alive)
            if dead and self._on_failure == "wait":
                self._notify(left, f"waiting for broker {_names(dead)}, which does not answer")
            elif dead:
                blocked = self._continue_without(dead, left)
                left = [change for change in left if change.key not in blocked]
                changes = [change for change in changes if change.key not in blocked]
                meter.drop(blocked)
                if self._on_failure == "stop":
                    self._cancel_rest(left, meter)
                    return False
            self._throttle.read_override(self._directory, left)
            health = self._health.check(states, self._ignored_brokers(alive))
            self._check_claim()
            self._throttle.update(left, meter, health, alive)
            watched = left
            self._sleep(self._poll)

    def _cancel_rest(self, left: Sequence[Change], meter: CopyMeter) -> None:
        """Cancel what a wave has not completed, and report what it has."""
        self._cancel(left)
        meter.drop(change.key for change in left)
        self._report_progress([], meter)

    def _report_progress(self, left: Sequence[Change], meter: CopyMeter) -> None:
        self._report(
            ProgressUpdate(
                wave=self._progress.wave,
                waves=self._progress.waves,
                moving=len(left),
                bytes_done=meter.done,
                bytes_total=meter.total,
                bytes_per_second=meter.rate,
                eta_seconds=meter.eta_seconds,
                throttle=self._throttle.rate,
                bytes_later=self._progress.bytes_later,
            )
        )

    def _notify(self, left: Sequence[Change], note: str) -> None:
        """Report a note to the operator, unless it was the last one already."""
        if note == self._last_note:
            return
        self._last_note = note
        self._journal.write("note", note=note)
        wave, waves, rate = self._progress.wave, self._progress.waves, self._throttle.rate
        self._report(ProgressUpdate(wave, waves, len(left), 0, 0, note=note, throttle=rate))

    def _notify_waiting(self, error: Exception, seconds: float) -> None:
        """Requests fail: where the active controller hangs, for half a minute. Brokers that are
        missing are named from a description of the cluster, which needs no controller."""
        if seconds < SILENT_SECONDS:
            return
        note = f"waiting for Kafka: {describe_error(error)}"
        with suppress(KafkaError):
            alive = alive_brokers(self._admin.client.describe_cluster())
            if missing := self._progress.plan.brokers - alive:
                note += f"; broker {_names(missing)} does not answer"
        self._notify((), note)

    # ------------------------------------------------------------------ concurrency

    def _read_concurrency_override(self) -> None:
        """Schedule the remaining waves again where another concurrency was requested."""
        requested = Overrides.read(self._directory).concurrency
        if requested is None or requested == self._progress.concurrency:
            return
        try:
            waves = self._progress.reschedule(self._snapshot(), requested)
        except CannotError as error:
            self._notify((), f"the concurrency stays as it was: {error}")
            return
        self._notify((), f"the concurrency is now {requested}; waves left: {waves}")

    # ------------------------------------------------------------------ brokers that die

    def _missing_brokers(
        self, changes: Iterable[Change], alive: Sequence[int]
    ) -> tuple[set[int], set[int]]:
        """Brokers without which these changes cannot complete: dead ones, and those that may only
        be restarting.

        Not only receivers: a move completes when all replicas of the target are in sync, so one
        that stays on a dead broker blocks it as well (KAFKA-19975), and so does the death of the
        last broker that has the data.
        """
        living = set(alive)
        needed: set[int] = set()
        for change in changes:
            needed |= change.needs
            if not living & set(change.origin):
                needed |= set(change.origin)
        return self._failures.check(needed, alive, DEAD_SECONDS)

    def _continue_without(self, dead: set[int], changes: Iterable[Change]) -> set[Key]:
        """Cancel the changes that dead brokers block, and plan them again if that was chosen;
        returns their partitions."""
        blocked = [change for change in changes if blocking_brokers(change, dead)]
        self._cancel(blocked)
        replanned = self._replan(dead, blocked) if self._on_failure == "replan" else set()
        cancelled = [change for change in blocked if change.key not in replanned]
        for change in cancelled:
            broker = min(blocking_brokers(change, dead))
            self._progress.skipped[change.key] = f"broker {broker} does not answer"
        if cancelled:
            self._notify(blocked, f"broker {_names(dead)} does not answer: its moves are cancelled")
        return {change.key for change in blocked}

    def _replan(self, dead: set[int], blocked: Sequence[Change]) -> set[Key]:
        """Plan everything that dead brokers block, in later waves too, without them; returns the
        partitions."""
        names = _names(dead)
        try:
            planned = self._progress.replan(self._snapshot(), dead, blocked)
        except CannotError as error:
            self._notify(blocked, f"there is no plan without broker {names}: {error}")
            return set()
        if planned is None:
            return set()
        keys, moves, file = planned
        self._journal.write("replanned", without=sorted(dead), file=file.name)
        self._notify(
            blocked,
            f"broker {names} does not answer: planned again without it, "
            f"{plural(len(keys), 'partition')}, {plural(moves, 'move')} ({file.name})",
        )
        return keys


def _names(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))
