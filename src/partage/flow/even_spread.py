"""Counts per row and slot, with each family spread as evenly as the totals allow.

Rows are items that are alike (partitions of a topic with replicas in the same racks); each row
belongs to a family (the topic). Each row has ``count`` items, each slot takes between ``least`` and
``most``, each open pair between ``low`` and ``high``. The sum of squares of the counts per (family,
slot) is minimised: a convex flow ``row -> (family, slot) -> slot -> sink``.

An initial solution is given. It is optimal if no row can move an item from a slot to another with
at least two fewer. Otherwise the squares are laid out around an estimate as if items were
divisible: a pair has the level of its row plus that of its slot, within its bounds, and the levels
are corrected in turn until the totals nearly match.

With very many pairs and few changes needed, most pairs stay fixed (column generation): in each row
those that should give first and those that should take first may change. Fixed pairs are priced
with the dual values, those that would improve the solution are freed, and the network is solved
again, a limited number of times. With very many pairs and many changes needed, the initial solution
is returned.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.flow.network import Network, Squares, minimise
from partage.flow.sorting import distinct, numbered

_ALL_PAIRS, _ALL_PAIRS_CHANGED = 400_000, 3_000_000
"""Up to this many free pairs, all are laid out; the same where many changes are needed."""
_MANY_CHANGES = 0.01
"""From this many items on pairs that should give, per free pair, on, changes are many."""
_SOME, _TIMES = 8, 8
"""Pairs of a row freed in each direction at first, doubled each time, and how many times."""
_CORRECTIONS, _TOLERANCE = 40, 0.25
"""Maximum number of corrections of the levels, and the tolerance of the totals."""
_FAR = 2**40


class SpreadProblem(Struct, frozen=True, eq=False, dict=True):
    """R rows, E slots, A open pairs, ascending by row and slot.

    - ``count``, ``family`` [R]
    - ``row``, ``slot``, ``low``, ``high`` [A]
    - ``base`` [A]: further items of the row's family on the slot
    - ``least``, ``most`` [E]
    """

    count: Ints
    family: Ints
    row: Ints
    slot: Ints
    low: Ints
    high: Ints
    base: Ints
    least: Ints
    most: Ints

    @property
    def rows(self) -> int:
        return len(self.count)

    @property
    def slots(self) -> int:
        return len(self.least)

    @cached_property
    def cell(self) -> tuple[Ints | None, Ints]:
        """[A] the (family, slot) of each pair, None if no family has two rows; its first pair."""
        if len(distinct(self.family)) == self.rows:
            return None, np.arange(len(self.row))
        code = self.family[self.row] * self.slots + self.slot
        _, first, of = numbered(code)
        return of, first

    def totals(self, counts: Ints) -> Ints:
        """[cells] sums of ``counts`` [A], base included."""
        of, first = self.cell
        if of is None:
            return self.base + counts
        return self.base[first] + np.bincount(of, counts, minlength=len(first)).astype(np.int64)

    def of_pairs(self, cells: Ints) -> Ints:
        """[A] the value of each pair's cell."""
        of, _ = self.cell
        return cells if of is None else cells[of]


def minimise_spread(problem: SpreadProblem, given: Ints) -> Ints:
    """[A] the most even counts, starting from ``given`` feasible ones; with very many pairs, counts
    at least as even as these."""
    gives, takes = _improving(problem, given, np.zeros(problem.slots, dtype=np.int64))
    if not (gives | takes).any():
        return given
    free, part = _undecided(problem)
    if len(free) == 0:
        return given
    found = given[free]
    many = int(given[gives].sum()) > _MANY_CHANGES * len(free)
    if len(free) <= (_ALL_PAIRS_CHANGED if many else _ALL_PAIRS):
        found, _ = _solve(part, found, np.arange(len(free)), _guess(part))
    elif not many:
        found = _by_columns(part, found)
    answer = given.copy()
    answer[free] = found
    return answer


def _by_columns(problem: SpreadProblem, found: Ints) -> Ints:
    """[A] counts at least as even as those ``found``, by column generation."""
    some = _first_to_move(problem, found)
    for turn in range(_TIMES):
        found, price = _solve(problem, found, np.flatnonzero(some), found)
        gives, takes = _improving(problem, found, price)
        if not (gives | takes).any():
            break
        more = _SOME << turn
        some |= _some(problem, gives, more) | _some(problem, takes, more)
    return found


def _improving(problem: SpreadProblem, counts: Ints, price: Ints) -> tuple[Bools, Bools]:
    """[A] pairs that should give an item, and pairs that should take one, according to the squares
    and the ``price`` [E] of the slots: none if the counts are optimal."""
    give, take = _margins(problem, counts, price)
    first = np.searchsorted(problem.row, np.arange(problem.rows))
    dearest, cheapest = np.maximum.reduceat(give, first), np.minimum.reduceat(take, first)
    between = (dearest + cheapest)[problem.row]
    pays = (dearest > cheapest)[problem.row]
    return pays & (2 * give > between), pays & (2 * take < between)


def _margins(problem: SpreadProblem, counts: Ints, price: Ints) -> tuple[Ints, Ints]:
    """[A] what one item less would save and one more would cost, infinite where not allowed. Where
    rows of a family may exchange items, both are the average."""
    level = 2 * problem.of_pairs(problem.totals(counts)) + price[problem.slot]
    step = 1 if problem.cell[0] is None else 0
    give = np.where(counts > problem.low, level - step, -_FAR)
    return give, np.where(counts < problem.high, level + step, _FAR)


def _first_to_move(problem: SpreadProblem, counts: Ints) -> Bools:
    """[A] in each row, some of the pairs that save most and some that cost least."""
    give, take = _margins(problem, counts, np.zeros(problem.slots, dtype=np.int64))
    first = np.searchsorted(problem.row, np.arange(problem.rows))
    dearest = np.maximum.reduceat(give, first)[problem.row]
    cheapest = np.minimum.reduceat(take, first)[problem.row]
    giving = (give == dearest) & (give > -_FAR)
    taking = (take == cheapest) & (take < _FAR)
    return _some(problem, giving, _SOME) | _some(problem, taking, _SOME)


def _some(problem: SpreadProblem, marked: Bools, wanted: int) -> Bools:
    """[A] about ``wanted`` of the marked pairs of each row, different ones in every row."""
    before: Ints = np.cumsum(marked) - marked
    first: Ints = before[np.searchsorted(problem.row, np.arange(problem.rows))]
    number = np.bincount(problem.row, marked, minlength=problem.rows).astype(np.int64)
    step = np.maximum(number // wanted, 1)
    turn = before - first[problem.row] + problem.row
    return np.asarray(marked & (turn % step[problem.row] == 0))


def _undecided(problem: SpreadProblem) -> tuple[Ints, SpreadProblem]:
    """The pairs that the totals do not determine, and the problem of these only."""
    low, high = problem.low, problem.high
    for at, least, most in (
        (problem.row, problem.count, problem.count),
        (problem.slot, problem.least, problem.most),
        (problem.row, problem.count, problem.count),
    ):
        full = _sums(at, low, len(most)) >= most
        empty = _sums(at, high, len(least)) <= least
        low, high = np.where(empty[at], high, low), np.where(full[at], low, high)
    free = np.flatnonzero(low < high)
    fixed = np.where(low < high, 0, low)
    used = np.zeros(problem.rows, dtype=np.bool_)
    used[problem.row[free]] = True
    in_slot = _sums(problem.slot, fixed, problem.slots)
    return free, SpreadProblem(
        count=(problem.count - _sums(problem.row, fixed, problem.rows))[used],
        family=problem.family[used],
        row=(np.cumsum(used) - 1)[problem.row[free]],
        slot=problem.slot[free],
        low=low[free],
        high=high[free],
        base=problem.of_pairs(problem.totals(fixed))[free],
        least=problem.least - in_slot,
        most=problem.most - in_slot,
    )


def _solve(problem: SpreadProblem, given: Ints, free: Ints, guess: Ints) -> tuple[Ints, Ints]:
    """[A] the most even counts in which only the pairs ``free`` differ from those ``given``, with
    windows around a ``guess`` [A]; and the prices of the slots [E]."""
    row, slot, low = problem.row[free], problem.slot[free], problem.low[free]
    beyond = given[free] - low
    of, first = problem.cell
    cells = free if of is None else distinct(of[free])
    slot_at = problem.rows + (0 if of is None else len(cells))
    sink = slot_at + problem.slots
    network = Network(sink + 1, 1)
    network.supply[: problem.rows] = _sums(row, beyond, problem.rows)
    fixed = _sums(problem.slot, given, problem.slots) - _sums(slot, beyond, problem.slots)
    network.supply[slot_at:sink] = fixed - problem.least
    network.supply[sink] = -int(network.supply.sum())
    network.arcs(slot_at + np.arange(problem.slots), sink, problem.most - problem.least)
    tail, capacity, at = row, problem.high[free] - low, slice(0, 0)
    base = problem.totals(given)[cells]
    if of is None:
        base = base - beyond
    else:
        number = np.zeros(len(first), dtype=np.int64)
        number[cells] = np.arange(len(cells))
        to = number[of[free]]
        at = network.arcs(row, problem.rows + to, capacity)
        tail, capacity = problem.rows + np.arange(len(cells)), _sums(to, capacity, len(cells))
        base = base - _sums(to, beyond, len(cells))
    around = problem.totals(guess)[cells] - base
    squares = Squares(
        tail=tail,
        head=slot_at + problem.slot[first[cells]],
        capacity=capacity,
        weight=np.ones(len(cells), dtype=np.int64),
        base=base,
        low=around - 1,
        high=around + 1,
    )
    optimum = minimise(network, {0: squares})
    if optimum is None:
        raise AssertionError("feasible, since the given counts are")
    flow = optimum.flow[squares.at if of is None else at]
    found = given.copy()
    found[free] = low + flow
    distance = optimum.distance[0]
    return found, distance[sink] - distance[slot_at:sink]


def _guess(problem: SpreadProblem) -> Ints:
    """[A] estimated counts, as if items were divisible, rounded."""
    low, high = problem.low, problem.high
    slack = problem.most - problem.least
    part = (int(problem.count.sum()) - int(problem.least.sum())) / max(int(slack.sum()), 1)
    wanted = (problem.count.astype(np.float64), problem.least + part * slack)
    levels = (np.zeros(problem.rows), np.zeros(problem.slots))
    found: Floats = low.astype(np.float64)
    of, _ = problem.cell
    for turn in range(2 * _CORRECTIONS):
        at, level, want = (problem.row, problem.slot)[turn % 2], levels[turn % 2], wanted[turn % 2]
        missing = want - np.bincount(at, found, minlength=len(want))
        moves = np.where((missing > 0)[at], found < high, found > low)
        level += missing / np.maximum(np.bincount(at, moves, minlength=len(want)), 1)
        aim = levels[0][problem.row] + levels[1][problem.slot] - problem.base
        if of is not None:
            # include the family's other rows; half a step, since they step as well
            aim = (aim - np.bincount(of, found)[of] + 2 * found) / 2
        found = np.clip(aim, low, high)
        if turn % 2 and np.abs(missing).max() < _TOLERANCE:
            break
    return np.rint(found).astype(np.int64)


def _sums(at: Ints, values: Ints, length: int) -> Ints:
    return np.bincount(at, values, minlength=length).astype(np.int64)
