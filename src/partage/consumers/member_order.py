"""The order in which range and roundrobin visit the members."""

from __future__ import annotations

from partage.group import Group


def sorted_members(group: Group) -> list[int]:
    """Positions of the members: static members by instance id, then the others by member id
    (Kafka's AbstractPartitionAssignor.MemberInfo)."""
    members = group.members
    return sorted(
        range(len(members)),
        key=lambda at: (
            members[at].instance_id is None,
            members[at].instance_id or members[at].id,
            members[at].id,
        ),
    )
