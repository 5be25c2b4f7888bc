"""The (family, slot) cells of a network of counts, whose squares are the cost of spread.

Items come to a cell by arcs of several kinds (kept there, newly taken) and leave it for its slot. A
cell that items reach from only one node needs no node: one arc with the convex cost leads from
there to the slot and stands for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.flow.assignment.problem import AssignmentProblem
from partage.flow.network import Network, Squares
from partage.flow.sorting import numbered

_FAR = np.iinfo(np.int64).max


class Ends(Struct, frozen=True, eq=False):
    """Ways of one kind for items to reach a slot. All arrays [A].

    - ``tail``: the node that the items come from; ``family`` and ``slot``
    - ``fixed``, ``free``: items that come in any case, and the most that come on top of them
    - ``held``: items that are there today
    """

    tail: Ints
    family: Ints
    slot: Ints
    fixed: Ints
    free: Ints
    held: Ints


class Cells:
    """The cells that items may reach, C of them.

    - ``key`` [C]: ``family * slots + slot``, ascending
    - ``noded`` [C]: whether it has a node; ``nodes``: how many have
    - ``tail`` [C]: the node from which the slot is reached: that of the cell, or the only one that
      leads to it
    - ``base``, ``free``, ``held`` [C]: sums of ``Ends``, with the items of the base
    - ``of``: the cell of each end, by kind
    """

    def __init__(
        self, problem: AssignmentProblem, kinds: Sequence[Ends], first_node: int, *, merge: bool
    ) -> None:
        """Nodes are numbered from ``first_node``. ``merge``: all ways to a cell cost the same."""
        self.problem, self.kinds = problem, kinds
        key = [one.family * problem.slots + one.slot for one in kinds]
        self.key, _, of = numbered(np.concatenate(key))
        self.of = np.split(of, np.cumsum([len(one) for one in key[:-1]]))
        outside = problem.family_base.reshape(-1)[self.key]
        self.free = self._sums([one.free for one in kinds])
        self.base = outside + self._sums([one.fixed for one in kinds])
        self.held = outside + self._sums([one.held for one in kinds])
        least, most = np.full(len(self.key), _FAR), np.full(len(self.key), -1)
        for one, cell in zip(kinds, self.of, strict=True):
            leads = one.free > 0
            np.minimum.at(least, cell[leads], one.tail[leads])
            np.maximum.at(most, cell[leads], one.tail[leads])
        self.noded = least < most if merge else np.ones(len(self.key), dtype=np.bool_)
        self.nodes = int(self.noded.sum())
        self.tail = np.where(self.noded, first_node + np.cumsum(self.noded) - 1, least)

    def _sums(self, amounts: Sequence[Ints]) -> Ints:
        total = np.zeros(len(self.key), dtype=np.int64)
        for cell, amount in zip(self.of, amounts, strict=True):
            total += np.bincount(cell, amount, minlength=len(total)).astype(np.int64)
        return total

    def heads(self, kind: int) -> tuple[Ints, Ints]:
        """The ends of a kind that need an arc, and the nodes that these lead to."""
        cell = self.of[kind]
        laid = np.flatnonzero(self.noded[cell] & (self.kinds[kind].free > 0))
        return laid, self.tail[cell[laid]]

    def guess(self, network: Network) -> None:
        """Estimate the dual values of the nodes: the marginal cost of the last unit of an evenly
        spread family."""
        family = self.key[self.noded] // self.problem.slots
        network.guess[self.tail[self.noded]] = -last_unit(self.problem)[family]

    def squares(self, slot_node: Ints) -> Squares:
        """The cost of spread, with windows around an estimate."""
        self.laid = at = np.flatnonzero(self.free > 0)
        family, slot = np.divmod(self.key[at], self.problem.slots)
        even = np.ceil(even_share(self.problem))[family].astype(np.int64) - self.base[at]
        held = (self.held - self.base)[at]
        return Squares(
            tail=self.tail[at],
            head=slot_node[slot],
            capacity=self.free[at],
            weight=np.ones_like(at),
            base=self.base[at],
            low=np.minimum(held, even) - 2,
            high=np.maximum(held, even) + 2,
            start=held,
        )

    def flows(self, flow: Ints) -> list[Ints]:
        """Per kind, the items that come without an arc, given the ``flow`` on the squares; as many
        as can come in the first way do."""
        left = np.zeros_like(self.free)
        left[self.laid] = flow
        left[self.noded] = 0
        found = []
        for one, cell in zip(self.kinds, self.of, strict=True):
            part = np.minimum(left[cell], one.free)
            left[cell] -= part
            found.append(part)
        return found

    def duals(self, distance: Ints, slot_node: Ints) -> Ints:
        """[F, E] dual values in the layer of spread: those of the nodes; without a node, such ones
        as fit both ends of the arc; where no arc leads, the marginal cost of a first unit."""
        slot = distance[slot_node][self.key % self.problem.slots]
        first = slot - (2 * self.base + 1)
        leads = self.free > 0
        through = np.zeros_like(first)
        through[leads] = distance[self.tail[leads]]
        full = slot - (2 * (self.base + self.free) - 1)
        through = np.where(self.noded, through, np.maximum(through, full))
        dual = self.problem.family_base * -2
        dual += distance[slot_node] - 1
        dual.reshape(-1)[self.key] = np.where(leads, through, first)
        return np.asarray(dual)

    def node_duals(self, distance: Ints) -> Ints:
        """[F, E] the dual values of the nodes, 0 where there is none."""
        dual = np.zeros_like(self.problem.family_base)
        dual.reshape(-1)[self.key[self.noded]] = distance[self.tail[self.noded]]
        return dual


def lay_ends(
    network: Network,
    ends: Ends,
    slot_node: Ints,
    cells: Cells | None,
    kind: int,
    costs: dict[int, npt.ArrayLike] | None = None,
) -> tuple[Ints, slice]:
    """Arcs to the cells, or without ``cells`` to the slots: the ends that have one, and where the
    arcs are in the network."""
    network.push(ends.tail, slot_node[ends.slot], ends.fixed)
    laid, head = np.arange(len(ends.slot)), slot_node[ends.slot]
    if cells is not None:
        laid, head = cells.heads(kind)
    return laid, network.arcs(ends.tail[laid], head, ends.free[laid], costs)


def even_share(problem: AssignmentProblem) -> Floats:
    """[F] items of each family on a slot if they were spread evenly."""
    total = np.bincount(problem.family, problem.demand, minlength=len(problem.family_base))
    return np.asarray((total + problem.family_base.sum(axis=1)) / problem.slots)


def last_unit(problem: AssignmentProblem) -> Ints:
    """[F] the marginal cost of the last unit of an evenly spread family."""
    return 2 * np.floor(even_share(problem)).astype(np.int64) + 1
