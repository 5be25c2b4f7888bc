"""A job carried out: wave by wave, throttled, watched, and ended in order whatever happens.

A wave is asked for, then watched until all of its partitions are where they shall be, with all
their replicas in sync; then the next. Between two waves the cluster must be well: no partition out
of sync that is not ours. What the cluster says decides, so a run that goes on after another was
killed does nothing twice.

Three things end a wave otherwise. A broker that is to receive replicas and does not answer: its
moves are cancelled and the rest goes on, or all stops, or the run waits, by choice. An interrupt:
the first one lets the wave finish and stops then, the second cancels what is on its way. And a
partition that the controller refuses to move, or that is gone: it is left, and told at the end.

On every way out the throttles are put back; at the end of the last wave preferred leaders are
elected, as Kafka leaves leadership where it was (KIP-460), and everything is compared with the
goal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors

from partage.errors import InputError
from partage.files import parse_json, read_text, to_json, write_text
from partage.live.connection import chunks, told
from partage.live.execution.job import Change, Job, Key, Standing
from partage.live.execution.journal import Journal
from partage.live.execution.throttling import Throttling
from partage.live.snapshot import PartitionState, read_partitions

REQUEST = 1000
"""Partitions that one request moves or elects leaders of; a KRaft controller takes 10,000 records,
and a partition may need several."""

POLL_SECONDS = 1.0
DEAD_SECONDS = 10.0
"""How long a broker may be away before it counts as dead: a restart is no failure."""

THROTTLE = "throttle.json"
"""A rate asked for while a run goes on."""

ON_FAILURE = ("cancel", "wait", "stop")

_PREFERRED = 0

_PATIENCE_SECONDS = 60.0

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """Where a run is. ``bytes_done`` and ``bytes_total`` are the wave's; rates in bytes per second,
    None where nothing can be said yet."""

    wave: int
    waves: int
    moving: int
    bytes_done: int
    bytes_total: int
    bytes_per_second: float | None = None
    eta_seconds: float | None = None
    note: str | None = None


@dataclass
class Outcome:
    """How a run ended. ``state``: done, stopped, or differs; ``problems``: partitions that are not
    where they shall be, and why; ``dead``: brokers whose throttle could not be put back."""

    state: str = "done"
    problems: dict[str, str] = field(default_factory=dict)
    dead: list[int] = field(default_factory=list)
    still_moving: list[str] = field(default_factory=list)
    waves_left: int = 0


def wish_throttle(directory: str, rate: int) -> None:
    """Ask whoever carries the plan out to go on at this rate, in bytes per second."""
    write_text(Path(directory) / THROTTLE, to_json({"bytes_per_second": rate}))


def wished_throttle(directory: str) -> int | None:
    """The rate that was asked for while the plan is carried out."""
    path = Path(directory) / THROTTLE
    if not path.exists():
        return None
    value = parse_json(read_text(path), str(path))
    return int(value["bytes_per_second"])


class Interrupts:
    """How often the user asked to stop."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: Any) -> None:
        """As a signal's handler."""
        self.count += 1


class Run:
    """One run of a job over an admin client, its steps in a journal."""

    def __init__(
        self,
        job: Job,
        admin: KafkaAdminClient,
        journal: Journal,
        *,
        throttle: int | None = None,
        on_failure: str = "cancel",
        tell: Callable[[Progress], None] = lambda _: None,
        interrupts: Interrupts | None = None,
        poll_seconds: float = POLL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if on_failure not in ON_FAILURE:
            choices = ", ".join(ON_FAILURE)
            raise InputError("--on-broker-failure", f"{on_failure!r}: expected one of {choices}")
        self._job, self._admin, self._journal = job, admin, journal
        self._throttle, self._on_failure = throttle, on_failure
        self._tell, self._interrupts = tell, interrupts or Interrupts()
        self._poll, self._clock, self._sleep = poll_seconds, clock, sleep
        self._throttling = Throttling(admin, journal)
        self._away_since: dict[int, float] = {}
        self._refused: dict[Key, str] = {}
        self._said: str | None = None

    def go(self) -> Outcome:
        """Carry it out. Raises what kafka-python raises; the throttles are put back before."""
        direction = "forth" if self._job.forth else "back"
        (Path(self._job.directory) / THROTTLE).unlink(missing_ok=True)
        self._journal.write("begun", direction=direction, throttle=self._throttle)
        outcome = Outcome()
        try:
            for number, wave in enumerate(self._job.waves, 1):
                left = self._left(wave)
                if not left:
                    continue
                if self._interrupts.count or not self._wave(number, left):
                    outcome.state = "stopped"
                    outcome.waves_left = len(self._job.waves) - number + 1
                    break
        finally:
            outcome.dead = self._throttling.put_back(self._alive())
        if outcome.state == "done":
            self._elect()
        self._conclude(outcome)
        self._journal.write("ended", direction=direction, state=outcome.state)
        return outcome

    # ------------------------------------------------------------------ a wave

    def _left(self, wave: Sequence[Key]) -> list[Change]:
        """The changes of a wave that are not done yet and can be."""
        now = self._now(wave)
        found = []
        for key in wave:
            change = self._job.changes[key]
            standing = change.standing(now.get(key))
            if standing is Standing.GONE:
                self._refused[key] = "it is gone"
            elif standing is Standing.ELSEWHERE and not self._turns(now[key], change):
                self._refused[key] = f"others moved it to {list(now[key].replicas)}"
            elif standing is not Standing.DONE and key not in self._refused:
                found.append(change)
        return found

    def _turns(self, now: PartitionState, change: Change) -> bool:
        """Whether it is on the way that this job undoes, as in a rollback in the middle of a move,
        or stuck on it."""
        on_its_way = bool(now.adding or now.removing)
        stuck = bool(set(now.adding) & set(now.removing))
        return stuck or (on_its_way and now.replicas == change.origin)

    def _wave(self, number: int, changes: list[Change]) -> bool:
        """Carry out a wave; False where the run has to stop after it."""
        self._wait_until_well(number)
        if self._interrupts.count:
            return False
        alive = self._alive()
        changes = self._turned_back(changes)
        changes = [change for change in changes if self._can_receive(change, alive)]
        if self._throttle is not None:
            self._throttling.set(self._throttle, changes, alive)
        self._submit(changes)
        finished = self._watch(number, changes)
        topics = {change.topic for change in changes}
        self._throttling.put_back(self._alive(), topics)
        if finished:
            self._journal.write("wave done", wave=number)
        return finished and not self._interrupts.count

    def _turned_back(self, changes: list[Change]) -> list[Change]:
        """Those that are left when what is on its way to where this job comes from is cancelled.

        To ask for the earlier list instead does not do: where the new replicas are in sync at that
        moment already, Kafka 4.3 keeps them as to be added and to be removed at once, for ever.
        """
        now = self._now([change.key for change in changes])
        turning = [
            change
            for change in changes
            if (one := now.get(change.key)) is not None and self._turns(one, change)
        ]
        if not turning:
            return changes
        self._ask(turning, {change.key: None for change in turning})
        for change in turning:
            # it may just have arrived: then it is a move like any other
            self._refused.pop(change.key, None)
        now = self._now([change.key for change in changes])
        return [c for c in changes if c.standing(now.get(c.key)) is not Standing.DONE]

    def _can_receive(self, change: Change, alive: Iterable[int]) -> bool:
        dead = sorted(set(change.goal) - set(alive)) if change.adding else []
        if dead and self._on_failure == "cancel":
            self._refused[change.key] = f"broker {dead[0]} does not answer"
            return False
        return True

    def _submit(self, changes: Sequence[Change]) -> None:
        """Ask for the changes."""
        self._ask(changes, {change.key: change.goal for change in changes})

    def _cancel(self, changes: Sequence[Change]) -> None:
        """Cancel what is on its way, and bring back the order that it had."""
        self._ask(changes, {change.key: None for change in changes})
        now = self._now([change.key for change in changes])
        disordered = [
            change
            for change in changes
            if (one := now.get(change.key)) is not None
            and one.replicas != change.origin
            and sorted(one.current) == sorted(change.origin)
        ]
        self._ask(disordered, {change.key: change.origin for change in disordered})

    def _ask(self, changes: Sequence[Change], wanted: Mapping[Key, tuple[int, ...] | None]) -> None:
        """Ask for lists, None to cancel; what is refused is noted."""
        for part in chunks(changes, REQUEST):
            lists = {change.key: wanted[change.key] for change in part}
            event = "cancelled" if None in lists.values() else "submitted"
            self._journal.write(event, partitions=[list(change.key) for change in part])
            asked = {
                TopicPartition(*key): None if replicas is None else list(replicas)
                for key, replicas in lists.items()
            }
            answers = self._asked(partial(self._admin.alter_partition_reassignments, asked))
            for partition, error in answers.items():
                # of one that has arrived meanwhile there is nothing to cancel
                if error not in (None, kafka_errors.NoReassignmentInProgressError):
                    self._refused[partition.topic, partition.partition] = told(error)

    def _watch(self, number: int, changes: list[Change]) -> bool:
        """Until all of them are in place; False where they were cancelled."""
        began, first = self._clock(), None
        warned = 0
        while True:
            now = self._now([change.key for change in changes])
            left = [change for change in changes if not self._in_place(change, now)]
            alive = self._alive()
            done, total = self._bytes(changes, now, alive)
            first = done if first is None else first
            self._report(number, left, (done, total, first), began)
            if not left:
                return True
            if self._interrupts.count > 1:
                self._cancel(left)
                return False
            if self._interrupts.count > warned:
                warned = self._interrupts.count
                self._say(number, left, "finishing this wave; interrupt again to cancel it")
            if not self._answer_failures(number, left, alive):
                return False
            self._follow_throttle(number, left, alive)
            self._sleep(self._poll)

    def _follow_throttle(self, number: int, left: list[Change], alive: list[int]) -> None:
        """Take over a rate that was asked for meanwhile, and set again what others took off."""
        wished = wished_throttle(self._job.directory)
        if wished is not None and wished != self._throttle:
            self._throttle = wished
            self._throttling.set(wished, left, alive)
            self._say(number, left, f"the throttle is {wished:,} bytes per second now")
        elif self._throttle is not None and self._throttling.ensure(alive):
            self._say(number, left, "the throttle had been taken off and is set again")

    def _in_place(self, change: Change, now: dict[Key, PartitionState]) -> bool:
        one = now.get(change.key)
        if change.key in self._refused:
            return True
        if one is None:
            self._refused[change.key] = "it is gone"
            return True
        return change.standing(one) is Standing.DONE and set(change.adding) <= set(one.isr)

    def _answer_failures(self, number: int, left: list[Change], alive: list[int]) -> bool:
        """Do about dead brokers what was chosen; False to stop.

        Not only one that is to receive: a move ends when all its replicas are in sync, so one that
        stays, on a broker that is dead, holds it up as well (KAFKA-19975).
        """
        dead = self._dead({broker for change in left for broker in change.goal}, set(alive))
        if not dead:
            return True
        names = ", ".join(map(str, sorted(dead)))
        if self._on_failure == "wait":
            self._say(number, left, f"waiting for broker {names}, which does not answer")
            return True
        hit = [change for change in left if set(change.goal) & dead]
        self._cancel(hit)
        for change in hit:
            broker = min(set(change.goal) & dead)
            self._refused[change.key] = f"broker {broker} does not answer"
        self._say(number, left, f"broker {names} does not answer: its moves are cancelled")
        if self._on_failure == "cancel":
            return True
        self._cancel([change for change in left if change not in hit])
        return False

    def _dead(self, brokers: set[int], alive: set[int]) -> set[int]:
        """Those of the brokers that have been away for long enough."""
        moment = self._clock()
        for broker in alive:
            self._away_since.pop(broker, None)
        for broker in brokers - alive:
            self._away_since.setdefault(broker, moment)
        return {
            broker
            for broker in brokers - alive
            if moment - self._away_since[broker] >= DEAD_SECONDS
        }

    def _wait_until_well(self, number: int) -> None:
        """Until every partition that is not moved has all its replicas in sync."""
        told_of = None
        while not self._interrupts.count:
            out = [
                f"{one.topic}-{one.partition}"
                for one in self._asked(lambda: read_partitions(self._admin))
                if not one.adding and not one.removing and len(one.isr) < len(one.replicas)
            ]
            if not out or (self._on_failure == "cancel" and not self._recovering()):
                return
            if out != told_of:
                told_of = out
                self._say(number, [], f"waiting: {len(out)} partitions are out of sync, {out[0]}")
            self._sleep(self._poll)

    def _recovering(self) -> bool:
        """Whether all brokers answer, so that what is out of sync will be in sync again."""
        described = self._asked(self._admin.describe_cluster)["brokers"]
        return not any(broker.get("is_fenced", False) for broker in described)

    # ------------------------------------------------------------------ the end

    def _elect(self) -> None:
        """Preferred leaders, where another leads."""
        now = self._now(self._job.changes)
        wanted = [
            TopicPartition(*key)
            for key, one in sorted(now.items())
            if one.leader != one.replicas[0] and one.replicas[0] in one.isr
        ]
        for part in chunks(wanted, REQUEST):
            by_topic: dict[str, list[int]] = {}
            for partition in part:
                by_topic.setdefault(partition.topic, []).append(partition.partition)
            self._admin.elect_leaders(_PREFERRED, by_topic, raise_errors=False)
        if wanted:
            self._journal.write("leaders elected", partitions=len(wanted))

    def _conclude(self, outcome: Outcome) -> None:
        """Compare with the goal, replica by replica."""
        now = self._now(self._job.changes)
        for key, change in self._job.changes.items():
            standing = change.standing(now.get(key))
            if standing is Standing.MOVING:
                outcome.still_moving.append(change.name)
            if standing is not Standing.DONE and outcome.state != "stopped":
                outcome.problems[change.name] = self._refused.get(key, standing.value)
        outcome.problems |= {self._job.changes[key].name: why for key, why in self._refused.items()}
        if outcome.problems and outcome.state == "done":
            outcome.state = "differs"

    # ------------------------------------------------------------------ looking

    def _now(self, keys: Iterable[Key]) -> dict[Key, PartitionState]:
        wanted = set(keys)
        topics = sorted({topic for topic, _ in wanted})
        return {
            key: one
            for one in self._asked(lambda: read_partitions(self._admin, topics))
            if (key := (one.topic, one.partition)) in wanted
        }

    def _asked(self, call: Callable[[], T]) -> T:
        """What the cluster answers, which for a moment it may not: a broker dies that was just
        asked, the controller is another."""
        deadline = self._clock() + _PATIENCE_SECONDS
        while True:
            try:
                return call()
            except kafka_errors.RetriableError:
                if self._clock() > deadline:
                    raise
                self._sleep(self._poll)

    def _alive(self) -> list[int]:
        described = self._asked(self._admin.describe_cluster)["brokers"]
        return [broker["broker_id"] for broker in described if not broker.get("is_fenced", False)]

    def _bytes(
        self, changes: Sequence[Change], now: dict[Key, PartitionState], alive: Iterable[int]
    ) -> tuple[int, int]:
        """What the new replicas of a wave have, and shall have."""
        receiving = sorted({broker for change in changes for broker in change.adding})
        partitions: dict[str, list[int]] = {}
        for change in changes:
            if change.adding:
                partitions.setdefault(change.topic, []).append(change.partition)
        have: dict[tuple[int, Key], int] = {}
        largest: dict[Key, int] = {}
        sources = sorted({b for change in changes if change.adding for b in change.origin})
        for broker in sorted({*receiving, *sources} & set(alive)) if partitions else ():
            try:
                (described,) = self._admin.describe_log_dirs(partitions, brokers=[broker])
            except kafka_errors.KafkaError:
                continue  # it may have died this moment
            for log_dir in described["log_dirs"]:
                for topic in log_dir["topics"]:
                    for entry in topic["partitions"]:
                        key, size = (
                            (topic["name"], entry["partition_index"]),
                            entry["partition_size"],
                        )
                        have[broker, key] = size
                        largest[key] = max(size, largest.get(key, 0))
        done = total = 0
        for change in changes:
            size = largest.get(change.key, change.size_bytes or 0)
            one = now.get(change.key)
            arrived = one is not None and change.standing(one) is Standing.DONE
            for broker in change.adding:
                total += size
                done += size if arrived else min(have.get((broker, change.key), 0), size)
        return done, total

    def _report(
        self, number: int, left: Sequence[Change], counted: tuple[int, int, int], began: float
    ) -> None:
        done, total, first = counted
        seconds = self._clock() - began
        rate = (done - first) / seconds if seconds > 0 and done > first else None
        eta = (total - done) / rate if rate else None
        self._tell(Progress(number, len(self._job.waves), len(left), done, total, rate, eta))

    def _say(self, number: int, left: Sequence[Change], note: str) -> None:
        if note == self._said:
            return
        self._said = note
        self._journal.write("note", note=note)
        self._tell(Progress(number, len(self._job.waves), len(left), 0, 0, note=note))
