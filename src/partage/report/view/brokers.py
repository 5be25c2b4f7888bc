"""The brokers of a plan: who they are, whether they may hold replicas, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BrokerView:
    """One broker as the plan sees it. ``excluded``: must be empty after; ``added``: new."""

    id: int
    rack: str | None
    capacity: float
    alive: bool
    excluded: bool
    added: bool

    @property
    def usable(self) -> bool:
        """Whether it may hold replicas after the plan."""
        return self.alive and not self.excluded

    @property
    def mark(self) -> str:
        """What is special about it in one word, or nothing."""
        if not self.alive:
            return "dead"
        if self.excluded:
            return "leaves"
        return "new" if self.added else ""


def brokers_of(items: Sequence[Mapping[str, Any]]) -> tuple[BrokerView, ...]:
    """The document's ``brokers``, in its order."""
    return tuple(
        BrokerView(
            id=int(item["id"]),
            rack=item.get("rack"),
            capacity=float(item.get("capacity") or 1),
            alive=bool(item.get("alive", True)),
            excluded=bool(item.get("excluded", False)),
            added=bool(item.get("added", False)),
        )
        for item in items
    )
