"""Uniform: even loads, as the group coordinator assigns them (KIP-848).

``java`` is the result of Kafka's class of that name (``consumers.java_uniform``), which the broker
runs unless the client asks for another (``group.remote.assignor``). It ignores racks. ``optimal``
is exact: the fairest loads, then the most partitions in the racks of their members, then the fewest
moves (``consumers.exact_assignment``), or racks before loads (``consumers.racks_first``).
"""

from __future__ import annotations

from partage.arrays import Ints
from partage.consumers.assignment import Assignment
from partage.consumers.exact_assignment import assign_exactly
from partage.consumers.java_uniform import java_uniform
from partage.consumers.racks_first import assign_racks_first
from partage.group import Group


def uniform(
    group: Group, mode: str, racks_first: bool = False, max_skew: float | None = None
) -> Ints | Assignment:
    """[P] the member of each partition."""
    if racks_first or max_skew is not None:
        return assign_racks_first(group, mode, racks_first, max_skew)
    return java_uniform(group) if mode == "java" else assign_exactly(group)
