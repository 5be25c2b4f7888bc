"""The partitions whose replica list changes: all for the script, the first ones for the HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partage.report import units
from partage.report.page.packed import packed
from partage.report.view import View
from partage.report.view.next_best import next_best

if TYPE_CHECKING:
    from partage.arrays import Ints

LIMIT = 400_000
"""Partitions in the page at most; of more, those with the most bytes to copy."""

PER_PAGE = 25


def changes(plan: View) -> dict[str, Any]:
    """Columns of the changed partitions, in order; of too many, those with the most to copy.

    ``before``, ``after``: broker positions, ``width`` per partition, padded with -1. ``size``:
    bytes of a replica, 0 where none moves, NaN where unknown. ``instead``: the next best broker of
    each new replica, in order (``next_best``). ``deleted``: replicas of each partition that are
    deleted, where the plan deletes any.
    """
    rows = included_rows(plan)
    moves = plan.row_moves[rows]
    found = {
        "topic": packed(plan.topic[rows]),
        "partition": packed(plan.number[rows]),
        "size": packed(np.where(moves > 0, plan.to_copy[rows], 0).astype(np.float32)),
        "width": plan.before.shape[1],
        "before": packed(plan.before[rows]),
        "after": packed(plan.after[rows]),
        "total": len(plan.changed),
        "per_page": PER_PAGE,
        "instead": None,
        "no_moves": bool(plan.options.get("no_moves")),
        "by_rate": plan.options.get("leaders") == "rate",
    }
    if plan.deleted:
        found["deleted"] = packed(plan.row_deleted[rows])
    instead = next_best(plan)
    if instead is not None:
        in_page = np.isin(np.repeat(np.arange(len(plan.topic)), plan.row_moves), rows)
        found["instead"] = {
            "costs": instead.costs,
            "broker": packed(instead.broker[in_page]),
            "cost": packed(instead.cost[in_page]),
            "amount": packed(instead.amount[in_page]),
        }
    return found


def included_rows(plan: View) -> Ints:
    """Rows of the partitions in the page, ascending."""
    rows = plan.changed
    if len(rows) <= LIMIT:
        return rows
    copied = plan.row_moves[rows] * np.nan_to_num(plan.to_copy[rows])
    return np.sort(rows[np.lexsort((-plan.row_moves[rows], -copied))[:LIMIT]])


def first_rows(plan: View) -> list[dict[str, Any]]:
    """The first rows of the table, for the HTML."""
    lists, to_copy = plan.file.partitions, plan.file.partitions.to_copy
    found = []
    for i in included_rows(plan)[:PER_PAGE].tolist():
        before, after, size = lists.before[i], lists.after[i], to_copy[i]
        moves = len(set(after) - set(before))
        found.append(
            {
                "name": f"{plan.topics[plan.topic[i]]}-{plan.number[i]}",
                "before": [(broker, broker not in after) for broker in before],
                "after": [(broker, broker not in before) for broker in after],
                "moves": moves,
                "deleted": int(plan.row_deleted[i]),
                "to_copy": units.MISSING if size is None else units.size(moves * size),
            }
        )
    return found
