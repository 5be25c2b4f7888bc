"""The log dirs of each broker, recounted: what is in them after the plan, how full they get, and
the fewest bytes that move between them, proven from stored prices."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from msgspec import Struct, field

from partage.arrays import Ints
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.schema import MalformedError
from partage.brokers.directory import MARKER
from partage.flow.packing import unpack
from partage.flow.size_certificate import moved_bound

_NO_DISK = 2**62
"""Bytes on a disk whose size is not known."""

_SAME = Fraction(1, 10**9)
"""By what share the ends of a band may be off, besides a byte of rounding."""


def is_open(log_dir: dict[str, Any]) -> bool:
    """Whether it takes replicas."""
    return not log_dir["cordoned"] and log_dir["offline"] is None


class _Replica(Struct):
    """``was``: its log dir before, -1 if it is new; ``now``: its log dir after; ``item``: may
    change its log dir; ``removed``: was in one that must be empty; ``new``: was not on the
    broker."""

    size: int
    was: int
    now: int
    item: bool
    removed: bool
    new: bool

    @property
    def moved(self) -> bool:
        return not self.new and self.was != self.now


class BrokerDisks(Struct):
    """A broker with several log dirs of known contents; ``open``: those that may take replicas;
    ``frozen``: one is offline, so that Kafka moves nothing between the others."""

    log_dirs: list[dict[str, Any]]
    open: list[int]
    balanced: bool
    frozen: bool
    replicas: list[_Replica] = field(default_factory=list)

    @property
    def disks(self) -> list[int | None]:
        """Bytes of the open log dirs."""
        return [self.log_dirs[i]["disk_bytes"] for i in self.open]

    @property
    def widths(self) -> list[int]:
        """What each open log dir counts for."""
        disks = self.disks
        return [disk if disk and all(disks) else 1 for disk in disks]

    def is_free(self, replica: _Replica) -> bool:
        """Whether the plan chooses its log dir."""
        return replica.new or replica.removed or (self.balanced and replica.item)

    def held(self, some: list[_Replica]) -> list[int]:
        """Bytes of these replicas in each open log dir after the plan."""
        return [sum(one.size for one in some if one.now == i) for i in self.open]

    @property
    def fullness(self) -> tuple[Fraction, Fraction]:
        """Of the fullest open log dir, and a lower bound for every choice."""
        free = [one for one in self.replicas if self.is_free(one)]
        kept = self.held([one for one in self.replicas if not self.is_free(one)])
        used, widths = self.held(self.replicas), self.widths
        largest = max((one.size for one in free), default=0)
        return (
            max(Fraction(x, w) for x, w in zip(used, widths, strict=True)),
            max(
                Fraction(sum(used), sum(widths)),
                max(Fraction(k, w) for k, w in zip(kept, widths, strict=True)),
                min(Fraction(k + largest, w) for k, w in zip(kept, widths, strict=True)),
            ),
        )

    def band(self, tolerance: Fraction) -> tuple[list[int], list[int]]:
        """The least and the most bytes of each open log dir."""
        ceiling = [_NO_DISK if disk is None else disk for disk in self.disks]
        if not self.balanced:
            return [0] * len(ceiling), ceiling
        base = self.held([one for one in self.replicas if not one.item])
        fair = _fair(base, self.widths, sum(one.size for one in self.replicas if one.item))
        half = Fraction(1, 2)
        high = [ceil(x * (1 + tolerance) - half) for x in fair]
        low = [floor(max(x * (1 - tolerance), Fraction(0)) + half) for x in fair]
        return (
            [max(min(a, b, c), 0) for a, b, c in zip(low, high, ceiling, strict=True)],
            [min(b, c) for b, c in zip(high, ceiling, strict=True)],
        )


def _fair(base: list[int], widths: list[int], amount: int) -> list[Fraction]:
    """The contents of vessels of these widths after ``amount`` more, which fills the lowest
    first."""
    order = sorted(range(len(base)), key=lambda i: Fraction(base[i], widths[i]))
    inside, width, level = amount, 0, Fraction(0)
    for i in order:
        if width and level <= Fraction(base[i], widths[i]):
            break
        inside, width = inside + base[i], width + widths[i]
        level = Fraction(inside, width)
    return [max(Fraction(b), level * w) for b, w in zip(base, widths, strict=True)]


def disks_of(plan: PlanColumns) -> dict[int, BrokerDisks]:
    """The brokers by id, ascending."""
    part = plan.value["partitions"]
    if "log_dirs_before" not in part or "log_dirs_after" not in part:
        return {}
    unknown = {
        b
        for brokers, dirs in zip(plan.before, part["log_dirs_before"], strict=True)
        for b, log_dir in zip(brokers, dirs, strict=True)
        if log_dir < 0
    }
    removed = set(plan.asked.removed_log_dirs)
    found: dict[int, BrokerDisks] = {}
    for broker in plan.value["brokers"]:
        dirs = broker.get("log_dirs", [])
        frozen = any(d["offline"] is not None for d in dirs)
        known = frozen or broker["id"] not in unknown
        slots = [
            i
            for i, one in enumerate(dirs)
            if is_open(one) and (broker["id"], one["path"]) not in removed
        ]
        if len(dirs) > 1 and slots and known and broker["alive"]:
            found[broker["id"]] = BrokerDisks(dirs, slots, plan.asked.balance_disks, frozen)
    for row, size in enumerate(plan.size.tolist()):
        _add_replicas(plan, row, size, found, removed)
    return found


def _add_replicas(
    plan: PlanColumns,
    row: int,
    size: int,
    found: dict[int, BrokerDisks],
    removed: set[tuple[int, str]],
) -> None:
    part = plan.value["partitions"]
    old = dict(zip(plan.before[row], part["log_dirs_before"][row], strict=True))
    new = dict(zip(plan.after[row], part["log_dirs_after"][row], strict=True))
    keeps = bool(plan.chosen[row]) and old.keys() == new.keys()
    for broker, now in new.items():
        disks = found.get(broker)
        if disks is None or now < 0:
            continue
        was = old.get(broker, -1)
        out = was >= 0 and (broker, disks.log_dirs[was]["path"]) in removed
        item = keeps and not disks.frozen and (out or was in disks.open)
        disks.replicas.append(_Replica(size, was, now, item, out, broker not in old))


def uneven_brokers(plan: PlanColumns) -> list[int]:
    """Brokers whose fullest log dir is further above its bound than the tolerance."""
    if not plan.asked.balance_disks:
        return []
    limit = 1 + plan.asked.log_dir_tolerance
    found = []
    for broker, disks in disks_of(plan).items():
        fullest, bound = disks.fullness
        if fullest > bound * limit + Fraction(1, min(disks.widths)):  # a byte is rounding
            found.append(broker)
    return found


def log_dir_bounds(plan: PlanColumns, found: Recount) -> None:
    """The stage ``log dirs``: the bytes that move between log dirs, and the fewest that could."""
    stage, brokers = plan.stages["log dirs"], disks_of(plan)
    entries = stage["prices"]["log_dirs"]
    ids = [entry["broker"] for entry in entries]
    if ids != sorted(set(ids)) or not set(ids) <= brokers.keys():
        raise MalformedError(f"{MARKER}: certificate: log dirs must name brokers, ascending")
    everything = [one for disks in brokers.values() for one in disks.replicas]
    found.values["log dirs"] = sum(one.size for one in everything if one.moved)
    bound = sum(one.size for one in everything if one.removed and not one.item)
    for entry in entries:
        bound += _fewest(plan, brokers[entry["broker"]], entry, found)
    found.compare_bound(stage, bound)


def _fewest(plan: PlanColumns, disks: BrokerDisks, entry: dict[str, Any], found: Recount) -> int:
    """A lower bound on the bytes that bring every log dir of a broker into its band."""
    count = len(disks.open)
    low, high, price = (unpack(entry[key], count) for key in ("low", "high", "prices"))
    load = disks.held(disks.replicas)
    for i, (least, most) in enumerate(zip(*disks.band(plan.asked.log_dir_tolerance), strict=True)):
        wanted = min(least, load[i]), max(most, load[i])  # widened to the load
        rounding = 1 + load[i] * _SAME if disks.balanced else 0
        stated = int(low[i]), int(high[i])
        if any(abs(a - b) > rounding for a, b in zip(stated, wanted, strict=True)):
            path = disks.log_dirs[disks.open[i]]["path"]
            found.defect(
                f"log dirs: the band of {path} on broker {entry['broker']} is not what is asked for"
            )
    items = [one for one in disks.replicas if one.item]
    none = np.zeros(len(items), dtype=np.int64)
    slot_of = {log_dir: slot for slot, log_dir in enumerate(disks.open)}
    sits = [(i, slot_of[one.was]) for i, one in enumerate(items) if one.was in slot_of]
    return moved_bound(
        size=_column([one.size for one in items]),
        demand=none + 1,
        least=none,
        most=none + 1,
        current=(_column([i for i, _ in sits]), _column([slot for _, slot in sits])),
        zone=np.zeros(count, dtype=np.int64),
        base_size=_column(disks.held([one for one in disks.replicas if not one.item])),
        low=low,
        high=high,
        price=price,
    )


def _column(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
