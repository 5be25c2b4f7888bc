"""Changes of the values in plan.json, for tests of what ``check`` finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Change = Callable[[dict[str, Any]], object]


def of_plan(*path: Any, to: Any) -> Change:
    def change(value: dict[str, Any]) -> None:
        *way, last = path
        at: Any = value
        for key in way:
            at = at[key]
        at[last] = to

    return change
