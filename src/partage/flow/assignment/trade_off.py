"""Trade balance for movement: the loads to aim at, and the assignment that reaches them.

Fairness and few moves are conflicting objectives. Both trade-offs are solved for loads only, in the
network of classes, where items of equal demand are interchangeable:

- *within* windows on the loads: the fewest moves, then the fairest loads;
- *for* at most N moves: the fairest loads. Moves get a price in units of fairness. With a price
  that is too low there are more than N moves, with one that is too high there are fewer; the lowest
  price at which N suffice is found by bisection. At that price several optima may have the same
  cost and different numbers of moves. The one with the fewest and the one with the most moves
  differ by cycles of flow, and each cycle applied alone yields another optimum (costs are convex);
  so cycles are applied to the first as long as N allows. A result with exactly N moves is proven
  to be the fairest.

Reaching the chosen loads is then an ordinary assignment: of the problem *aimed* at them, where
loads are counted from the target, so that only the target itself is fair.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Ints
from partage.flow.assignment.count_network import CountNetwork, Groups
from partage.flow.assignment.problem import LOAD, MOVES, AssignmentProblem
from partage.flow.network import Network


class Trade(Struct, frozen=True, eq=False):
    """Loads to aim at and what proves them optimal.

    - ``load`` [E], base included; ``moves`` that they take, as a lower bound from classes
    - ``move_price``: what a move costs in fairness (0: fairness is not what was minimised)
    - ``slot_price`` [E]: dual values of what was minimised first
    """

    load: Ints
    moves: int
    move_price: int
    slot_price: Ints


def fairest(problem: AssignmentProblem) -> Trade:
    """The fairest loads, with the fewest moves."""
    return _solved(_TradeNetwork(problem, (LOAD, MOVES)), 0)


def loads_within(problem: AssignmentProblem, low: Ints, high: Ints) -> Trade | None:
    """The loads between ``low`` and ``high`` [E], base included, that take the fewest moves, and of
    these the fairest; None where infeasible."""
    network = _TradeNetwork(replace(problem, window=(low, high)), (MOVES, LOAD))
    return _result(network, 0) if network.solve() else None


def loads_for(problem: AssignmentProblem, moves: int) -> Trade | None:
    """The fairest loads that at most ``moves`` moves reach; None where infeasible."""
    free = _solved(_TradeNetwork(problem, (LOAD, MOVES)), 0)
    if free.moves <= moves:
        return free
    # at this price no move pays off
    largest = int(np.abs(problem.base).max(initial=0)) + int(problem.demand.sum())
    low, high = 0, 4 * int(problem.weight.max()) * (largest + 1)
    if _solved(_TradeNetwork(problem, (LOAD, MOVES), high), high).moves > moves:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _solved(_TradeNetwork(problem, (LOAD, MOVES), middle), middle).moves > moves:
            low = middle
        else:
            high = middle
    few = _TradeNetwork(problem, (LOAD, MOVES), high)
    few.solve()
    many = _TradeNetwork(problem, (LOAD, MOVES), high, most_moves=True, like=few)
    many.solve()
    return _between(few, many, moves, high)


def aimed(problem: AssignmentProblem, load: Ints) -> AssignmentProblem:
    """The problem whose only fair loads are ``load`` [E]: loads are counted from these."""
    return replace(problem, base=problem.base - load, weight=np.ones_like(problem.weight))


class _TradeNetwork(CountNetwork):
    """The network of classes in which a move costs ``price`` on the first layer. ``most_moves``
    breaks ties by the most moves instead of the fewest; ``like``: a network whose arcs are laid out
    again."""

    def __init__(
        self,
        problem: AssignmentProblem,
        layers: tuple[str, ...],
        price: int = 0,
        *,
        most_moves: bool = False,
        like: CountNetwork | None = None,
    ) -> None:
        super().__init__(Groups.by(problem, problem.item_class, spread=False), layers, None)
        self.price, self.sign = price, -1 if most_moves else 1
        self.like = like

    def _layer(self, cost: str, values: npt.ArrayLike) -> dict[int, npt.ArrayLike] | None:
        at = super()._layer(cost, values)
        if cost == MOVES and at is not None:
            at = {layer: self.sign * np.asarray(value) for layer, value in at.items()}
            if self.price:
                at[0] = self.price * np.asarray(values)
        return at

    def guess(self, network: Network) -> None:
        super().guess(network)
        if self.like is not None:
            self.load_squares = self.like.load_squares

    def loads(self, flow: Ints) -> Ints:
        """[E] loads of a flow over the arcs."""
        squares = self.load_squares
        assert squares is not None
        return squares.base + flow[squares.at]


def _solved(network: _TradeNetwork, price: int) -> Trade:
    if not network.solve():
        raise AssertionError("feasible, since every single item is")
    return _result(network, price)


def _result(network: _TradeNetwork, price: int) -> Trade:
    moves = int(network.new_counts().sum())
    return Trade(network.loads(network.optimum.flow), moves, price, network.prices(0)[0])


def _between(few: _TradeNetwork, many: _TradeNetwork, moves: int, price: int) -> Trade:
    """From the optimum with the fewest moves towards the one with the most, up to ``moves``."""
    tail, head, flow = few.optimum.tail, few.optimum.head, few.optimum.flow.copy()
    new = np.zeros(len(flow), dtype=np.int64)
    new[few.new_arcs] = 1
    made = int(few.new_counts().sum())
    for arcs, signs, amount in _cycles(tail, head, many.optimum.flow - flow):
        more = int((signs * new[arcs]).sum())
        if more > 0:
            times = min(amount, (moves - made) // more)
            flow[arcs] += signs * times
            made += times * more
    return Trade(few.loads(flow), made, price, few.prices(0)[0])


def _cycles(tail: Ints, head: Ints, difference: Ints) -> Iterator[tuple[Ints, Ints, int]]:
    """Decompose a circulation into cycles: (arcs, +1 or -1 each, amount)."""
    left = difference.copy()
    leaving: dict[int, list[int]] = {}
    for arc in np.flatnonzero(left).tolist():
        leaving.setdefault(int(tail[arc] if left[arc] > 0 else head[arc]), []).append(arc)
    for start in sorted(leaving):
        while True:
            path: list[int] = []
            place: dict[int, int] = {}
            node = start
            while node not in place:
                place[node] = len(path)
                arcs = leaving.get(node, [])
                while arcs and left[arcs[-1]] == 0:
                    arcs.pop()
                if not arcs:
                    break
                path.append(arcs[-1])
                node = int(head[arcs[-1]] if left[arcs[-1]] > 0 else tail[arcs[-1]])
            if not path:
                break
            cycle = np.array(path[place[node] :], dtype=np.int64)
            signs = np.sign(left[cycle])
            amount = int(np.abs(left[cycle]).min())
            left[cycle] -= signs * amount
            yield cycle, signs, amount
