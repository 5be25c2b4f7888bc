"""A job carried out: wave by wave, throttled, watched, and ended in order whatever happens.

A wave is asked for, then watched until all of its partitions are where they shall be, with all
their replicas in sync; then the next. Between two waves the cluster must be well: no partition out
of sync that is not ours; and where one falls out of sync during a wave, the wave goes on at the
floor only (``pacing.py``). What the cluster says decides, so a run that goes on after another was
killed does nothing twice.

Three things end a wave otherwise. A broker that is to receive replicas, or to keep some, and does
not answer: by choice its moves are cancelled and the rest goes on, or they are planned anew without
it, or all stops, or the run waits. An interrupt: the first one lets the wave finish and stops then,
the second cancels what is on its way. And a partition that the controller refuses to move, or that
is gone: it is left, and told at the end. How far all of it has come is in ``course.py``.

On every way out the throttles are put back; at the end of the last wave preferred leaders are
elected and everything is compared with the goal (``ending.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka import KafkaAdminClient

from partage.errors import CannotError, InputError
from partage.live.admin.snapshot import take
from partage.live.admin.states import Key, Snapshot
from partage.live.execution import ending
from partage.live.execution.absences import Absences
from partage.live.execution.asking import Asking
from partage.live.execution.course import Course, turns
from partage.live.execution.ending import Outcome
from partage.live.execution.health import Health, HealthWatch
from partage.live.execution.job import Change, Job, Standing
from partage.live.execution.journal import Journal
from partage.live.execution.replanning import holders
from partage.live.execution.speed import Speed
from partage.live.execution.throttling import Throttling
from partage.live.execution.watching import Meter
from partage.live.execution.wishes import forget, wished

__all__ = ["Interrupts", "Outcome", "Progress", "Run", "check_choice"]

POLL_SECONDS = 1.0
DEAD_SECONDS = 10.0
"""How long a broker may be away before it counts as dead: a restart is no failure."""

ENDING_SECONDS = 20.0
"""How long a broker that should answer may fail to put its throttle back."""

REQUEST_MS = 10_000
"""How long an answer may take: a broker that is cut off must not hold up the others' rounds."""

ON_FAILURE = ("cancel", "replan", "wait", "stop")
_CARRYING_ON = ("cancel", "replan")


@dataclass(frozen=True)
class Progress:
    """Where a run is. ``bytes_done`` and ``bytes_total`` are the wave's; rates in bytes per second,
    None where nothing can be said yet; ``throttle`` None where there is none."""

    wave: int
    waves: int
    moving: int
    bytes_done: int
    bytes_total: int
    bytes_per_second: float | None = None
    eta_seconds: float | None = None
    note: str | None = None
    throttle: int | None = None


def check_choice(on_failure: str, forth: bool) -> None:
    """Raise InputError for what cannot be done about brokers that die."""
    # a rollback brings back what was before, nothing else
    choices = [choice for choice in ON_FAILURE if forth or choice != "replan"]
    if on_failure not in choices:
        said = f"{on_failure!r}: expected one of {', '.join(choices)}"
        raise InputError("--on-broker-failure", said)


class Interrupts:
    """How often the user asked to stop."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: Any) -> None:
        """As a signal's handler."""
        self.count += 1


class Run:
    """One run of a job over an admin client, its steps in a journal. ``throttle``: bytes per
    second, ``pacing.AUTO``, or None."""

    def __init__(
        self,
        job: Job,
        admin: KafkaAdminClient,
        journal: Journal,
        *,
        throttle: int | str | None = None,
        on_failure: str = "cancel",
        tell: Callable[[Progress], None] = lambda _: None,
        interrupts: Interrupts | None = None,
        poll_seconds: float = POLL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        check_choice(on_failure, job.forth)
        self._course, self._directory, self._forth = Course(job), job.directory, job.forth
        self._admin, self._journal = admin, journal
        self._asked, self._on_failure = throttle, on_failure
        self._tell, self._interrupts = tell, interrupts or Interrupts()
        self._poll, self._clock, self._sleep = poll_seconds, clock, sleep
        self._asking = Asking(admin, poll_seconds, clock, sleep)
        self._throttling = Throttling(admin, journal)
        self._speed = Speed(throttle, self._asking, self._throttling, clock, self._say)
        self._health = HealthWatch(self._asking, clock)
        self._absences = Absences(clock)
        self._said: str | None = None
        self._warned = 0

    def go(self) -> Outcome:
        """Carry it out. Raises what kafka-python raises; the throttles are put back before."""
        course, direction = self._course, "forth" if self._forth else "back"
        forget(self._directory)
        self._journal.write("begun", direction=direction, throttle=self._asked)
        outcome = Outcome()
        try:
            while course.later:
                self._follow_concurrency()
                keys = course.begin_next()
                left = course.open(keys, self._asking.now(keys))
                if left and (self._interrupts.count or not self._wave(left)):
                    outcome.state = "stopped"
                    outcome.waves_left = len(course.later) + 1
                    break
        finally:
            outcome.dead = self._throttles_put_back()
        misled: dict[Key, str] = {}
        if outcome.state == "done":
            misled = ending.elect(course.job, self._asking, self._journal, self._round)
        ending.conclude(course.job, self._asking, course.refused, misled, outcome)
        self._journal.write("ended", direction=direction, state=outcome.state)
        return outcome

    def _throttles_put_back(self) -> list[int]:
        """Gives the brokers where that cannot be done; those that should answer have some time."""
        deadline = self._clock() + ENDING_SECONDS
        while True:
            alive = self._asking.alive()
            missing = self._asking.patiently(partial(self._throttling.put_back, alive))
            if not set(missing) & set(alive) or self._clock() > deadline:
                return missing
            self._round()

    def _taken(self) -> Snapshot:
        return self._asking.patiently(
            lambda: take(self._admin, groups=False, throttles=False, whole=False)
        )

    def _round(self) -> None:
        self._sleep(self._poll)

    # ------------------------------------------------------------------ a wave

    def _wave(self, changes: list[Change]) -> bool:
        """Carry out a wave; False where the run has to stop after it."""
        settled = self._settled(changes)
        if settled is None:
            return False
        changes = self._turned_back(settled)
        rates = {c.key: r for c in changes if (r := c.bytes_per_second) is not None}
        meter = Meter(self._admin, changes, rates, self._clock)
        alive = self._asking.alive()
        self._speed.keep(changes, meter, Health(), alive, fresh=True)
        self._ask(changes, {change.key: change.goal for change in changes})
        finished = self._watch(changes, meter)
        topics = {change.topic for change in changes}
        alive = self._asking.alive()
        self._asking.patiently(lambda: self._throttling.put_back(alive, topics))
        if finished:
            self._journal.write("wave done", wave=self._course.number)
        return finished

    def _settled(self, changes: list[Change]) -> list[Change] | None:
        """Wait until the wave can begin: every broker of it answers or is known to be dead, and
        every partition that is not moved has all its replicas in sync. Gives the changes without
        those that a dead broker prevents; None to stop."""
        while not self._interrupts.count:
            alive = self._asking.alive()
            copied = [change for change in changes if change.adding]
            dead, away = self._dead(copied, alive)
            names = _names(dead or away)
            if dead and self._on_failure == "stop":
                self._say(changes, f"broker {names} does not answer: stopped")
                return None
            if dead and self._on_failure in _CARRYING_ON:
                held_up = self._without(dead, copied)
                changes = [change for change in changes if change not in held_up]
                continue
            if dead or away:
                self._say(changes, f"waiting for broker {names}, which does not answer")
            else:
                health = self._health.of_what_stays(self._excused(alive))
                if not health.behind:
                    return changes
                self._say(changes, f"waiting: {health}")
            self._round()
        return None

    def _excused(self, alive: Iterable[int]) -> set[int]:
        """Dead brokers whose replicas need not be in sync: where the rest is to be carried on,
        those that the plan is about, and those that were dead when it was made, or made anew."""
        if self._on_failure not in _CARRYING_ON:
            return set()
        job = self._course.job
        return {*job.involved, *job.dead} - set(alive)

    def _turned_back(self, changes: list[Change]) -> list[Change]:
        """Those that are left when what is on its way to where this job comes from is cancelled.

        To ask for the earlier list instead does not do: where the new replicas are in sync at that
        moment already, Kafka 4.3 keeps them as to be added and to be removed at once, for ever.
        """
        now = self._asking.now(change.key for change in changes)
        turning = [
            change
            for change in changes
            if (one := now.get(change.key)) is not None and turns(one, change)
        ]
        if not turning:
            return changes
        self._ask(turning, dict.fromkeys(change.key for change in turning))
        for change in turning:
            # it may just have arrived: then it is a move like any other
            self._course.refused.pop(change.key, None)
        now = self._asking.now(change.key for change in changes)
        return [c for c in changes if c.standing(now.get(c.key)) is not Standing.DONE]

    def _cancel(self, changes: Sequence[Change]) -> None:
        """Cancel what is on its way, and bring back the order that it had."""
        self._ask(changes, dict.fromkeys(change.key for change in changes))
        now = self._asking.now(change.key for change in changes)
        disordered = [
            change
            for change in changes
            if (one := now.get(change.key)) is not None
            and one.replicas != change.origin
            and sorted(one.current) == sorted(change.origin)
        ]
        self._ask(disordered, {change.key: change.origin for change in disordered})

    def _ask(self, changes: Sequence[Change], lists: Mapping[Key, tuple[int, ...] | None]) -> None:
        """Ask for lists, None to cancel; what is refused is noted."""
        if not changes:
            return
        event = "cancelled" if None in lists.values() else "submitted"
        self._journal.write(event, partitions=[list(change.key) for change in changes])
        self._course.refused |= self._asking.reassign(lists)

    # ------------------------------------------------------------------ watching

    def _watch(self, changes: list[Change], meter: Meter) -> bool:
        """Until all of them are in place; False where they were cancelled."""
        while True:
            now = self._asking.now(change.key for change in changes)
            left = self._course.under_way(changes, now)
            alive = self._asking.alive()
            meter.look(now, left, alive)
            self._report(left, meter)
            if not left:
                return True
            if self._interrupts.count > 1:
                self._cancel(left)
                return False
            if self._interrupts.count > self._warned:
                self._warned = self._interrupts.count
                self._say(left, "finishing this wave; interrupt again to cancel it")
            dead, _ = self._dead(left, alive)
            if dead and self._on_failure == "wait":
                names = _names(dead)
                self._say(left, f"waiting for broker {names}, which does not answer")
            elif dead:
                held_up = self._without(dead, left)
                left = [change for change in left if change not in held_up]
                changes = [change for change in changes if change not in held_up]
                if self._on_failure == "stop":
                    self._cancel(left)
                    return False
            self._speed.follow(self._directory, left)
            health = self._health.look(now, self._excused(alive))
            self._speed.keep(left, meter, health, alive)
            self._round()

    def _report(self, left: Sequence[Change], meter: Meter) -> None:
        self._tell(
            Progress(
                wave=self._course.number,
                waves=self._course.waves,
                moving=len(left),
                bytes_done=meter.done,
                bytes_total=meter.total,
                bytes_per_second=meter.rate,
                eta_seconds=meter.eta_seconds,
                throttle=self._speed.rate,
            )
        )

    def _say(self, left: Sequence[Change], note: str) -> None:
        if note == self._said:
            return
        self._said = note
        self._journal.write("note", note=note)
        number, waves, rate = self._course.number, self._course.waves, self._speed.rate
        self._tell(Progress(number, waves, len(left), 0, 0, note=note, throttle=rate))

    # ------------------------------------------------------------------ how much at once

    def _follow_concurrency(self) -> None:
        """Cut what is left into waves anew where another concurrency was asked for."""
        asked = wished(self._directory).concurrency
        if asked is None or asked == self._course.concurrency:
            return
        try:
            waves = self._course.cut_anew(self._taken(), asked)
        except CannotError as error:
            self._say((), f"the concurrency stays as it was: {error}")
            return
        self._say((), f"the concurrency is {asked} now: {waves} waves are left")

    # ------------------------------------------------------------------ brokers that die

    def _dead(self, changes: Iterable[Change], alive: Sequence[int]) -> tuple[set[int], set[int]]:
        """Brokers without which these changes do not end: those that are dead, and those that may
        only be restarting.

        Not only one that is to receive: a move ends when all its replicas are in sync, so one that
        stays, on a broker that is dead, holds it up as well (KAFKA-19975); and so does the last
        one that has the data.
        """
        there = set(alive)
        needed = {
            broker
            for change in changes
            for broker in (*change.goal, *(() if there & set(change.origin) else change.origin))
        }
        return self._absences.look(needed, alive, DEAD_SECONDS)

    def _without(self, dead: set[int], changes: Iterable[Change]) -> list[Change]:
        """Cancel, and plan anew if that was chosen, what dead brokers hold up of these changes;
        gives what that is."""
        held_up = [change for change in changes if holders(change, dead)]
        self._cancel(held_up)
        anew = self._planned_anew(dead, held_up) if self._on_failure == "replan" else set()
        names = _names(dead)
        left = [change for change in held_up if change.key not in anew]
        for change in left:
            broker = min(holders(change, dead))
            self._course.refused[change.key] = f"broker {broker} does not answer"
        if left:
            self._say(held_up, f"broker {names} does not answer: its moves are cancelled")
        return held_up

    def _planned_anew(self, dead: set[int], held_up: Sequence[Change]) -> set[Key]:
        """Plan all that dead brokers hold up, in later waves too, without them; gives what that
        is."""
        names = _names(dead)
        try:
            planned = self._course.plan_anew(self._taken(), dead, held_up)
        except CannotError as error:
            self._say(held_up, f"without broker {names} there is no plan: {error}")
            return set()
        if planned is None:
            return set()
        hit, moves, file = planned
        self._journal.write("planned anew", without=sorted(dead), file=file.name)
        self._say(
            held_up,
            f"broker {names} does not answer: what it was to have is planned anew without it, "
            f"{len(hit)} partitions with {moves} moves ({file.name})",
        )
        return hit


def _names(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))
