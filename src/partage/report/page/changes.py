"""The partitions whose list changes: all of them for the script, the first ones for the HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partage.report import units
from partage.report.page.packed import packed
from partage.report.view import View
from partage.report.view.next_best import next_best

if TYPE_CHECKING:
    from partage.report.view.counting import Ints

HELD = 400_000
"""Partitions that the page has at most; beyond, those that copy most."""

PER_PAGE = 25


def changes(plan: View) -> dict[str, Any]:
    """Columns of the changed partitions, in order; the heaviest ones where there are too many.

    ``before``, ``after``: broker positions, ``width`` per partition, padded with -1. ``size``:
    bytes of a replica where one moves, NaN where that is unknown. ``instead``: for each coming
    replica in order the next best broker (``next_best``).
    """
    rows = held(plan)
    moves = plan.row_moves[rows]
    found = {
        "topic": packed(plan.topic[rows]),
        "partition": packed(plan.number[rows]),
        "size": packed(np.where(moves > 0, plan.size[rows], 0).astype(np.float32)),
        "width": plan.before.shape[1],
        "before": packed(plan.before[rows]),
        "after": packed(plan.after[rows]),
        "total": len(plan.changed),
        "per_page": PER_PAGE,
        "instead": None,
        "no_moves": bool(plan.asked.get("no_moves")),
        "by_rate": plan.asked.get("leaders") == "rate",
    }
    instead = next_best(plan)
    if instead is not None:
        here = np.isin(np.repeat(np.arange(len(plan.topic)), plan.row_moves), rows)
        found["instead"] = {
            "costs": instead.costs,
            "broker": packed(instead.broker[here]),
            "cost": packed(instead.cost[here]),
            "amount": packed(instead.amount[here]),
        }
    return found


def held(plan: View) -> Ints:
    """Rows of the partitions in the page's table, ascending."""
    rows = plan.changed
    if len(rows) <= HELD:
        return rows
    copied = plan.row_moves[rows] * np.nan_to_num(plan.size[rows])
    return np.sort(rows[np.lexsort((-plan.row_moves[rows], -copied))[:HELD]])


def first_rows(plan: View) -> list[dict[str, Any]]:
    """What the HTML shows of the first partitions in the table."""
    lists = plan.document["partitions"]
    found = []
    for i in held(plan)[:PER_PAGE].tolist():
        before, after, size = lists["before"][i], lists["after"][i], lists["size_bytes"][i]
        moves = len(set(after) - set(before))
        found.append(
            {
                "name": f"{plan.topics[plan.topic[i]]}-{plan.number[i]}",
                "before": [(broker, broker not in after) for broker in before],
                "after": [(broker, broker not in before) for broker in after],
                "moves": moves,
                "to_copy": units.MISSING if size is None else units.size(moves * size),
            }
        )
    return found
