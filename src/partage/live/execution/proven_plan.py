"""A plan directory that proves itself before a run acts on it.

``partage check``'s own rules decide, in this process, before the first request. A plan need not be
optimal; but replication factors, racks, disks, waves, the rollback and what was replanned must keep
every rule.
"""

from __future__ import annotations

import os
from dataclasses import replace

from partage.brokers.check import rule_defects
from partage.brokers.directory import MARKER
from partage.errors import InputError
from partage.files import checked_path
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.units import plural


def read_proven(
    directory: str | os.PathLike[str], direction: Direction = Direction.FORWARD
) -> ExecutionPlan:
    """The plan of a directory, in a direction. Raises InputError for one that is not a plan or
    breaks a rule.

    A rollback does not need the rules of the new placement: for it those are warnings, so that it
    can repair what such a plan has done. Unless it lowers a replication factor: then only a plan
    that keeps every rule proves that the lower one is the original.
    """
    directory = checked_path(directory, "plan", "a plan directory")
    plan = ExecutionPlan.read(directory)
    defects = rule_defects(directory)
    raises = any(len(change.target) > len(change.origin) for change in plan.changes.values())
    warned = [] if direction is Direction.FORWARD or raises else defects.placement
    refused = defects.files + [one for one in defects.placement if one not in warned]
    if refused:
        where = os.fspath(directory)
        more = f" (and {plural(len(refused) - 1, 'more defect')})" if refused[1:] else ""
        raise InputError(
            where, f"{refused[0]}{more}: use partage check {where} to see all, and plan again"
        )
    if defects.digest != plan.digest:
        raise InputError(plan.directory, f"{MARKER} has changed meanwhile: run the command again")
    plan = replace(plan, warnings=tuple(warned))
    return plan if direction is Direction.FORWARD else plan.reversed()
