"""The fast oracle: dynamic programming over every load vector that can be reached.

*Placement.* What stages 1 to 3 say about a topic depends on nothing but how many of its replicas
each broker holds (the topic's vector) and on the moves. So: for each topic, every vector that can
be reached, with the fewest moves that reach it, one partition at a time; then the vectors of the
topics summed, again every sum with the best value that reaches it. A vector is one integer, five
bits a broker. Vectors that hold more on one broker than any optimum can are dropped; how much that
is follows from one feasible placement and from levelling the rest by water-filling.

*Leaders.* Every vector of leader counts, with the fewest leader changes that reach it. For one
given vector, stages 5 to 7 fall apart by leader: what broker b's partitions do after b fails
concerns no other broker. So brokers are taken one after another, each choosing which of the
remaining partitions it leads, and for each choice all ways to name first followers are tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import numpy.typing as npt

from tests.oracles.naive_problem import Lists, NaiveProblem, Row, pair

_BITS = 5
_UNIT = 1_000_000  # one unit of the first of two values packed into one integer
_Ints = npt.NDArray[np.int64]


# ---------------------------------------------------------------- placement


@dataclass
class _Table:
    """Reachable vectors (packed, distinct) and the least value that reaches each."""

    vectors: _Ints
    values: _Ints

    def plus(self, other: _Table, caps: _Ints) -> _Table:
        vectors = (self.vectors[:, None] + other.vectors[None, :]).ravel()
        values = (self.values[:, None] + other.values[None, :]).ravel()
        fits = (_unpack(vectors, len(caps)) <= caps).all(axis=1)
        return _least(vectors[fits], values[fits])


def _least(vectors: _Ints, values: _Ints) -> _Table:
    order = np.lexsort((values, vectors))
    vectors, values = vectors[order], values[order]
    first = np.ones(len(vectors), dtype=np.bool_)
    first[1:] = vectors[1:] != vectors[:-1]
    return _Table(vectors[first], values[first])


def _pack(brokers: Sequence[int]) -> int:
    return sum(1 << (_BITS * b) for b in brokers)


def _unpack(vectors: _Ints, brokers: int) -> _Ints:
    return (vectors[:, None] >> (_BITS * np.arange(brokers))) & (2**_BITS - 1)


def is_small(problem: NaiveProblem, limit: int = 5_000_000) -> bool:
    """Whether the sums that ``best_placement`` may have to form stay below ``limit``."""
    count = 1
    for topic in {row.topic for row in problem.rows}:
        sizes = [len(legal_sets(problem, r)) for r in problem.rows if r.chosen and r.topic == topic]
        count *= comb(len(sizes) + max(sizes, default=1) - 1, len(sizes))
    return count <= limit


def legal_sets(problem: NaiveProblem, row: Row) -> list[tuple[int, ...]]:
    """Every set of positions in ``problem.brokers`` on which the partition may stand."""
    sets = list(combinations(range(len(problem.brokers)), row.factor))
    if not problem.rack_sizes:
        return sets
    racks = [problem.rack[b] for b in problem.brokers]
    reach = min(row.factor, len(problem.rack_sizes))
    spans = [Counter(racks[i] for i in chosen) for chosen in sets]
    widest = [(s, c) for s, c in zip(sets, spans, strict=True) if len(c) == reach]
    lowest = min(max(c.values()) for _, c in widest)
    return [s for s, c in widest if max(c.values()) == lowest]


def _caps(sets: list[list[tuple[int, ...]]], start: list[int], weight: list[Fraction]) -> _Ints:
    """[B] the most that each slot holds in any placement with the least sum of weight·count²."""
    slots = range(len(start))

    def cost(counts: Sequence[int]) -> Fraction:
        return sum((weight[i] * counts[i] ** 2 for i in slots), Fraction(0))

    counts = list(start)
    picks: list[tuple[int, ...]] = []
    for options in sets:
        pick = min(options, key=lambda s: sum(weight[i] * (2 * counts[i] + 1) for i in s))
        picks.append(pick)
        for i in pick:
            counts[i] += 1
    improved = True
    while improved:
        improved = False
        for row, options in enumerate(sets):
            for option in options:
                other = list(counts)
                for i in picks[row]:
                    other[i] -= 1
                for i in option:
                    other[i] += 1
                if cost(other) < cost(counts):
                    counts, picks[row], improved = other, option, True
    best, total = cost(counts), sum(counts)
    caps = []
    for slot in slots:
        most = counts[slot]
        while most < total - sum(start) + start[slot]:
            level = list(start)
            level[slot] = most + 1
            others = [i for i in slots if i != slot]
            if sum(level) > total or (sum(level) < total and not others):
                break
            for _ in range(total - sum(level)):
                level[min(others, key=lambda i: weight[i] * (2 * level[i] + 1))] += 1
            if cost(level) > best:
                break
            most += 1
        caps.append(most)
    return np.array(caps, dtype=np.int64)


def best_placement(problem: NaiveProblem) -> tuple[Fraction, int, int]:
    """(unfairness, moves, spread) of the best placement there is."""
    count = len(problem.brokers)
    place = {b: i for i, b in enumerate(problem.brokers)}
    fixed = Counter(
        place[b] for row in problem.rows if not row.chosen for b in row.before if b in place
    )
    start = [fixed[i] for i in range(count)]
    weight = [1 / problem.capacity[b] for b in problem.brokers]
    topics: dict[str, list[Row]] = {}
    for row in problem.rows:
        if row.chosen:
            topics.setdefault(row.topic, []).append(row)
    every = [legal_sets(problem, row) for rows in topics.values() for row in rows]
    roof = np.full(count, 2**_BITS - 1, dtype=np.int64)
    caps = roof if problem.spread_first else _caps(every, start, weight)

    whole = _Table(np.array([_pack(list(fixed.elements()))]), np.zeros(1, dtype=np.int64))
    for rows in topics.values():
        table = _Table(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
        ways = [legal_sets(problem, row) for row in rows]
        inner = _caps(ways, [0] * count, [Fraction(1)] * count) if problem.spread_first else caps
        for row, sets in zip(rows, ways, strict=True):
            held = {place[b] for b in row.before if b in place}
            options = _Table(
                np.array([_pack(s) for s in sets], dtype=np.int64),
                np.array([len(set(s) - held) for s in sets], dtype=np.int64),
            )
            table = table.plus(options, inner)
        squares = (_unpack(table.vectors, count) ** 2).sum(axis=1)
        if problem.spread_first:
            least = squares == squares.min()
            table = _Table(table.vectors[least], table.values[least] + _UNIT * squares[least])
        else:
            table = _Table(table.vectors, table.values * _UNIT + squares)
        whole = whole.plus(table, caps)

    best: tuple[Fraction, ...] | None = None
    answer = (Fraction(0), 0, 0)
    square = _unpack(whole.vectors, count) ** 2
    scale = np.lcm.reduce([w.denominator for w in weight])
    cost = square @ np.array([int(w * int(scale)) for w in weight], dtype=np.int64)
    for c, value in zip(cost.tolist(), whole.values.tolist(), strict=True):
        first, second = divmod(value, _UNIT)
        fair = Fraction(c, int(scale))
        key = (first, fair, second) if problem.spread_first else (fair, first, second)
        if best is None or key < best:
            best = key
            answer = (fair, second, first) if problem.spread_first else (fair, first, second)
    return answer


# ---------------------------------------------------------------- leaders


def _free(problem: NaiveProblem, sets: Lists) -> list[tuple[Row, tuple[int, ...]]]:
    """The partitions that choose a leader among eligible brokers, with those brokers."""
    return [
        (row, live)
        for row, replicas in zip(problem.rows, sets, strict=True)
        if row.chosen and (live := tuple(b for b in replicas if b in problem.brokers))
    ]


def _fixed_pairs(problem: NaiveProblem) -> Counter[tuple[int | None, int | None]]:
    return Counter(pair(problem, row.before) for row in problem.rows if not row.chosen)


def leader_vectors(problem: NaiveProblem, sets: Lists) -> dict[tuple[int, ...], int]:
    """Every vector of leader counts (in the order of ``problem.brokers``) that these replica sets
    allow, with the fewest leader changes that reach it."""
    place = {b: i for i, b in enumerate(problem.brokers)}
    start = [0] * len(place)
    for (leader, _), times in _fixed_pairs(problem).items():
        if leader is not None:
            start[place[leader]] += times
    table = {tuple(start): 0}
    for row, live in _free(problem, sets):
        grown: dict[tuple[int, ...], int] = {}
        for vector, changes in table.items():
            for b in problem.can_lead(row, live):
                i = place[b]
                key = (*vector[:i], vector[i] + 1, *vector[i + 1 :])
                cost = changes + (b != row.before[0])
                if cost < grown.get(key, cost + 1):
                    grown[key] = cost
        table = grown
    return table


def best_leaders(problem: NaiveProblem, sets: Lists) -> tuple[int, int]:
    """(least sum of squares of leader counts, fewest leader changes among those)."""
    table = leader_vectors(problem, sets)
    return min((sum(n * n for n in vector), changes) for vector, changes in table.items())


def fewest_changes(problem: NaiveProblem, sets: Lists, led: Mapping[int, int]) -> int:
    """The fewest leader changes that reach the leader counts ``led``."""
    return leader_vectors(problem, sets)[tuple(led[b] for b in problem.brokers)]


def best_order(
    problem: NaiveProblem, sets: Lists, led: Mapping[int, int]
) -> tuple[int, int, int, int]:
    """(worst survivor, failure squares, leader changes, order changes) of the best order whose
    leader counts are ``led``."""
    rows = _free(problem, sets)
    fixed = _fixed_pairs(problem)
    brokers = problem.brokers
    mine = [led[b] - sum(n for (x, _), n in fixed.items() if x == b) for b in brokers]

    @cache
    def ways(b: int, chosen: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """(worst, squares, order changes) for every way to name the first followers of the
        partitions ``chosen``, led by b; only those that nothing beats."""
        others = [f for f in brokers if f != b]
        found: set[tuple[int, int, int]] = set()
        options = [problem.followers(*rows[i], b) or [None] for i in chosen]
        for followers in product(*options):
            count = Counter(followers)
            after = [led[f] + fixed[b, f] + count[f] for f in others]
            changed = 0
            for i, f in zip(chosen, followers, strict=True):
                row, live = rows[i]
                same_set = set(row.before) == set(sets_of[i])
                keeps = row.before[0] == b and [x for x in row.before if x in live][1:2] == (
                    [] if f is None else [f]
                )
                changed += same_set and not keeps
            found.add((max(after, default=0), sum(n * n for n in after), changed))
        return [
            v
            for v in found
            if not any(w != v and all(x <= y for x, y in zip(w, v, strict=True)) for w in found)
        ]

    may_lead = [problem.can_lead(row, live) for row, live in rows]
    sets_of = [
        replicas
        for row, replicas in zip(problem.rows, sets, strict=True)
        if row.chosen and any(b in brokers for b in replicas)
    ]

    # State: the partitions still without a leader. Value: what nothing beats in (worst, squares,
    # leader changes, order changes); the worst is a maximum and the others are sums, so dominated
    # values can go but a lexicographic comparison must wait for the end.
    table: dict[tuple[int, ...], set[tuple[int, int, int, int]]] = {
        tuple(range(len(rows))): {(0, 0, 0, 0)}
    }
    for b, share in zip(brokers, mine, strict=True):
        grown: dict[tuple[int, ...], set[tuple[int, int, int, int]]] = {}
        for left, values in table.items():
            for chosen in combinations([i for i in left if b in may_lead[i]], share):
                rest = tuple(i for i in left if i not in chosen)
                changes = sum(rows[i][0].before[0] != b for i in chosen)
                target = grown.setdefault(rest, set())
                for worst, squares, turned in ways(b, chosen):
                    for w, s, c, t in values:
                        target.add((max(w, worst), s + squares, c + changes, t + turned))
        table = {rest: _undominated(values) for rest, values in grown.items()}
    return min(table[()])


def best_after_failure(problem: NaiveProblem, sets: Lists) -> tuple[int, int]:
    """(worst survivor, failure squares) of the best of all orders with the fairest leaders, however
    these are distributed."""
    vectors = leader_vectors(problem, sets)
    least = min(sum(n * n for n in vector) for vector in vectors)
    return min(
        best_order(problem, sets, dict(zip(problem.brokers, vector, strict=True)))[:2]
        for vector in vectors
        if sum(n * n for n in vector) == least
    )


def _undominated(values: set[tuple[int, int, int, int]]) -> set[tuple[int, int, int, int]]:
    """Of values with the same worst, the lexicographically least: the rest adds up alike."""
    least: dict[int, tuple[int, int, int, int]] = {}
    for value in sorted(values, reverse=True):
        least[value[0]] = value
    return set(least.values())
