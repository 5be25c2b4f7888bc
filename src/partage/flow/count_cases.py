"""Branch and bound over the slots whose count has two values.

A case is a range of counts. Its relaxation, in which counts need not be whole, yields prices with a
bound (``certificate.Takeovers.bound``). A case whose bound excludes it is closed; otherwise the
slot nearest to a half gets its low count in one part and its high count in the other.

The effort is limited by the size of what is solved, not by time, so the same input gives the same
answer. What is left open at the limit keeps the bound of its relaxation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import blake2b

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.flow.certificate import Prices, Takeovers

SCALES = (1, 2, 12, 720, 30_240)
"""Units in which dual values are rounded to whole prices, the coarsest first."""


class Searched(Struct, frozen=True, eq=False):
    """``counts`` [E], better than those before, or None if none were found; ``proof``: how good any
    counts can be, for ``certificate.proven_bound``."""

    counts: Ints | None
    proof: list[Prices | int]


class Relaxed(Struct, frozen=True, eq=False):
    """``prices``, their ``bound``, and the counts ``held`` [E] of the relaxation."""

    prices: Prices
    bound: int | None
    held: Floats


class CaseSearch(ABC):
    """``counts`` [E]: the best found so far."""

    def __init__(self, takeovers: Takeovers) -> None:
        self.takeovers = takeovers
        self.counts: Ints | None = None

    @abstractmethod
    def relax(self, case: Takeovers) -> Relaxed | None:
        """The relaxation of a case; None if it cannot be solved or the effort is spent."""

    @abstractmethod
    def attempt(self, case: Takeovers, held: Floats) -> bool:
        """Look for counts near the fractional ones ``held`` [E]. Returns whether no others need to
        be searched for."""

    @abstractmethod
    def excludes(self, relaxed: Relaxed) -> bool:
        """Whether the bound proves that the case has nothing better than what is known."""

    def run(self) -> Searched:
        """Search all counts within the ranges of the takeovers."""
        proof: list[Prices | int] = []
        # the prices of a case hold for its parts, too
        cases = [(self.takeovers, no_prices(self.takeovers))]
        while cases:
            case, prices = cases.pop()
            relaxed = self.relax(case)
            if relaxed is None:
                proof.append(prices)
                continue
            if not self.excludes(relaxed) and self.attempt(case, relaxed.held):
                return Searched(self.counts, [])
            open_slots = np.flatnonzero(case.high > case.low)
            # without one, only rounding keeps the bound of single counts from their value
            if self.excludes(relaxed) or len(open_slots) == 0:
                proof.append(relaxed.prices)
                continue
            part = np.abs(relaxed.held - case.low - 0.5)[open_slots]
            slot = int(open_slots[part.argmin()])
            proof.append(slot)
            here = np.arange(case.slots) == slot
            upper = case.within(np.where(here, case.high, case.low), case.high)
            lower = case.within(case.low, np.where(here, case.low, case.high))
            cases += [(upper, relaxed.prices), (lower, relaxed.prices)]
        return Searched(self.counts, proof)


def no_prices(case: Takeovers, scale: int = 1) -> Prices:
    """Prices of 0, which prove only what ranges and cap do."""
    return Prices(np.zeros_like(case.holder), np.zeros_like(case.base), scale)


def digest_of(takeovers: Takeovers) -> bytes:
    """A digest of the takeovers without their ranges, in whatever order their picks are listed."""
    order = np.lexsort((takeovers.option, takeovers.item))
    item, option = takeovers.item[order], takeovers.option[order]
    digest = blake2b(digest_size=32)
    one = takeovers
    for part in (item, option, one.holder, one.taker, one.base, one.fixed):
        digest.update(np.array(part.shape).tobytes())
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    digest.update(np.array([one.items, one.total]).tobytes())
    return digest.digest()


def ranges_of(case: Takeovers) -> tuple[bytes, bytes]:
    """The ranges of a case, as a key."""
    return case.low.tobytes(), case.high.tobytes()
