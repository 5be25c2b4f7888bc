"""The comparison of strategies, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partage.report import units
from partage.report.comparison import Column, columns, legend


@dataclass(frozen=True)
class Compared:
    """``groups``: title, columns, and for every strategy that found a plan its name, whether it is
    optimal, and (text, is best) per column. ``cannot``: name and reason of the other strategies."""

    groups: list[tuple[str, list[Column], list[tuple[str, bool, list[tuple[str, bool]]]]]]
    cannot: list[tuple[str, str]]
    legend: str


def compared(compare: Mapping[str, Any] | None) -> Compared | None:
    if compare is None:
        return None
    strategies: Mapping[str, Mapping[str, Any]] = compare["strategies"]
    plans = {name: row for name, row in strategies.items() if "cannot" not in row}
    groups = columns(plans.values())
    tables = []
    for title, shown in groups:
        best = [column.best(plans.values()) for column in shown]
        rows = [
            (
                name,
                bool(row.get("optimal")),
                [
                    (column.text(row), least is not None and column.value(row) == least)
                    for column, least in zip(shown, best, strict=True)
                ],
            )
            for name, row in plans.items()
        ]
        tables.append((title[:1].upper() + title[1:], shown, rows))
    cannot = [(n, units.plain(row["cannot"])) for n, row in strategies.items() if "cannot" in row]
    return Compared(tables, cannot, legend(groups))
