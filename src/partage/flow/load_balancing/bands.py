"""Bands for several loads of each slot, and how far loads are outside them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints

MILLION = 10**6


class Bands(Struct, frozen=True, eq=False):
    """For K loads of E slots, all [K, E] integers: the least and the greatest load allowed, and the
    ``fair`` load (at least 1), in which distances are measured."""

    low: Ints
    high: Ints
    fair: Ints

    def excess(self, load: Ints) -> Ints:
        """[K] the worst distance from the band, in millionths of the fair load, rounded up."""
        worst = np.zeros(len(load), dtype=np.int64)
        outside = np.maximum(np.maximum(load - self.high, self.low - load), 0)
        for k, e in zip(*(place.tolist() for place in np.nonzero(outside)), strict=True):
            share = -(-int(outside[k, e]) * MILLION // int(self.fair[k, e]))
            worst[k] = max(int(worst[k]), share)
        return worst

    def widened(self, excess: Ints) -> Bands:
        """The bands, wider on both sides by ``excess`` [K] millionths of the fair load."""
        by = [
            [int(f) * wide // MILLION for f in row]
            for row, wide in zip(self.fair.tolist(), excess.tolist(), strict=True)
        ]
        width = np.array(by, dtype=np.int64).reshape(self.fair.shape)
        return Bands(np.maximum(self.low - width, 0), self.high + width, self.fair)

    def share(self, load: Ints, k: int) -> list[Fraction]:
        """[E] the loads of resource ``k`` as shares of the fair load."""
        pairs = zip(load[k].tolist(), self.fair[k].tolist(), strict=True)
        return [Fraction(one, fair) for one, fair in pairs]


class Penalty:
    """How far loads are outside the bands, as floats: the sum over loads of the squared distance,
    in fair loads. ``low``, ``high`` [E, K] are in units of ``unit`` [K], the mean fair load."""

    def __init__(self, bands: Bands, margin: float = 0.0) -> None:
        fair = bands.fair.astype(np.float64)
        self.unit = fair.mean(axis=1)
        self.scale = np.ascontiguousarray((self.unit[:, None] / fair).T)
        low, high = ((part / self.unit[:, None]).T for part in (bands.low, bands.high))
        by = margin * (high - low)
        self.low, self.high = np.ascontiguousarray(low + by), np.ascontiguousarray(high - by)

    def at(self, load: Floats, slot: int | Ints | slice = slice(None)) -> Floats:
        """[...] the penalty of loads [..., K] on a slot, or on one slot each."""
        outside = load - self.high[slot]
        np.maximum(outside, self.low[slot] - load, out=outside)
        np.maximum(outside, 0, out=outside)
        outside *= self.scale[slot]
        outside *= outside
        if outside.ndim == 1:
            return np.asarray(outside.sum())
        total = outside[..., 0].copy()  # one load after the other: faster than a sum over few
        for k in range(1, outside.shape[-1]):
            total += outside[..., k]
        return np.asarray(total)

    def signed(self, load: Floats) -> Floats:
        """[E, K] how far each load [E, K] is above (positive) or below (negative) its band."""
        over, under = np.maximum(load - self.high, 0), np.maximum(self.low - load, 0)
        return np.asarray((over - under) * self.scale)
