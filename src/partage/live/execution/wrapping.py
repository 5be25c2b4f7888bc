"""Another tool's reassignment JSON as a plan: with waves, a way back, and a place to go on from.

The directory stands beside the file and is called after it. Until the plan is begun it is made anew
each time, out of the cluster as it is then. Once begun it is what the file means: the cluster is no
longer as the plan found it, and a plan made anew would bring back what is there halfway.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from partage.brokers.directory import JOURNAL, MARKER, REASSIGNMENT, ROLLBACK, check_writable
from partage.brokers.plan import Plan, Progress, plan
from partage.cluster.reassignment import Reassignment
from partage.errors import MISSHAPEN, InputError, PartageError
from partage.files import parse_json, read_text
from partage.live.admin.states import Snapshot
from partage.live.execution.journal import Journal


def directory_of(file: str | os.PathLike[str]) -> str:
    """Where a file's plan goes unless another directory is named: ``moves.json``, ``moves-plan``.
    Raises InputError for a file out of a plan directory: that plan is there already."""
    path, where = Path(file), os.fspath(file)
    own = path.name in (MARKER, REASSIGNMENT, ROLLBACK)
    home = path.absolute().parent if own else path.absolute().parent.parent
    if (own or path.absolute().parent.name == "waves") and (home / MARKER).is_file():
        shown = os.path.relpath(home)
        raise InputError(
            where,
            f"is part of a plan: partage apply {shown} carries it out, "
            f"partage rollback {shown} brings back what was before",
        )
    name = path.name.removesuffix(".gz")
    return str(path.with_name(f"{Path(name).stem}-plan"))


def is_begun(directory: str, reassignment: Reassignment) -> bool:
    """Whether the plan in the directory is one of these lists, and begun; if not, a new one may be
    written there. Raises InputError where another plan was begun there, or foreign files are there,
    PartageError where another run has it."""
    if (Path(directory) / JOURNAL).exists():
        with Journal.open(directory) as journal:
            if journal.entries:
                _check_same(directory, reassignment)
                return True
    check_writable(directory)
    return False


def _check_same(directory: str, reassignment: Reassignment) -> None:
    """The plan as it was written: what it was begun with, whatever became of it on the way."""
    marker = os.fspath(Path(directory) / MARKER)
    value = parse_json(read_text(marker), marker)
    try:
        part = value["partitions"]
        keys = [
            (value["topics"][topic], number)
            for topic, number in zip(part["topic"], part["partition"], strict=True)
        ]
        after = dict(zip(keys, map(tuple, part["after"]), strict=True))
        changed = {
            key
            for key, old, new in zip(keys, part["before"], part["after"], strict=True)
            if old != new
        }
    except MISSHAPEN as error:
        raise InputError(marker, f"is no plan ({type(error).__name__}: {error})") from None
    lists = reassignment.lists
    if not changed <= lists.keys() or any(after.get(key) != lists[key] for key in lists):
        raise InputError(
            reassignment.name,
            f"is not what {directory} was begun with: go on with partage apply {directory}, or "
            "name another directory with -o",
        )


def wrap(
    reassignment: Reassignment,
    now: Snapshot,
    tell: Progress = lambda _: None,
    **options: Any,
) -> Plan:
    """The plan of these lists for the cluster as it is ``now``; ``options`` are those of ``plan``.

    Raises InputError for lists that the cluster cannot take, PartageError where partitions are on
    their way already.
    """
    moving = [one.name for one in now.reassigning]
    if moving:
        more = f" and {len(moving) - 1} more are" if moving[1:] else " is"
        raise PartageError(f"{moving[0]}{more} being reassigned: let that finish, or cancel it")
    return plan(now.cluster(), reassignment=reassignment, progress=tell, **options)
