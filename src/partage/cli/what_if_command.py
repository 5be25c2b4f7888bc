"""what-if: many possible futures on Spark, and their percentiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.cli import next_step, output
from partage.cli.arguments import (
    RECORDS,
    Format,
    Json,
    Master,
    Overwrite,
    assignor_names,
    beginning_with,
    one_of,
    strategy_names,
)
from partage.cli.cluster_commands import problem_given
from partage.cli.group_commands import KAFKA_ASSIGNORS, Mode
from partage.cli.job_options import (
    AddBroker,
    Balance,
    ClusterArgument,
    Leaders,
    NoMoves,
    ProfileOption,
    ReassignmentOption,
    RemoveBroker,
    ReplaceBroker,
    ReplicationFactor,
    Sizes,
    Topics,
)
from partage.cli.loads import From, Horizon, Rate, To

if TYPE_CHECKING:
    from rich.console import Console

    from partage.pipeline.what_ifs import WhatIf
    from partage.pipeline.what_ifs.placements import Placements

Out = Annotated[str | None, typer.Option("--out", "-o", metavar="DIR", help="Where the tables go.")]
Runs = Annotated[int, typer.Option(metavar="N", help="How many futures to try.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same futures.")]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="Only their plans (repeat it); all if none.",
        autocompletion=beginning_with(strategy_names),
    ),
]


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    what_if = typer.Typer(
        name="what-if",
        help="Try very many futures with Spark: churn of members, failures, growth of load.",
        no_args_is_help=True,
    )
    for command in (churn, failures, growth):
        what_if.command()(command)
    app.add_typer(what_if, rich_help_panel=RECORDS)


def churn(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="What members do over time, as JSON; .gz too.")
    ],
    runs: Runs = 1000,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only these (repeat it); Kafka's own four if none.",
            autocompletion=beginning_with(assignor_names),
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        one_of("eager|cooperative", "Only this; both if none."),
    ] = None,
    mode: Mode = "optimal",
    events: Annotated[
        int, typer.Option(metavar="N", help="At most so much more happens in a run.")
    ] = 5,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "parquet",
    overwrite: Overwrite = False,
    master: Master = None,
    json: Json = False,
) -> None:
    """Let members join, leave, crash and restart at random: what each assignor makes of it.

    Exits 1 if the protocol breaks a promise.

    Examples:

        partage what-if churn scenario.json --runs 1000
        partage what-if churn scenario.json --assignor sticky --protocol eager
    """
    from partage.consumers.protocol import PROTOCOLS
    from partage.consumers.scenario import Scenario
    from partage.report.what_if_tables import print_churn

    def ask() -> WhatIf:
        from partage.pipeline.what_ifs.churn import Churn

        cases = [
            (name, spoken)
            for name in dict.fromkeys(assignor or KAFKA_ASSIGNORS)
            for spoken in dict.fromkeys(protocol or PROTOCOLS)
        ]
        given = Scenario.read(scenario)
        return Churn(given, tuple(cases), runs, seed, events, mode, scenario).checked()

    _answer(ask, print_churn, locals())


def failures(
    cluster: ClusterArgument,
    add_broker: AddBroker = None,
    remove_broker: RemoveBroker = None,
    replace_broker: ReplaceBroker = None,
    replication_factor: ReplicationFactor = None,
    topics: Topics = None,
    profile: ProfileOption = None,
    since: From = None,
    until: To = None,
    rate: Rate = "mean",
    horizon: Horizon = 0,
    sizes: Sizes = None,
    strategies: Strategies = None,
    reassignment: ReassignmentOption = None,
    no_moves: NoMoves = False,
    balance: Balance = "replicas",
    leaders: Leaders = "count",
    pairs: Annotated[
        int,
        typer.Option(metavar="N", help="Pairs of brokers at random; all, where they are fewer."),
    ] = 100,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "parquet",
    overwrite: Overwrite = False,
    master: Master = None,
    json: Json = False,
) -> None:
    """Let every broker, every rack and pairs of brokers fail, today and after each strategy's plan.

    Examples:

        partage what-if failures cluster.json --strategy exact
        partage what-if failures cluster.json --add-broker 9:c --pairs 1000
    """
    given = locals()
    from partage.report.what_if_tables import print_failures

    def ask() -> WhatIf:
        from partage.pipeline.what_ifs.failures import Failures

        return Failures(_placements(given), pairs, seed, cluster).checked()

    _answer(ask, print_failures, given)


def growth(
    cluster: ClusterArgument,
    profile: Annotated[
        str, typer.Option("--profile", metavar="DIR", help="Loads that partage profile measured.")
    ],
    runs: Runs = 1000,
    factor: Annotated[
        float, typer.Option(metavar="2", help="How much topics grow: the median.")
    ] = 2.0,
    sigma: Annotated[
        float, typer.Option(metavar="0.5", help="How differently: of the factor's logarithm.")
    ] = 0.5,
    above: Annotated[
        float, typer.Option(metavar="1.5", help="Count runs that are more uneven (max/mean).")
    ] = 1.5,
    full: Annotated[
        str, typer.Option(metavar="85%", help="Count runs in which a disk is fuller.")
    ] = "85%",
    add_broker: AddBroker = None,
    remove_broker: RemoveBroker = None,
    replace_broker: ReplaceBroker = None,
    replication_factor: ReplicationFactor = None,
    topics: Topics = None,
    since: From = None,
    until: To = None,
    rate: Rate = "mean",
    horizon: Horizon = 0,
    sizes: Sizes = None,
    strategies: Strategies = None,
    reassignment: ReassignmentOption = None,
    no_moves: NoMoves = False,
    balance: Balance = "replicas",
    leaders: Leaders = "count",
    seed: Seed = 0,
    out: Out = None,
    format: Format = "parquet",
    overwrite: Overwrite = False,
    master: Master = None,
    json: Json = False,
) -> None:
    """Let the load of every topic grow at random: how uneven brokers become, today and after each
    strategy's plan.

    Examples:

        partage what-if growth cluster.json --profile profile/ --factor 2
    """
    given = locals()
    from partage.brokers.options import parse_percent
    from partage.report.what_if_tables import print_growth

    limit = float(parse_percent(full, "--full"))

    def ask() -> WhatIf:
        from partage.pipeline.what_ifs.growth import Growth

        placed = _placements(given)
        return Growth(placed, runs, factor, sigma, above, limit, seed, cluster).checked()

    _answer(ask, print_growth, given)


def _placements(given: dict[str, Any]) -> Placements:
    """Today's placement, and the plans that the strategies make."""
    from partage.brokers.compare import compare
    from partage.pipeline.what_ifs.placements import Placements

    problem = problem_given(given)
    with output.progress(quiet=given["json"]) as tell:
        return Placements.of(problem, compare(problem, given["strategies"], tell))


def _answer(
    ask: Callable[[], WhatIf],
    show: Callable[[dict[str, Any], Console], None],
    given: dict[str, Any],
) -> None:
    """Ask before Spark is started, work it out, print and write."""
    from partage.pipeline import session
    from partage.pipeline.sinks import Sink
    from partage.pipeline.what_ifs import MARKER, explore

    out, json = given["out"], given["json"]
    if out is not None:
        from partage.files import check_writable_directory

        check_writable_directory(out, MARKER, given["overwrite"])
    what_if = ask()
    with output.bar(quiet=json) as tell:
        tell(0, 0, "starting Spark")
        with session(given["master"], short=True) as spark:
            sink = None if out is None else Sink(out, MARKER, given["format"], given["overwrite"])
            if sink is not None:
                sink.check(spark)
            answer = explore(spark, what_if, progress=tell)
            if sink is not None:
                answer.write(spark, sink)
    value = answer.to_json()
    if json:
        output.print_json(value)
    else:
        console = output.console()
        show(value, console)
        next_step.show(console, *_next(value), written=out)
    raise typer.Exit(1 if value.get("violations") else 0)


def _next(value: dict[str, Any]) -> list[str]:
    """Churn: one run of what kept most owned. Failures and growth: the plan for the same job."""
    if "scenario" not in value:
        return next_step.again("plan", without=("out", "strategies"), more=("-o", "plan/"))
    rows = [row for row in value["percentiles"] if row["measure"] == "unowned_partition_seconds"]
    best = min(rows, key=lambda row: row["p50"])
    chosen = ("--assignor", best["assignor"], "--protocol", best["protocol"])
    return next_step.again("simulate", without=("assignor", "protocol"), more=chosen)
