"""Topics × brokers: the initial table of the page, and all counts for its script.

Many brokers are grouped by rack, or by neighbouring ids where there is one rack or none. Of many
topics those with the most replicas come first, and the last row sums up the others. The script has
the counts of every topic and broker; beyond ``CELLS`` those of the largest topics, and one sum of
the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.report import units
from partage.report.page.packed import packed
from partage.report.view import View

TOPICS, BROKERS = 40, 100
"""Rows and columns shown at a time; more brokers are grouped."""

CELLS = 6_000_000

MANY = 20
"""Columns beyond which cells are narrow, and the table opens with the change."""


@dataclass(frozen=True)
class Group:
    """A column: its heading, the positions of its brokers, and the status of a single broker."""

    heading: str
    brokers: tuple[int, ...]
    status: str = ""


@dataclass(frozen=True)
class Heat:
    """The initial table: row names, columns, [rows][columns] counts after the plan and shades;
    ``folded``: topics in the last row; ``changed``: whether any count differs; ``data``: the
    counts for the script."""

    names: list[str]
    columns: list[Group]
    after: list[list[int]]
    level: list[list[int]]
    folded: int
    changed: bool
    data: dict[str, Any]

    @property
    def choices(self) -> list[tuple[str, str]]:
        """(value, label) of what the table can show, first what it opens with.

        Many brokers have nearly the same share of every topic: there the change differs more.
        """
        shown = [("after", "After"), ("before", "Before"), ("change", "Change")]
        return shown[::-1] if len(self.columns) > MANY and self.changed else shown

    @property
    def grouped(self) -> bool:
        """Whether a column stands for several brokers."""
        return any(len(column.brokers) > 1 for column in self.columns)


def heat(plan: View) -> Heat:
    total = plan.topic_after.sum(axis=1)
    weight = np.maximum(plan.topic_before.sum(axis=1), total)
    order = np.argsort(-weight, kind="stable")
    shown = order[:TOPICS]
    columns = groups(plan)
    names = [plan.topics[i] for i in shown]
    rows, fair_of = plan.topic_after[shown], total[shown]
    if others := len(order) - len(shown):
        names.append(units.plural(others, "other topic"))
        rows = np.vstack([rows, plan.topic_after[order[TOPICS:]].sum(axis=0)])
        fair_of = np.append(fair_of, total[order[TOPICS:]].sum())
    share = fair_of / max(1, int(plan.usable.sum()))
    after = np.column_stack([rows[:, list(c.brokers)].sum(axis=1) for c in columns])
    usable = [int(plan.usable[list(c.brokers)].sum()) for c in columns]
    return Heat(
        names=names,
        columns=columns,
        after=after.tolist(),
        level=[
            [level(n, fair * there) for n, there in zip(row, usable, strict=True)]
            for row, fair in zip(after.tolist(), share.tolist(), strict=True)
        ],
        folded=others,
        changed=bool((plan.topic_before != plan.topic_after).any()),
        data=_data(plan, order),
    )


def groups(plan: View) -> list[Group]:
    """The initial columns."""
    count = len(plan.brokers)
    if count <= BROKERS:
        return [Group(str(b.id), (i,), b.status) for i, b in enumerate(plan.brokers)]
    if 1 < len(plan.racks) <= BROKERS:
        found = [
            Group(rack.name, tuple(np.flatnonzero(plan.rack == k).tolist()))
            for k, rack in enumerate(plan.racks)
        ]
        if rest := tuple(np.flatnonzero(plan.rack < 0).tolist()):
            found.append(Group("no rack", rest))
        return found
    ids = [broker.id for broker in plan.brokers]
    size = -(-count // BROKERS)
    starts = range(0, count, size)
    return [Group(_id_range(ids[i : i + size]), tuple(range(count)[i : i + size])) for i in starts]


def level(count: float, fair: float) -> int:
    """Shade 0 to 8: 0 none, 4 the fair share, 8 twice the fair share or more.

    A fair share below one replica counts as one, so that a topic with fewer replicas than brokers
    does not look skewed.
    """
    if count == 0:
        return 0
    return int(min(8, max(1, np.floor(4 * count / max(fair, 1.0) + 0.5))))


def _id_range(ids: Sequence[int]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"{ids[0]}–{ids[-1]}"


def _data(plan: View, order: Any) -> dict[str, Any]:
    held = order[: max(TOPICS, CELLS // max(1, len(plan.brokers)))]
    rest = order[len(held) :]
    return {
        "rows": TOPICS,
        "columns": BROKERS,
        "topics": packed(held),
        "before": packed(plan.topic_before[held]),
        "after": packed(plan.topic_after[held]),
        "rest": len(rest),
        "rest_before": packed(plan.topic_before[rest].sum(axis=0)),
        "rest_after": packed(plan.topic_after[rest].sum(axis=0)),
    }
