"""One round of an assignor on a group."""

from __future__ import annotations

import numpy as np

from partage.consumers.assignment import Assignment
from partage.consumers.assignors import assignor_named
from partage.errors import InputError
from partage.group import Group
from partage.group.model import NOBODY

MODES = ("optimal", "java")


def assign(group: Group, assignor: str, mode: str = "optimal") -> Assignment:
    """Who gets which partition. ``mode`` is for assignors that have a choice: ``optimal``, or
    ``java`` as Apache Kafka's class of that name decides.

    A cooperative assignor withholds what a member must give up first (KIP-429). Raises InputError
    where the name, the mode or the group's data for this assignor is no good.
    """
    chosen = assignor_named(assignor)
    if mode not in MODES:
        raise InputError("--mode", f"{mode!r}: expected one of {', '.join(MODES)}")
    target = chosen.decide(group, mode)
    owner = target
    if chosen.cooperative:
        owner = target.copy()
        member, partition = group.claims
        # whoever claims it, rightly or not, may still be reading it
        held = member != target[partition]
        owner[np.unique(partition[held])] = NOBODY
    return Assignment(group, owner, target)
