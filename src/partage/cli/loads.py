"""Measured loads on the command line: the options, and the profile that they select."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from partage.brokers.declaration import LOADS
from partage.cli.arguments import one_of

if TYPE_CHECKING:
    from partage.measured_loads import Profile as MeasuredProfile

Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="DIR",
        help="Use the loads that partage profile measured.",
        rich_help_panel=LOADS,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Use rates from this time on, for instance 2026-11-20T08:00.",
        rich_help_panel=LOADS,
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="TIME", help="Use rates before this time.", rich_help_panel=LOADS),
]
Rate = Annotated[
    str,
    one_of(
        "mean|peak",
        "Use the mean of all windows, or the highest window of each partition.",
        rich_help_panel=LOADS,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Use the sizes in this kafka-log-dirs.sh --describe output.",
        rich_help_panel=LOADS,
    ),
]
Horizon = Annotated[
    float,
    typer.Option(
        metavar="DAYS",
        help="Use the sizes expected this many days after the profile's last sample.",
        rich_help_panel=LOADS,
    ),
]


@dataclass(frozen=True)
class Loads:
    """The load options of plan, compare and what-if."""

    profile: Profile = None
    since: From = None
    until: To = None
    rate: Rate = "mean"
    sizes: Sizes = None
    horizon: Horizon = 0

    def measured(self) -> MeasuredProfile | None:
        """The profile over the chosen time, None without one. Raises InputError."""
        return profile_of(self.profile, self.since, self.until, self.rate, self.horizon)


def profile_of(
    path: str | None, since: str | None, until: str | None, rate: str, horizon: float = 0
) -> MeasuredProfile | None:
    """The profile, with rates over the chosen time and sizes ``horizon`` days ahead.

    Raises InputError, also for one of these options without a profile.
    """
    from partage.errors import InputError

    needing = {"since": since, "until": until, "rate": rate != "mean", "horizon": horizon}
    for name, given in needing.items():
        if path is None and given:
            raise InputError(name, "needs measured loads: add `profile`")
    if not (math.isfinite(horizon) and horizon >= 0):
        raise InputError(f"horizon {horizon:g}", "must be a number of days, 0 or more")
    if path is None:
        return None
    from partage.period import Period

    return read_profile(path).over(Period.of(since, until), rate).ahead(horizon)


def read_profile(path: str) -> MeasuredProfile:
    """A profile on this machine or in a store. Raises InputError."""
    from partage.measured_loads import Profile, needs_spark

    if not needs_spark(path):
        return Profile.read(path)
    from partage.pipeline import copied_profile

    return Profile.read(copied_profile(path))
