"""The values in the marker of a profile. Workers of Spark import the rest of this package, and have
no msgspec: this module is loaded where a marker is read."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field

from partage.measured_loads.files import LONGEST_WINDOW

_Total: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0")]


class _Totals(Struct):
    records: _Total
    bytes: _Total
    rejected: _Total
    topics: _Total
    partitions: _Total


class _FarRecords(Struct):
    topic: str
    records: _Total
    first: str
    last: str
    since: str = field(name="from")
    until: str = field(name="to")


class Marker(Struct):
    """What a reader needs of it."""

    window_seconds: Annotated[int, Meta(ge=1, le=LONGEST_WINDOW)]
    sources: list[str]
    totals: _Totals
    since: str | None = field(name="from", default=None)
    until: str | None = field(name="to", default=None)
    outside: _Total = 0
    far_records: list[_FarRecords] = []
