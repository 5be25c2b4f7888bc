"""what-if: simulate many futures on Spark and print percentiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.brokers.declaration import WHAT_IF
from partage.brokers.options import PlanOptions
from partage.cli import next_step, output
from partage.cli.arguments import (
    Format,
    Json,
    Overwrite,
    ResultPage,
    assignor_names,
    check_tables,
    completion_from,
    one_of,
)
from partage.cli.group_commands import KAFKA_ASSIGNORS, Mode
from partage.cli.loads import Loads
from partage.cli.plan_options import ClusterArgument, Strategies, problem_of
from partage.cli.spark_options import SparkOptions

if TYPE_CHECKING:
    from rich.console import Console

    from partage.brokers.problem import Problem
    from partage.pipeline.what_ifs import WhatIf
    from partage.pipeline.what_ifs.placements import Placements

Out = Annotated[
    str | None, typer.Option("--out", "-o", metavar="DIR", help="Write the tables here.")
]
Runs = Annotated[int, typer.Option(metavar="N", help="Simulate this many futures.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same futures.")]


@dataclass(frozen=True)
class SparkRun(SparkOptions):
    """Where a what-if runs, and where and how its tables are written."""

    out: Out = None
    format: Format = "parquet"
    overwrite: Overwrite = False
    report: ResultPage = None
    json: Json = False


def churn(
    run: SparkRun,
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO", help="The events of the members over time, as JSON; .gz too."
        ),
    ],
    runs: Runs = 1000,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Use only this assignor (repeatable); by default Kafka's four and uniform.",
            autocompletion=completion_from(assignor_names),
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        one_of(
            "eager|cooperative|consumer",
            "Use only this protocol (repeatable); by default both classic ones and, for uniform, "
            "consumer.",
        ),
    ] = None,
    mode: Mode = None,
    events: Annotated[
        int, typer.Option(metavar="N", help="Add at most this many random events to a run.")
    ] = 5,
    seed: Seed = 0,
) -> None:
    """Simulate members that join, leave, crash and restart at random, under each assignor.

    Exits 1 if an invariant of the protocol is violated.

    Examples:

        partage what-if churn scenario.json --runs 1000
        partage what-if churn scenario.json --assignor sticky --protocol eager
    """
    from partage.consumers.scenario import Scenario
    from partage.report.what_if_tables import print_churn

    def prepare() -> WhatIf:
        from partage.pipeline.what_ifs.churn import Churn

        cases = _churn_cases(assignor, protocol)
        given = Scenario.read(scenario)
        return Churn(given, tuple(cases), runs, seed, events, mode, scenario).checked()

    _run(prepare, print_churn, run)


def _churn_cases(
    assignors: Sequence[str] | None, protocols: Sequence[str] | None
) -> list[tuple[str, str]]:
    """(assignor, protocol): the clients' assignors with the classic protocols, the broker's with
    the consumer protocol. Range is the broker's only where that protocol is asked for."""
    from partage.consumers.assignors import ASSIGNORS, BROKER_ASSIGNORS, assignor_name
    from partage.consumers.protocol import CONSUMER, PROTOCOLS

    every = [
        (name, spoken)
        for name in dict.fromkeys(assignors or (*KAFKA_ASSIGNORS, "uniform"))
        for spoken in dict.fromkeys(protocols or (*PROTOCOLS, CONSUMER))
    ]
    found = []
    for name, spoken in every:
        clients = assignor_name(name) not in BROKER_ASSIGNORS or assignor_name(name) in ASSIGNORS
        brokers = assignor_name(name) in BROKER_ASSIGNORS
        if brokers and (protocols or not clients) if spoken == CONSUMER else clients:
            found.append((name, spoken))
    return found or every


def failures(
    cluster: ClusterArgument,
    options: Annotated[PlanOptions, WHAT_IF],
    loads: Loads,
    run: SparkRun,
    strategies: Strategies = None,
    pairs: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Fail this many random pairs of brokers, or all pairs if there are fewer.",
        ),
    ] = 100,
    seed: Seed = 0,
) -> None:
    """Fail every broker, every rack and pairs of brokers, today and after each strategy's plan.

    Examples:

        partage what-if failures cluster.json --strategy exact
        partage what-if failures cluster.json --add-broker 10:c --pairs 1000
    """
    from partage.report.what_if_tables import print_failures

    def prepare() -> WhatIf:
        from partage.pipeline.what_ifs.failures import Failures

        placed = _placements(problem_of(cluster, options, loads), strategies, run.json)
        return Failures(placed, pairs, seed, cluster).checked()

    _run(prepare, print_failures, run)


def growth(
    cluster: ClusterArgument,
    options: Annotated[PlanOptions, WHAT_IF],
    loads: Loads,
    run: SparkRun,
    runs: Runs = 1000,
    factor: Annotated[
        float, typer.Option(metavar="FACTOR", help="Grow topics by this factor in the median.")
    ] = 2.0,
    sigma: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="Standard deviation of the logarithm of the growth factor."
        ),
    ] = 0.5,
    skew_threshold: Annotated[
        float,
        typer.Option(metavar="RATIO", help="Count runs whose max/mean bytes in exceed this."),
    ] = 1.5,
    disk_threshold: Annotated[
        str, typer.Option(metavar="PERCENT", help="Count runs in which a disk is fuller than this.")
    ] = "85%",
    strategies: Strategies = None,
    seed: Seed = 0,
) -> None:
    """Grow the load of every topic at random, today and after each strategy's plan.

    Shows how uneven brokers become and how full disks get. Without --profile, the rates and sizes
    of the cluster file grow.

    Examples:

        partage what-if growth cluster.json --profile profile/ --factor 2
    """
    from partage.errors import InputError, read_parameter
    from partage.report.what_if_tables import print_growth
    from partage.units import Percent

    limit = float(read_parameter("disk_threshold", Percent.of, disk_threshold))

    def prepare() -> WhatIf:
        from partage.pipeline.what_ifs.growth import Growth

        problem = problem_of(cluster, options, loads)
        if problem.bytes_per_second is None and problem.cluster.bytes_in is None:
            raise InputError(
                "profile",
                "required: the cluster file has no bytes_in_per_second of partitions, and growth "
                "starts from rates",
            )
        placed = _placements(problem, strategies, run.json)
        return Growth(placed, runs, factor, sigma, skew_threshold, limit, seed, cluster).checked()

    _run(prepare, print_growth, run)


def _placements(problem: Problem, strategies: list[str] | None, json: bool) -> Placements:
    """Today's placement and the placements after each strategy's plan."""
    from partage.brokers.compare import solve_with_each
    from partage.pipeline.what_ifs.placements import Placements

    with output.progress(quiet=json) as progress:
        return Placements.of(problem, solve_with_each(problem, strategies, progress))


def _run(
    prepare: Callable[[], WhatIf],
    print_value: Callable[[dict[str, Any], Console], None],
    run: SparkRun,
) -> None:
    """Check the input before starting Spark, then compute, write and print."""
    from partage.pipeline import session
    from partage.pipeline.sinks import Sink
    from partage.pipeline.what_ifs import MARKER, explore

    out = run.out
    output.check_files(report=run.report)
    if out is not None:
        check_tables(out, MARKER, run.overwrite)
    what_if = prepare()
    with output.bar(quiet=run.json) as progress:
        progress(0, 0, "starting Spark")
        config = run.settings()
        with session(run.master, short=True, config=config, paths=[out or ""]) as spark:
            sink = None if out is None else Sink(out, MARKER, run.format, run.overwrite)
            if sink is not None:
                sink.check(spark)
            answer = explore(spark, what_if, sink=sink, progress=progress)
    value = answer.to_json()

    def show(console: Console) -> None:
        print_value(value, console)

    output.write_page(run.report, f"what-if {value['what_if']}", show)
    if run.json:
        output.print_json(value)
    else:
        console = output.console()
        show(console)
        next_step.show(console, *_next(value), written=out)
    raise typer.Exit(1 if value.get("violations") else 0)


def _next(value: dict[str, Any]) -> list[str]:
    """After churn: simulate the best assignor; after failures and growth: make the plan."""
    if "scenario" not in value:
        return next_step.same_call("plan", without=("out", "strategies"), more=("-o", "plan/"))
    rows = [row for row in value["percentiles"] if row["measure"] == "unowned_partition_seconds"]
    best = min(rows, key=lambda row: row["p50"])
    chosen = ("--assignor", best["assignor"], "--protocol", best["protocol"])
    return next_step.same_call("simulate", without=("assignor", "protocol"), more=chosen)


what_if = (churn, failures, growth)
"""The commands of this group."""
