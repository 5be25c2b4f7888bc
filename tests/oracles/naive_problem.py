"""The planning problem, read naively from cluster JSON and options, and the cost of a placement.

Written from the specification only; nothing here imports the product. The oracles share this module
and nothing else: each finds its optima differently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

Lists = Sequence[Sequence[int]]


class BadProblemError(Exception):
    """The specification treats this problem as bad input."""


@dataclass(frozen=True)
class Row:
    """One partition: where it is, how many replicas are asked, whether the problem may change it,
    and the racks that its leader must be in, if not any."""

    topic: str
    number: int
    before: tuple[int, ...]
    factor: int
    chosen: bool
    leader_racks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class NaiveProblem:
    """``brokers``: the eligible ones (alive, not removed, in the broker set), ascending;
    ``outside``: those alive that are not in the set. ``rack`` is empty when the cluster has no
    racks. Rows are in ascending (topic, partition)."""

    brokers: tuple[int, ...]
    rack: Mapping[int, str]
    capacity: Mapping[int, Fraction]
    rows: tuple[Row, ...]
    spread_first: bool
    no_moves: bool
    outside: frozenset[int] = frozenset()
    demoted: frozenset[int] = frozenset()

    @cached_property
    def rack_sizes(self) -> Counter[str]:
        """Eligible brokers per rack in play."""
        return Counter(self.rack[b] for b in self.brokers if b in self.rack)

    def most_per_rack(self, factor: int) -> int:
        """The most replicas of one partition that a rack may hold."""
        most = 1
        while sum(min(n, most) for n in self.rack_sizes.values()) < factor:
            most += 1
        return most

    def can_lead(self, row: Row, replicas: Sequence[int]) -> list[int]:
        """The replicas that may come first: those on eligible brokers, or any when none is; where
        racks must lead, only those in them; on demoted brokers only if there is no other."""
        able = [b for b in replicas if b in self.brokers]
        if row.leader_racks is not None:
            able = [b for b in able if self.rack[b] in row.leader_racks]
        elif not able:
            return list(replicas)
        return [b for b in able if b not in self.demoted] or able

    def followers(self, row: Row, live: Sequence[int], leader: int) -> list[int]:
        """The eligible replicas that may come second after the leader: on demoted brokers only if
        there is no other, or if one of these has to lead."""
        others = [b for b in live if b != leader]
        if leader in self.demoted:
            return others
        return [b for b in others if b not in self.demoted] or others

    def ends_demoted(self, row: Row, replicas: Sequence[int]) -> bool:
        """Whether demoted brokers come after other eligible ones, where they need not lead."""
        last = [b in self.demoted for b in replicas if b in self.brokers]
        return set(self.can_lead(row, replicas)) <= self.demoted or last == sorted(last)


def read_problem(cluster: Mapping[str, Any], options: Mapping[str, Any]) -> NaiveProblem:
    """Raises BadProblemError where the specification asks for an InputError."""
    brokers = {b["id"]: b for b in cluster["brokers"]}
    rack = {i: b["rack"] for i, b in brokers.items() if b.get("rack") is not None}
    capacity = {i: Fraction(b.get("capacity", 1)) for i, b in brokers.items()}
    alive = {i for i, b in brokers.items() if b.get("alive", True)}
    removed = set(options.get("remove_broker", ()))
    added: dict[int, str | None] = {}
    for text in options.get("add_broker", ()):
        name, _, where = text.partition(":")
        added[int(name)] = where or None
    for text in options.get("replace_broker", ()):
        old, new = map(int, text.split("="))
        removed.add(old)
        if new not in brokers:
            added[new] = rack.get(old)
            capacity[new] = capacity[old]
    # an added broker is like most of the listed ones; on a tie like the one of the lowest id
    listed = [capacity[i] for i in sorted(brokers)]
    usual = max(listed, key=lambda c: (listed.count(c), -listed.index(c)))
    for new, where in added.items():
        capacity.setdefault(new, usual)
        alive.add(new)
        if where is not None:
            rack[new] = where
    inside = set(options.get("broker_set", ())) or alive
    if inside - {*brokers, *added}:
        raise BadProblemError("a broker of the set is not in the cluster")
    eligible = tuple(sorted((alive - removed) & inside))
    if not eligible:
        raise BadProblemError("no broker left")

    general: int | None = None
    special: dict[str, int] = {}
    for text in options.get("replication_factor", ()):
        topic, equals, factor = text.rpartition("=")
        if equals:
            special[topic] = int(factor)
        else:
            general = int(factor)
    leader_racks: dict[str, tuple[str, ...]] = {}
    for text in options.get("leader_racks", ()):
        topic, equals, names = text.rpartition("=")
        leader_racks[topic if equals else ""] = tuple(names.split(","))
    pattern = options.get("topics")
    rows = []
    for p in sorted(cluster["partitions"], key=lambda p: (p["topic"], p["partition"])):
        chosen = pattern is None or re.fullmatch(pattern, p["topic"]) is not None
        before = tuple(p["replicas"])
        factor = len(before)
        if chosen:
            factor = special.get(p["topic"], factor if general is None else general)
            if factor > len(eligible) and not options.get("no_moves"):
                raise BadProblemError(f"{p['topic']}: {factor} replicas on {len(eligible)} brokers")
        elif removed & set(before):
            raise BadProblemError(f"{p['topic']}: left out, but on a removed broker")
        racks = leader_racks.get(p["topic"], leader_racks.get("")) if chosen else None
        rows.append(Row(p["topic"], p["partition"], before, factor, chosen, racks))
    return NaiveProblem(
        brokers=eligible,
        rack=rack,
        capacity=capacity,
        rows=tuple(rows),
        spread_first=options.get("spread", "cluster") == "topic",
        no_moves=bool(options.get("no_moves", False)),
        outside=frozenset(alive - inside),
        demoted=_demoted(options, eligible),
    )


def _demoted(options: Mapping[str, Any], eligible: Sequence[int]) -> frozenset[int]:
    found = frozenset(int(word) for word in options.get("demote_broker", ()))
    if found >= set(eligible):
        raise BadProblemError("no broker is left that may lead")
    return found


# ---------------------------------------------------------------- is a placement legal


def defects(problem: NaiveProblem, lists: Lists) -> list[str]:
    """Every hard rule that the placement breaks."""
    found = []
    for row, after in zip(problem.rows, lists, strict=True):
        name = f"{row.topic}-{row.number} {list(after)}"
        if not row.chosen:
            if tuple(after) != row.before:
                found.append(f"{name}: left out, yet changed")
            continue
        if len(set(after)) != len(after):
            found.append(f"{name}: a broker twice")
        if after[0] not in problem.can_lead(row, after):
            found.append(f"{name}: led by a broker that cannot")
        if not problem.ends_demoted(row, after):
            found.append(f"{name}: lists a demoted broker too early")
        if problem.no_moves:
            if sorted(after) != sorted(row.before):
                found.append(f"{name}: moved, with no moves allowed")
            continue
        if len(after) != row.factor:
            found.append(f"{name}: asked for {row.factor} replicas")
        if not set(after) <= set(problem.brokers):
            found.append(f"{name}: on a broker that must be empty")
        if problem.rack_sizes:
            used = Counter(problem.rack.get(b) for b in after)
            if len(used) < min(row.factor, len(problem.rack_sizes)):
                found.append(f"{name}: on {len(used)} racks")
            if max(used.values()) > problem.most_per_rack(row.factor):
                found.append(f"{name}: {max(used.values())} replicas in one rack")
    return found


# ---------------------------------------------------------------- what a placement is worth


def loads(problem: NaiveProblem, lists: Lists) -> dict[int, int]:
    """Replicas per eligible broker."""
    count = Counter(b for after in lists for b in after)
    return {b: count[b] for b in problem.brokers}


def unfairness(problem: NaiveProblem, lists: Lists) -> Fraction:
    """Stage 1: the sum of load² / capacity."""
    return sum((n * n / problem.capacity[b] for b, n in loads(problem, lists).items()), Fraction(0))


def moves(problem: NaiveProblem, lists: Lists) -> int:
    """Stage 2: replicas on brokers that did not hold one before."""
    return sum(len(set(a) - set(row.before)) for row, a in zip(problem.rows, lists, strict=True))


def spread(problem: NaiveProblem, lists: Lists) -> int:
    """Stage 3: the sum over (topic, eligible broker) of count², chosen topics only: what is left
    out is a constant."""
    count = Counter(
        (row.topic, b)
        for row, a in zip(problem.rows, lists, strict=True)
        if row.chosen
        for b in a
        if b in problem.brokers
    )
    return sum(n * n for n in count.values())


def placement_value(problem: NaiveProblem, lists: Lists) -> tuple[Fraction, int, int]:
    """(unfairness, moves, spread), whatever the order in which they count."""
    return unfairness(problem, lists), moves(problem, lists), spread(problem, lists)


def in_order(
    problem: NaiveProblem, value: tuple[Fraction, int, int]
) -> tuple[Fraction, Fraction, Fraction]:
    """The same value in the order in which the problem minimises it."""
    one, two, three = value[0], Fraction(value[1]), Fraction(value[2])
    return (three, one, two) if problem.spread_first else (one, two, three)


# ---------------------------------------------------------------- what an order is worth


def pair(problem: NaiveProblem, replicas: Sequence[int]) -> tuple[int | None, int | None]:
    """Who leads (the first of the list) and who takes over (the next one on a live broker); None
    for nobody, and for a broker that is not eligible."""
    if replicas[0] not in problem.brokers:
        return None, None
    live = [b for b in replicas[1:] if b in problem.brokers or b in problem.outside]
    return replicas[0], live[0] if live and live[0] in problem.brokers else None


def leader_counts(problem: NaiveProblem, lists: Lists) -> dict[int, int]:
    count = Counter(pair(problem, a)[0] for a in lists)
    return {b: count[b] for b in problem.brokers}


def after_failure(problem: NaiveProblem, lists: Lists) -> list[int]:
    """For every ordered pair (failed, survivor) of eligible brokers, the survivor's leaders."""
    led = leader_counts(problem, lists)
    pairs = Counter(pair(problem, a) for a in lists)
    return [led[f] + pairs[b, f] for b in problem.brokers for f in problem.brokers if f != b]


def leader_changes(problem: NaiveProblem, lists: Lists) -> int:
    return sum(
        row.chosen and a[0] != row.before[0] for row, a in zip(problem.rows, lists, strict=True)
    )


def order_changes(problem: NaiveProblem, lists: Lists) -> int:
    """Partitions that keep their replicas and yet change their list."""
    return sum(
        tuple(a) != row.before and set(a) == set(row.before)
        for row, a in zip(problem.rows, lists, strict=True)
    )


@dataclass(frozen=True)
class LeaderValue:
    """Stages 4 to 7 of one placement and its order."""

    squares: int
    worst: int
    failure_squares: int
    leader_changes: int
    order_changes: int


def leader_value(problem: NaiveProblem, lists: Lists) -> LeaderValue:
    survivors = after_failure(problem, lists)
    return LeaderValue(
        squares=sum(n * n for n in leader_counts(problem, lists).values()),
        worst=max(survivors, default=0),
        failure_squares=sum(n * n for n in survivors),
        leader_changes=leader_changes(problem, lists),
        order_changes=order_changes(problem, lists),
    )
