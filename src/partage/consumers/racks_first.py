"""The assignment with the fewest reads across racks, for groups that pay for them: racks first,
then the fairest loads, then the fewest moves, exact (``consumers.exact_assignment``).
"""

from __future__ import annotations

from partage.consumers.assignment import Assignment
from partage.consumers.exact_assignment import assign_exactly, check_max_skew
from partage.errors import InputError
from partage.group import Group
from partage.units import listed

OPTIONS = ("racks_first", "max_skew")


def assign_racks_first(
    group: Group, mode: str, racks_first: bool, max_skew: float | None
) -> Assignment:
    """The owners, with notes about unknown racks. Raises InputError for options that need each
    other, and for a ``mode`` other than optimal."""
    if not racks_first:
        raise InputError("max_skew", "needs `racks_first` with this assignor")
    if mode != "optimal":
        raise InputError("racks_first", "needs `mode` optimal with this assignor")
    if max_skew is not None:
        check_max_skew(max_skew)
    owner = assign_exactly(group, racks_first=True, max_skew=max_skew)
    return Assignment(group, owner, owner, notes=tuple(_notes(group)))


def _notes(group: Group) -> list[str]:
    if not group.has_racks:
        return ["racks_first has no effect: no rack of a member or no rack of a partition is known"]
    unknown = [member.id for member in group.members if not member.rack]
    if not unknown:
        return []
    return [f"members without a rack count as reading across racks: {listed(unknown, 3)}"]
