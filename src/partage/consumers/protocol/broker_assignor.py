"""What the group coordinator assigns: an assignor of the broker's on the last target assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from partage.consumers.assign import run_assignor
from partage.consumers.assignors import find_assignor
from partage.consumers.protocol.consumer_group import BrokerAssignor, ConsumerGroupMember
from partage.consumers.protocol.leader import first_partitions
from partage.consumers.protocol.messages import CONSUMER, Partitions
from partage.group import Group, Member


def make_broker_assignor(
    mode: str | None = None,
    racks: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> BrokerAssignor:
    """The part of a coordinator that assigns, in this mode of its assignor."""

    def assign(
        assignor: str, members: Sequence[ConsumerGroupMember], topics: Mapping[str, int]
    ) -> Mapping[str, Partitions]:
        group = Group(
            topics,
            [
                Member(
                    id=member.member_id,
                    topics=member.topics,
                    owned=member.assignment,
                    generation=0,
                    rack=member.request.rack,
                    instance_id=member.request.instance_id,
                )
                for member in members
            ],
            racks=racks and first_partitions(racks, topics),
        )
        found = run_assignor(find_assignor(assignor, CONSUMER), group, mode)
        return {member: tuple(held) for member, held in found.as_dict().items()}

    return assign
