"""plan, compare, check and report: the commands about a cluster in a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from partage.cli import next_step, output, settings
from partage.cli.arguments import (
    CLUSTERS,
    FAIRNESS,
    LIMITS,
    LOADS,
    WAVES,
    WHAT_CHANGES,
    BootstrapServer,
    CommandConfig,
    Json,
    PlanArgument,
    beginning_with,
    one_of,
    strategy_names,
)
from partage.cli.loads import From, Horizon, Rate, To, profile_of

_CLUSTER_HELP = "Cluster or reassignment JSON, or kafka-topics.sh --describe output; .gz too."
ClusterArgument = Annotated[str, typer.Argument(metavar="CLUSTER", help=_CLUSTER_HELP)]
AddBroker = Annotated[
    list[str] | None,
    typer.Option(
        "--add-broker",
        metavar="ID:RACK",
        help="A new, empty broker, as large as most.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
RemoveBroker = Annotated[
    list[str] | None,
    typer.Option(
        "--remove-broker", metavar="ID", help="A broker to empty.", rich_help_panel=WHAT_CHANGES
    ),
]
ReplaceBroker = Annotated[
    list[str] | None,
    typer.Option(
        "--replace-broker",
        metavar="OLD=NEW",
        help="Empty OLD; NEW, unless listed, is added in its rack.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
ReplicationFactor = Annotated[
    list[str] | None,
    typer.Option(
        "--replication-factor",
        metavar="N|TOPIC=N",
        help="Raise or lower it.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
Topics = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX",
        help="Only topics whose whole name matches; the others stay.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="DIR",
        help="Loads that partage profile measured.",
        rich_help_panel=LOADS,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="kafka-log-dirs.sh --describe output.", rich_help_panel=LOADS
    ),
]
ReassignmentOption = Annotated[
    str | None,
    typer.Option(
        "--reassignment",
        metavar="FILE",
        help="Another tool's reassignment JSON: its lists.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
NoMoves = Annotated[
    bool,
    typer.Option(
        "--no-moves", help="Move no data: only who leads, and order.", rich_help_panel=WHAT_CHANGES
    ),
]
Balance = Annotated[
    str, one_of("replicas|bytes", "What the brokers share evenly.", rich_help_panel=FAIRNESS)
]
Leaders = Annotated[str, one_of("count|rate", "Balance leaders by what.", rich_help_panel=FAIRNESS)]
Spread = Annotated[
    str,
    one_of(
        "cluster|topic", "Whose spread comes first when they conflict.", rich_help_panel=FAIRNESS
    ),
]
Relieve = Annotated[
    str | None,
    typer.Option(
        metavar="80%",
        help="Only empty the disks that are fuller, moving little.",
        rich_help_panel=LIMITS,
    ),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(
        "--max-moves", metavar="N", help="The fairest that N moves reach.", rich_help_panel=LIMITS
    ),
]
MaxBytesMoved = Annotated[
    str | None,
    typer.Option(
        "--max-bytes-moved",
        metavar="SIZE",
        help="The fairest found within, say, 2TB.",
        rich_help_panel=LIMITS,
    ),
]
Tolerance = Annotated[
    str | None,
    typer.Option(
        metavar="2%", help="How far from fair is fair enough, to move less.", rich_help_panel=LIMITS
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Replicas that a broker fetches or sends at a time.",
        rich_help_panel=WAVES,
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Partitions that are reassigned at a time, at most.",
        rich_help_panel=WAVES,
    ),
]
Throttle = Annotated[
    str | None,
    typer.Option(
        metavar="RATE", help="For the time estimate, for instance 50MB.", rich_help_panel=WAVES
    ),
]


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    for command in (plan, compare, check, report):
        app.command(rich_help_panel=CLUSTERS)(command)


def plan(
    cluster: Annotated[
        str | None,
        typer.Argument(metavar="CLUSTER", help=f"{_CLUSTER_HELP} None: --bootstrap-server's."),
    ] = None,
    add_broker: AddBroker = None,
    remove_broker: RemoveBroker = None,
    replace_broker: ReplaceBroker = None,
    replication_factor: ReplicationFactor = None,
    topics: Topics = None,
    profile: ProfileOption = None,
    since: From = None,
    until: To = None,
    rate: Rate = "mean",
    sizes: Sizes = None,
    horizon: Horizon = 0,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who decides.",
            show_default="exact",
            autocompletion=beginning_with(strategy_names),
            rich_help_panel=FAIRNESS,
        ),
    ] = None,
    reassignment: ReassignmentOption = None,
    no_moves: NoMoves = False,
    balance: Balance = "replicas",
    leaders: Leaders = "count",
    spread: Spread = "cluster",
    relieve: Relieve = None,
    max_moves: MaxMoves = None,
    max_bytes_moved: MaxBytesMoved = None,
    tolerance: Tolerance = None,
    concurrency: Concurrency = 2,
    batch: Batch = None,
    throttle: Throttle = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="TOPIC-3", help="Say why each replica of it stays, goes or comes."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="DIR", help="Write the plan directory.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode", help="Exit 0: nothing to do, 1: it failed, 2: changes."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Decide who holds which replica and who leads: the fairest share, with the fewest moves.

    Examples:

        partage plan cluster.json --add-broker 7:a --add-broker 8:b -o plan/
        partage plan cluster.json --remove-broker 3 --max-bytes-moved 2TB
        partage plan cluster.json --profile profile/ --leaders rate --no-moves
        partage plan --bootstrap-server localhost:9092 -o plan/
    """
    given = locals()  # the parameters, before anything else has a name
    from partage.brokers.directory import REPORT, check_writable
    from partage.brokers.explain import explain as explain_partition
    from partage.brokers.plan import plan_task

    if out is not None:
        check_writable(out)
    with output.progress(quiet=json) as tell:
        tell("reading")
        task = task_given(given)
        made = plan_task(task, tell)
        reasons = None if explain is None else explain_partition(made, explain)
        if out is not None:
            tell("writing")
            from partage.report.html import render

            made.write(out, {REPORT: render(made.document(), directory=out)})
    changes = bool(len(made.changed))
    if json:
        extra = {} if reasons is None else {"explain": reasons.to_json()}
        output.print_json(made.figures | extra)
    else:
        from partage.report.terminal import print_plan

        console = output.console()
        print_plan(made.document(), console)
        if reasons is not None:
            from partage.report.explanation import print_explanation

            print_explanation(reasons, console)
        if not changes:
            next_step.show(console, written=out)
        elif out is None:
            this = next_step.again("plan", without=("explain",), more=("-o", "plan/"))
            next_step.show(console, *this)
        else:
            next_step.show(console, "check", out, written=out)
    if detailed_exitcode and changes:
        raise typer.Exit(2)


def compare(
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
    sizes: Sizes = None,
    horizon: Horizon = 0,
    strategies: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="Only these (repeat it); all if none.",
            autocompletion=beginning_with(strategy_names),
        ),
    ] = None,
    reassignment: ReassignmentOption = None,
    no_moves: NoMoves = False,
    balance: Balance = "replicas",
    leaders: Leaders = "count",
    spread: Spread = "cluster",
    relieve: Relieve = None,
    max_moves: MaxMoves = None,
    max_bytes_moved: MaxBytesMoved = None,
    tolerance: Tolerance = None,
    concurrency: Concurrency = 2,
    batch: Batch = None,
    throttle: Throttle = None,
    json: Json = False,
) -> None:
    """Every strategy on the same job, by every criterion.

    Examples:

        partage compare cluster.json --add-broker 7:a
        partage compare cluster.json --strategy exact --strategy generate
    """
    given = locals()  # the parameters, before anything else has a name
    from partage.brokers.compare import compare as compare_strategies
    from partage.brokers.compare import comparison, deterministic

    with output.progress(quiet=json) as tell:
        task = task_given(given)
        answers = compare_strategies(task, strategies, tell)
        found = comparison(answers, deterministic(task, answers, tell))
    if json:
        output.print_json(found)
        return
    from partage.report.terminal import print_compare

    console = output.console()
    print_compare(found, console)
    this = next_step.again("plan", without=("strategies",), more=("-o", "plan/"))
    next_step.show(console, *this)


def check(plan: PlanArgument, json: Json = False) -> None:
    """Prove a plan again from its files: feasible, optimal, and the rollback restores.

    Exits 1 on any defect.

    Examples:

        partage check plan/
        partage check plan/ --json
    """
    from rich.markup import escape

    from partage.brokers.check import check as check_directory

    verdict = check_directory(plan)
    if json:
        output.print_json(
            {
                "sound": verdict.sound,
                "optimal": verdict.optimal,
                "held": verdict.held,
                "defects": verdict.defects,
            }
        )
    else:
        console = output.console()
        for line in verdict.held:
            console.print(f"[green]✓[/] {line}", highlight=False)
        for line in verdict.defects:
            console.print(f"[red]✗[/] {escape(line)}", highlight=False, soft_wrap=True)
        console.print(verdict.sentence())
        if verdict.sound and verdict.changes:
            rate = next_step.throttled("apply", rate=verdict.throttle)
            next_step.show(console, "apply", plan, *next_step.there("apply"), *rate)
    raise typer.Exit(0 if verdict.sound else 1)


def report(plan: PlanArgument, json: Json = False) -> None:
    """Draw a plan again: plan/report.html, one file that needs no network.

    Examples:

        partage report plan/
    """
    from jinja2 import TemplateError

    from partage.brokers.directory import COMPARE, MARKER, MEASURED, REPORT
    from partage.errors import MISSHAPEN, InputError
    from partage.files import parse_json, read_text, write_text
    from partage.report.html import render

    def value(name: str) -> Any:
        source = str(Path(plan) / name)
        return parse_json(read_text(source), source)

    document = value(MARKER)
    compare, measured = (
        value(name) if (Path(plan) / name).is_file() else None for name in (COMPARE, MEASURED)
    )
    try:
        page = render(document, compare=compare, measured=measured, directory=plan)
    except (*MISSHAPEN, TemplateError) as error:
        problem = f"is no plan that can be drawn ({type(error).__name__}: {error})"
        raise InputError(str(Path(plan) / MARKER), problem) from None
    path = str(Path(plan) / REPORT)
    write_text(path, page)
    if json:
        output.print_json({"report": path})
    else:
        output.console().print(path, highlight=False, soft_wrap=True)


def task_given(given: Mapping[str, Any]) -> Any:
    """The job that a command's parameters ask for; what is no option of a job is left aside."""
    from partage.brokers.options import Options
    from partage.brokers.plan import task_of
    from partage.cluster import Cluster
    from partage.errors import InputError

    options = {f.name: given[f.name] for f in fields(Options) if f.name in given}
    wished = (given[name] for name in ("profile", "since", "until", "rate", "horizon"))
    profile = profile_of(*wished)
    if given["cluster"] is None:
        cluster = _running_cluster(given)
    elif settings.typed("bootstrap_server") or settings.typed("command_config"):
        raise InputError("--bootstrap-server", "and a CLUSTER: expected one of them")
    else:
        cluster = Cluster.read(given["cluster"], sizes=given["sizes"])
    return task_of(cluster, profile, **options)


def _running_cluster(given: Mapping[str, Any]) -> Any:
    from partage.errors import InputError
    from partage.live.connection import Connection
    from partage.live.snapshot import take

    if given["sizes"] is not None:
        raise InputError("--sizes", "a running cluster tells its sizes itself")
    with Connection.of(given["bootstrap_server"], given["command_config"]).admin() as admin:
        found = take(admin, groups=False, throttles=False)
    for warning in found.warnings:
        print(f"! {warning}", file=sys.stderr)
    return found.cluster()
