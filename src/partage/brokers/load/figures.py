"""Each resource in one line: the extremes, the fair share, the band, and a bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from partage.brokers.load.model import HELD, LoadModel
from partage.brokers.option_values import RESOURCES
from partage.cluster import Cluster

_DIGITS = 3


def resource_figures(model: LoadModel, cluster: Cluster) -> dict[str, dict[str, Any]]:
    """By resource ``min``, ``max``, ``fair``, ``band`` and ``bound``, a lower bound on ``max``.

    Numbers are loads of a broker with an average fair share: the loads of others are divided by
    their fair share and multiplied by the average.
    """
    held, led = model.loads(cluster)
    found = {}
    for name in RESOURCES:
        bands, k = model.bands_of(name)
        load = (held if name in HELD else led)[k].tolist()
        fair = bands.fair[k].tolist()
        unit = Fraction(2) ** -model.rate_bits if name in ("in", "out", "leader_in") else 1
        average = unit * Fraction(sum(fair), len(fair))
        shares = [average * Fraction(one, share) for one, share in zip(load, fair, strict=True)]
        ends = [
            [
                average * Fraction(one, share)
                for one, share in zip(end[k].tolist(), fair, strict=True)
            ]
            for end in (bands.low, bands.high)
        ]
        found[name] = {
            "min": _number(min(shares)),
            "max": _number(max(shares)),
            "fair": _number(unit * Fraction(sum(load), len(load))),
            "band": [_number(min(ends[0])), _number(max(ends[1]))],
            "bound": _number(
                max(_even(name, load, fair, unit), average * _largest(model, name, k))
            ),
        }
    return found


def _even(name: str, load: list[int], fair: list[int], unit: Fraction | int) -> Fraction | int:
    """The average load of a broker: some broker has it or more; of equal brokers, a whole number
    of replicas or leaders."""
    if name in ("replicas", "leaders") and len(set(fair)) == 1:
        return -(-sum(load) // len(load))
    return unit * Fraction(sum(load), len(load))


def _largest(model: LoadModel, name: str, k: int) -> Fraction:
    """The share of some broker that the largest partition alone reaches."""
    bands, _ = model.bands_of(name)
    held = name in HELD
    load = (model.item_held if held else model.item_led)[k]
    base = (model.held_base if held else model.led_base)[k].tolist()
    factors = model.problem.sharing.demand if held else np.ones_like(load)
    best = Fraction(0)
    for factor in np.unique(factors).tolist():
        largest = int(load[factors == factor].max())
        shares = sorted(
            Fraction(stays + largest, fair)
            for stays, fair in zip(base, bands.fair[k].tolist(), strict=True)
        )
        best = max(best, shares[factor - 1])
    return best


def _number(value: Fraction | int) -> float | int:
    """A whole number as an int, others with three decimals."""
    rounded = round(float(value), _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
