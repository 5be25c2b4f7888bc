"""The plan's proof worked out again from the files alone.

Nothing of the planner is used here but the file names, the certificate's arithmetic
(``flow.certificate``) and the cluster model's own validation. Everything else, the rules, the
figures, the values of the objective, is counted anew from the two placements in plan.json. What
does not hold is a *defect*: one line that names the file and the place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.directory import (
    FORMAT_VERSION,
    MARKER,
    REASSIGNMENT,
    ROLLBACK,
    fingerprint,
)
from partage.errors import InputError
from partage.files import parse_json, read_text
from partage.flow.certificate import (
    overflow_bound,
    picking_bound,
    sharing_bound,
    takeover_bound,
    unpack,
)

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Lists = list[list[int]]


@dataclass
class Verdict:
    """What was checked (``held``, in words) and what does not hold (``defects``)."""

    held: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.defects


def check(directory: str | os.PathLike[str]) -> Verdict:
    """Check a plan directory. InputError only where there is no plan to check."""
    root = Path(directory)
    if not root.is_dir():
        problem = "is a file" if root.exists() else "no such directory"
        raise InputError(os.fspath(directory), f"{problem}, expected a plan directory")
    if not (root / MARKER).is_file():
        raise InputError(os.fspath(directory), f"has no {MARKER}: not a plan directory")
    verdict = Verdict()
    try:
        plan = _Plan(_read(root / MARKER))
    except _Malformed as error:
        verdict.defects.append(f"{MARKER}: {error}")
        return verdict
    steps: list[tuple[str, Callable[[_Plan, Path], list[str]]]] = [
        ("the plan is of the cluster and the options that it names", _fingerprint),
        ("the placement keeps every rule", _feasible),
        ("the reassignment is the plan, and the rollback restores what was", _files),
        ("the waves together are the reassignment, each partition once", _waves),
        ("every figure is what the placements say", _figures),
        ("every bound follows from its prices, and every stage has the value it claims", _proofs),
    ]
    for what, step in steps:
        try:
            found = step(plan, root)
        except (_Malformed, InputError) as error:
            found = [str(error)]
        except (KeyError, TypeError, ValueError, IndexError, AssertionError) as error:
            found = [f"{MARKER}: malformed ({type(error).__name__}: {error})"]
        verdict.defects.extend(found)
        if not found:
            verdict.held.append(what)
    return verdict


class _Malformed(Exception):
    """plan.json lacks something or has it in a wrong shape."""


def _read(path: Path) -> Any:
    return parse_json(read_text(path), os.fspath(path))


class _Plan:
    """plan.json's columns, nothing derived by anybody else."""

    def __init__(self, value: Any) -> None:
        try:
            self._load(value)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise _Malformed(f"malformed ({type(error).__name__}: {error})") from None

    def _load(self, value: Any) -> None:
        if value["format_version"] != FORMAT_VERSION:
            raise _Malformed(
                f"format_version is {value['format_version']!r}, expected {FORMAT_VERSION}"
            )
        self.value = value
        brokers, part = value["brokers"], value["partitions"]
        self.ids = [int(b["id"]) for b in brokers]
        if self.ids != sorted(set(self.ids)):
            raise _Malformed("brokers: ids must ascend")
        self.place = {b: i for i, b in enumerate(self.ids)}
        self.rack = [b["rack"] for b in brokers]
        self.disk = [b["disk_bytes"] for b in brokers]
        self.capacity = [Fraction(str(b["capacity"])) for b in brokers]
        self.alive = np.array([bool(b["alive"]) for b in brokers])
        self.usable = self.alive & ~np.array([bool(b["excluded"]) for b in brokers])
        self.slots = np.flatnonzero(self.usable)
        self.slot_of = np.full(len(self.ids) + 1, -1)
        self.slot_of[self.slots] = np.arange(len(self.slots))
        self.topics = list(value["topics"])
        self.topic = np.array(part["topic"], dtype=np.int64)
        self.number = list(part["partition"])
        self.chosen = np.array(part["chosen"], dtype=np.bool_)
        self.factor = np.array(part["replication_factor"], dtype=np.int64)
        self.size = np.array([0 if s is None else int(s) for s in part["size_bytes"]], dtype=object)
        self.sized = any(s is not None for s in part["size_bytes"])
        self.rates = part["bytes_per_second"]
        self.before: Lists = part["before"]
        self.after: Lists = part["after"]
        self.options = value["options"]
        self.no_moves = bool(self.options.get("no_moves", False))
        count = len(self.number)
        columns = (self.topic, self.chosen, self.factor, self.size, self.before, self.after)
        if count == 0 or any(len(column) != count for column in columns):
            raise _Malformed("partitions: the columns differ in length")
        self.names = [
            f"{self.topics[t]}-{p}" for t, p in zip(self.topic.tolist(), self.number, strict=True)
        ]
        if len(set(self.names)) != count:
            raise _Malformed("partitions: one is listed twice")

    def on(self, lists: Lists) -> Ints:
        """[P, R] broker positions, -1 padded."""
        width = max(len(row) for row in lists)
        return np.array(
            [[self.place[b] for b in row] + [-1] * (width - len(row)) for row in lists],
            dtype=np.int64,
        )

    def pairs(self, lists: Lists) -> tuple[Ints, Ints]:
        """(row, broker position) of every replica."""
        on = self.on(lists)
        row, column = np.nonzero(on >= 0)
        return row, on[row, column]

    def followers(self, lists: Lists) -> list[int]:
        """Who takes over: position of the next live replica after the first, or -1."""
        return [
            next((self.place[b] for b in row[1:] if self.alive[self.place[b]]), -1) for row in lists
        ]

    @property
    def stages(self) -> dict[str, Any]:
        return {stage["stage"]: stage for stage in self.value["certificate"]["stages"]}


def _fingerprint(plan: _Plan, root: Path) -> list[str]:
    del root
    if plan.value["fingerprint"] != fingerprint(plan.value):
        return [f"{MARKER}: the fingerprint is not that of the cluster and options in it"]
    return []


# ---------------------------------------------------------------------- rules


def _feasible(plan: _Plan, root: Path) -> list[str]:
    del root
    found: list[str] = []
    racks = sorted({plan.rack[s] for s in plan.slots if plan.rack[s] is not None})
    sizes = {r: sum(plan.rack[s] == r for s in plan.slots) for r in racks}
    used: dict[int, int] = dict.fromkeys(plan.ids, 0)
    for i, (old, new) in enumerate(zip(plan.before, plan.after, strict=True)):
        where = f"{MARKER}: {plan.names[i]}"
        if not new or len(set(new)) != len(new) or any(b not in plan.place for b in new):
            found.append(f"{where}: {new} is not a list of different listed brokers")
            continue
        for b in new:
            used[b] += int(plan.size[i])
        if not plan.chosen[i]:
            if old != new:
                found.append(f"{where}: left out of the plan, yet changed")
            continue
        if plan.no_moves:
            if sorted(old) != sorted(new):
                found.append(f"{where}: replicas move though no moves were asked for")
            continue
        bad = [b for b in new if not plan.usable[plan.place[b]]]
        if bad:
            found.append(f"{where}: replica on broker {bad[0]}, which is dead or to be emptied")
        if len(new) != plan.factor[i]:
            found.append(f"{where}: {len(new)} replicas, {plan.factor[i]} were asked for")
        if racks and not bad:
            held = [sum(plan.rack[plan.place[b]] == r for b in new) for r in racks]
            if not _rack_rule(held, list(sizes.values())):
                found.append(f"{where}: {new} breaks the rack rule")
    if found:
        return found[:20]
    for i, b in enumerate(plan.ids):
        if (
            plan.disk[i] is not None
            and plan.usable[i]
            and not plan.no_moves
            and used[b] > plan.disk[i]
        ):
            found.append(f"{MARKER}: broker {b}: {used[b]} bytes on a disk of {plan.disk[i]}")
    return found


def _rack_rule(held: list[int], sizes: list[int]) -> bool:
    """As many racks as possible, then as level as the rack sizes allow."""
    total = sum(held)
    if sum(h > 0 for h in held) < min(total, len(sizes)):
        return False
    most = 1
    while sum(min(s, most) for s in sizes) < total:
        most += 1
    return max(held) <= most


# ---------------------------------------------------------------------- files


def _assignment(path: Path, label: str) -> dict[str, list[int]]:
    """``topic-partition`` -> brokers of a file in Kafka's reassignment form."""
    if not path.is_file():
        raise _Malformed(f"{label}: missing")
    try:
        value = _read(path)
        if value["version"] != 1:
            raise _Malformed(f"{label}: version is not 1")
        lists = {f"{p['topic']}-{p['partition']}": p["replicas"] for p in value["partitions"]}
        count = len(value["partitions"])
    except (KeyError, TypeError, InputError) as error:
        raise _Malformed(f"{label}: not in Kafka's reassignment form ({error})") from None
    if len(lists) != count:
        raise _Malformed(f"{label}: a partition is listed twice")
    return lists


def _changed(plan: _Plan) -> dict[str, list[int]]:
    return {
        name: new
        for name, old, new in zip(plan.names, plan.before, plan.after, strict=True)
        if old != new
    }


def _differs(label: str, wanted: dict[str, list[int]], found: dict[str, list[int]]) -> list[str]:
    defects = []
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            have = found.get(name, "missing")
            defects.append(f"{label}: {name} is {have}, expected {wanted.get(name, 'nothing')}")
    return defects[:20]


def _files(plan: _Plan, root: Path) -> list[str]:
    changed = _changed(plan)
    was = dict(zip(plan.names, plan.before, strict=True))
    found = _differs(REASSIGNMENT, changed, _assignment(root / REASSIGNMENT, REASSIGNMENT))
    back = _assignment(root / ROLLBACK, ROLLBACK)
    found += _differs(ROLLBACK, {name: was[name] for name in changed}, back)
    restored = dict(zip(plan.names, plan.after, strict=True)) | back
    if not found and restored != was:
        found.append(f"{ROLLBACK}: does not restore the placement before")
    if plan.value["changes"] is not bool(changed):
        found.append(f"{MARKER}: changes is {plan.value['changes']}")
    return found


def _waves(plan: _Plan, root: Path) -> list[str]:
    found: list[str] = []
    seen: dict[str, list[int]] = {}
    before = dict(zip(plan.names, plan.before, strict=True))
    size = dict(zip(plan.names, plan.size.tolist(), strict=True))
    listed = [wave["file"] for wave in plan.value["waves"]]
    folder = root / "waves"
    there = sorted(f"waves/{f.name}" for f in folder.iterdir()) if folder.is_dir() else []
    for extra in sorted(set(there) - set(listed)):
        found.append(f"{extra}: is no wave of the plan")
    for wave in plan.value["waves"]:
        label = str(wave["file"])
        if Path(label).is_absolute() or ".." in Path(label).parts:
            raise _Malformed(f"{MARKER}: waves: {label!r} is no file of the plan")
        lists = _assignment(root / label, label)
        for name in sorted(lists.keys() & seen.keys()):
            found.append(f"{label}: {name} is in an earlier wave too")
        seen |= lists
        new = {n: len(set(r) - set(before.get(n, []))) for n, r in lists.items()}
        total = sum(size.get(n, 0) * k for n, k in new.items()) if plan.sized else None
        if (len(lists), sum(new.values()), total) != (
            wave["partitions"],
            wave["moves"],
            wave["bytes"],
        ):
            found.append(f"{MARKER}: waves: the figures of {label} are not what it holds")
    return found + _differs("waves", _changed(plan), seen)


# ---------------------------------------------------------------------- figures


def _figures(plan: _Plan, root: Path) -> list[str]:
    del root
    stages, found = plan.stages, []
    stated = plan.value["figures"]
    for when, lists in (("before", plan.before), ("after", plan.after)):
        mine = _counted(plan, lists)
        theirs = {k: stated[when][k] for k in mine if k != "worst"}
        theirs["worst"] = stated[when]["leaders_after_failure"]["max"]
        for key, value in mine.items():
            if theirs[key] != value:
                found.append(
                    f"{MARKER}: figures.{when}.{key} is {theirs[key]}, the placement says {value}"
                )
    new = [len(set(a) - set(b)) for b, a in zip(plan.before, plan.after, strict=True)]
    mine = {
        "moves": sum(new),
        "bytes_moved": sum((plan.size * new).tolist()) if plan.sized else None,
        "leader_changes": sum(b[0] != a[0] for b, a in zip(plan.before, plan.after, strict=True)),
        "waves": len(plan.value["waves"]),
        "moves_lower_bound": stages["moves"]["bound"] if "moves" in stages else 0,
        "optimal": all(s["value"] == s["bound"] for s in stages.values() if s["exact"]),
        "strategy": plan.value["strategy"],
        "binding": plan.value["binding"],
        "gaps": plan.value["gaps"],
    }
    for key, value in mine.items():
        if stated["after"][key] != value:
            found.append(
                f"{MARKER}: figures.after.{key} is {stated['after'][key]}, counted anew: {value}"
            )
    if stated["after"]["leaders_after_failure"]["ideal"] != stages["failure"]["bound"]:
        found.append(f"{MARKER}: figures.after.leaders_after_failure.ideal is not the proven bound")
    return found


def _counted(plan: _Plan, lists: Lists) -> dict[str, Any]:
    row, broker = plan.pairs(lists)
    slots, count = plan.slots, len(plan.ids)
    replicas = np.bincount(broker, minlength=count)[slots]
    first = np.array([plan.place[r[0]] for r in lists])
    leaders = np.bincount(first, minlength=count)[slots]
    topic = np.zeros((len(plan.topics), count), dtype=np.int64)
    np.add.at(topic, (plan.topic[row], broker), 1)
    held = [0] * count
    for r, b in zip(row.tolist(), broker.tolist(), strict=True):
        held[b] += int(plan.size[r])
    used = [held[s] for s in slots.tolist()]
    full = None
    if plan.sized:
        full = round(max(used) * len(used) / sum(used), 4) if sum(used) else 1.0
    sizes: dict[str, int] = {}
    for s in slots.tolist():
        if plan.rack[s] is not None:
            sizes[plan.rack[s]] = sizes.get(plan.rack[s], 0) + 1
    broken = 0
    for brokers in lists if sizes else []:
        of = [plan.rack[plan.place[b]] for b in brokers]
        most = 1
        while sum(min(n, most) for n in sizes.values()) < len(of) and most < len(of):
            most += 1
        broken += len(set(of)) < min(len(of), len(sizes)) or max(map(of.count, set(of))) > most
    level = _level(plan, lists)
    return {
        "replicas_per_broker": [int(replicas.min()), int(replicas.max())],
        "leaders_per_broker": [int(leaders.min()), int(leaders.max())],
        "rack_violations": broken,
        "topic_spread": int(np.ptp(topic[:, slots], axis=1).max()),
        "bytes_max_over_mean": full,
        "worst": int(level.max()) if len(slots) > 1 else 0,
    }


def _level(plan: _Plan, lists: Lists) -> Ints:
    """[E, E] leaders of survivor f after the failure of b; 0 on the diagonal."""
    slots = len(plan.slots)
    leader = plan.slot_of[[plan.place[r[0]] for r in lists]]
    taker = plan.slot_of[plan.followers(lists)]
    load = np.bincount(leader[leader >= 0], minlength=slots)
    both = (leader >= 0) & (taker >= 0)
    pairs = np.zeros((slots, slots), dtype=np.int64)
    np.add.at(pairs, (leader[both], taker[both]), 1)
    level = load[None, :] + pairs
    np.fill_diagonal(level, 0)
    return level


# ---------------------------------------------------------------------- proofs

_PLACEMENT = ("replicas", "moves", "topic spread")


def _proofs(plan: _Plan, root: Path) -> list[str]:
    del root
    stages = plan.stages
    names = [stage["stage"] for stage in plan.value["certificate"]["stages"]]
    first = () if plan.no_moves else _PLACEMENT
    if plan.options.get("spread") == "topic" and first:
        first = ("topic spread", "replicas", "moves")
    lead = "leader rate" if plan.options.get("leaders") == "rate" else "leaders"
    wanted = [*first, lead, "failure"]
    if names not in ([*wanted], [*wanted, "failure balance"]):
        return [f"{MARKER}: certificate: stages are {names}, expected {wanted}"]
    found = [
        f"{MARKER}: certificate: {name} is marked as no exact stage"
        for name in names
        if stages[name]["exact"] is not (name != "leader rate")
    ]
    values: dict[str, int] = {}
    if first:
        found += _placement_proofs(plan, stages, first, values)
    found += _leader_proofs(plan, stages, values)
    for name in names:
        stage = stages[name]
        if name in values and stage["value"] != values[name]:
            found.append(
                f"{MARKER}: certificate: {name} has the value {values[name]}, not {stage['value']}"
            )
    return found


def _wrong_bound(name: str, stated: Any, proven: int) -> list[str]:
    if stated == proven:
        return []
    return [f"{MARKER}: certificate: the prices of {name} prove {proven}, not {stated}"]


def _placement_proofs(
    plan: _Plan, stages: dict[str, Any], order: tuple[str, ...], values: dict[str, int]
) -> list[str]:
    items = np.flatnonzero(plan.chosen)
    slots, e = plan.slots, len(plan.slots)
    families = sorted(set(plan.topic[items].tolist()))
    family = np.searchsorted(families, plan.topic[items])
    fixed = np.zeros((len(plan.topics), e), dtype=np.int64)
    count = np.zeros((len(plan.topics), e), dtype=np.int64)
    row, broker = plan.pairs(plan.after)
    slot = plan.slot_of[broker]
    ok = slot >= 0
    np.add.at(count, (plan.topic[row[ok]], slot[ok]), 1)
    stay = ok & ~plan.chosen[row]
    np.add.at(fixed, (plan.topic[row[stay]], slot[stay]), 1)
    was_row, was_broker = plan.pairs(plan.before)
    was_slot = plan.slot_of[was_broker]
    own = (was_slot >= 0) & plan.chosen[was_row]
    sits = (np.searchsorted(items, was_row[own]), was_slot[own])

    racks = [plan.rack[s] for s in slots.tolist()]
    names = sorted({r for r in racks if r is not None})
    zone = np.array([names.index(r) if names else 0 for r in racks])
    sizes = np.bincount(zone)
    demand = plan.factor[items]
    least, most = np.zeros_like(demand), demand.copy()
    for factor in np.unique(demand).tolist() if names else []:
        m = 1
        while np.minimum(sizes, m).sum() < factor:
            m += 1
        most[demand == factor] = m
        least[demand == factor] = int(factor > len(names))

    load = count.sum(axis=0)
    new = sum(len(set(a) - set(b)) for b, a in zip(plan.before, plan.after, strict=True))
    found: list[str] = []
    proven: dict[str, int] = {}
    for position, name in enumerate(order):
        prices = stages[name]["prices"]
        weight = np.array(prices["load_weights"], dtype=np.int64)
        found += _wrong_weights(plan, weight)
        use = {k: int(prices["weights"][k]) for k in ("load", "moves", "spread")}
        kind = {"replicas": "load", "moves": "moves", "topic spread": "spread"}
        later = [kind[n] for n in order[position + 1 :]]
        if use[kind[name]] != 1 or any(use[k] for k in later) or min(use.values()) < 0:
            found.append(f"{MARKER}: certificate: {name}: weights {use} prove nothing about it")
            continue
        of_broker = unpack(prices["brokers"], e)
        of_topic = np.zeros((len(families), e), dtype=np.int64)
        if "topics" in prices:
            of_topic = unpack(prices["topics"], len(families) * e).reshape(len(families), e)
        total = sharing_bound(
            family=family,
            demand=demand,
            least=least,
            most=most,
            sits=sits,
            zone=zone,
            base=fixed.sum(axis=0),
            family_base=fixed[families],
            load_weight=use["load"] * weight,
            move_weight=use["moves"],
            spread_weight=use["spread"],
            slot_price=of_broker,
            family_price=of_topic + of_broker,
        )
        value = {
            "load": sum(int(w) * int(x) ** 2 for w, x in zip(weight, load, strict=True)),
            "moves": new,
            "spread": int((count[families] ** 2).sum()),
        }
        values[name] = value[kind[name]]
        # the stages before this one are held at their proven bounds
        earlier = sum(use[kind[n]] * proven[n] for n in order[:position])
        proven[name] = total - earlier
        found += _wrong_bound(name, stages[name]["bound"], proven[name])
    return found


def _wrong_weights(plan: _Plan, weight: Ints) -> list[str]:
    """Weights must be in proportion to 1 / capacity, within the rounding that is allowed."""
    if len(weight) != len(plan.slots) or (weight < 1).any():
        return [f"{MARKER}: certificate: load_weights do not fit the brokers"]
    product = [int(w) * plan.capacity[s] for w, s in zip(weight, plan.slots, strict=True)]
    if max(product) > min(product) * Fraction(9, 8):
        return [f"{MARKER}: certificate: load_weights are not in proportion to 1 / capacity"]
    return []


def _leader_proofs(plan: _Plan, stages: dict[str, Any], values: dict[str, int]) -> list[str]:
    slots = len(plan.slots)
    found: list[str] = []
    first = [plan.place[r[0]] for r in plan.after]
    counts = np.bincount(plan.slot_of[first][plan.slot_of[first] >= 0], minlength=slots)
    # partitions with a choice: two usable replicas or more; the others' leaders and pairs stay
    sets = [sorted({int(plan.slot_of[plan.place[b]]) for b in r} - {-1}) for r in plan.after]
    free = [i for i, s in enumerate(sets) if plan.chosen[i] and len(s) >= 2]
    free_set = set(free)
    base = np.zeros(slots, dtype=np.int64)
    pair_base = np.zeros((slots, slots), dtype=np.int64)
    takers = plan.followers(plan.after)
    for i, taker in enumerate(takers):
        leader = int(plan.slot_of[first[i]])
        if i in free_set or leader < 0:
            continue
        base[leader] += 1
        if taker >= 0 and plan.slot_of[taker] >= 0:
            pair_base[leader, plan.slot_of[taker]] += 1
    rate = "leader rate" in stages
    if rate:
        found += _rate_proof(plan, stages["leader rate"], sets, free_set, values)
    else:
        arcs = [(k, s) for k, i in enumerate(free) for s in sets[i]]
        item, option = (
            (np.array(x, dtype=np.int64) for x in zip(*arcs, strict=True))
            if arcs
            else (np.zeros(0, dtype=np.int64),) * 2
        )
        bound = picking_bound(
            item=item,
            option=option,
            items=len(free),
            option_base=base,
            option_cap=np.full(slots, len(free)),
            option_price=unpack(stages["leaders"]["prices"]["brokers"], slots),
        )
        found += _wrong_bound("leaders", stages["leaders"]["bound"], bound)
        values["leaders"] = int((counts * counts).sum())
    quota = np.zeros(slots, dtype=np.int64)
    triples: list[tuple[int, int, int]] = []
    for k, i in enumerate(free):
        leader = int(plan.slot_of[first[i]])
        quota[leader] += 1
        for b in [leader] if rate else sets[i]:
            triples.extend((k, b, f) for f in sets[i] if f != b)
    item, b, f = (
        (np.array(x, dtype=np.int64) for x in zip(*triples, strict=True))
        if triples
        else (np.zeros(0, dtype=np.int64),) * 3
    )
    codes, option = np.unique(b * slots + f, return_inverse=True)
    offered = np.bincount(option, minlength=len(codes))
    level = _level(plan, plan.after)
    worst = int(level.max()) if slots > 1 else 0
    values["failure"] = worst
    failure = stages["failure"]
    option_slot, taker_slot = codes // slots, codes % slots
    option_base = counts[taker_slot] + pair_base[option_slot, taker_slot]
    arcs_of = {"item": item, "option": option, "items": len(free), "option_slot": option_slot}
    if failure["prices"]:
        over = overflow_bound(
            **arcs_of,
            option_cap=int(failure["bound"]) - 1 - option_base,
            option_price=unpack(failure["prices"]["pairs"], len(codes)),
            slot_price=unpack(failure["prices"]["brokers"], slots),
            quota=quota,
        )
        if over < 1:
            found.append(
                f"{MARKER}: certificate: the prices of failure do not prove {failure['bound']}"
            )
    else:
        room = np.zeros((slots, slots), dtype=np.int64)
        room[option_slot, taker_slot] = offered
        bounds = {takeover_bound(quota, counts, pair_base, room)}
        if "failure balance" not in stages:
            bounds.add(_loose_bound(plan, level, counts))
        if failure["bound"] not in bounds:
            found += _wrong_bound("failure", failure["bound"], max(bounds))
    if "failure balance" in stages:
        stage = stages["failure balance"]
        squares = level.astype(object) ** 2
        values["failure balance"] = int(squares.sum())
        with_choice = np.zeros((slots, slots), dtype=np.bool_)
        with_choice[option_slot, taker_slot] = True
        rest = int(squares[~with_choice].sum())
        bound = rest + picking_bound(
            **arcs_of,
            option_base=option_base,
            option_cap=np.minimum(worst - option_base, offered),
            option_price=unpack(stage["prices"]["pairs"], len(codes)),
            slot_price=unpack(stage["prices"]["brokers"], slots),
            quota=quota,
        )
        found += _wrong_bound("failure balance", stage["bound"], bound)
    return found


def _loose_bound(plan: _Plan, level: Ints, counts: Ints) -> int:
    """The takeover bound of a plan that did not choose its own order: every holder may take over."""
    slots = len(plan.slots)
    together = np.zeros((slots, slots), dtype=np.int64)
    for brokers in plan.after:
        on = [int(plan.slot_of[plan.place[b]]) for b in brokers]
        for one in on:
            for other in on:
                if one != other and one >= 0 and other >= 0:
                    together[one, other] += 1
    pairs = level - counts[None, :]
    np.fill_diagonal(pairs, 0)
    return takeover_bound(pairs.sum(axis=1), counts, np.zeros_like(pairs), together)


def _rate_proof(
    plan: _Plan,
    stage: dict[str, Any],
    sets: list[list[int]],
    free: set[int],
    values: dict[str, int],
) -> list[str]:
    """Rates in 2**30ths of their total: partitions wholly inside the named brokers must be led
    there, whoever leads them."""
    rates = [float(r) for r in plan.rates]
    total = float(np.array(rates).sum())
    scaled = [int(r * (2**30 / total)) if total > 0 else 0 for r in rates]
    slots = len(plan.slots)
    load = [0] * slots
    base = [0] * slots
    for i, brokers in enumerate(plan.after):
        leader = int(plan.slot_of[plan.place[brokers[0]]])
        if leader >= 0:
            load[leader] += scaled[i]
            if i not in free:
                base[leader] += scaled[i]
    values["leader rate"] = max(load)
    inside = {int(plan.slot_of[plan.place[b]]) for b in stage["prices"]["confined"]}
    if not inside or -1 in inside:
        return [f"{MARKER}: certificate: leader rate names brokers that cannot be used"]
    confined = sum(scaled[i] for i in free if set(sets[i]) <= inside)
    confined += sum(base[s] for s in inside)
    proven = max(
        -(-confined // len(inside)),
        max((scaled[i] for i in free), default=0),
        max(base, default=0),
    )
    return _wrong_bound("leader rate", stage["bound"], proven)
