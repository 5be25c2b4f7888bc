"""Who takes over when a broker, or a whole rack, fails: numbers for the page's what-if."""

from __future__ import annotations

from typing import Any

import numpy as np

from partage.report.page.packed import packed
from partage.report.view import View


def failures(plan: View) -> dict[str, Any]:
    """Columns over what may fail: the brokers, then the racks.

    ``heirs``, ``taken``: who takes over how many leaders, those of what fails one after another,
    most first; ``length`` says how many heirs each has. ``before``, ``after``: the most leaders on
    one survivor, -1 where there is nobody to fail.
    """
    racks = len(plan.racks)
    pairs = np.vstack([plan.takeover, plan.rack_takeover])
    failed, heir = np.nonzero(pairs)
    taken = pairs[failed, heir]
    order = np.lexsort((heir, -taken, failed))
    leaders = plan.loads[1].after.astype(np.int64)
    figures = plan.figures.get("leaders_after_rack_failure") or {}
    return {
        "leaders": leaders.tolist(),
        "before": [*plan.worst_before.tolist(), *plan.rack_worst_before.tolist()],
        "after": [*plan.worst_after.tolist(), *plan.rack_worst_after.tolist()],
        "lost": [*plan.lost.tolist(), *plan.rack_lost.tolist()],
        "ideal": plan.ideal,
        "rack_ideal": figures.get("ideal") if racks > 1 else None,
        "there": plan.usable.astype(int).tolist(),
        "length": packed(np.bincount(failed, minlength=len(pairs))),
        "heirs": packed(heir[order]),
        "taken": packed(taken[order]),
    }
