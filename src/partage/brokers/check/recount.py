"""What the checks of the certificate collect."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from partage.brokers.directory import MARKER


class Recount(Struct):
    """``values``: the recounted value of each stage, by its name; ``defects``: found on the way."""

    values: dict[str, int] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    def defect(self, problem: str) -> None:
        """Add a defect of the certificate."""
        self.defects.append(f"{MARKER}: certificate: {problem}")

    def compare_bound(self, stage: dict[str, Any], proven: int) -> None:
        """Add a defect unless the stage states the bound that its prices prove."""
        if stage["bound"] != proven:
            self.defect(
                f"bound of {stage['stage']} is {stage['bound']}, but its prices prove {proven}"
            )
