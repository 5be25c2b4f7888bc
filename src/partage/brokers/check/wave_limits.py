"""Does every wave keep its limits, and how few waves could there be?

The waves are run through, one after the other, from their files: who fetches what from whom, what
each disk holds meanwhile, and how long it takes at the throttle. Nothing is taken from the planner,
not even how it reads a throttle.

The bound: a wave brings a broker at most ``concurrency`` new replicas; a leader's partitions, each
asking for min(its new replicas, concurrency), are packed into waves of ``concurrency`` (Martello
and Toth's bound L2); a wave has at most ``batch`` partitions. Those that move no data have waves of
their own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from partage.brokers.check.plan_file import PlanFile, size_in_bytes
from partage.brokers.check.plan_files import assignment
from partage.brokers.check.shape import same
from partage.brokers.directory import MARKER, wave_name


def check_wave_limits(plan: PlanFile) -> list[str]:
    limits = _Limits.of(plan)
    jobs = _jobs(plan)
    held = Counter[int]()
    for brokers, size in zip(plan.before, plan.size.tolist(), strict=True):
        for b in brokers:
            held[b] += size
    found: list[str] = []
    idle = ""  # a wave without data that is not there to free a disk
    for number, wave in enumerate(plan.value["waves"], start=1):
        label = wave_name(number)
        members = [jobs[n] for n in assignment(plan.root, label) if n in jobs]
        load = _Load()
        for job in members:
            load.add(job)
        problems = limits.broken(load, len(members))
        problems += _overflows(plan, load, held)
        moving = sum(bool(job.new) for job in members)
        if 0 < moving < len(members):
            problems.append("moves data and also has partitions that move none")
        if moving and idle:
            problems.append(f"moves data after {idle}, which moves none and frees none")
        if members and not moving and not all(job.gone for job in members):
            idle = label
        problems += _misstated(wave, load, plan.sized, limits.throttle)
        found += [f"{label}: {problem}" for problem in problems]
        for job in members:
            for b in job.new:
                held[b] += job.size
            for b in job.gone:
                held[b] -= job.size
    stated, fewest = plan.value["figures"]["after"]["waves_lower_bound"], limits.fewest(jobs)
    if not same(stated, fewest):
        found.append(
            f"{MARKER}: figures.after.waves_lower_bound is {stated}, counted anew: {fewest}"
        )
    return found[:20]


@dataclass(frozen=True)
class _Job:
    """A partition whose list changes: who fetches it and from whom (None: no live leader), and who
    gives it up."""

    new: tuple[int, ...]
    gone: tuple[int, ...]
    leader: int | None
    size: int


def _jobs(plan: PlanFile) -> dict[str, _Job]:
    """By name, in the order of plan.json."""
    jobs = {}
    for name, old, after, size in zip(
        plan.names, plan.before, plan.after, plan.size.tolist(), strict=True
    ):
        if old != after:
            jobs[name] = _Job(
                new=tuple(b for b in after if b not in old),
                gone=tuple(b for b in old if b not in after),
                leader=next((b for b in old if plan.alive[plan.place[b]]), None),
                size=size,
            )
    return jobs


@dataclass
class _Load:
    """What a wave asks of each broker: replicas and bytes received, and sent as leader;
    ``senders``: how many partitions each sends."""

    replicas_in: Counter[int] = field(default_factory=Counter)
    replicas_out: Counter[int] = field(default_factory=Counter)
    bytes_in: Counter[int] = field(default_factory=Counter)
    bytes_out: Counter[int] = field(default_factory=Counter)
    senders: Counter[int] = field(default_factory=Counter)

    def add(self, job: _Job) -> None:
        for b in job.new:
            self.replicas_in[b] += 1
            self.bytes_in[b] += job.size
        if job.new and job.leader is not None:
            self.replicas_out[job.leader] += len(job.new)
            self.bytes_out[job.leader] += len(job.new) * job.size
            self.senders[job.leader] += 1


@dataclass(frozen=True)
class _Limits:
    concurrency: int
    batch: int | None
    throttle: int | None

    @classmethod
    def of(cls, plan: PlanFile) -> _Limits:
        """The limits that the options name."""
        throttle = plan.options.get("throttle")
        rate = None if throttle is None else size_in_bytes(throttle, "throttle")
        return cls(plan.options.get("concurrency", 2), plan.options.get("batch"), rate)

    def broken(self, load: _Load, partitions: int) -> list[str]:
        """What the wave breaks."""
        found = [
            f"broker {b} receives {n} replicas, {self.concurrency} at a time are allowed"
            for b, n in sorted(load.replicas_in.items())
            if n > self.concurrency
        ]
        found += [
            f"broker {b} sends {n} replicas, {self.concurrency} at a time are allowed"
            for b, n in sorted(load.replicas_out.items())
            if n > self.concurrency and load.senders[b] > 1
        ]
        if self.batch is not None and partitions > self.batch:
            found.append(f"has {partitions} partitions, {self.batch} are allowed")
        return found

    def fewest(self, jobs: dict[str, _Job]) -> int:
        """Waves that every plan of these jobs needs."""
        received: Counter[int] = Counter()
        asked: dict[int, list[int]] = defaultdict(list)
        for job in jobs.values():
            received.update(job.new)
            if job.new and job.leader is not None:
                asked[job.leader].append(min(len(job.new), self.concurrency))
        moving = sum(bool(job.new) for job in jobs.values())
        bounds = [self._waves_of(moving)]
        bounds += [-(-n // self.concurrency) for n in received.values()]
        bounds += [_packed(sizes, self.concurrency) for sizes in asked.values()]
        return max(bounds) + self._waves_of(len(jobs) - moving)

    def _waves_of(self, partitions: int) -> int:
        return -(-partitions // (self.batch or max(partitions, 1)))


def _packed(sizes: Iterable[int], room: int) -> int:
    """A lower bound on the bins of that room: Martello and Toth's L2."""
    count = Counter(sizes)
    best = 0
    for least in {0, *(size for size in count if 2 * size <= room)}:
        alone = sum(n for size, n in count.items() if size > room - least)
        halves = {size: n for size, n in count.items() if room < 2 * size and size <= room - least}
        small = sum(size * n for size, n in count.items() if least <= size and 2 * size <= room)
        beside = sum((room - size) * n for size, n in halves.items())
        best = max(best, alone + sum(halves.values()) + max(0, -(-(small - beside) // room)))
    return best


def _overflows(plan: PlanFile, load: _Load, held: Counter[int]) -> list[str]:
    """Disks that hold too much while the wave runs, old copies included."""
    return [
        f"broker {b} holds {held[b]} bytes and receives {more}, on a disk of {disk}"
        for b, disk in zip(plan.ids, plan.disk, strict=True)
        if disk is not None and (more := load.bytes_in[b]) > 0 and held[b] + more > disk
    ]


def _misstated(
    wave: dict[str, object], load: _Load, sized: bool, throttle: int | None
) -> list[str]:
    """What plan.json says of the wave's load and time that is not so."""
    brokers = sorted({*load.replicas_in, *load.replicas_out})
    mine: dict[str, object] = {"brokers": brokers}
    for name in ("replicas_in", "replicas_out", "bytes_in", "bytes_out"):
        amount: Counter[int] = getattr(load, name)
        known = sized or name.startswith("replicas")
        mine[name] = [amount[b] for b in brokers] if known else None
    mine["seconds"] = None
    if sized and throttle is not None:
        busiest = max([0, *load.bytes_in.values(), *load.bytes_out.values()])
        mine["seconds"] = -(-busiest // throttle)
    return [
        f"{name} is not what it holds"
        for name, value in mine.items()
        if not same(wave[name], value)
    ]
