"""Searches for counts of slots that leave levels after a failure low and even.

What was solved before is not solved again: a search that goes on from what it found, and a second
run on a plan, meet the same caps and the same linear programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from partage.arrays import Ints
from partage.flow.certificate import Prices, Takeovers

if TYPE_CHECKING:
    from partage.flow.count_cases import Relaxed, Searched
    from partage.flow.takeover_counts import Evaluate


class CountSearch(Struct, frozen=True, eq=False):
    """What was found for caps, and the linear programs solved for squares."""

    caps: dict[tuple[object, ...], Searched] = field(default_factory=dict)
    programs: dict[tuple[object, ...], Relaxed | None] = field(default_factory=dict)

    def find(self, takeovers: Takeovers, counts: Ints, cap: int) -> Searched:
        """Counts for which all levels can be at most ``cap``, near ``counts`` [E], or a proof that
        there are none."""
        from partage.flow.count_cases import Searched, digest_of, no_prices, ranges_of
        from partage.flow.counts_below_cap import counts_below_cap, too_large

        if too_large(takeovers):
            return Searched(None, [no_prices(takeovers)])
        key = (digest_of(takeovers), *ranges_of(takeovers), counts.tobytes(), cap)
        if key not in self.caps:
            self.caps[key] = counts_below_cap(takeovers, counts, cap)
        return self.caps[key]

    def relaxed(self, takeovers: Takeovers, cap: int) -> Sequence[Prices | int]:
        """A proof that no counts keep the cap, if the relaxation of all counts is one."""
        from partage.flow.counts_below_cap import CapSearch, too_large

        if too_large(takeovers):
            return []
        search = CapSearch(takeovers, cap)
        found = search.relax(takeovers)
        return [found.prices] if found is not None and search.excludes(found) else []

    def improve(self, takeovers: Takeovers, cap: int, evaluate: Evaluate, value: int) -> Searched:
        """Counts with a sum of squares below ``value``, and the bound on it."""
        from partage.flow.takeover_counts import counts_of_lower_squares

        return counts_of_lower_squares(takeovers, cap, evaluate, value, self.programs)
