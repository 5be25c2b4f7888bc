"""Loads of brokers and racks before and after: replicas, leaders, bytes, bytes per second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.brokers.plan_file import BrokerLoad, PlanBroker, ResourceFigures
from partage.report import units

Unit = Literal["count", "bytes", "rate"]


class Load(Struct, frozen=True, eq=False):
    """One quantity per broker: [B] before, [B] after, [B] the fair share of what is after.

    ``rows`` [B]: bands, headroom and hottest partitions, where every load is known."""

    key: str
    title: str
    unit: Unit
    before: Floats
    after: Floats
    fair: Floats
    rows: tuple[BrokerLoad, ...] = ()

    @property
    def banded(self) -> bool:
        """Whether the plan aims at a band."""
        return any(row.band is not None for row in self.rows)

    def text(self, value: float) -> str:
        """One of its values with its unit."""
        return {"count": units.count, "bytes": units.size, "rate": units.rate}[self.unit](value)

    def span(self, values: Floats) -> str:
        """The lowest and the highest of its values: ``54–81``, ``41.0–41.2 kB/day``."""
        low, high = float(values.min()), float(values.max())
        if self.unit == "count":
            return units.span((low, high))
        unit_of = units.common if self.unit == "bytes" else units.common_rate
        return units.scaled_span(low, high, unit_of)

    @property
    def fair_text(self) -> str:
        """The fair share of a usable broker; a range where capacities differ."""
        shares = self.fair[self.fair > 0]
        if not len(shares):
            return units.MISSING
        show = units.tenth if self.unit == "count" else self.text
        low, high = show(float(shares.min())), show(float(shares.max()))
        return low if low == high else f"{low} – {high}"


class Rack(Struct, frozen=True):
    """A rack: the number of its usable brokers, and (before, after) of its loads."""

    name: str
    brokers: int
    replicas: tuple[int, int]
    leaders: tuple[int, int]
    bytes: tuple[float, float]

    @property
    def label(self) -> str:
        """``rack a``; the name alone where it begins with rack: ``rack-07``."""
        return self.name if self.name.lower().startswith("rack") else f"rack {self.name}"


def loads_of(
    before: Ints, after: Ints, size: Floats, rate: Floats | None, usable: Bools, capacity: Floats
) -> tuple[Load, ...]:
    """Every load that is known.

    From replica lists [P, R], sizes [P] in bytes (NaN: unknown) and rates [P] in bytes per second,
    for brokers that are ``usable`` [B] and have a ``capacity`` [B].
    """
    brokers = len(usable)

    def per_broker(lists: Ints, weight: Floats | None, leaders_only: bool) -> Floats:
        entries = lists[:, :1] if leaders_only else lists
        weights = None if weight is None else np.broadcast_to(weight[:, None], entries.shape)
        held = entries >= 0
        chosen = None if weights is None else weights[held]
        counts = np.bincount(entries[held], weights=chosen, minlength=brokers)
        return counts.astype(np.float64)

    def load(
        key: str, title: str, unit: Unit, weight: Floats | None, part: Floats, leaders_only: bool
    ) -> Load:
        now = per_broker(after, weight, leaders_only)
        shares = np.where(usable, part, 0.0)
        fair = shares * (now.sum() / shares.sum()) if shares.sum() else shares
        return Load(key, title, unit, per_broker(before, weight, leaders_only), now, fair)

    even = np.ones(brokers)
    loads = [
        load("replicas", "Replicas", "count", None, capacity, False),
        load("leaders", "Leaders", "count", None, even, True),
    ]
    if not np.isnan(size).all():
        loads.append(load("bytes", "Bytes", "bytes", np.nan_to_num(size), even, False))
    if rate is not None:
        loads.append(load("rate", "Bytes in per second as leader", "rate", rate, even, True))
    return tuple(loads)


_RESOURCES: Mapping[str, tuple[str, str, Unit]] = {
    "replicas": ("replicas", "Replicas", "count"),
    "leaders": ("leaders", "Leaders", "count"),
    "disk": ("bytes", "Bytes", "bytes"),
    "in": ("in", "Bytes in per second", "rate"),
    "out": ("out", "Bytes out per second", "rate"),
    "leader_in": ("rate", "Bytes in per second as leader", "rate"),
}
"""By resource of the figures, the key, title and unit of the load."""


def known_loads(
    before: Mapping[str, ResourceFigures], after: Mapping[str, ResourceFigures]
) -> tuple[Load, ...]:
    """Every load, from a plan's figures; none where they are not known."""
    if not all(name in before and name in after and after[name].brokers for name in _RESOURCES):
        return ()
    return tuple(
        Load(
            *names,
            before=np.array([row.load for row in before[name].brokers], dtype=np.float64),
            after=np.array([row.load for row in after[name].brokers], dtype=np.float64),
            fair=_fair_shares(after[name]),
            rows=tuple(after[name].brokers),
        )
        for name, names in _RESOURCES.items()
    )


def _fair_shares(figures: ResourceFigures) -> Floats:
    """[B] those of the brokers, which are whole numbers; where all are equal, the average."""
    fair = [row.fair for row in figures.brokers]
    equal = len({share for share in fair if share is not None}) == 1
    shares = (figures.fair if equal and share is not None else share or 0.0 for share in fair)
    return np.array(list(shares), dtype=np.float64)


def racks_of(brokers: Sequence[PlanBroker], loads: Sequence[Load]) -> tuple[Rack, ...]:
    """The loads summed by rack, sorted by name."""
    names = sorted({broker.rack for broker in brokers if broker.rack is not None})
    by_key = {load.key: load for load in loads}

    def total(key: str, members: list[int]) -> tuple[float, float]:
        load = by_key.get(key)
        if load is None:
            return (0.0, 0.0)
        return (float(load.before[members].sum()), float(load.after[members].sum()))

    racks = []
    for name in names:
        members = [i for i, broker in enumerate(brokers) if broker.rack == name]
        replicas, leaders = total("replicas", members), total("leaders", members)
        racks.append(
            Rack(
                name=name,
                brokers=sum(brokers[i].usable for i in members),
                replicas=(round(replicas[0]), round(replicas[1])),
                leaders=(round(leaders[0]), round(leaders[1])),
                bytes=total("bytes", members),
            )
        )
    return tuple(racks)


def rack_positions(brokers: Sequence[PlanBroker], racks: Sequence[Rack]) -> Ints:
    """[B] each broker's position in ``racks``, -1 without a rack."""
    place: dict[str | None, int] = {rack.name: i for i, rack in enumerate(racks)}
    return np.array([place.get(broker.rack, -1) for broker in brokers], dtype=np.int64)
