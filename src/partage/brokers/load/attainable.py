"""The loads and bands that the search works with, where a single partition exceeds every band.

Such a partition puts its broker outside the band wherever it is. The search counts it as what fits
into a band, so that the broker should have little else of this load. What these partitions leave to
the other brokers may be less than the lower ends of their bands: these then fall as far as leaves
half of a band's lower part below what is left on average.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from partage.arrays import Ints
from partage.brokers.load.model import LoadModel
from partage.flow.load_balancing import Bands, Loads

_DISK = 1
_ROOM = 50
"""A broker with such a partition keeps 1/50 of a fair share for others, or half of its band."""


def attainable_loads(model: LoadModel) -> tuple[Loads, Loads]:
    """What replicas add, and what leaders add, with bands."""
    problem = model.problem
    copies = problem.sharing.demand
    held = Loads(model.item_held, model.held_base, model.held_bands)
    led = Loads(model.item_led, model.led_base, model.led_bands)
    disks = problem.cluster.disk_bytes[problem.slot_brokers]
    full = (disks >= 0) & (disks < model.item_held[_DISK].max(initial=0))
    for k in range(len(held.each)):
        if k != _DISK or not full.any():  # a disk must hold all of a partition
            held = _attainable(held, k, copies)
    for k in range(len(led.each)):
        led = _attainable(led, k, np.ones_like(copies))
    return held, led


def _attainable(loads: Loads, k: int, copies: Ints) -> Loads:
    """The same with load ``k`` of items cut to what fits into the bands."""
    bands, each, base = loads.bands, loads.each[k], loads.base[k]
    room = np.minimum(bands.fair[k] // _ROOM, (bands.high[k] - bands.low[k]) // 2)
    slots = len(base)
    largest = np.argsort(base - bands.high[k], kind="stable")[np.minimum(copies, slots) - 1]
    fits = bands.high[k] - base
    over = each > fits[largest]
    if not over.any():
        return loads
    cut = np.where(over, np.maximum(fits - room, 0)[largest], each)
    large = min(int(copies[over].sum()), slots - 1)
    alone = np.sort(np.repeat(cut[over], copies[over]))[::-1][:large]
    total = sum((cut * copies).tolist()) + sum(base.tolist())
    fair = sum(bands.fair[k].tolist())
    left = max(0, total - sum(alone.tolist())) / max(1, slots - large)
    share = min(1.0, left * slots / max(1, fair))
    low, every = bands.low.copy(), loads.each.copy()
    average = bands.fair[k] * share - (bands.fair[k] - low[k]) / 2
    low[k] = np.minimum(low[k], np.maximum(np.floor(average), 0).astype(np.int64))
    every[k] = cut
    return replace(loads, each=every, bands=Bands(low, bands.high, bands.fair))
