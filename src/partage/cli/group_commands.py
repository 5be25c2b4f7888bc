"""The commands assign and simulate, for a consumer group in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from partage.cli import next_step, output
from partage.cli.arguments import (
    PICTURE_ROWS,
    Json,
    MaxSkew,
    Picture,
    RacksFirst,
    ResultPage,
    assignor_names,
    check_choice,
    completion_from,
    one_of,
    skew_of,
)
from partage.cli.loads import From, Rate, To, profile_of

if TYPE_CHECKING:
    from rich.console import Console

    from partage.consumers.scenario import Scenario
    from partage.group import Group

    _Input = TypeVar("_Input", Group, Scenario)

AssignorOption = Annotated[
    str,
    typer.Option(
        "--assignor",
        metavar="NAME",
        help="An assignor by name, by the name of Kafka's class, or module:Class.",
        autocompletion=completion_from(assignor_names),
    ),
]
Mode = Annotated[
    str | None,
    one_of(
        "optimal|java|java-3.7.0",
        "Exact, or the result of Kafka's Java class of that name, today or as up to 3.7.0; "
        "uniform: java by default.",
    ),
]
KAFKA_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""The assignors of Apache Kafka's consumer."""


def assign(
    group: Annotated[
        str,
        typer.Argument(
            metavar="GROUP", help="Topics and members as JSON; .gz too; - reads standard input."
        ),
    ],
    assignor: AssignorOption,
    mode: Mode = None,
    protocol: Annotated[
        str, one_of("classic|consumer", "Assignors of the clients, or of the broker (KIP-848).")
    ] = "classic",
    max_skew: MaxSkew = None,
    racks_first: RacksFirst = False,
    lag: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Weight by lag: the output of kafka-consumer-groups.sh --describe; .gz too.",
        ),
    ] = None,
    of_group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="NAME", help="The group whose lag counts, where a file has several."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Weight by the loads that partage profile measured."),
    ] = None,
    weight_by: Annotated[
        str, one_of("rate|lag", "With --profile: weight by bytes in or by lag.")
    ] = "rate",
    since: From = None,
    until: To = None,
    rate: Rate = "mean",
    picture: Picture = None,
    report: ResultPage = None,
    json: Json = False,
) -> None:
    """Decide which member of a consumer group gets which partition.

    Examples:

        partage assign group.json --assignor cooperative-sticky
        partage assign group.json --assignor sticky --mode java
        partage assign group.json --assignor weighted --lag lag.txt --max-skew 5%
        partage assign group.json --assignor sticky --racks-first --max-skew 20%
        partage assign group.json --assignor range --protocol consumer
    """
    from partage.consumers.assign import assign as assign_group
    from partage.consumers.assignors import assignor_name, find_assignor
    from partage.errors import InputError
    from partage.group import Group
    from partage.report.group_tables import print_assignment

    _check_weight_options(lag, profile, of_group, weight_by, bool(since or until or rate != "mean"))
    output.check_files(picture=picture, report=report)
    given = _from_input(group, Group)
    weights = "--lag" if lag is not None else "--profile" if profile is not None else None
    if weights and not (find_assignor(assignor, protocol).by_weight or given.has_racks):
        problem = f"{assignor} does not use weights: choose weighted or lag, or add racks to GROUP"
        raise InputError(weights, problem)
    given = _weighted(given, lag, of_group, profile, weight_by, since=since, until=until, rate=rate)
    skew = skew_of(max_skew)
    found = assign_group(
        given, assignor, mode, protocol=protocol, max_skew=skew, racks_first=racks_first
    )
    assignor = assignor_name(assignor)

    def show(console: Console) -> None:
        print_assignment(found, assignor, console)

    def draw() -> str:
        from partage.report.pictures import assignment_svg

        return assignment_svg(found, assignor)

    output.write_picture(picture, draw)
    output.write_page(report, "assign", show)
    if json:
        output.print_json(found.to_json())
        return
    console = output.console()
    show(console)
    other = {"sticky": "java", "cooperative-sticky": "java", "uniform": "optimal"}.get(assignor)
    # suggest the mode that is not the default; standard input has been read
    if other is not None and not racks_first and group != "-":
        more = () if mode == other else ("--mode", other)
        this = next_step.same_call("assign", without=("mode",), more=more)
        next_step.show(console, *this)


def _from_input(path: str, kind: type[_Input]) -> _Input:
    """A group or scenario in a file, or in standard input for ``-``. Raises InputError."""
    from partage.files import parse_json, read_input

    if path != "-":
        return kind.read(path)
    text, where = read_input(path)
    return kind.from_json(parse_json(text, where), where)


def _check_weight_options(
    lag: str | None, profile: str | None, of_group: str | None, weight_by: str, period: bool
) -> None:
    """Raise InputError for options that exclude or need each other. ``period``: whether options
    about rates over time are given."""
    from partage.errors import InputError

    if lag is not None and profile is not None:
        raise InputError("--lag", "cannot be combined with --profile")
    if of_group is not None and lag is None and profile is None:
        raise InputError("--group", "needs --lag FILE or --profile DIR")
    if weight_by != "rate" and profile is None:
        raise InputError("--weight-by", "needs --profile DIR")
    if weight_by == "lag" and period:
        raise InputError(
            "--weight-by lag",
            "uses the last sample: leave out --from, --to and --rate",
        )


def _weighted(
    group: Group,
    lag: str | None,
    of_group: str | None,
    profile: str | None,
    weight_by: str,
    *,
    since: str | None,
    until: str | None,
    rate: str,
) -> Group:
    """The group with the lags of a file or the loads of a profile as weights, if one is given."""
    from partage.group.lags import read_lags

    measured = profile_of(profile, since, until, rate)
    if lag is not None:
        return group.with_weights(read_lags(lag, of_group), where=lag)
    if measured is not None:
        where = measured.path
        if weight_by == "rate" and (rates := measured.byte_rates()) is not None:
            return group.with_weights(rates, byte_rates=True, where=where)
        return group.with_weights(measured.weights(weight_by, of_group), where=where)
    return group


def simulate(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="What the members do over time, as JSON; .gz too; - reads standard input.",
        ),
    ],
    assignor: Annotated[
        str | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="As for assign, or a list, the preferred one first: cooperative-sticky,range. "
            "Needed unless all members list their own.",
            autocompletion=completion_from(assignor_names),
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        one_of(
            "eager|cooperative|consumer",
            "What members revoke, and when; by default what all assignors of a member support. "
            "consumer: the broker assigns (KIP-848).",
        ),
    ] = None,
    mode: Mode = None,
    by: Annotated[
        str | None,
        one_of(PICTURE_ROWS, "What each line of the picture on the terminal shows."),
    ] = None,
    picture: Picture = None,
    client_log: Annotated[
        bool,
        typer.Option("--client-log", help="Print the log of Java clients that would do the same."),
    ] = False,
    report: ResultPage = None,
    commit_interval: Annotated[
        str,
        typer.Option(
            metavar="SECONDS,…",
            help="Commit intervals to compare: records read again after a crash.",
        ),
    ] = "1,5,30",
    json: Json = False,
) -> None:
    """Simulate a consumer group over time: its rebalances, owners and lag.

    Exits 1 if a member was rejected, or if the protocol breaks one of its guarantees.

    Examples:

        partage simulate scenario.json --assignor cooperative-sticky
        partage simulate scenario.json --assignor cooperative-sticky,range
        partage simulate scenario.json --assignor sticky --protocol cooperative
        partage simulate scenario.json --protocol consumer
    """
    from partage.consumers.scenario import Scenario
    from partage.consumers.simulation import simulate as run_simulation
    from partage.errors import InputError
    from partage.report.group_tables import print_simulation

    if by is not None:
        check_choice(PICTURE_ROWS, "--by", by)
    output.check_files(picture=picture, report=report)
    intervals = _intervals(commit_interval)
    if client_log and json:
        raise InputError("--client-log", "cannot be combined with --json")
    names = [name.strip() for name in assignor.split(",")] if assignor is not None else []
    found = run_simulation(_from_input(scenario, Scenario), names, protocol, mode)

    def show(console: Console) -> None:
        print_simulation(found, console, by, intervals)

    def draw() -> str:
        from partage.report.pictures import simulation_svg

        return simulation_svg(found)

    output.write_picture(picture, draw)
    output.write_page(report, "simulate", show)
    if client_log:
        from partage.consumers.client_log import client_log as log_of

        output.print_log(log_of(found))
    elif json:
        output.print_json(found.to_json(intervals))
    else:
        console = output.console()
        show(console)
        if scenario != "-":
            # tasks of Streams and Connect have one assignor
            compared = () if found.assignor in ("streams", "connect") else ("assignor",)
            this = next_step.same_call("what-if", "churn", without=(*compared, "protocol"))
            next_step.show(console, *this)
    raise typer.Exit(1 if found.violations or found.refused else 0)


def _intervals(text: str) -> list[float]:
    """Parse ``1,5,30``: seconds, each once, ascending."""
    from partage.errors import InputError, shown

    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", part) and float(part) for part in parts):
        raise InputError(f"--commit-interval {shown(text)}", "expected seconds, as in 1,5,30")
    return sorted(set(map(float, parts)))
