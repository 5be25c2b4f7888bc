"""size.json: the number of brokers, recounted from plan.json without the search that found it.

The placement that shows the number is the plan's: every broker's loads, at normal times and after
the worst failure, must be within its limits, and so must the log dirs that the plan chose. Each
bound is derived again by its rule. n brokers are the n of today's with most of a resource, or all
of these and new ones, which have what most of today's brokers have. Fewer than the bound cannot

- *replication factor*: have the replicas of a partition on distinct brokers;
- *total*: use as much as all replicas together need;
- *large partitions*: hold them apart: no two items of more than half a limit fit together, and for
  a threshold k, items of at least k have only the space that items up to the limit less k leave;
  of items above the limit / (k + 1), at most k fit together; the same for the log dirs of all
  brokers, each as large as the largest;
- *racks*: the same in each rack, for the replicas that the other racks cannot take;
- *broker down*: send what leaders send without the strongest broker, hold the items on the others,
  or take a failed broker's leaders over in other racks;
- *rack down*: do so without the largest rack.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from msgspec import Struct

from partage.brokers.check.broker_disks import is_open
from partage.brokers.check.load_columns import CAPACITY, whole_rates
from partage.brokers.check.plan_columns import PlanColumns, read_json
from partage.brokers.check.racks import max_per_rack
from partage.brokers.check.schema import (
    COUNT,
    FLAG,
    FROM_1,
    ONE,
    RATE,
    Leaf,
    MalformedError,
    OrNull,
    Schema,
    each,
    identical,
    mismatch,
)
from partage.brokers.directory import SIZE
from partage.cluster.broker import MAX_BROKERS

_RESOURCES = ("disk", "in", "out")
_LOG_DIR = "log_dir"
_SURVIVE = ("broker", "rack", "none")
_RULES = ("replication factor", "total", "large partitions", "racks", "broker down", "rack down")
_PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,9})?)%", re.ASCII)
_UNLIMITED = 2**62
_MOST_CELLS = 20_000_000
_MOST_TOGETHER = 1000
_EDGE = 1e-9


def _one_of(*words: str) -> Leaf:
    return Leaf(" or ".join(words), each(lambda value: value in words))


_FILE: Schema = {
    "format_version": ONE,
    "survive": _one_of(*_SURVIVE),
    "headroom": Leaf(
        "a percentage", each(lambda v: type(v) is str and bool(_PERCENT.fullmatch(v)))
    ),
    "brokers": FROM_1,
    "today": COUNT,
    "lower_bound": FROM_1,
    "proven": FLAG,
    "bounds": [
        {
            "resource": OrNull(_one_of(*_RESOURCES, _LOG_DIR)),
            "rule": _one_of(*_RULES),
            "brokers": COUNT,
        }
    ],
    "resources": Leaf("an object", each(lambda value: type(value) is dict and bool(value))),
}
_USE: Schema = {"max": RATE, "max_after_failure": OrNull(RATE)}
_LOG_DIR_USE: Schema = {"max": OrNull(RATE), "max_after_failure": OrNull(RATE)}


def check_size(plan: PlanColumns) -> list[str]:
    """Defects of size.json."""
    value = _read(plan)
    size = _Size(plan, value)
    expected = size.expected()
    found = [
        f"{SIZE}: {key} is {value[key]}, expected {one}"
        for key, one in expected.items()
        if not identical(value[key], one)
    ]
    return found + size.overloads()


def size_not_proven(plan: PlanColumns) -> Iterator[str]:
    """What a sound size.json states and plan.json cannot show, a line each."""
    value = _read(plan)
    yield f"{SIZE} survive, headroom: that they are what you want"
    yield f"{SIZE} resources: that others need not count, and that new brokers are like most"
    if len({one["rack"] for one in plan.value["brokers"] if not one["added"]}) > 1:
        yield f"{SIZE} lower_bound: that fewer do not suffice where a rack is left without brokers"
    if _LOG_DIR in value["resources"] and not _Size(plan, value).chooses_all_log_dirs:
        yield f"{SIZE} resources: that replicas fit into the log dirs that the plan does not choose"
    if not value["proven"]:
        number, bound = value["brokers"], value["lower_bound"]
        yield f"{SIZE} brokers: that {number} are the fewest; their bound is {bound}"


def _read(plan: PlanColumns) -> dict[str, Any]:
    value = read_json(plan.root, SIZE)
    problem = mismatch(value, _FILE) or mismatch(
        value["resources"],
        {f"{name}?": _USE for name in _RESOURCES} | {f"{_LOG_DIR}?": _LOG_DIR_USE},
    )
    if problem is not None:
        raise MalformedError(f"{SIZE}: {problem}")
    found: dict[str, Any] = value
    return found


class _Pool(Struct, frozen=True):
    """Limits of brokers to choose from: of ``today``, highest first, and of each ``new`` one."""

    today: list[int]
    new: int

    @property
    def best(self) -> int:
        return max([*self.today, self.new])

    def most(self, brokers: int, without_best: bool = False) -> int:
        """The most that so many brokers may use together."""
        new = max(0, brokers - len(self.today))
        total = sum(self.today[:brokers]) + new * self.new
        if without_best and brokers:
            total -= max([*self.today[:1], *[self.new] * bool(new)])
        return total

    def fewest(self, total: int, without_best: bool = False) -> int:
        brokers = 0
        while self.most(brokers, without_best) < total:
            beyond = brokers > len(self.today)
            if (self.new == 0 and beyond) or brokers > MAX_BROKERS:
                raise MalformedError(f"{SIZE}: no number of brokers can hold the loads")
            # what is missing needs so many more, or at least one
            missing = total - self.most(brokers, without_best)
            brokers += max(1, missing // max(1, self.new if beyond else self.best))
        return brokers


class _Size:
    def __init__(self, plan: PlanColumns, value: dict[str, Any]) -> None:
        self.plan, self.value = plan, value
        self.share = 1 - Fraction(_PERCENT.fullmatch(value["headroom"])[1]) / 100  # type: ignore[index]
        self.fails = value["survive"] != "none"
        brokers = plan.value["brokers"]
        self.own = [one for one in brokers if not one["added"]]
        self.live = [one for one in self.own if one["alive"]]
        self.racks = sorted({one["rack"] for one in self.own}, key=str)
        self.factor = plan.factor.tolist()
        if max(self.factor) > len(plan.slots):
            raise MalformedError(f"{SIZE}: a partition has more replicas than there are brokers")
        self.names = [name for name in _RESOURCES if name in value["resources"]]
        self.bits, rates = whole_rates(plan) if plan.bytes_in else (0, {})
        # what a replica adds, of ``out`` a leader
        loads = {"disk": plan.size.tolist(), **rates}
        if missing := [name for name in self.names if name not in loads]:
            raise MalformedError(f"{SIZE}: resources: {missing[0]}: plan.json has no rates")
        self.each = {name: loads[name] for name in self.names}
        several = any(len(one.get("log_dirs", ())) > 1 for one in self.own)
        self.in_log_dirs = several and "disk" in self.names

    # -- loads and limits

    def _limit(self, name: str, capacity: int) -> int:
        bits = 0 if name == "disk" else self.bits
        return min(_UNLIMITED, math.floor(capacity * self.share * Fraction(2) ** bits))

    def _capacity(self, name: str, broker: dict[str, Any]) -> int:
        capacity = broker.get(CAPACITY[name])
        if capacity is None:
            problem = f"resources: {name}: broker {broker['id']} has no {CAPACITY[name]}"
            raise MalformedError(f"{SIZE}: {problem}")
        return int(capacity)

    def _pool(self, name: str, brokers: Sequence[dict[str, Any]]) -> _Pool:
        limits = sorted(
            (self._limit(name, self._capacity(name, one)) for one in brokers), reverse=True
        )
        return _Pool(limits, self._limit(name, self._usual_capacity(name)))

    def _usual_capacity(self, name: str) -> int:
        """What most of today's brokers have."""
        return Counter(self._capacity(name, one) for one in self.own).most_common(1)[0][0]

    def _log_dir_limits(self, broker: dict[str, Any]) -> list[int]:
        """Of each log dir; one that takes no replicas may be full. Without any, of the broker."""
        whole = self._limit("disk", self._capacity("disk", broker))
        return [
            whole
            if one["disk_bytes"] is None
            else math.floor(one["disk_bytes"] * (self.share if is_open(one) else 1))
            for one in broker.get("log_dirs", ())
        ] or [whole]

    # -- the placement

    def _takers(self) -> list[list[tuple[Any, int] | None]]:
        """For each kind of failure, by partition what fails and which broker takes over."""
        plan, kinds = self.plan, list[list[tuple[Any, int] | None]]()
        lists = [[plan.place[b] for b in row] for row in plan.after]
        live = [[b for b in row if plan.alive[b]] for row in lists]
        if self.fails:
            kinds.append(
                [
                    next(((row[0], b) for b in some if b != row[0]), None)
                    for row, some in zip(lists, live, strict=True)
                ]
            )
        if self.value["survive"] == "rack":
            rack = plan.rack
            kinds.append(
                [
                    next(((rack[row[0]], b) for b in some if rack[b] != rack[row[0]]), None)
                    for row, some in zip(lists, live, strict=True)
                ]
            )
        return kinds

    def _used(self, name: str) -> tuple[list[int], list[int], list[int]]:
        """[E] load, load after the worst failure, and limit of each usable broker."""
        plan, each = self.plan, self.each[name]
        load = [0] * len(plan.ids)
        for row, one in zip(plan.after, each, strict=True):
            for b in row[:1] if name == "out" else row:
                load[plan.place[b]] += one
        worst = [0] * len(plan.ids)
        for kind in self._takers() if name == "out" else ():
            taken: defaultdict[tuple[Any, int], int] = defaultdict(int)
            for pair, one in zip(kind, each, strict=True):
                if pair is not None:
                    taken[pair] += one
            for (_, b), total in taken.items():
                worst[b] = max(worst[b], total)
        slots = plan.slots.tolist()
        limits = [self._limit(name, self._capacity(name, plan.value["brokers"][s])) for s in slots]
        return [load[s] for s in slots], [load[s] + worst[s] for s in slots], limits

    @cached_property
    def _log_dirs(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The brokers whose log dirs the plan chooses, and the bytes in the fullest one of each
        with its limit."""
        plan, columns = self.plan, self.plan.value["partitions"].get("log_dirs_after")
        ids, fullest = list[int](), list[tuple[int, int]]()
        held: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for brokers, log_dirs, size in zip(
            plan.after, columns or [], plan.size.tolist(), strict=columns is not None
        ):
            for broker, log_dir in zip(brokers, log_dirs, strict=True):
                held[broker].append((log_dir, size))
        for slot in plan.slots.tolist() if columns is not None else ():
            broker = plan.value["brokers"][slot]
            own = broker.get("log_dirs", ())
            places = [k for k, one in enumerate(own) if is_open(one)]
            replicas = held[broker["id"]]
            hidden = any(one["offline"] is not None for one in own)
            if len(own) < 2 or not places or (not hidden and any(k < 0 for k, _ in replicas)):
                continue
            limits, load = self._log_dir_limits(broker), [0] * len(own)
            for k, size in replicas:
                load[k] += size if k >= 0 else 0
            pairs = [(load[k], limits[k]) for k in places]
            ids.append(broker["id"])
            fullest.append(max(pairs, key=lambda pair: pair[0] / max(1, pair[1])))
        return ids, fullest

    @property
    def chooses_all_log_dirs(self) -> bool:
        """Whether the plan chooses the log dirs of every usable broker."""
        return len(self._log_dirs[0]) == len(self.plan.slots)

    def overloads(self) -> list[str]:
        """Brokers, and log dirs, above a limit."""
        return self._overloads() + (self._overfull() if self.in_log_dirs else [])

    def _overfull(self) -> list[str]:
        return [
            f"{SIZE}: broker {broker}: the plan does not keep {self.value['headroom']} of a log "
            "dir free"
            for broker, (load, limit) in zip(*self._log_dirs, strict=True)
            if load > limit
        ]

    def _overloads(self) -> list[str]:
        """Brokers above a limit."""
        ids = [self.plan.ids[s] for s in self.plan.slots.tolist()]
        return [
            f"{SIZE}: broker {broker}: the plan does not keep {self.value['headroom']} of its "
            f"capacity for {name} free"
            for name in self.names
            for broker, after, limit in zip(ids, *self._used(name)[1:], strict=True)
            if after > limit
        ]

    # -- what the file must have

    def expected(self) -> dict[str, Any]:
        """By key, what size.json must state."""
        bounds = self._bounds()
        bound = max(one["brokers"] for one in bounds)
        return {
            "brokers": len(self.plan.slots),
            "today": len(self.live),
            "lower_bound": bound,
            "proven": len(self.plan.slots) == bound,
            "bounds": bounds,
            "resources": {name: self._figures(name) for name in self.names}
            | ({_LOG_DIR: self._log_dir_figures()} if self.in_log_dirs else {}),
        }

    def _log_dir_figures(self) -> dict[str, Any]:
        _, fullest = self._log_dirs
        most = self._highest(*zip(*fullest, strict=True)) if fullest else None
        return {"max": most, "max_after_failure": most if self.fails else None}

    def _figures(self, name: str) -> dict[str, Any]:
        load, after, limit = self._used(name)
        return {
            "max": self._highest(load, limit),
            "max_after_failure": self._highest(after, limit) if self.fails else None,
        }

    def _highest(self, loads: Sequence[int], limits: Sequence[int]) -> float:
        """The highest share of a capacity that is used; beyond all numbers where there is none."""
        return max(
            float(self.share) * load / limit if limit else math.inf if load else 0.0
            for load, limit in zip(loads, limits, strict=True)
        )

    # -- bounds

    def _bounds(self) -> list[dict[str, Any]]:
        found: list[tuple[str | None, str, int]] = [(None, "replication factor", max(self.factor))]
        for name in self.names:
            found += [(name, rule, number) for rule, number in self._of(name)]
        if self.in_log_dirs:
            found.append((_LOG_DIR, "large partitions", self._of_log_dirs()))
        return [{"resource": a, "rule": b, "brokers": c} for a, b, c in found]

    def _of(self, name: str) -> Iterator[tuple[str, int]]:
        """Each rule and the brokers that it shows to be necessary."""
        pool, led = self._pool(name, self.live), name == "out"
        copies = [1] * len(self.factor) if led else self.factor
        items = _repeated(self.each[name], copies)
        yield "total", pool.fewest(sum(items))
        yield "large partitions", _bins(items, pool.best)
        yield "racks", self._of_racks(name, copies)
        if led and self.fails:
            yield from self._of_failures(name, pool)

    def _of_log_dirs(self) -> int:
        """The brokers that have as many log dirs as are necessary, each as large as the largest."""
        disks = Counter(
            tuple(d["disk_bytes"] for d in one.get("log_dirs", ())) for one in self.own
        ).most_common(1)[0][0]
        new = {
            CAPACITY["disk"]: self._usual_capacity("disk"),
            "log_dirs": [{"disk_bytes": d, "cordoned": False, "offline": None} for d in disks],
        }
        limits = [self._log_dir_limits(one) for one in [*self.live, new]]
        items = _repeated(self.each["disk"], self.factor)
        *today, added = map(len, limits)
        pool = _Pool(sorted(today, reverse=True), added)
        return pool.fewest(_bins(items, max(map(max, limits))))

    def _sizes(self) -> list[int]:
        """Live brokers of each rack."""
        return [sum(one["rack"] == rack for one in self.live) for rack in self.racks]

    def _most_in_rack(self) -> dict[int, int]:
        """By replication factor, the most replicas of a partition in a rack."""
        sizes = self._sizes()
        for _ in range(max(self.factor) - sum(sizes)):
            sizes[sizes.index(min(sizes))] += 1
        return {factor: max_per_rack(sizes, factor) for factor in set(self.factor)}

    def _of_racks(self, name: str, copies: Sequence[int]) -> int:
        most, others = self._most_in_rack(), len(self.racks) - 1
        here = [max(0, c - others * most[f]) for c, f in zip(copies, self.factor, strict=True)]
        items = _repeated(self.each[name], here)
        needed = []
        for rack in self.racks:
            pool = self._pool(name, [one for one in self.live if one["rack"] == rack])
            needed.append(max(pool.fewest(sum(items)), _bins(items, pool.best)))
        sizes = self._sizes()
        if any(n > size for n, size in zip(needed, sizes, strict=True)):
            needed = [max(pair) for pair in zip(needed, sizes, strict=True)]
        return sum(needed)

    def _of_failures(self, name: str, pool: _Pool) -> Iterator[tuple[str, int]]:
        pairs = list(zip(self.each[name], self.factor, strict=True))
        items = [one for one, factor in pairs if factor > 1]
        total, best = sum(items), max(1, pool.best)
        down = pool.fewest(total, without_best=True)
        yield "broker down", down
        apart = _bins(items, pool.best)
        yield "broker down", apart + 1 if apart else 0
        sizes, most = self._sizes(), self._most_in_rack()
        alone = [one for one, factor in pairs if factor > 1 and most[factor] == 1]
        if len(sizes) > 1 and alone:
            sent, brokers = sum(alone) / best, down
            while len(sizes) * brokers**2 <= _MOST_CELLS and not _can(sizes, brokers, sent):
                brokers += 1
            yield "broker down", brokers
        if self.value["survive"] == "rack" and apart:
            outside = max(apart, -(-total // best))
            brokers = outside
            while brokers - _largest(sizes, brokers) < outside:
                brokers += 1
            yield "rack down", brokers


def _repeated(each: Sequence[int], copies: Sequence[int]) -> list[int]:
    return [one for one, n in zip(each, copies, strict=True) for _ in range(n)]


def _bins(items: Sequence[int], limit: int) -> int:
    """A lower bound on the bins of this limit that the items need."""
    sizes = sorted(one for one in items if one > 0)
    if not sizes:
        return 0
    sums = [0, *accumulate(sizes)]
    limit = min(limit, sums[-1])
    if sizes[-1] > limit:
        raise MalformedError(f"{SIZE}: a partition is larger than any broker's limit")
    half = bisect_right(sizes, limit // 2)  # the first of more than half
    best = max(-(-sums[-1] // limit), len(sizes) - half)
    for k in sorted(set(sizes[:half])):
        alone = bisect_right(sizes, limit - k)  # the first beside which no item of k fits
        free = (alone - half) * limit - (sums[alone] - sums[half])
        small = sums[half] - sums[bisect_left(sizes, k)]
        best = max(best, len(sizes) - half + max(0, -(-(small - free) // limit)))
    for k in range(2, _MOST_TOGETHER + 1):
        best = max(best, -(-(len(sizes) - bisect_right(sizes, limit // (k + 1))) // k))
    return best


def _largest(sizes: Sequence[int], brokers: int) -> int:
    """The fewest brokers that the largest rack can have, of so many in all."""
    if brokers > sum(sizes):
        return max(max(sizes), -(-brokers // len(sizes)))
    return min(c for c in range(max(sizes) + 1) if sum(min(s, c) for s in sizes) >= brokers)


def _can(sizes: Sequence[int], brokers: int, sent: float) -> bool:
    """Whether the brokers can be in racks such that other racks can take over from any one of them:
    m brokers of a rack then send at least as much as leaves space for one of them elsewhere, and
    all racks together ``sent``, in limits of a broker."""
    must = np.array([_sent_by_rack(m, brokers, sent) for m in range(brokers + 1)])
    least = np.full(brokers + 1, np.inf)  # by brokers that are in the racks so far
    least[0] = 0.0
    more = brokers > sum(sizes)
    for size in sizes:
        counts = range(size, brokers + 1) if more else range(min(size, brokers) + 1)
        following = np.full(brokers + 1, np.inf)
        for m in counts:
            following[m:] = np.minimum(following[m:], least[: brokers + 1 - m] + must[m])
        least = following
    return bool(least[brokers] <= sent * (1 + _EDGE))


def _sent_by_rack(m: int, brokers: int, sent: float) -> float:
    """The least that m brokers of a rack send; infinite where they cannot send as much."""
    rest = sent * (1 - _EDGE) - (brokers - m)
    if m == 0 or rest <= 0:
        return 0.0
    if m == 1:
        return math.inf
    least = rest / ((m - 1) / m)
    return least if least <= m * (1 + _EDGE) else math.inf
