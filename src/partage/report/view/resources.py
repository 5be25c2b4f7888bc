"""Every load of the brokers, against its band if the plan aims at one; and the highest of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from partage.brokers.plan_file import BrokerLoad, PlanFigures, ResourceFigures
from partage.report import units
from partage.report.view.loads import Load
from partage.units import percent

LOAD_WORDS: Mapping[str, str] = {
    "replicas": "replicas",
    "leaders": "leaders",
    "disk": "disk",
    "in": "bytes in",
    "out": "bytes out",
    "leader_in": "leader bytes in",
}
"""The loads by resource, in the order of display."""


def _text(name: str, value: float) -> str:
    """A load with its unit."""
    if name in ("replicas", "leaders"):
        return units.tenth(value)
    return units.size(value) if name == "disk" else units.rate(value)


_AIMED = "lowest and highest broker, its band,"
_COUNTED = "lowest and highest broker,"
_NOTE = (
    "a proven bound on the highest, and the worst survivor if any one broker fails / its bound, "
    "in % of the fair share"
)
HIGHEST_NOTE = (
    "of disk, bytes in and bytes out, in % of the broker's fair share; hottest partition: adds "
    "most to that load; headroom: what is free of the scarcest capacity, where capacities are known"
)


DIFFERS = "differs"
"""A band that is not the same for every broker."""


class ResourceRow(Struct, frozen=True):
    """A load over all brokers as text; ``within``: whether every broker is in its band (None, with
    an empty ``band``: the plan aims at none)."""

    name: str
    fair: str
    before: str
    after: str
    within: bool | None
    band: str
    bound: str
    survivor: str


def resource_rows(before: PlanFigures, after: PlanFigures) -> list[ResourceRow]:
    """A row per load; none where loads are not known."""
    return [
        _resource_row(name, before.resources[name], now) for name, now in after.resources.items()
    ]


def resources_note(rows: Iterable[ResourceRow]) -> str:
    """What the columns are."""
    return f"{_AIMED if any(row.band for row in rows) else _COUNTED} {_NOTE}"


def zones_note(before: PlanFigures, after: PlanFigures) -> str:
    """What crosses racks; empty where rates or racks are not known."""
    if before.zone_bytes is None or after.zone_bytes is None:
        return ""
    was, now = asdict(before.zone_bytes), asdict(after.zone_bytes)
    return "; ".join(
        f"{side} across racks: {units.rate(now[side])} of {units.rate(now[f'{side}_total'])} "
        f"(before: {units.rate(was[side])})"
        for side in ("replication", "producers", "consumers")
        if now[side] is not None and was[side] is not None
    )


def _resource_row(name: str, was: ResourceFigures, now: ResourceFigures) -> ResourceRow:
    def share(value: float) -> str:
        return units.of_fair(value, now.fair)

    def span(low: float, high: float) -> str:
        return f"{share(low)}–{share(high)}"

    failure, band = now.after_failure, now.band
    return ResourceRow(
        name=LOAD_WORDS[name],
        fair=_text(name, now.fair),
        before=span(was.min, was.max),
        after=span(now.min, now.max),
        within=None if band is None else band[0] <= now.min and now.max <= band[1],
        band="" if band is None else span(*band),
        bound=share(now.bound),
        survivor=f"{share(failure.max)} / {share(failure.bound)}" if failure else "",
    )


class HighestLoad(Struct, frozen=True):
    """The load of a broker (its ``position``) that is highest compared with its fair share; texts,
    and ``within``: whether it is in its band (None: the plan aims at none). ``headroom``: of the
    resource with the least."""

    position: int
    load: str
    share: str
    band: str
    within: bool | None
    partition: str
    headroom: str


def highest_loads(after: PlanFigures) -> list[HighestLoad]:
    """A row per broker that may hold replicas, where loads are known."""
    if not all(now.brokers for now in after.resources.values()):
        return []
    names = [name for name in LOAD_WORDS if name in after.resources]
    columns = zip(*(after.resources[name].brokers for name in names), strict=True)
    rows = (
        _highest(i, dict(zip(names, loads, strict=True)))
        for i, loads in enumerate(columns)
        if loads[0].fair is not None
    )
    return [row for row in rows if row is not None]


def _highest(position: int, loads: dict[str, BrokerLoad]) -> HighestLoad | None:
    bytes_of = {name: row for name, row in loads.items() if row.fair and row.hottest is not None}
    if not bytes_of:
        return None
    name, row = max(bytes_of.items(), key=lambda one: one[1].load / (one[1].fair or 1))
    fair, band = row.fair or 1, row.band
    free = {name: row.headroom for name, row in loads.items() if row.headroom is not None}
    scarcest = min(free, key=free.__getitem__, default=None)
    return HighestLoad(
        position=position,
        load=LOAD_WORDS[name],
        share=units.of_fair(row.load, fair),
        band="–".join(units.of_fair(end, fair) for end in band or ()),
        within=None if band is None else band[0] <= row.load <= band[1],
        partition=row.hottest or units.MISSING,
        headroom=f"{LOAD_WORDS[scarcest]} {percent(free[scarcest])}" if scarcest else "",
    )


def common_band(load: Load) -> tuple[float, float] | None:
    """The band of every usable broker; None where they differ."""
    bands = {row.band for row in load.rows if row.band is not None}
    return next(iter(bands)) if len(bands) == 1 else None


def band_text(load: Load) -> str:
    """That band, or that it differs from broker to broker, as capacities do."""
    band = common_band(load)
    return DIFFERS if band is None else load.span(np.array(band))
