"""Sticky: the fairest loads, then the fewest moves (Kafka's StickyAssignor).

``optimal`` is exact (``consumers.exact_assignment``), also with racks before loads
(``consumers.racks_first``). ``java`` is the result of Kafka's class
(``consumers.java_sticky``): usually as fair but not always, and rarely with as few moves.
``java-3.7.0`` is its result in Kafka 2.5.1 to 3.7.0: a member keeps the partitions that it lists
first, and what cooperative-sticky withholds differs with racks.
Cooperative-sticky makes the same decision; it differs in what members revoke, and when.
"""

from __future__ import annotations

from partage.arrays import Ints
from partage.consumers.assignment import Assignment
from partage.consumers.exact_assignment import assign_exactly
from partage.consumers.java_sticky import java_sticky, java_sticky_3_7_0
from partage.consumers.racks_first import assign_racks_first
from partage.group import Group


def sticky(
    group: Group, mode: str, racks_first: bool = False, max_skew: float | None = None
) -> Ints | Assignment:
    """[P] the member of each partition; with what is withheld where that is Kafka 3.7.0's."""
    if racks_first or max_skew is not None:
        return assign_racks_first(group, mode, racks_first, max_skew)
    if mode == "optimal":
        return assign_exactly(group)
    if mode == "java":
        return java_sticky(group)
    owner, withheld = java_sticky_3_7_0(group)
    return Assignment(group, owner, owner, withheld=withheld)
