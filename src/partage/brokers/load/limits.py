"""How far outside the bands some broker must be, and what forbids more.

Three things may put a band out of reach: one partition whose load alone is more than most brokers
may have, since its replicas are on distinct brokers; partitions that are left out and
stay where they are; and racks, which must hold a part of every partition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.load.model import HELD, LED, LoadModel
from partage.brokers.option_values import RESOURCES
from partage.flow.load_balancing import MILLION, Bands
from partage.flow.size_balancing import zone_totals


class Limit(Struct, frozen=True, order=True):
    """``excess``: millionths of the fair share that some broker must be outside its band, because
    of ``reason``."""

    excess: int
    reason: str


def least_excess(model: LoadModel) -> dict[str, Limit]:
    """The highest limit of each resource; 0 and empty where nothing forbids the bands."""
    limits = _without_moves if model.problem.options.no_moves else _limits
    return {name: max([Limit(0, ""), *limits(model, name)]) for name in RESOURCES}


def unattainable_bands(model: LoadModel) -> list[str]:
    """A sentence for each resource whose bands cannot all be kept."""
    found = []
    for name, limit in least_excess(model).items():
        if limit.excess > 0:
            share = limit.excess * 100 / MILLION
            found.append(f"{name}: {limit.reason}: some broker is {share:.3g} % outside its band")
    return found


def _limits(model: LoadModel, name: str) -> Iterator[Limit]:
    bands, k = model.bands_of(name)
    yield from _of_partitions(model, name, bands, k)
    yield from _of_base(model, name, bands, k)
    if name in HELD:
        yield from _of_racks(model, bands, k)


def _without_moves(model: LoadModel, name: str) -> Iterator[Limit]:
    """What the replicas add stays as it is; of what leaders add, a partition's load is on one of
    its brokers, with what stays there."""
    problem = model.problem
    if name in HELD:
        yield Limit(model.excess(problem.cluster)[name], "no replica may move")
        return
    bands, k = model.bands_of(name)
    base, high, fair = (part[k].tolist() for part in (model.led_base, bands.high, bands.fair))
    slots = problem.broker_slot[problem.cluster.replicas[problem.items]].tolist()
    for i, (load, row) in enumerate(zip(model.item_led[k].tolist(), slots, strict=True)):
        least = min(-(-(base[s] + load - high[s]) * MILLION // fair[s]) for s in row if s >= 0)
        if least > 0:
            partition = problem.cluster.names[int(problem.items[i])]
            yield Limit(least, f"partition {partition} alone is more than a fair share")


def _over(load: Ints, bands: Bands, k: int) -> list[int]:
    """[E] how far a load [E] is above each band, in millionths, rounded up."""
    triples = zip(load.tolist(), bands.high[k].tolist(), bands.fair[k].tolist(), strict=True)
    return [max(0, -(-(one - high) * MILLION // fair)) for one, high, fair in triples]


def _of_partitions(model: LoadModel, name: str, bands: Bands, k: int) -> Iterator[Limit]:
    """The partition with the highest load of each replication factor."""
    problem = model.problem
    held = name in HELD
    load = (model.item_held if held else model.item_led)[k]
    base = (model.held_base if held else model.led_base)[k]
    factors = problem.sharing.demand if held else np.ones_like(load)
    for factor in np.unique(factors).tolist():
        rows = np.flatnonzero(factors == factor)
        largest = int(rows[load[rows].argmax()])
        over = sorted(_over(base + load[largest], bands, k))
        partition = problem.cluster.names[int(problem.items[largest])]
        yield Limit(over[factor - 1], f"partition {partition} alone is more than a fair share")


def _of_base(model: LoadModel, name: str, bands: Bands, k: int) -> Iterator[Limit]:
    base = (model.held_base[k], model.led_base[k])[name in LED]
    over = _over(base, bands, k)
    worst = int(np.argmax(over))
    broker = model.problem.cluster.broker_ids[model.problem.slot_brokers[worst]]
    yield Limit(over[worst], f"partitions that are left out stay on broker {broker}")


def _of_racks(model: LoadModel, bands: Bands, k: int) -> Iterator[Limit]:
    """What the racks must hold at least, and can hold at most."""
    sharing = model.problem.sharing
    least, most = zone_totals(sharing, model.item_held[k])
    zone = sharing.zone_of
    names = model.problem.cluster.rack_names
    racks = np.unique(model.problem.cluster.rack[model.problem.slot_brokers])
    for z in range(sharing.zones):
        here = zone == z
        stays = sum(model.held_base[k, here].tolist())
        fair = sum(bands.fair[k, here].tolist())
        above = int(least[z]) + stays - sum(bands.high[k, here].tolist())
        below = sum(bands.low[k, here].tolist()) - int(most[z]) - stays
        reason = f"rack {names[racks[z]]} has few brokers" if sharing.zoned else "few replicas"
        yield Limit(max(0, -(-max(above, below) * MILLION // fair)), reason)
