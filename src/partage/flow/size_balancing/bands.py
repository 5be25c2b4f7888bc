"""The loads that slots should have, and an assignment in relation to them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints

_ANY = 2**62


class Bands(Struct, frozen=True, eq=False):
    """The load each slot should have: its ``share`` [E] plus or minus a tolerance, and at most
    ``ceiling`` [E]. Without a share: any load up to the ceiling."""

    ceiling: Ints
    share: Floats | None

    def at(self, tolerance: float) -> tuple[Ints, Ints]:
        """[E] the least and the most load of each slot."""
        if self.share is None:
            return np.zeros_like(self.ceiling), self.ceiling
        # shares are floats: the integers next to them are within the band
        high = np.ceil(np.minimum(self.share * (1 + tolerance), _ANY) - 0.5).astype(np.int64)
        low = np.floor(np.maximum(self.share * (1 - tolerance), 0) + 0.5).astype(np.int64)
        low = np.minimum(low, high)
        return np.clip(low, 0, self.ceiling), np.minimum(high, self.ceiling)

    def holding(self, load: Ints) -> float | None:
        """The smallest tolerance whose bands contain these loads [E]; None above a ceiling."""
        if (load > self.ceiling).any():
            return None
        return 0.0 if self.share is None else float(self.away(load, slice(None)).max())

    def away(self, load: Ints, slot: Ints | slice) -> Floats:
        """[n] the smallest tolerance whose band of each ``slot`` [n] contains its ``load`` [n]."""
        assert self.share is not None, "only a share has a band"
        share = self.share[slot]
        # a ceiling below the share is not a deviation
        low = np.minimum(share, self.ceiling[slot])
        away = np.where(load > share, load - share, np.maximum(low - load, 0)) - 0.5
        return np.asarray(np.maximum(away, 0) / np.maximum(share, 1.0))


class BalancedSizes(Struct, frozen=True, eq=False):
    """``slots`` [I, max demand] ascending, -1 padded; ``tolerance`` of the narrowest bands that
    contain its loads, None where a slot is above its ceiling."""

    slots: Ints
    tolerance: float | None
