"""assign and simulate: the commands about a consumer group in a file."""

from __future__ import annotations

from typing import Annotated

import typer

from partage.cli import next_step, output
from partage.cli.arguments import (
    GROUPS,
    LINES,
    Json,
    Picture,
    assignor_names,
    beginning_with,
    must_be_one_of,
    one_of,
)
from partage.cli.loads import From, Rate, To, profile_of

AssignorOption = Annotated[
    str,
    typer.Option(
        "--assignor",
        metavar="NAME",
        help="range, roundrobin, sticky, cooperative-sticky, …, or module:Class.",
        autocompletion=beginning_with(assignor_names),
    ),
]
Mode = Annotated[
    str,
    one_of("optimal|java", "The best, or as Kafka's class of that name does."),
]
KAFKAS_OWN = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""The assignors that are Kafka's."""


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    for command in (assign, simulate):
        app.command(rich_help_panel=GROUPS)(command)


def assign(
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="Topics and members as JSON; .gz too.")
    ],
    assignor: AssignorOption,
    mode: Mode = "optimal",
    max_skew: Annotated[
        str | None,
        typer.Option(
            "--max-skew", metavar="5%", help="Weighted: how uneven is even enough, to move less."
        ),
    ] = None,
    lag: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Weigh by lag: what kafka-consumer-groups.sh --describe prints; .gz too.",
        ),
    ] = None,
    of_group: Annotated[
        str | None,
        typer.Option("--group", metavar="NAME", help="Whose lag, where there are several groups."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Weigh by what partage profile measured."),
    ] = None,
    weigh: Annotated[str, one_of("rate|lag", "With --profile: by bytes in, or by lag.")] = "rate",
    since: From = None,
    until: To = None,
    rate: Rate = "mean",
    picture: Picture = None,
    json: Json = False,
) -> None:
    """Decide which member of a consumer group gets which partition.

    Examples:

        partage assign group.json --assignor cooperative-sticky
        partage assign group.json --assignor sticky --mode java
        partage assign group.json --assignor weighted --lag lag.txt --max-skew 5%
    """
    from partage.brokers.options import parse_percent
    from partage.consumers.assign import assign as assign_group
    from partage.errors import InputError
    from partage.files import check_writable_picture, write_text
    from partage.group import Group
    from partage.group.lags import read_lags

    if lag is not None and profile is not None:
        raise InputError("--lag", "and --profile: expected one of them")
    if of_group is not None and lag is None and profile is None:
        raise InputError("--group", "says whose lag it is: expected --lag FILE or --profile DIR")
    if weigh != "rate" and profile is None:
        raise InputError("--weigh", "says what is taken of a profile: expected --profile DIR")
    if weigh == "lag" and (since or until or rate != "mean"):
        raise InputError("--weigh lag", "is the lag at the last sample: no --from, --to, --rate")
    if picture is not None:
        check_writable_picture(picture)
    measured = profile_of(profile, since, until, rate)
    given = Group.read(group)
    if lag is not None:
        given = given.weighed(read_lags(lag, of_group))
    elif measured is not None:
        given = given.weighed(measured.weights(weigh, of_group))
    options = {}
    if max_skew is not None:
        options["max_skew"] = float(parse_percent(max_skew, "--max-skew"))
    found = assign_group(given, assignor, mode, **options)
    if picture is not None:
        from partage.report.pictures import assignment_svg

        write_text(picture, assignment_svg(found, assignor))
    if json:
        output.print_json(found.to_json())
        return
    from partage.report.group_tables import print_assignment

    console = output.console()
    print_assignment(found, assignor, console)
    if assignor in KAFKAS_OWN:  # the other mode, beside this one
        more = () if mode == "java" else ("--mode", "java")
        this = next_step.again("assign", without=("mode", "picture"), more=more)
        next_step.show(console, *this)


def simulate(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="What members do over time, as JSON; .gz too.")
    ],
    assignor: AssignorOption,
    protocol: Annotated[
        str, one_of("eager|cooperative", "What members give up, and when.")
    ] = "eager",
    mode: Mode = "optimal",
    by: Annotated[
        str | None,
        one_of(LINES, "What the lines on the terminal are."),
    ] = None,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """Play what happens to a group: its rounds, who owns what when, and how far behind it falls.

    Exits 1 if the protocol breaks a promise.

    Examples:

        partage simulate scenario.json --assignor range
        partage simulate scenario.json \\
            --assignor cooperative-sticky --protocol cooperative
    """
    from partage.consumers.scenario import Scenario
    from partage.consumers.simulation import simulate as play
    from partage.files import check_writable_picture, write_text

    if by is not None:
        must_be_one_of(LINES, "--by", by)
    if picture is not None:
        check_writable_picture(picture)
    found = play(Scenario.read(scenario), assignor, protocol, mode)
    if picture is not None:
        from partage.report.pictures import simulation_svg

        write_text(picture, simulation_svg(found))
    if json:
        output.print_json(found.to_json())
    else:
        from partage.report.group_tables import print_simulation

        console = output.console()
        print_simulation(found, console, by)
        this = next_step.again("what-if", "churn", without=("assignor", "protocol"))
        next_step.show(console, *this)
    raise typer.Exit(1 if found.violations else 0)
