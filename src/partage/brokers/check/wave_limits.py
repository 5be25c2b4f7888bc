"""Does every wave keep its limits, and is the lower bound on their number correct?

The waves are replayed one after the other from their files: which broker fetches what from which
leader, what each disk holds meanwhile, and how long the wave takes at the throttle.

The bound: a broker receives at most ``concurrency`` new replicas in a wave; a leader's partitions,
each counting min(its new replicas, concurrency), are packed into waves of ``concurrency`` (Martello
and Toth's bound L2); a wave has at most ``batch`` partitions. Partitions that move no data have
waves of their own; so have those that only change log dirs, after all others, where a log dir takes
at most ``concurrency`` replicas in a wave.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from partage.brokers.check.files import read_reassignment
from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns
from partage.brokers.check.schema import identical
from partage.brokers.directory import MARKER, wave_name


def check_wave_limits(plan: PlanColumns) -> list[str]:
    """Defects of the waves, of their stated loads, and of ``waves_lower_bound``."""
    limits = _Limits.of(plan)
    changes = _changes(plan)
    replay = _Replay(plan, limits)
    found: list[str] = []
    for number, wave in enumerate(plan.value["waves"], start=1):
        name = wave_name(number)
        lists = read_reassignment(plan, name)
        members = [changes[partition] for partition in lists if partition in changes]
        found += [f"{name}: {problem}" for problem in replay.run(name, wave, members)]
    stated, fewest = plan.value["figures"]["after"]["waves_lower_bound"], limits.fewest(changes)
    if not identical(stated, fewest):
        found.append(f"{MARKER}: figures.after.waves_lower_bound is {stated}, expected {fewest}")
    return found[:MAX_DEFECTS]


@dataclass(frozen=True)
class _Change:
    """A partition that changes: ids of the brokers that fetch it (``new``) and that drop it
    (``gone``), its live ``leader`` (None without one), bytes of a replica, those that a
    new one copies (``copied``), and the log dirs (broker, position) that replicas which stay change
    to (``copies``)."""

    new: tuple[int, ...]
    gone: tuple[int, ...]
    leader: int | None
    size: int
    copied: int
    copies: tuple[tuple[int, int], ...]

    @property
    def only_copies(self) -> bool:
        """Whether replicas change their log dirs, and none its broker."""
        return bool(self.copies) and not self.new and not self.gone


def _changes(plan: PlanColumns) -> dict[str, _Change]:
    """By partition name, in the order of plan.json."""
    changes = {}
    for name, old, after, size, copied, moved in zip(
        plan.names,
        plan.before,
        plan.after,
        plan.size.tolist(),
        plan.copied.tolist(),
        plan.between_log_dirs,
        strict=True,
    ):
        if old != after or moved:
            changes[name] = _Change(
                new=tuple(b for b in after if b not in old),
                gone=tuple(b for b in old if b not in after),
                leader=next((b for b in old if plan.alive[plan.place[b]]), None),
                size=size,
                copied=copied,
                copies=tuple((b, log_dir) for b, (_, log_dir) in moved.items()),
            )
    return changes


@dataclass
class _Load:
    """A wave's load by broker id: replicas and bytes received, and sent as leader; ``kept``: bytes
    of the replicas received, once they have all that stays on a broker; ``senders``:
    partitions that each leader sends; ``copies``: replicas that each log dir takes in a wave of
    partitions that only change log dirs; ``copied``: bytes between the log dirs of each broker."""

    replicas_in: Counter[int] = field(default_factory=Counter)
    replicas_out: Counter[int] = field(default_factory=Counter)
    bytes_in: Counter[int] = field(default_factory=Counter)
    bytes_out: Counter[int] = field(default_factory=Counter)
    kept: Counter[int] = field(default_factory=Counter)
    senders: Counter[int] = field(default_factory=Counter)
    copies: Counter[tuple[int, int]] = field(default_factory=Counter)
    copied: Counter[int] = field(default_factory=Counter)
    log_dir_moves: int = 0

    @classmethod
    def of(cls, changes: Iterable[_Change]) -> _Load:
        load = cls()
        for change in changes:
            for b in change.new:
                load.replicas_in[b] += 1
                load.bytes_in[b] += change.copied
                load.kept[b] += change.size
            if change.new and change.leader is not None:
                load.replicas_out[change.leader] += len(change.new)
                load.bytes_out[change.leader] += len(change.new) * change.copied
                load.senders[change.leader] += 1
            if change.only_copies:
                load.copies.update(change.copies)
            for b, _ in change.copies:
                load.copied[b] += change.size
            load.log_dir_moves += len(change.copies)
        return load


class _Replay:
    """The plan's waves, run one after the other; ``held``: bytes on each broker by id."""

    def __init__(self, plan: PlanColumns, limits: _Limits) -> None:
        self.plan, self.limits = plan, limits
        self.held = Counter[int]()
        for brokers, size in zip(plan.before, plan.size.tolist(), strict=True):
            for b in brokers:
                self.held[b] += size
        self.idle = ""
        """The last wave that moves no data and frees no disk."""
        self.copied = ""
        """The last wave of partitions that only change log dirs."""
        self.moves_log_dirs = any(plan.between_log_dirs)

    def run(self, name: str, wave: dict[str, object], members: Sequence[_Change]) -> list[str]:
        """What is wrong with the wave; afterwards its new replicas are there, and the old gone."""
        load = _Load.of(members)
        problems = [
            *self.limits.broken(load, len(members)),
            *self._overfull_disks(load),
            *self._misplaced(name, members),
            *self._misstated(wave, load),
        ]
        for change in members:
            for b in change.new:
                self.held[b] += change.size
            for b in change.gone:
                self.held[b] -= change.size
        return problems

    def _overfull_disks(self, load: _Load) -> list[str]:
        """Disks that overflow while the wave runs, when old copies are still there."""
        return [
            f"broker {b} holds {self.held[b]} bytes and receives {more}, on a disk of {disk}"
            for b, disk in zip(self.plan.ids, self.plan.disk, strict=True)
            if disk is not None and (more := load.kept[b]) > 0 and self.held[b] + more > disk
        ]

    def _misplaced(self, name: str, members: Sequence[_Change]) -> list[str]:
        """Partitions that move no data must come last, in waves of their own, unless they free a
        disk."""
        copying = sum(change.only_copies for change in members)
        if copying:
            self.copied = name
            mixed = copying < len(members)
            return ["mixes partitions that only change log dirs with others"] if mixed else []
        problems = []
        if self.copied:
            problems.append(f"comes after {self.copied}, which only changes log dirs")
        moving = sum(bool(change.new) for change in members)
        if 0 < moving < len(members):
            problems.append("mixes partitions that move data with partitions that move none")
        if moving and self.idle:
            problems.append(f"moves data after {self.idle}, which moves none and frees none")
        if members and not moving and not all(change.gone for change in members):
            self.idle = name
        return problems

    def _misstated(self, wave: dict[str, object], load: _Load) -> list[str]:
        """Fields of the wave in plan.json that differ from its load and duration."""
        sized, throttle = self.plan.sized, self.limits.throttle
        brokers = sorted({*load.replicas_in, *load.replicas_out})
        counted: dict[str, object] = {"brokers": brokers}
        for name in ("replicas_in", "replicas_out", "bytes_in", "bytes_out"):
            amount: Counter[int] = getattr(load, name)
            known = sized or name.startswith("replicas")
            counted[name] = [amount[b] for b in brokers] if known else None
        counted["seconds"] = None
        if sized and throttle is not None:
            loads = (load.bytes_in, load.bytes_out, load.copied)
            busiest = max([0, *(n for one in loads for n in one.values())])
            counted["seconds"] = -(-busiest // throttle)
        if self.moves_log_dirs:
            counted["log_dir_moves"] = load.log_dir_moves
            counted["log_dir_bytes"] = sum(load.copied.values())
        elif "log_dir_moves" in wave or "log_dir_bytes" in wave:
            return ["log_dir_moves and log_dir_bytes go with moves between log dirs"]
        return [
            f"{name} in plan.json is not what the wave moves"
            for name, value in counted.items()
            if not identical(wave.get(name), value)
        ]


@dataclass(frozen=True)
class _Limits:
    """The options that limit a wave; ``throttle`` in bytes per second."""

    concurrency: int
    batch: int | None
    throttle: int | None

    @classmethod
    def of(cls, plan: PlanColumns) -> _Limits:
        return cls(plan.asked.concurrency, plan.asked.batch, plan.asked.throttle)

    def broken(self, load: _Load, partitions: int) -> list[str]:
        """The limits that a wave breaks."""
        found = [
            f"broker {b} receives {n} replicas, at most {self.concurrency} are allowed"
            for b, n in sorted(load.replicas_in.items())
            if n > self.concurrency
        ]
        found += [
            f"broker {b} sends {n} replicas, at most {self.concurrency} are allowed"
            for b, n in sorted(load.replicas_out.items())
            if n > self.concurrency and load.senders[b] > 1
        ]
        found += [
            f"log dir {log_dir} of broker {b} takes {n} replicas, at most {self.concurrency} are "
            "allowed"
            for (b, log_dir), n in sorted(load.copies.items())
            if n > self.concurrency
        ]
        if self.batch is not None and partitions > self.batch:
            found.append(f"has {partitions} partitions, at most {self.batch} are allowed")
        return found

    def fewest(self, changes: dict[str, _Change]) -> int:
        """A lower bound on the waves of any schedule of these changes."""
        received: Counter[int] = Counter()
        sent: dict[int, list[int]] = defaultdict(list)
        only = [change for change in changes.values() if change.only_copies]
        others = [change for change in changes.values() if not change.only_copies]
        for change in others:
            received.update(change.new)
            if change.new and change.leader is not None:
                sent[change.leader].append(min(len(change.new), self.concurrency))
        moving = sum(bool(change.new) for change in others)
        bounds = [self._batches(moving)]
        bounds += [-(-n // self.concurrency) for n in received.values()]
        bounds += [_bins(sizes, self.concurrency) for sizes in sent.values()]
        most = max(Counter(at for change in only for at in change.copies).values(), default=0)
        copying = max(-(-most // self.concurrency), self._batches(len(only))) if only else 0
        return max(bounds) + self._batches(len(others) - moving) + copying

    def _batches(self, partitions: int) -> int:
        return -(-partitions // (self.batch or max(partitions, 1)))


def _bins(sizes: Iterable[int], capacity: int) -> int:
    """A lower bound on the bins that these sizes fill: Martello and Toth's L2."""
    count = Counter(sizes)
    thresholds = {0, *(size for size in count if 2 * size <= capacity)}
    return max(_bins_at(count, capacity, threshold) for threshold in thresholds)


def _bins_at(count: Counter[int], capacity: int, threshold: int) -> int:
    """L2 at one threshold: sizes above capacity - threshold get a bin alone, sizes above a half one
    each, and the rest from the threshold fills what those leave free."""
    alone = halves = free = small = 0
    for size, n in count.items():
        if size > capacity - threshold:
            alone += n
        elif 2 * size > capacity:
            halves += n
            free += (capacity - size) * n
        elif size >= threshold:
            small += size * n
    return alone + halves + max(0, -(-(small - free) // capacity))
