"""``--max-rejected``: how many rows of an input may be rejected."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from partage.errors import InputError, PartageError, read_parameter
from partage.units import Percent, plural


@dataclass(frozen=True)
class MaxRejected:
    """At most a number of rows, or at most a share of all rows; ``text``: as the user wrote it."""

    text: str
    rows: int | None = None
    share: Fraction | None = None

    @classmethod
    def of(cls, given: str | int) -> MaxRejected:
        """``"1000"`` or ``"0.1%"``. Raises InputError."""
        text = str(given).strip()
        if text.isascii() and text.isdecimal() and len(text) <= 18:
            return cls(text, rows=int(text))
        if text.endswith("%"):
            share = read_parameter("max_rejected", Percent.of, text)
            if share <= 1:
                return cls(text, share=share)
        raise InputError(
            f"max_rejected {text}", "expected a number of rows from 0, or 0% to 100% of all rows"
        )

    def check(self, rejected: int, rows: int, example: str) -> None:
        """Raise PartageError if too many of the rows are rejected; ``example``: one reason."""
        most = self.rows if self.share is None else self.share * rows
        if most is not None and rejected > most:
            found = f"{rejected:,} rejected of {plural(rows, 'row')}, most because {example}"
            raise PartageError(f"`max_rejected` {self.text}: {found}")
