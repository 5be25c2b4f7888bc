"""The comparison of strategies, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partage.report.comparison import Column, columns, comparison_of, legend, nearly_optimal


@dataclass(frozen=True)
class Compared:
    """``groups``: title, columns, and for every strategy that found a plan its name, whether it is
    optimal, and (text, is best) per column. ``cannot``: name and reason of the other strategies.
    ``nearly``: the strategies that are optimal except some stages, with these."""

    groups: list[tuple[str, list[Column], list[tuple[str, bool, list[tuple[str, bool]]]]]]
    cannot: list[tuple[str, str]]
    nearly: list[str]
    legend: str


def compared(compare: Mapping[str, Any] | None, where: str) -> Compared | None:
    """The comparison in the file ``where``. Raises InputError for a damaged one."""
    if compare is None:
        return None
    comparison = comparison_of(compare, where)
    plans = comparison.plans
    groups = columns(plans.values())
    tables = []
    for title, shown in groups:
        best = [column.best(plans.values()) for column in shown]
        rows = [
            (
                name,
                row.optimal,
                [
                    (column.text(row), least is not None and column.rank(row) == least)
                    for column, least in zip(shown, best, strict=True)
                ],
            )
            for name, row in plans.items()
        ]
        tables.append((title[:1].upper() + title[1:], shown, rows))
    return Compared(
        tables,
        list(comparison.cannot.items()),
        nearly_optimal(plans),
        legend(column for _, part in groups for column in part),
    )
