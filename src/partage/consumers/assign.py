"""Run an assignor once on a group: the function ``partage.assign``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from partage.consumers.assignment import Assignment
from partage.consumers.assignors import Assignor, check_mode, find_assignor
from partage.consumers.custom import MemberAssignor, PartitionAssignor
from partage.errors import InputError, shown
from partage.group import Group
from partage.group.model import NO_MEMBER

ASSIGN_PROTOCOLS = ("classic", "consumer")
"""Where the assignor runs: in the client that leads the group, or in the broker (KIP-848)."""


def assign(
    group: Group | str | os.PathLike[str],
    assignor: str,
    mode: str | None = None,
    *,
    protocol: str = "classic",
    max_skew: float | None = None,
    racks_first: bool = False,
) -> Assignment:
    """Decide which member of a consumer group gets which partition.

    - ``group``: a Group, or the path of a GROUP.json file
    - ``assignor``: a registered name, or ``module:Class``
    - ``mode``: ``optimal``, or ``java`` for the result of Apache Kafka's class of that name; only
      sticky, cooperative-sticky, weighted and uniform have modes. By default ``optimal``, for
      uniform ``java``. ``java-3.7.0``, for both sticky ones, is that of Kafka 2.5.1 to 3.7.0, where
      a member keeps the partitions that come first in ``owned``; CannotError where that class fails
    - ``protocol``: ``consumer`` for the assignors of the group coordinator (KIP-848), range and
      uniform; ``classic`` for those of the clients
    - ``max_skew``: for weighted, how far the highest load may stay above its lower bound, as a
      fraction of the bound (0.05 is 5%); with ``racks_first``, how far it may be above the highest
      of the fairest loads
    - ``racks_first``: for sticky, cooperative-sticky and uniform, the fewest partitions without a
      replica in the rack of their member before the fairest loads. Partitions count by their
      ``weights`` where the group has them

    A custom assignor (``PartitionAssignor``) is called as in clients: every member has an instance
    with its ``config``, and that of the first member assigns.

    A cooperative assignor withholds the partitions that another member must revoke first (KIP-429).
    Raises InputError for an unknown name, for a mode or an option that the assignor does not have,
    and for group data that it cannot use.
    """
    if protocol not in ASSIGN_PROTOCOLS:
        expected = ", ".join(ASSIGN_PROTOCOLS)
        raise InputError(f"protocol {shown(protocol)}", f"expected one of {expected}")
    chosen = find_assignor(assignor, protocol)
    check_mode(mode, {assignor: chosen})
    options: dict[str, float] = {} if max_skew is None else {"max_skew": max_skew}
    if racks_first:
        options["racks_first"] = True
    for option in options:
        if option not in chosen.options:
            known = " and ".join(f"`{one}`" for one in chosen.options)
            raise InputError(option, f"{assignor} has no such option: it takes {known or 'none'}")
    group = Group.of(group)
    if group.has_racks:
        _ = group.weight  # refuses wrong weights, which count for what is read across racks
    return run_assignor(chosen, group, mode, **options)


def run_assignor(
    assignor: Assignor, group: Group, mode: str | None = None, **options: float
) -> Assignment:
    """The assignment for one round. An assignor without modes does not receive ``mode``, one that
    does not have it uses its default; the options must be those of the assignor."""
    if assignor.create is not None:
        return _run_members(assignor, assignor.create, group)
    used = assignor.mode(mode)
    arguments = options if used is None else {"mode": used, **options}
    decided = assignor.decide(group, **arguments)
    if not isinstance(decided, Assignment):
        decided = Assignment(group, decided, decided)
    return withhold(decided) if assignor.cooperative else decided


def _run_members(
    assignor: Assignor, create: Callable[[], PartitionAssignor], group: Group
) -> Assignment:
    """One round in which every member has its own instance of a custom assignor."""
    joined, members = [], []
    for member in group.members:
        mine = MemberAssignor(create, assignor.label, member.id, member.config)
        sent = mine.subscription(tuple(member.topics), member.user_data)
        joined.append(replace(member, topics=tuple(sent.topics), user_data=sent.user_data))
        members.append(mine)
    group = replace(group, members=joined)
    owner = members[0].assign(group) if members else np.full(group.partitions, NO_MEMBER)
    decided = Assignment(group, owner, owner)
    found = withhold(decided) if assignor.cooperative else decided
    generation = max((member.generation for member in group.members), default=0) + 1
    for member, mine in zip(group.members, members, strict=True):
        mine.on_assignment(found.of(member.id), max(generation, 1))
    return found


def withhold(decided: Assignment) -> Assignment:
    """The same target with the owners of this round (KIP-429): a partition that changes its owner
    and that a member other than the next owner claims has no owner this round, nor one that the
    assignor withholds itself."""
    owner, target = decided.owner.copy(), decided.target
    if decided.withheld is not None:
        owner[decided.withheld] = NO_MEMBER
        return replace(decided, owner=owner)
    member, partition = decided.group.claims
    # Any claimant may still be reading the partition, valid claim or not; a valid owner that stays
    # the owner goes on reading. (Where subscriptions differ, Kafka's class gives the partition at
    # once to a claimant of an older generation, while the current owner still has it.)
    changes = target[partition] != decided.group.owner[partition]
    held = changes & (member != target[partition])
    owner[partition[held]] = NO_MEMBER
    return replace(decided, owner=owner)
