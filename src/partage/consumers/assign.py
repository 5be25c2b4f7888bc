"""One round of an assignor on a group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from partage.consumers.assignment import Assignment
from partage.consumers.assignors import Assignor, find_assignor
from partage.errors import InputError
from partage.group import Group
from partage.group.model import NOBODY

MODES = ("optimal", "java")


def assign(group: Group, assignor: str, mode: str = "optimal", **options: Any) -> Assignment:
    """Who gets which partition. ``mode`` is for assignors that have a choice: ``optimal``, or
    ``java`` as Apache Kafka's class of that name decides. ``options`` are the assignor's own.

    A cooperative assignor withholds what a member must give up first (KIP-429). Raises InputError
    where the name, the mode, an option or the group's data for this assignor is no good.
    """
    chosen = find_assignor(assignor)
    if mode not in MODES:
        raise InputError("--mode", f"{mode!r}: expected one of {', '.join(MODES)}")
    for option in options:
        if option not in chosen.options:
            known = ", ".join(chosen.options) or "none"
            raise InputError(assignor, f"has no option {option!r}: expected {known}")
    return run_assignor(chosen, group, mode, **options)


def run_assignor(assignor: Assignor, group: Group, mode: str, **options: Any) -> Assignment:
    """The same of an assignor that is there already, in a mode and with options that there are."""
    decided = assignor.decide(group, mode, **options)
    if not isinstance(decided, Assignment):
        decided = Assignment(group, decided, decided)
    return withhold(decided) if assignor.cooperative else decided


def withhold(decided: Assignment) -> Assignment:
    """The same with this round's owners (KIP-429): a partition that changes them, and that another
    than the next one claims, is nobody's."""
    owner, target = decided.owner.copy(), decided.target
    member, partition = decided.group.claims
    # whoever claims it, rightly or not, may still be reading it; its rightful owner reads on.
    # (Kafka's class, where subscriptions differ, gives it to a claimant of an older generation at
    # once, beside the one that has it.)
    changes = target[partition] != decided.group.owner[partition]
    held = changes & (member != target[partition])
    owner[partition[held]] = NOBODY
    return replace(decided, owner=owner)
