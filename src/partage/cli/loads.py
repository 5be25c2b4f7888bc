"""What was measured, as plan, compare and assign are given it: options, and the profile chosen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli.arguments import LOADS, one_of

if TYPE_CHECKING:
    from partage.profile import Profile

From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Rates since then, such as 2026-11-20T08:00.",
        rich_help_panel=LOADS,
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="TIME", help="Rates until then.", rich_help_panel=LOADS),
]
Rate = Annotated[
    str,
    one_of("mean|peak", "Of all windows, or of each partition's fullest.", rich_help_panel=LOADS),
]
Horizon = Annotated[
    float,
    typer.Option(
        metavar="DAYS",
        help="Sizes expected so long after the profile's last sample.",
        rich_help_panel=LOADS,
    ),
]


def profile_of(
    path: str | None, since: str | None, until: str | None, rate: str, horizon: float = 0
) -> Profile | None:
    """The profile, with rates over the time asked for and sizes so many days ahead. Raises
    InputError, also for such a wish without a profile."""
    from partage.errors import InputError
    from partage.period import Period

    wishes = (
        ("--from", since),
        ("--to", until),
        ("--rate", rate != "mean"),
        ("--horizon", horizon),
    )
    for option, given in wishes:
        if path is None and given:
            raise InputError(option, "is about what was measured: expected --profile DIR")
    if not (math.isfinite(horizon) and horizon >= 0):
        raise InputError("--horizon", f"{horizon:g}: expected days, 0 or more")
    if path is None:
        return None
    from partage.profile import Profile

    return Profile.read(path).over(Period.of(since, until), rate).ahead(horizon)
