"""Results as tables for notebooks: a pandas DataFrame, a pyarrow Table, an HTML table.

pandas and pyarrow are imported when a table is asked for, so that ``import partage`` needs neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any

from partage.errors import PartageError
from partage.printable import printable

Columns = Mapping[str, Sequence[Any]]
"""Values by column name, all columns of the same length."""

HTML_ROWS = 20
"""Rows that an HTML table shows of a longer one."""


def data_frame(columns: Columns) -> Any:
    """A ``pandas.DataFrame``. Raises PartageError where pandas is not installed."""
    return _library("pandas").DataFrame(dict(columns))


def arrow_table(columns: Columns) -> Any:
    """A ``pyarrow.Table``. Raises PartageError where pyarrow is not installed."""
    return _library("pyarrow").table(dict(columns))


def html_table(caption: str, header: Iterable[str], rows: Sequence[Sequence[Any]]) -> str:
    """An HTML table of the first ``HTML_ROWS`` rows, with the number of the rows left out."""
    head = "".join(f"<th>{_cell(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
        for row in rows[:HTML_ROWS]
    )
    if len(rows) > HTML_ROWS:
        caption += f" (the first {HTML_ROWS} of {len(rows):,} rows)"
    return (
        f"<table><caption>{_cell(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    from html import escape

    return escape(printable(str(value)))


def changed_fields(value: Any) -> str:
    """The ``repr`` of a dataclass instance without the fields that have their default value."""
    given = [
        f"{one.name}={getattr(value, one.name)!r}"
        for one in fields(value)
        if one.default_factory is MISSING or getattr(value, one.name) != one.default_factory()
        if getattr(value, one.name) != one.default
    ]
    return f"{type(value).__name__}({', '.join(given)})"


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise PartageError(f"{name} is not installed: pip install {name}") from None
