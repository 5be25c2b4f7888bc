"""size: how many members a consumer group needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import output
from partage.cli.arguments import Json, ResultPage
from partage.cli.loads import From, Rate, To, profile_of

if TYPE_CHECKING:
    from rich.console import Console

_PER_WEIGHT = 1000
"""Seconds: a profile's weights are what comes in during this time."""


def size(
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="Topics and members as JSON; .gz too.")
    ],
    member_rate: Annotated[
        str,
        typer.Option(
            metavar="RATE",
            help="What a member can process per second: bytes, for instance 20MB; with lags only, "
            "records; without --profile, in the unit of the file's weights.",
        ),
    ],
    headroom: Annotated[
        str, typer.Option(metavar="PERCENT", help="Leave this share of the rate free.")
    ] = "20%",
    profile: Annotated[
        str | None, typer.Option(metavar="DIR", help="Use the loads that partage profile measured.")
    ] = None,
    of_group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="NAME", help="The group whose lags count, where there are several."
        ),
    ] = None,
    since: From = None,
    until: To = None,
    rate: Rate = "mean",
    report: ResultPage = None,
    json: Json = False,
) -> None:
    """Find how few members a group needs, and an assignment to them with the fewest moves.

    Examples:

        partage size group.json --profile profile/ --rate peak --member-rate 20MB
        partage size group.json --member-rate 500 --headroom 30%
    """
    from partage.consumers.size import fewest_members
    from partage.errors import InputError, read_parameter
    from partage.group import Group
    from partage.report.size_tables import print_group_size
    from partage.units import Percent
    from partage.units import Rate as Speed

    output.check_files(report=report)
    speed = read_parameter("member_rate", Speed.of, member_rate)
    free = read_parameter("headroom", Percent.of, headroom)
    if free >= 1:
        raise InputError(f"headroom {headroom}", "must be below 100%")
    if of_group is not None and profile is None:
        raise InputError("--group", "needs --profile DIR")
    given, measured = Group.read(group), profile_of(profile, since, until, rate)
    if measured is None and given.weights is None:
        raise InputError(group, "has no weights: add `profile`, or weights to the file")
    if measured is not None:
        given = given.with_weights(measured.weights("rate", of_group))
    per = 1 if measured is None else _PER_WEIGHT
    unit = "" if measured is None else "bytes" if measured.topics else "records"
    found = fewest_members(given, int(speed * per * (1 - free)))

    def show(console: Console) -> None:
        print_group_size(found, speed, float(free), per, unit, console)

    output.write_page(report, "size", show)
    if json:
        loads = found.to_json()
        output.print_json(
            loads
            | {"unit": unit, "member_rate": int(speed), "headroom": float(free)}
            | {"capacity": loads["capacity"] / per}
            | {"loads": {name: load / per for name, load in loads["loads"].items()}}
        )
        return
    show(output.console())
