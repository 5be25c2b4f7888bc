"""Leader flow: Pinterest's maximum flow for leaders. Only the order of lists changes.

The method balances preferred leaders without moving replicas. Let ``a`` be the average number of
leaders per broker that holds a replica. Brokers above ``a`` are next to the source, brokers below
next to the sink. One unit of flow from a broker through a partition that it leads to a follower of
that partition transfers the leadership. Units may pass through several brokers, so one flow finds
all chains of transfers at once::

    source -> overloaded broker -> partition -> broker -> partition -> underloaded broker -> sink

The average is rarely a whole number: with ``low = floor(a)``, exactly ``extra`` brokers must end
with ``low + 1`` leaders and the others with ``low``. Two residue nodes provide this. An overloaded
broker gives its leaders above ``low + 1`` directly, and one more only through the *giving residue*.
An underloaded broker takes what it lacks to ``low`` directly, and one more only through the *taking
residue*. If more than ``extra`` brokers are overloaded, the giving residue draws the difference
from the source; if fewer are, the taking residue passes the difference to the sink::

    source -> giving residue -> overloaded broker     underloaded broker -> taking residue -> sink
                    ^---------------------------------------------------------------'

The arc from the taking to the giving residue lets one broker rise to ``low + 1`` where another
falls to ``low``. All capacities are integers. The flow saturates the arcs of the source exactly
when the replica sets allow ``low`` and ``low + 1`` leaders everywhere. Every unit lowers the sum of
squared leader counts, and a maximum flow leaves nothing for another one: a second run changes
nothing. If the replica sets do *not* allow an even share, the result need not be the fairest: a
broker far above the average gives nothing to a broker at the average.

Sources: the graph of brokers and partitions is from Pinterest Engineering, "Using graph algorithms
to optimize Kafka operations, Part 2" (Ping-Min Lin, 2020). The survey of reassignment tools "Kafka
reassignment 方案" (sayuan.github.io, 2022) mentions the two residue nodes and warns of floating
point. Pinterest does not publish their capacities; those, and the arc between them, are additions
of this module. According to the survey, Pinterest's tool keeps changing a cluster that is even
already; this one does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.arrays import Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import refuse_moves, refuse_other_factors


def leader_flow(problem: Problem) -> Ints:
    """The current replica lists [P, R] with other preferred leaders.

    The new leader and the old one swap positions in the list. Leaders are counted, not weighted by
    capacity or rate. Brokers without replicas stay empty and are not part of the average.
    Raises CannotError if replicas would have to move: with a changed replication factor, or a
    replica on a broker that is removed or dead.
    """
    why = "changes only the order of lists"
    refuse_other_factors(problem, why)
    refuse_moves(problem, why)
    replicas = problem.cluster.replicas.copy()
    held = replicas[problem.chosen]
    holders = np.unique(held[held >= 0])
    place = np.full(len(problem.usable) + 1, -1, dtype=np.int64)
    place[holders] = np.arange(len(holders))
    on = place[replicas]
    leader = on[:, 0]  # -1: the leader of a topic left out holds no chosen partition
    count = np.bincount(leader[leader >= 0], minlength=len(holders)).astype(np.int64)
    open_rows = np.flatnonzero(problem.chosen & (problem.cluster.replication_factor > 1))
    row, column = handovers(on[open_rows], count)
    row = open_rows[row]
    replicas[row, 0], replicas[row, column] = replicas[row, column], replicas[row, 0]
    return replicas


def handovers(on: Ints, count: Ints) -> tuple[Ints, Ints]:
    """The partitions that change their leader, and the columns of the new leaders: (rows, columns).

    ``on`` [P, R]: brokers of each partition's replicas (0 to E - 1), leader first, padded with -1.
    ``count`` [E]: leaders of each broker, including partitions that are not in ``on``.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    partitions, brokers = len(on), len(count)
    low, extra = divmod(int(count.sum()), brokers)
    over = np.flatnonzero(count > low)
    under = np.flatnonzero(count <= low)
    # nodes: the brokers, then the partitions, then these
    source, sink, giving, taking = range(brokers + partitions, brokers + partitions + 4)
    flow = SimpleMaxFlow()

    def arcs(tail: npt.ArrayLike, head: npt.ArrayLike, capacity: npt.ArrayLike) -> Ints:
        t, h, c = np.broadcast_arrays(np.atleast_1d(tail), head, capacity)
        return np.asarray(flow.add_arcs_with_capacity(t, h, c), dtype=np.int64)

    arcs(source, over, count[over] - low - 1)
    arcs(giving, over, 1)
    arcs(under, sink, low - count[under])
    arcs(under, taking, 1)
    arcs(source, giving, max(len(over) - extra, 0))
    arcs(taking, sink, max(extra - len(over), 0))
    arcs(taking, giving, brokers)
    arcs(on[:, 0], brokers + np.arange(partitions), 1)
    row, column = np.nonzero(on[:, 1:] >= 0)
    column += 1
    handed = arcs(brokers + row, on[row, column], 1)

    status = flow.solve(source, sink)
    if status != flow.OPTIMAL:
        raise AssertionError(f"maximum flow ended with {status}")
    if flow.optimal_flow() == 0:  # flow arcs could only form a cycle
        return row[:0], column[:0]
    used = np.asarray(flow.flows(handed)) > 0
    return row[used], column[used]
