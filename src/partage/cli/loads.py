"""Measured loads on the command line: the options, and the profile they choose."""

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
        help="Loads that partage profile measured.",
        rich_help_panel=LOADS,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Take rates from this time on, for instance 2026-11-20T08:00.",
        rich_help_panel=LOADS,
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="TIME", help="Take rates until this time.", rich_help_panel=LOADS),
]
Rate = Annotated[
    str,
    one_of(
        "mean|peak",
        "Rate: the mean of all windows, or each partition's highest.",
        rich_help_panel=LOADS,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="kafka-log-dirs.sh --describe output.", rich_help_panel=LOADS
    ),
]
Horizon = Annotated[
    float,
    typer.Option(
        metavar="DAYS",
        help="Plan with the sizes expected this many days after the profile's last sample.",
        rich_help_panel=LOADS,
    ),
]


@dataclass(frozen=True)
class Loads:
    """The options about loads that plan, compare and what-if have."""

    profile: Profile = None
    since: From = None
    until: To = None
    rate: Rate = "mean"
    sizes: Sizes = None
    horizon: Horizon = 0

    def profile_chosen(self) -> MeasuredProfile | None:
        """The profile, over the time asked for. Raises InputError."""
        return profile_of(self.profile, self.since, self.until, self.rate, self.horizon)


def profile_of(
    path: str | None, since: str | None, until: str | None, rate: str, horizon: float = 0
) -> MeasuredProfile | None:
    """The profile, with rates over the time asked for and sizes that many days ahead.

    Raises InputError, also where one of these is given without a profile.
    """
    from partage.errors import InputError
    from partage.period import Period

    about = {"since": since, "until": until, "rate": rate != "mean", "horizon": horizon}
    for name, given in about.items():
        if path is None and given:
            raise InputError(name, "needs measured loads: give `profile`")
    if not (math.isfinite(horizon) and horizon >= 0):
        raise InputError(f"horizon {horizon:g}", "expected days, 0 or more")
    if path is None:
        return None
    from partage.measured_loads import Profile

    return Profile.read(path).over(Period.of(since, until), rate).ahead(horizon)
