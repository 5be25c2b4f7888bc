"""The second oracle: the specification as integer programs, solved by HiGHS.

One program for the placement (a yes or no for every partition and broker), one for the leaders
(a yes or no for every partition, leader and first follower). A convex square is a sum of unit
steps of growing cost, so that minimising fills them in order and bounding their cost bounds the
square. Stages are solved one after another: each stage's value becomes a constraint on the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from tests.oracles.naive_problem import Lists, NaiveProblem, pair

Terms = dict[int, float]


class _Program:
    """Columns and rows collected one by one; ``minimise`` keeps what it found as a row."""

    def __init__(self) -> None:
        self.upper: list[float] = []
        self.integral: list[int] = []
        self.rows: list[Terms] = []
        self.lows: list[float] = []
        self.highs: list[float] = []

    def column(self, upper: float = 1, integral: bool = True) -> int:
        self.upper.append(upper)
        self.integral.append(int(integral))
        return len(self.upper) - 1

    def row(self, terms: Mapping[int, float], low: float, high: float) -> None:
        self.rows.append(dict(terms))
        self.lows.append(low)
        self.highs.append(high)

    def steps(self, terms: Mapping[int, float], constant: int, most: int, offset: int = 0) -> Terms:
        """The cost of (offset + n)² less offset², n = Σ terms + constant ≤ most, as unit steps."""
        columns = [self.column(integral=False) for _ in range(most)]
        self.row({**terms, **dict.fromkeys(columns, -1.0)}, -constant, -constant)
        return {c: 2.0 * (offset + k) + 1.0 for k, c in enumerate(columns)}

    def minimise(self, terms: Mapping[int, float]) -> int:
        """The least value of Σ terms, an integer; from now on the sum stays there."""
        if not any(self.rows):
            return 0
        result = self._solved(terms)
        if result.status != 0:
            raise ArithmeticError(f"HiGHS: {result.message}")
        value = round(result.fun)
        assert abs(result.fun - value) < 1e-4, result.fun
        self.row(terms, -np.inf, value)
        return value

    def reaches(self, terms: Mapping[int, float], value: int) -> bool:
        """Whether Σ terms, an integer, can be so little: in large programs often easier to decide
        than its least value."""
        self.row(terms, -np.inf, value + 0.5)
        result = self._solved({})
        del self.rows[-1], self.lows[-1], self.highs[-1]
        if result.status not in (0, 2):
            raise ArithmeticError(f"HiGHS: {result.message}")
        return bool(result.status == 0)

    def _solved(self, terms: Mapping[int, float]) -> Any:
        cost = np.zeros(len(self.upper))
        for column, weight in terms.items():
            cost[column] += weight
        entries = [(r, c, v) for r, row in enumerate(self.rows) for c, v in row.items()]
        r, c, v = (np.array(x) for x in zip(*entries, strict=True))
        matrix = coo_array((v, (r, c)), shape=(len(self.rows), len(cost))).tocsr()
        return milp(
            cost,
            integrality=np.array(self.integral),
            bounds=Bounds(0, np.array(self.upper)),
            constraints=LinearConstraint(matrix, self.lows, self.highs),
            options={"mip_rel_gap": 0.0},
        )


def _sum(parts: list[Terms]) -> Terms:
    total: Terms = defaultdict(float)
    for part in parts:
        for column, weight in part.items():
            total[column] += weight
    return total


# ---------------------------------------------------------------- placement


def best_placement(problem: NaiveProblem) -> tuple[Fraction, int, int]:
    """(unfairness, moves, spread) of the best placement there is."""
    return _placed(problem, _Program(), {})


def best_survivor(problem: NaiveProblem, leader_squares: int) -> int:
    """The worst survivor's leaders of the best of all best placements, with leaders at most so
    unfair; all partitions are chosen, and have two replicas or more."""
    survivors = _Survivors(problem, leader_squares)
    return survivors.program.minimise({survivors.worst: 1.0})


def best_rack_survivor(
    problem: NaiveProblem, leader_squares: int, worst: int, squares: int
) -> tuple[int, int]:
    """The same after the failure of a rack: the best of all, and of those with at most so bad a
    ``worst`` survivor of a broker and sum of ``squares``."""
    survivors = _Survivors(problem, leader_squares)
    worst_of_rack = survivors.add_racks()
    of_all = survivors.program.minimise({worst_of_rack: 1.0})
    survivors = _Survivors(problem, leader_squares)
    worst_of_rack = survivors.add_racks()
    survivors.keep(worst, squares)
    return of_all, survivors.program.minimise({worst_of_rack: 1.0})


class _Survivors:
    """The best placements with an ordered pair (leader, first follower) for each partition."""

    def __init__(self, problem: NaiveProblem, leader_squares: int) -> None:
        self.problem, self.program = problem, _Program()
        self.holds: dict[tuple[int, int], int] = {}
        program = self.program
        _placed(problem, program, self.holds)
        brokers, self.rows = problem.brokers, range(len(problem.rows))
        self.pick = {
            (i, b, f): program.column()
            for i in self.rows
            for b in brokers
            for f in brokers
            if b != f
        }
        for i in self.rows:
            program.row({self.pick[i, b, f]: 1.0 for b in brokers for f in brokers if b != f}, 1, 1)
            for b in brokers:
                # only a broker with a replica leads, or takes over
                with_b = {self.pick[i, b, f]: 1.0 for f in brokers if f != b}
                with_b |= {self.pick[i, f, b]: 1.0 for f in brokers if f != b}
                program.row({**with_b, self.holds[i, b]: -1.0}, -np.inf, 0)
        self.led = {
            b: {self.pick[i, b, f]: 1.0 for i in self.rows for f in brokers if f != b}
            for b in brokers
        }
        squares = _sum([program.steps(self.led[b], 0, len(self.rows)) for b in brokers])
        program.row(squares, -np.inf, leader_squares)
        self.worst = program.column(upper=2.0 * len(self.rows))
        for level in self.levels():
            program.row({**level, self.worst: -1.0}, -np.inf, 0)

    def levels(self) -> list[Terms]:
        """The leaders of f after the failure of b, for each (b, f)."""
        brokers = self.problem.brokers
        return [
            _sum([self.led[f], {self.pick[i, b, f]: 1.0 for i in self.rows}])
            for b in brokers
            for f in brokers
            if f != b
        ]

    def keep(self, worst: int, squares: int) -> None:
        """Allow only so bad a worst survivor of a broker, and so large a sum of squares."""
        most = len(self.rows)
        self.program.row({self.worst: 1.0}, -np.inf, worst)
        steps = _sum([self.program.steps(level, 0, most) for level in self.levels()])
        self.program.row(steps, -np.inf, squares)

    def add_racks(self) -> int:
        """The column of the worst survivor's leaders after the failure of a rack, which is taken
        over from by the first follower, if that is elsewhere, otherwise by any replica elsewhere;
        every partition has one."""
        problem, program = self.problem, self.program
        worst = program.column(upper=2.0 * len(self.rows))
        for rack in set(problem.rack.values()):
            inside = [b for b in problem.brokers if problem.rack[b] == rack]
            outside = [b for b in problem.brokers if problem.rack[b] != rack]
            takes = {(i, g): program.column() for i in self.rows for g in outside}
            for i in self.rows:
                led = {self.pick[i, b, f]: -1.0 for b in inside for f in problem.brokers if f != b}
                program.row({**{takes[i, g]: 1.0 for g in outside}, **led}, 0, 0)
                for g in outside:
                    first = {self.pick[i, b, g]: -1.0 for b in inside}
                    program.row({takes[i, g]: 1.0, **first}, 0, np.inf)
                    program.row({takes[i, g]: 1.0, self.holds[i, g]: -1.0}, -np.inf, 0)
            for g in outside:
                taken = {takes[i, g]: 1.0 for i in self.rows}
                program.row({**_sum([self.led[g], taken]), worst: -1.0}, -np.inf, 0)
        return worst


def _placed(
    problem: NaiveProblem, program: _Program, holds: dict[tuple[int, int], int]
) -> tuple[Fraction, int, int]:
    """The same; ``holds`` gets the columns of the program by partition and broker."""
    chosen = [(i, row) for i, row in enumerate(problem.rows) if row.chosen]
    racks: dict[str, list[int]] = defaultdict(list)
    for b in problem.brokers:
        if problem.rack:
            racks[problem.rack[b]].append(b)
    for i, row in chosen:
        for b in problem.brokers:
            holds[i, b] = program.column()
        program.row({holds[i, b]: 1.0 for b in problem.brokers}, row.factor, row.factor)
        for members in racks.values():
            if row.factor <= len(racks):
                low, high = 0, 1
            else:
                low, high = 1, _share(sorted(map(len, racks.values())), row.factor)
            program.row({holds[i, b]: 1.0 for b in members}, low, high)

    scale = lcm(*(problem.capacity[b].numerator for b in problem.brokers))
    fair, constant = [], Fraction(0)
    for b in problem.brokers:
        stays = sum(b in row.before for row in problem.rows if not row.chosen)
        constant += Fraction(stays * stays) / problem.capacity[b]
        steps = program.steps({holds[i, b]: 1.0 for i, _ in chosen}, 0, len(chosen), offset=stays)
        weight = float(scale / problem.capacity[b])
        fair.append({column: cost * weight for column, cost in steps.items()})
    spread = [
        program.steps(
            {holds[i, b]: 1.0 for i, row in chosen if row.topic == topic},
            0,
            sum(row.topic == topic for _, row in chosen),
        )
        for topic in sorted({row.topic for _, row in chosen})
        for b in problem.brokers
    ]
    moved = {holds[i, b]: 1.0 for i, row in chosen for b in problem.brokers if b not in row.before}
    if problem.spread_first:
        spread_value = program.minimise(_sum(spread))
        fair_value = program.minimise(_sum(fair))
        return Fraction(fair_value, scale) + constant, program.minimise(moved), spread_value
    fair_value = program.minimise(_sum(fair))
    moves = program.minimise(moved)
    return Fraction(fair_value, scale) + constant, moves, program.minimise(_sum(spread))


def _share(sizes: list[int], factor: int) -> int:
    """The level to which racks of these sizes fill when they take ``factor`` replicas."""
    left = factor
    for done, size in enumerate(sizes):
        level = -(-left // (len(sizes) - done))
        if size >= level:
            return level
        left -= size
    return sizes[-1]


# ---------------------------------------------------------------- leaders


class _Leaders:
    """The program of who leads and who takes over, for given replica sets."""

    def __init__(self, problem: NaiveProblem, sets: Lists) -> None:
        self.problem = problem
        self.program = _Program()
        self.pick: dict[tuple[int, int, int | None], int] = {}
        self.fixed = [pair(problem, row.before) for row in problem.rows if not row.chosen]
        self.changed: Terms = {}
        self.turned: Terms = {}
        for i, (row, replicas) in enumerate(zip(problem.rows, sets, strict=True)):
            live = [b for b in replicas if b in problem.brokers]
            if not row.chosen or not live:
                continue
            before = [b for b in row.before if b in live]
            for b in problem.can_lead(row, live):
                for f in problem.followers(row, live, b) or [None]:
                    column = self.pick[i, b, f] = self.program.column()
                    self.changed[column] = float(b != row.before[0])
                    stays = row.before[0] == b and [b, *([] if f is None else [f])] == before[:2]
                    self.turned[column] = float(set(row.before) == set(replicas) and not stays)
            mine = {c: 1.0 for (j, _, _), c in self.pick.items() if j == i}
            self.program.row(mine, 1, 1)

    def leads(self, b: int) -> Terms:
        return {c: 1.0 for (_, x, _), c in self.pick.items() if x == b}

    def fixed_leads(self, b: int) -> int:
        return sum(x == b for x, _ in self.fixed)


def best_leaders(problem: NaiveProblem, sets: Lists) -> tuple[int, int]:
    """(least sum of squares of leader counts, fewest leader changes among those)."""
    model = _Leaders(problem, sets)
    if not model.pick:
        return sum(model.fixed_leads(b) ** 2 for b in problem.brokers), 0
    squares = [
        model.program.steps(model.leads(b), 0, len(problem.rows), offset=model.fixed_leads(b))
        for b in problem.brokers
    ]
    constant = sum(model.fixed_leads(b) ** 2 for b in problem.brokers)
    value = model.program.minimise(_sum(squares)) + constant
    return value, model.program.minimise(model.changed)


def best_after_failure(problem: NaiveProblem, sets: Lists) -> tuple[int, int]:
    """(worst survivor, failure squares) of the best of all orders with the fairest leaders, however
    these are distributed."""
    return _all_failures(problem, sets).minimise()


def is_best_after_failure(problem: NaiveProblem, sets: Lists, worst: int, squares: int) -> bool:
    """Whether none of these orders has a better worst survivor, or one as good with fewer failure
    squares."""
    stages = _all_failures(problem, sets)
    program = stages.program
    if program.reaches({stages.worst: 1.0}, worst - 1):
        return False
    program.row({stages.worst: 1.0}, -np.inf, worst)
    return not program.reaches(stages.squares, squares - stages.constant - 1)


def fewest_changes(problem: NaiveProblem, sets: Lists, led: Mapping[int, int]) -> int:
    """The fewest leader changes that reach the leader counts ``led``."""
    model = _Leaders(problem, sets)
    if not model.pick:
        return 0
    for b in problem.brokers:
        model.program.row(model.leads(b), *[led[b] - model.fixed_leads(b)] * 2)
    return model.program.minimise(model.changed)


def best_order(
    problem: NaiveProblem, sets: Lists, led: Mapping[int, int]
) -> tuple[int, int, int, int]:
    """(worst survivor, failure squares, leader changes, order changes) of the best order whose
    leader counts are ``led``."""
    model = _Leaders(problem, sets)
    program = model.program
    for b in problem.brokers:
        program.row(model.leads(b), *[led[b] - model.fixed_leads(b)] * 2)
    return (
        *_Failures(model, led, {f: {} for f in problem.brokers}).minimise(),
        program.minimise(model.changed),
        program.minimise(model.turned),
    )


def _all_failures(problem: NaiveProblem, sets: Lists) -> _Failures:
    """Of all orders with the fairest leaders."""
    model = _Leaders(problem, sets)
    program, brokers, rows = model.program, problem.brokers, len(problem.rows)
    led = {b: model.fixed_leads(b) for b in brokers}
    if model.pick:
        fair = [program.steps(model.leads(b), 0, rows, offset=led[b]) for b in brokers]
        program.minimise(_sum(fair))
    return _Failures(model, led, {f: model.leads(f) for f in brokers})


class _Failures:
    """The worst survivor and the failure squares in the program of an order. A survivor's leaders
    are ``led``, and the columns ``picked`` that are chosen, and what it takes over."""

    def __init__(
        self,
        model: _Leaders,
        led: Mapping[int, int],
        picked: Mapping[int, Mapping[int, float]],
    ) -> None:
        self.program, brokers = model.program, model.problem.brokers
        self.worst = self.program.column(upper=2.0 * len(model.problem.rows) + 1)
        steps, self.constant = [], 0
        for b in brokers:
            for f in brokers:
                if f == b:
                    continue
                start = led[f] + model.fixed.count((b, f))
                terms = dict(picked[f])
                terms |= {c: 1.0 for (_, x, y), c in model.pick.items() if (x, y) == (b, f)}
                self.program.row({**terms, self.worst: -1.0}, -np.inf, -start)
                self.constant += start * start
                if terms:
                    steps.append(self.program.steps(terms, 0, len(terms), offset=start))
        self.squares = _sum(steps)

    def minimise(self) -> tuple[int, int]:
        """(worst survivor, failure squares), in this order."""
        worst = self.program.minimise({self.worst: 1.0})
        squares = self.program.minimise(self.squares) if self.squares else 0
        return worst, squares + self.constant
