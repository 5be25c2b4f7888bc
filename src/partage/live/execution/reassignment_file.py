"""Another tool's reassignment JSON as a plan: with waves, a rollback, and a journal to resume from.

The plan directory is beside the file and named after it. Until the plan has begun, it is made again
for the cluster as it is then. Once it has begun, it stays: the cluster is no longer as the plan
found it, and a new plan would keep whatever is halfway there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from partage.brokers import plan_file
from partage.brokers.directory import JOURNAL, MARKER, REASSIGNMENT, ROLLBACK, check_writable
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.cluster.reassignment import Reassignment
from partage.errors import InputError, PartageError
from partage.live.admin.states import Snapshot
from partage.live.execution.journal import Journal


def default_directory(file: str | os.PathLike[str]) -> str:
    """Where the plan of a file is written unless another directory is named: ``moves-plan`` for
    ``moves.json``. Raises InputError for a file of a plan directory, which is a plan already."""
    path, where = Path(file), os.fspath(file)
    own = path.name in (MARKER, REASSIGNMENT, ROLLBACK)
    home = path.absolute().parent if own else path.absolute().parent.parent
    if (own or path.absolute().parent.name == "waves") and (home / MARKER).is_file():
        shown = os.path.relpath(home)
        raise InputError(
            where,
            f"is part of a plan: use partage apply {shown} to apply the plan, or "
            f"partage rollback {shown} to roll it back",
        )
    name = path.name.removesuffix(".gz")
    return str(path.with_name(f"{Path(name).stem}-plan"))


def has_begun(directory: str, reassignment: Reassignment) -> bool:
    """Whether the directory has a plan of this reassignment that has begun; if not, a new plan may
    be written there. Raises InputError where the plan that has begun is another, or the directory
    has other files, PartageError where another process is applying it."""
    if (Path(directory) / JOURNAL).exists():
        with Journal.open(directory) as journal:
            if journal.entries:
                _check_same(directory, reassignment)
                return True
    check_writable(directory)
    return False


def _check_same(directory: str, reassignment: Reassignment) -> None:
    """Compare with the plan as it was written, whatever a run has replanned since."""
    written = plan_file.read(directory)
    columns = written.partitions
    after = dict(zip(written.keys, map(tuple, columns.after), strict=True))
    changed = {
        key
        for key, old, new in zip(written.keys, columns.before, columns.after, strict=True)
        if old != new
    }
    lists = reassignment.lists
    if not changed <= lists.keys() or any(after.get(key) != lists[key] for key in lists):
        raise InputError(
            reassignment.name,
            f"{directory} has begun with another reassignment: resume that with "
            f"partage apply {directory}, or give another `out`",
        )


def make_plan(
    reassignment: Reassignment,
    cluster: Snapshot,
    progress: Callable[[str], None] = lambda _: None,
    *,
    batch: int | None = None,
    concurrency: int | None = None,
) -> Plan:
    """The plan of a reassignment for the cluster as it is now, with waves of these sizes.

    Raises InputError for replicas that the cluster cannot have, PartageError while partitions are
    being reassigned.
    """
    moving = [state.name for state in cluster.reassigning]
    if moving:
        others = f" and {len(moving) - 1} more are" if moving[1:] else " is"
        raise PartageError(
            f"{moving[0]}{others} being reassigned: wait until that ends, or cancel it"
        )
    return plan(
        cluster.cluster(),
        reassignment=reassignment,
        batch=batch,
        concurrency=concurrency,
        progress=progress,
    )
