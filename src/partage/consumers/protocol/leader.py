"""What the leader does with the subscriptions: it decides who gets which partition.

It makes a ``Group`` of them and asks an assignor. What counts as a member's claim depends on the
protocol. A member that speaks cooperative claims what it holds; what goes to somebody else is
withheld until its holder has given it up, one round later (KIP-429). Kafka does so with
cooperative-sticky alone; here any assignor can be tried that way. A member that speaks eager holds
nothing when it joins; it claims what it had last, as sticky's members do in their user data, and
nothing needs to be withheld. Cooperative-sticky has no such memory: among eager members it begins
anew in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from partage.consumers.assign import run_assignor, withhold
from partage.consumers.assignors import ASSIGNORS, Assignor
from partage.consumers.protocol.messages import COOPERATIVE, EAGER, Partitions, Subscription
from partage.group import Group, Member

Members: TypeAlias = Mapping[str, tuple[str | None, Subscription]]
Leader: TypeAlias = Callable[[str, Members], Mapping[str, Partitions]]
"""(assignor, members) → partitions by member id."""


def make_leader(
    topics: Mapping[str, int],
    assignors: Mapping[str, Assignor] = ASSIGNORS,
    *,
    mode: str = "optimal",
    racks: Mapping[str, Sequence[Sequence[str]]] | None = None,
    weights: Mapping[str, Sequence[int]] | None = None,
) -> Leader:
    """A leader that knows these topics, and these assignors by name."""

    def lead(assignor: str, members: Members) -> Mapping[str, Partitions]:
        chosen = assignors[assignor]
        group = group_of(topics, members, chosen, racks=racks, weights=weights)
        found = run_assignor(chosen, group, mode)
        cooperative = any(s.protocol == COOPERATIVE for _, s in members.values())
        if cooperative and not chosen.cooperative:
            found = withhold(found)
        return {member: tuple(held) for member, held in found.as_dict().items()}

    return lead


def group_of(
    topics: Mapping[str, int],
    members: Members,
    assignor: Assignor,
    *,
    racks: Mapping[str, Sequence[Sequence[str]]] | None = None,
    weights: Mapping[str, Sequence[int]] | None = None,
) -> Group:
    """The group that an assignor sees."""
    remembers = not assignor.cooperative
    return Group(
        topics,
        [
            Member(
                id=member_id,
                topics=said.topics,
                owned=said.remembered if said.protocol == EAGER and remembers else said.owned,
                generation=said.generation,
                rack=said.rack,
                instance_id=instance_id,
                priority=said.priority,
            )
            for member_id, (instance_id, said) in members.items()
        ],
        racks=racks,
        weights=weights,
    )
