"""The order of a plan's waves that disks allow, where old and new copies must fit side by side.

While a wave runs, a broker holds what it held when the wave began and what it receives in it; what
leaves is freed when the wave has ended. So the order matters: what frees a disk must come before
what needs the room. Three ways are tried, each only where the one before fails:

1. *As they are.*
2. *With delays.* The next wave is the one, of the next few, that overflows least; what does not fit
   waits. Its place is taken by partitions that wait already or that belong to later waves, if they
   fit, so that in the later ones there is room for those that wait.
3. *In a safe order.* That may run into a dead end, where nothing that is left fits. Then an order
   of single partitions is searched (waves of one partition need the least room: if those do not
   work, none do), as the banker's algorithm does it (Dijkstra, EWD 108, 1965). A partition that
   goes only to brokers with room for all that is still coming to them can go at once: that harms no
   order. Of the others every one that fits is tried, depth first, up to a number of steps; a state
   that was seen is not entered again. Where all is tried in vain, no order works. The waves are
   then cut along the order found, and harmless partitions fill them.

Partitions that receive nothing and only give up replicas on a short disk come before all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNLIMITED = 2**62
"""Room on a disk of unknown size."""

_NEXT = 32
"""Waves among which the next one is chosen when the first of them does not fit."""
_STEPS = 4_000
"""Partitions put in order by the search, at most, for each of its two preferences."""
_MANY = 200
"""With more partitions than this in question, the search does not turn back."""


class DeadEndError(Exception):
    """No order works, or none was found: the partition ``job`` lacks ``lacking`` bytes on
    ``broker``. ``proven``: there is none."""

    def __init__(self, job: int, broker: int, lacking: int, proven: bool) -> None:
        super().__init__(job, broker)
        self.job, self.broker, self.lacking, self.proven = job, broker, lacking, proven


@dataclass(frozen=True, eq=False)
class Jobs:
    """n partitions to reassign, each whole.

    - ``room`` [B] bytes free on each broker before the first wave, below 0 where it overflows
    - ``size`` [n] bytes of one replica; ``leader`` [n] who sends, or -1
    - ``to``, ``target``: the (job, broker) of each new replica, ascending by job; ``off``,
      ``freed``: of each that is given up
    """

    room: Ints
    size: Ints
    leader: Ints
    to: Ints
    target: Ints
    off: Ints
    freed: Ints

    @cached_property
    def targets(self) -> list[list[int]]:
        """Brokers that receive each job."""
        return _lists(self.to, self.target, len(self.size))

    @cached_property
    def leaves(self) -> list[list[int]]:
        """Brokers that each job leaves."""
        return _lists(self.off, self.freed, len(self.size))

    @cached_property
    def sizes(self) -> list[int]:
        return [int(size) for size in self.size]

    @cached_property
    def leaders(self) -> list[int]:
        return [int(leader) for leader in self.leader]

    @cached_property
    def incoming(self) -> Ints:
        """[B] bytes that each broker ever receives."""
        return self.sum_to(np.ones(len(self.size), dtype=np.bool_))

    @property
    def short(self) -> Bools:
        """[B] brokers whose room does not hold all that they receive."""
        return np.asarray(self.incoming > np.maximum(self.room, 0))

    def sum_to(self, jobs: Bools) -> Ints:
        """[B] bytes that these jobs bring each broker."""
        chosen = jobs[self.to]
        total = np.zeros(len(self.room), dtype=np.int64)
        np.add.at(total, self.target[chosen], self.size[self.to[chosen]])
        return total

    def going_to(self, brokers: Bools) -> Bools:
        """[n] jobs of which some of the ``brokers`` [B] receive a replica."""
        return np.bincount(self.to[brokers[self.target]], minlength=len(self.size)) > 0

    def fitting(self, room: Ints) -> Bools:
        """[n] whether each job alone fits now."""
        size = self.size[self.to]
        lacks = (size > 0) & (size > room[self.target])
        return np.asarray(np.bincount(self.to[lacks], minlength=len(self.size)) == 0)


def order_waves(jobs: Jobs, waves: Sequence[Ints], limit: int, most: int | None) -> list[list[int]]:
    """The waves (jobs each), re-ordered and changed until every disk holds; ``limit`` new replicas
    per broker, in and out, and ``most`` jobs of a wave, are kept. Raises DeadEndError."""
    moving = [wave.tolist() for wave in waves]
    if _fits(jobs, moving):
        return moving
    first = _only_freeing(jobs)
    step = most or max(len(first), 1)
    freeing = [first[i : i + step] for i in range(0, len(first), step)]
    done = _with_delays(jobs, freeing, moving, limit, most)
    if done is None:
        order = _safe_order(jobs, first, [job for wave in moving for job in wave])
        done = _along(jobs, freeing, order, limit, most)
    assert _fits(jobs, done)
    return done


def _only_freeing(jobs: Jobs) -> list[int]:
    """The jobs that receive nothing and free bytes on a disk that is short."""
    helps = np.zeros(len(jobs.size), dtype=np.bool_)
    helps[jobs.off[jobs.short[jobs.freed] & (jobs.size[jobs.off] > 0)]] = True
    helps[jobs.to] = False
    return [int(job) for job in np.flatnonzero(helps)]


def _fits(jobs: Jobs, waves: Iterable[Sequence[int]]) -> bool:
    """Whether every disk holds, wave by wave."""
    room = jobs.room.tolist()
    for wave in waves:
        if _overflow(jobs, wave, room):
            return False
        _finish(jobs, wave, room)
    return True


def _overflow(jobs: Jobs, wave: Iterable[int], room: Sequence[int]) -> int:
    """Bytes that do not fit when the wave is run now."""
    more: Counter[int] = Counter()
    for job in wave:
        for b in jobs.targets[job]:
            more[b] += jobs.sizes[job]
    return sum(max(n - max(room[b], 0), 0) for b, n in more.items())


def _finish(jobs: Jobs, wave: Iterable[int], room: list[int]) -> None:
    """What the wave leaves of the room."""
    for job in wave:
        for b in jobs.targets[job]:
            room[b] -= jobs.sizes[job]
        for b in jobs.leaves[job]:
            room[b] += jobs.sizes[job]


class _Wave:
    """A wave being filled, on the room that there is when it begins."""

    def __init__(self, jobs: Jobs, room: Sequence[int], limit: int, most: int | None) -> None:
        self.jobs, self.room, self.limit, self.most = jobs, room, limit, most
        self.members: list[int] = []
        self.into: Counter[int] = Counter()
        self.out_of: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()

    def add(self, job: int) -> bool:
        """Take the job if it fits: within the limits, and on the disks."""
        targets, leader = self.jobs.targets[job], self.jobs.leaders[job]
        size, limit = self.jobs.sizes[job], self.limit
        asks = min(len(targets), limit)
        if self.most is not None and len(self.members) == self.most:
            return False
        if leader >= 0 and self.out_of[leader] + asks > limit:
            return False
        for b in targets:
            if self.into[b] == limit or (size and self.bytes[b] + size > self.room[b]):
                return False
        for b in targets:
            self.into[b] += 1
            self.bytes[b] += size
        if leader >= 0:
            self.out_of[leader] += asks
        self.members.append(job)
        return True


def _with_delays(
    jobs: Jobs,
    freeing: list[list[int]],
    waves: list[list[int]],
    limit: int,
    most: int | None,
) -> list[list[int]] | None:
    """The second way; None at a dead end."""
    room = jobs.room.tolist()
    done = [*freeing]
    for members in done:
        _finish(jobs, members, room)
    left = [list(members) for members in waves]
    rank = np.full(len(jobs.size), -1, dtype=np.int64)
    place = np.zeros(len(jobs.size), dtype=np.int64)
    for number, members in enumerate(left):
        rank[members] = number
        place[members] = np.arange(len(members))
    waits = np.zeros(len(jobs.size), dtype=np.bool_)
    todo = rank >= 0
    while todo.any():
        near = ([job for job in members if todo[job]] for members in left[:_NEXT])
        left[:_NEXT] = [members for members in near if members]
        wave = _Wave(jobs, room, limit, most)
        if left:
            over = [_overflow(jobs, left[0], room)]
            if over[0]:
                over += [_overflow(jobs, members, room) for members in left[1:_NEXT]]
            for job in left.pop(over.index(min(over))):
                waits[job] = not wave.add(job)
            todo[wave.members] = False
        if waits.any():
            full = np.zeros(len(room), dtype=np.bool_)
            full[[b for b, n in wave.into.items() if n == limit]] = True
            busy = np.zeros(len(room) + 1, dtype=np.bool_)
            busy[[b for b, n in wave.out_of.items() if n == limit]] = True
            may = todo & jobs.fitting(np.array(room)) & ~busy[jobs.leader]
            may[jobs.to[full[jobs.target]]] = False
            others = np.flatnonzero(may)
            for job in others[np.lexsort((place[others], rank[others], ~waits[others]))].tolist():
                wave.add(job)
            todo[wave.members] = waits[wave.members] = False
        if not wave.members:
            return None
        _finish(jobs, wave.members, room)
        done.append(wave.members)
    return done


def _along(
    jobs: Jobs, freeing: list[list[int]], order: list[int], limit: int, most: int | None
) -> list[list[int]]:
    """Waves cut along a safe order; where a wave cannot take the next, harmless ones fill it."""
    room = jobs.room.tolist()
    done = [*freeing]
    for members in done:
        _finish(jobs, members, room)
    left = np.array(order, dtype=np.int64)
    todo = np.zeros(len(jobs.size), dtype=np.bool_)
    todo[left] = True
    coming = jobs.incoming.copy()
    while len(left):
        wave = _Wave(jobs, room, limit, most)
        along = 0
        while along < len(left) and wave.add(int(left[along])):
            along += 1
        short = coming > np.maximum(room, 0)
        harmless = ~jobs.going_to(short)
        behind = left[along + 1 :]
        for job in behind[harmless[behind]].tolist():
            wave.add(job)
        for job in wave.members:
            coming[jobs.targets[job]] -= jobs.sizes[job]
        todo[wave.members] = False
        left = left[todo[left]]
        _finish(jobs, wave.members, room)
        done.append(wave.members)
    return done


# ---------------------------------------------------------------------- the search for an order


def _safe_order(jobs: Jobs, first: list[int], moving: list[int]) -> list[int]:
    """The jobs ``moving`` in an order in which each fits after those before. Raises
    DeadEndError."""
    dead_end: DeadEndError | None = None
    for large_first in (True, False):
        search = _Search(jobs, first, moving, large_first)
        if search.run():
            return search.order
        dead_end = search.dead_end
        if dead_end.proven:
            break
    assert dead_end is not None
    raise dead_end


class _Search:
    """An order being searched: ``order`` so far, the jobs ``left``, the ``room`` and what is still
    ``coming`` to each broker."""

    def __init__(self, jobs: Jobs, first: list[int], moving: list[int], large_first: bool) -> None:
        self.jobs, self.sign = jobs, -1 if large_first else 1
        self.room = jobs.room.copy()
        for job in first:
            self._step(job, 1)
        self.left = np.zeros(len(jobs.size), dtype=np.bool_)
        self.left[moving] = True
        self.coming = jobs.sum_to(self.left)
        self.order: list[int] = []
        self.fewest = len(jobs.size) + 1
        self.dead_end = DeadEndError(-1, -1, 0, False)

    def run(self) -> bool:
        """Whether an order was found; otherwise ``dead_end`` tells where it ended."""
        self._harmless()
        return self._straight() if self.left.sum() > _MANY else self._deep()

    def _straight(self) -> bool:
        """Whatever fits goes, without turning back."""
        chosen = False
        while self.left.any():
            choices = self._choices()
            if not choices:
                self._note()
                self.dead_end.proven = not chosen
                return False
            for job in choices:
                size = self.jobs.sizes[job]
                if not size or all(size <= self.room[b] for b in self.jobs.targets[job]):
                    self._go(job)
            chosen = True
            self._harmless()
        return True

    def _deep(self) -> bool:
        """Depth first, turning back at dead ends."""
        seen: set[bytes] = set()
        stack = [(len(self.order), self._choices())]
        steps = _STEPS
        while self.left.any():
            length, choices = stack[-1]
            while len(self.order) > length:
                self._take_back()
            if not choices:
                self._note()
                stack.pop()
                if not stack:
                    self.dead_end.proven = True
                    return False
                continue
            if not steps:
                return False
            steps -= 1
            self._go(choices.pop(0))
            self._harmless()
            state = np.packbits(self.left).tobytes()
            if state not in seen:
                seen.add(state)
                stack.append((len(self.order), self._choices()))
        return True

    def _choices(self) -> list[int]:
        """The jobs that fit now, in the order in which they are tried: those that free a short disk
        first."""
        jobs = self.jobs
        fit = np.flatnonzero(self.left & jobs.fitting(self.room))
        short = self.coming > np.maximum(self.room, 0)
        frees = np.bincount(jobs.off[short[jobs.freed]], minlength=len(jobs.size)) > 0
        return [int(j) for j in fit[np.lexsort((fit, self.sign * jobs.size[fit], ~frees[fit]))]]

    def _harmless(self) -> None:
        """Put in order every job whose brokers have room for all that is still coming."""
        jobs = self.jobs
        while True:
            short = self.coming > np.maximum(self.room, 0)
            now = np.flatnonzero(self.left & ~jobs.going_to(short))
            if not len(now):
                return
            for job in now.tolist():
                self._go(job)

    def _go(self, job: int) -> None:
        self._step(job, 1)
        self.order.append(job)
        self.left[job] = False
        for b in self.jobs.targets[job]:
            self.coming[b] -= self.jobs.sizes[job]

    def _take_back(self) -> None:
        job = self.order.pop()
        self._step(job, -1)
        self.left[job] = True
        for b in self.jobs.targets[job]:
            self.coming[b] += self.jobs.sizes[job]

    def _step(self, job: int, sign: int) -> None:
        for b in self.jobs.targets[job]:
            self.room[b] -= sign * self.jobs.sizes[job]
        for b in self.jobs.leaves[job]:
            self.room[b] += sign * self.jobs.sizes[job]

    def _note(self) -> None:
        """Remember what lacks least where the fewest are left."""
        left = np.flatnonzero(self.left)
        if len(left) >= self.fewest:
            return
        lacking = [
            (self.jobs.sizes[job] - int(self.room[b]), int(job), b)
            for job in left.tolist()
            for b in self.jobs.targets[job]
            if self.jobs.sizes[job] > max(int(self.room[b]), 0)
        ]
        if lacking:
            self.fewest = len(left)
            least, job, broker = min(lacking)
            self.dead_end = DeadEndError(job, broker, least, False)


def _lists(job: Ints, broker: Ints, count: int) -> list[list[int]]:
    """Brokers by job; ``job`` ascends."""
    start = np.searchsorted(job, np.arange(count + 1)).tolist()
    brokers = broker.tolist()
    return [brokers[start[i] : start[i + 1]] for i in range(count)]
