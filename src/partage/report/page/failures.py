"""Takeovers when a broker or a rack fails, for the page's script."""

from __future__ import annotations

from typing import Any

import numpy as np

from partage.report.page.packed import packed
from partage.report.view import View


def failures(plan: View) -> dict[str, Any]:
    """Columns over everything that can fail: the brokers, then the racks.

    ``successors``, ``taken``: brokers that take over and how many leaders each, failure by failure,
    most first; ``length``: number of successors per failure. ``before``, ``after``: most leaders on
    one survivor, -1 for a broker that is not running.
    """
    racks = len(plan.racks)
    pairs = np.vstack([plan.takeover, plan.rack_takeover])
    failed, successor = np.nonzero(pairs)
    taken = pairs[failed, successor]
    order = np.lexsort((successor, -taken, failed))
    leaders = plan.loads[1].after.astype(np.int64)
    rack_failure = plan.figures.leaders_after_rack_failure
    return {
        "leaders": leaders.tolist(),
        "before": [*plan.worst_before.tolist(), *plan.rack_worst_before.tolist()],
        "after": [*plan.worst_after.tolist(), *plan.rack_worst_after.tolist()],
        "lost": [*plan.lost.tolist(), *plan.rack_lost.tolist()],
        "bound": plan.failure_bound,
        "rack_bound": rack_failure.ideal if rack_failure and racks > 1 else None,
        "usable": plan.usable.astype(int).tolist(),
        "length": packed(np.bincount(failed, minlength=len(pairs))),
        "successors": packed(successor[order]),
        "taken": packed(taken[order]),
    }
