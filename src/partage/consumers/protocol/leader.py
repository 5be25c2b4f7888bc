"""The leader's part: it computes the assignment from the members' subscriptions.

It makes a ``Group`` of the subscriptions and runs an assignor. What counts as a member's claims
depends on the protocol:

- A cooperative member claims what it holds. Partitions that change their owner are withheld until
  their holder has revoked them, one round later (KIP-429). Kafka does this with cooperative-sticky
  only; here any assignor can be simulated that way.
- An eager member holds nothing when it joins. It claims its last assignment, which sticky members
  send in their user data, and nothing needs to be withheld. Cooperative-sticky does not remember
  that: with the eager protocol it starts without claims in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from partage.consumers.assign import run_assignor, withhold
from partage.consumers.assignment import Assignment
from partage.consumers.assignors import ASSIGNORS, Assignor
from partage.consumers.custom import MemberAssignor
from partage.consumers.protocol.messages import COOPERATIVE, EAGER, Partitions, Subscription
from partage.group import Group, Member

T = TypeVar("T")

Subscriptions: TypeAlias = Mapping[str, tuple[str | None, Subscription]]
"""(instance id, subscription) by member id."""
Instances: TypeAlias = Mapping[str, MemberAssignor]
"""The custom assignors of one member, by name."""
Leader: TypeAlias = Callable[[str, Subscriptions, Instances], Mapping[str, Partitions]]
"""(assignor, subscriptions, custom assignors of the leading member) → partitions by member id."""


def make_leader(
    topics: Mapping[str, int],
    assignors: Mapping[str, Assignor] = ASSIGNORS,
    *,
    mode: str | None = None,
    racks: Mapping[str, Sequence[Sequence[str]]] | None = None,
    weights: Mapping[str, Sequence[int]] | None = None,
) -> Leader:
    """A leader that knows these topics, with their partition counts, and these assignors."""

    def lead(
        assignor: str, subscriptions: Subscriptions, instances: Instances
    ) -> Mapping[str, Partitions]:
        chosen = assignors[assignor]
        sent = {id: (of, _as_sent(assignor, one)) for id, (of, one) in subscriptions.items()}
        group = group_of(topics, sent, chosen, racks=racks, weights=weights)
        cooperative = any(s.protocol == COOPERATIVE for _, s in subscriptions.values())
        if assignor in instances:
            owner = instances[assignor].assign(group)
            found = Assignment(group, owner, owner)
        else:
            found = run_assignor(chosen, group, mode)
        if cooperative or chosen.cooperative:
            found = withhold(found)
        return {member: tuple(held) for member, held in found.as_dict().items()}

    return lead


def _as_sent(assignor: str, sent: Subscription) -> Subscription:
    """What a member sends for this assignor."""
    custom = sent.custom.get(assignor)
    if custom is None:
        return sent
    rack = custom.rack or sent.rack
    return replace(sent, topics=tuple(custom.topics), rack=rack, user_data=custom.user_data)


def group_of(
    topics: Mapping[str, int],
    subscriptions: Subscriptions,
    assignor: Assignor,
    *,
    racks: Mapping[str, Sequence[Sequence[str]]] | None = None,
    weights: Mapping[str, Sequence[int]] | None = None,
) -> Group:
    """The group that the assignor receives."""
    remembers = not assignor.cooperative
    return Group(
        topics,
        [
            Member(
                id=member_id,
                topics=sent.topics,
                owned=sent.remembered if sent.protocol == EAGER and remembers else sent.owned,
                generation=sent.generation,
                rack=sent.rack,
                instance_id=instance_id,
                priority=sent.priority,
                user_data=sent.user_data,
            )
            for member_id, (instance_id, sent) in subscriptions.items()
        ],
        racks=racks and first_partitions(racks, topics),
        weights=weights and first_partitions(weights, topics),
    )


def first_partitions(
    rows: Mapping[str, Sequence[T]], topics: Mapping[str, int]
) -> dict[str, Sequence[T]]:
    """Per topic what is known of its partitions, of these topics with these partition counts."""
    return {topic: rows[topic][:count] for topic, count in topics.items() if topic in rows}
