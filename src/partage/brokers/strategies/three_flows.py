"""Three flows: maximum flows for the replicas, then the leaders, then the first followers.

Each of the three networks moves work from brokers above the average, next to the source, to brokers
below it, next to the sink.

**Replicas.** One unit of flow moves a replica of a partition from one broker to another::

    source -> broker above -> partition -> broker below -> sink

The average is rarely a whole number, so two residue nodes carry the fractions. A broker that is d
above the average gives ``floor(d)`` directly from the source and at most one more through the
*giving residue*. The source supplies the giving residue with the sum of all these fractions,
rounded down. Brokers below the average receive through the *taking residue* in the same way. If the
flow saturates the arcs of the source, every broker ends with the average, rounded down or up. This
flow may move more than that needs: for loads 2, 2, 1 and 1 the fractions add up to one whole unit,
and one replica moves for nothing. Loads that are already even are therefore left unchanged; loads
that are nearly even still get more moves than necessary. A removed or dead broker has the average
0.

For a higher replication factor, an extra node supplies each partition with the replicas that it
lacks. For a lower one, the partitions have arcs to the sink. The source describes no solution for
partitions all of whose replicas are on brokers below the average, which give nothing.

**Leaders.** The same network for leaders, which move to other replicas of their partition. No data
moves.

**First followers.** The same network for ordered pairs of brokers: a partition moves from the pair
(leader, first follower) to (leader, another follower). Leaders and replica sets stay, so only
partitions with more than two replicas have a choice. A pair can give only to pairs with the same
leader, yet all pairs are compared with one average, and even pairs do not imply even leaders after
a failure: the result need not be optimal.

Additions of this module to the published method:

- The capacities of the residue nodes in the first flow. The source names the two nodes, warns of
  floating point, and reports moves in balanced clusters. Fractions that are added up explain this;
  here they are exact. The other two flows use ``leader_flow``, which leaves even counts unchanged.
- Chains. A maximum flow does not minimise moves, and a chain over several brokers makes several
  moves for one unit. So at first only brokers above the average have arcs to their partitions. If
  the flow does not saturate the arcs of the source, all brokers get such arcs. A replica may then
  leave a broker below the average when another one arrives, which solves nearly all lower
  replication factors.
- If that does not saturate the source either, the average is out of reach, and a flow might prefer
  even loads to a correct replication factor. Then one flow makes only the moves that the rules
  require, between any brokers, and a second flow evens out its result as far as possible. The
  second result is discarded if the sum of squared loads does not fall.
- Racks, for which the source only states that a suitable network exists. Here each partition has a
  node per rack between itself and the brokers. Replicas that stay in their rack pass only through
  this node, others through the partition, within the limits of the rack rule. Replicas above the
  limit of a rack go to the sink, replicas below its minimum come from the source. A rack whose
  limits give it more or less than its brokers' share has its own average; since averages are
  rounded at each broker, the loads need not be the fairest. Without racks, all brokers form one
  rack.
- Topics that are left out stay and count as load.
- A list keeps its order: removed replicas are cut out, new ones are appended by broker id.

With ``no_moves`` only the second and the third flow run. The method ignores disks, capacities,
rates and topic spread.

Source: "Kafka reassignment 方案" (sayuan.github.io, 2022). Its author saw optimal results on some
hundred random clusters, except for the pairs, and expects exceptions because there is no proof.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.leader_flow import handovers
from partage.brokers.strategies.lists import chosen_lists, with_lists
from partage.errors import CannotError

MOST_CELLS = 10_000_000
"""Partitions times brokers; a larger first network would need several gigabytes."""


def three_flows(problem: Problem) -> Ints:
    """Replica lists [P, R]. Raises CannotError above MOST_CELLS."""
    replicas = problem.cluster.replicas if problem.options.no_moves else placed(problem)
    return followed(problem, led(problem, replicas))


# ---------------------------------------------------------------- replicas


def placed(problem: Problem) -> Ints:
    """Lists with the replica sets of the first flow; the current lists if they are even already."""
    rules = _Rules.of(problem)
    held = rules.held
    kept = rules.kept(held)
    if kept and rules.even(held):
        return problem.cluster.replicas
    for chains in (False, True):
        holds, filled = _shifted(rules, held, chains)
        if filled:
            return _lists(problem, held, holds)
    ruled, filled = (held, True) if kept else _shifted(rules, held, chains=True, even=False)
    assert filled, "some flow leads to each placement that satisfies the rules"
    holds, _ = _shifted(rules, ruled, chains=True)
    return _lists(problem, held, holds if rules.squares(holds) < rules.squares(ruled) else ruled)


def _shifted(rules: _Rules, start: Bools, chains: bool, even: bool = True) -> tuple[Bools, bool]:
    """Which broker holds which partition after the first flow [I, B], and whether the flow
    saturates all arcs of the source. Without ``even`` it makes only the moves that the rules
    require."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    usable, zone = rules.problem.usable, rules.zone
    items, brokers = start.shape
    zones = rules.least.shape[1]
    racks = brokers + np.arange(items * zones).reshape(items, zones)
    partitions = brokers + items * zones + np.arange(items)
    source, sink, giving, taking, lacking = (int(partitions[-1]) + 1 + n for n in range(5))
    flow = SimpleMaxFlow()

    def arcs(tail: npt.ArrayLike, head: npt.ArrayLike, capacity: npt.ArrayLike) -> Ints:
        t, h, c = (a.ravel() for a in np.broadcast_arrays(np.atleast_1d(tail), head, capacity))
        return np.asarray(flow.add_arcs_with_capacity(t, h, c), dtype=np.int64)

    # what brokers give and take, and what passes through the residue nodes, ``unit`` per broker
    load = rules.loads(start)
    if even:
        distance = [n - mean for n, mean in zip(load.tolist(), rules.average, strict=True)]
        above, below = np.array([d > 0 for d in distance]), np.array([d < 0 for d in distance])
        gives = np.array([floor(max(d, 0)) for d in distance])
        takes = np.array([floor(max(-d, 0)) for d in distance])
        given = floor(sum(max(d, 0) for d in distance)) - gives.sum()
        taken = floor(sum(max(-d, 0) for d in distance)) - takes.sum()
        unit = 1
    else:
        above = below = usable
        gives, takes = np.where(usable, 0, load), np.zeros_like(load)
        unit = int(rules.target.sum())
        given = max(int(start[:, usable].sum()) - unit, 0)
        taken = max(unit - int(start[:, usable].sum()), 0)
    every = np.arange(brokers)
    filling = [arcs(source, every, gives), arcs(source, giving, given)]
    arcs(giving, np.flatnonzero(above), unit)
    arcs(every, sink, takes)
    arcs(np.flatnonzero(below), taking, unit)
    arcs(taking, sink, taken)
    arcs(taking, giving, 0 if even else unit)  # one broker may rise as another falls

    # replicas that may leave, and brokers that may receive them
    row, broker = np.nonzero(start if chains else start & above)
    cells, moved = row * brokers + broker, arcs(broker, racks[row, zone[broker]], 1)
    row, broker = np.nonzero(~start & (usable if chains else below))
    cells = np.append(cells, row * brokers + broker)
    moved = np.append(moved, arcs(racks[row, zone[broker]], broker, 1))

    # each rack is brought within its limits; the partition balances the rest
    today = rules.in_racks(start)
    ruled = np.clip(today, rules.least, rules.most)
    lacks = rules.target - ruled.sum(axis=1)
    arcs(racks, sink, np.maximum(today - ruled, 0))
    filling.append(arcs(source, racks, np.maximum(ruled - today, 0)))
    arcs(racks, partitions[:, None], ruled - rules.least)
    arcs(partitions[:, None], racks, rules.most - ruled)
    filling.append(arcs(source, lacking, np.maximum(lacks, 0).sum()))
    arcs(lacking, partitions, np.maximum(lacks, 0))
    arcs(partitions, sink, np.maximum(-lacks, 0))

    status = flow.solve(source, sink)
    if status != flow.OPTIMAL:
        raise AssertionError(f"maximum flow ended with {status}")
    holds = start.copy()
    holds.ravel()[cells[np.asarray(flow.flows(moved)) > 0]] ^= True
    full = sum(flow.capacity(arc) for arc in np.concatenate(filling).tolist())
    return holds, bool(flow.optimal_flow() == full)


def _lists(problem: Problem, held: Bools, holds: Bools) -> Ints:
    """[P, R] the current lists without removed replicas; new ones are appended by broker id."""
    lists = chosen_lists(problem)
    for i in np.flatnonzero((held != holds).any(axis=1)).tolist():
        lists[i] = [broker for broker in lists[i] if holds[i, broker]]
        lists[i] += np.flatnonzero(holds[i] & ~held[i]).tolist()
    return with_lists(problem, lists)


class _Rules(Struct, frozen=True, eq=False):
    """The start of the first flow and its constraints.

    - ``held`` [I, B]: current holders of the chosen partitions; ``rest`` [B]: replicas left out
    - ``target`` [I]: required replicas of each partition
    - ``zone`` [B]: rack of each broker, all 0 without racks
    - ``least``, ``most`` [I, Z]: limits on the replicas of each partition in each rack
    - ``average`` [B]: even load of each broker, 0 for brokers that must be empty
    """

    problem: Problem
    held: Bools
    rest: Ints
    target: Ints
    zone: Ints
    least: Ints
    most: Ints
    average: list[Fraction]

    @classmethod
    def of(cls, problem: Problem) -> _Rules:
        cluster, items, usable = problem.cluster, problem.items, problem.usable
        brokers = len(usable)
        if len(items) * brokers > MOST_CELLS:
            raise CannotError(
                f"{len(items)} partitions on {brokers} brokers make {len(items) * brokers} pairs, "
                f"more than the limit of {MOST_CELLS}"
            )
        held = np.zeros((len(items), brokers), dtype=np.bool_)
        row, column = np.nonzero(cluster.replicas[items] >= 0)
        held[row, cluster.replicas[items[row], column]] = True
        other = cluster.replicas[~problem.chosen]
        rest = np.where(usable, np.bincount(other[other >= 0], minlength=brokers), 0)

        zone = cluster.rack if cluster.rack_names else np.zeros(brokers, dtype=np.int64)
        size = np.bincount(zone[usable], minlength=int(zone.max()) + 1)
        target = problem.target[items]
        least = np.zeros((len(items), len(size)), dtype=np.int64)
        most = np.zeros_like(least)
        for factor in np.unique(target).tolist():
            rows = target == factor
            room = (np.minimum(size, n) for n in range(1, factor + 1))
            most[rows] = next(counts for counts in room if counts.sum() >= factor)
            least[rows] = (size > 0) & (factor >= (size > 0).sum())
        fixed = np.bincount(zone, rest, minlength=len(size)).astype(np.int64)
        mean = _means(
            int(target.sum() + rest.sum()),
            size.tolist(),
            (least.sum(axis=0) + fixed).tolist(),
            (most.sum(axis=0) + fixed).tolist(),
        )
        average = [mean[zone[b]] if usable[b] else Fraction(0) for b in range(brokers)]
        return cls(problem, held, rest, target, zone, least, most, average)

    def loads(self, holds: Bools) -> Ints:
        """[B] replicas per broker."""
        return np.asarray(holds.sum(axis=0) + self.rest, dtype=np.int64)

    def even(self, holds: Bools) -> bool:
        """Whether every broker holds its average, rounded down or up."""
        loads = self.loads(holds).tolist()
        return all(abs(n - mean) < 1 for n, mean in zip(loads, self.average, strict=True))

    def squares(self, holds: Bools) -> int:
        """The sum of squared loads."""
        return int((self.loads(holds) ** 2).sum())

    def in_racks(self, holds: Bools) -> Ints:
        """[I, Z] replicas of each partition in each rack."""
        count = np.zeros_like(self.least)
        row, broker = np.nonzero(holds)
        np.add.at(count, (row, self.zone[broker]), 1)
        return count

    def kept(self, holds: Bools) -> bool:
        """Whether brokers that must be empty are empty, and each partition has the required
        replicas, in each rack and in total."""
        count = self.in_racks(holds)
        return not (
            holds[:, ~self.problem.usable].any()
            or (count.sum(axis=1) != self.target).any()
            or (count < self.least).any()
            or (count > self.most).any()
        )


def _means(total: int, size: list[int], least: list[int], most: list[int]) -> list[Fraction]:
    """[Z] replicas per broker of each rack: the same everywhere, except in racks at their limits
    ``least`` or ``most``. ``size``: brokers per rack."""

    def counts(level: Fraction) -> list[Fraction]:
        bounds = zip(size, least, most, strict=True)
        return [min(max(level * n, Fraction(low)), Fraction(high)) for n, low, high in bounds]

    # between two of these levels the sum of the counts is linear
    bends = sorted(
        {
            Fraction(bound, n)
            for n, *ends in zip(size, least, most, strict=True)
            if n
            for bound in ends
        }
    )
    end = next(i for i, level in enumerate(bends) if sum(counts(level)) >= total)
    level = bends[end]
    if sum(counts(level)) > total:
        start = bends[end - 1]
        slope = (sum(counts(level)) - sum(counts(start))) / (level - start)
        level = start + (total - sum(counts(start))) / slope
    return [count / n if n else Fraction(0) for count, n in zip(counts(level), size, strict=True)]


# ---------------------------------------------------------------- leaders and first followers


def led(problem: Problem, replicas: Ints) -> Ints:
    """Lists with the leaders of the second flow; the old and the new leader swap positions."""
    lists = replicas.copy()
    on = problem.broker_slot[lists]
    # with no_moves a dead broker may lead: the first live follower takes over
    dead = np.flatnonzero(problem.chosen & (on[:, 0] < 0) & (on >= 0).any(axis=1))
    _exchange(lists, dead, np.zeros_like(dead), (on[dead] >= 0).argmax(axis=1))
    on = problem.broker_slot[lists]
    rows, column = _handed_over(problem, on)
    _exchange(lists, rows, np.zeros_like(rows), column)
    return lists


def followed(problem: Problem, replicas: Ints) -> Ints:
    """Lists with the first followers of the third flow; old and new ones swap positions."""
    lists = replicas.copy()
    on = problem.broker_slot[lists]
    live = on >= 0
    live[:, 0] = False
    follower = np.argsort(~live, axis=1, kind="stable")  # columns, those of live followers first
    pair = np.where(live & (on[:, :1] >= 0), on[:, :1] * len(problem.slot_brokers) + on, -1)
    rows, choice = _handed_over(problem, np.take_along_axis(pair, follower, axis=1))
    _exchange(lists, rows, follower[rows, 0], follower[rows, choice])
    return lists


def _handed_over(problem: Problem, options: Ints) -> tuple[Ints, Ints]:
    """The partitions that change their owner, and the columns of the new owners: (rows, columns).

    ``options`` [P, any]: slots, or pairs of slots, that may own each partition, current owner
    first, padded with -1. Only options of some partition count in the average.
    """
    rows = np.flatnonzero(problem.chosen & (options[:, 0] >= 0))
    owners = np.unique(options[rows])
    owners = owners[owners >= 0]
    if len(owners) == 0:
        return rows, rows
    place = np.where(options >= 0, np.searchsorted(owners, options), -1)
    today = place[np.isin(options[:, 0], owners), 0]
    row, column = handovers(place[rows], np.bincount(today, minlength=len(owners)))
    return rows[row], column


def _exchange(lists: Ints, rows: Ints, one: Ints, other: Ints) -> None:
    """Swap the replicas in the columns ``one`` and ``other`` of these rows, in place."""
    lists[rows, one], lists[rows, other] = lists[rows, other], lists[rows, one]
