"""watch: follow a stream of records with Spark."""

from __future__ import annotations

import math
from contextlib import ExitStack
from threading import Event, Lock
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.cli import output
from partage.cli.arguments import (
    Running,
    check_choice,
    one_of,
)
from partage.cli.spark_options import SparkOptions
from partage.cli.watch_apply import ApplyOptions, applier

if TYPE_CHECKING:
    from partage.live.admin.connection import Connection
    from partage.pipeline.watch import ClusterSource

_PLANS = "leaders|moves"


def watch(
    records: Annotated[
        str,
        typer.Argument(
            metavar="RECORDS",
            help="A folder to which files are added, or kafka://HOST:PORT/TOPIC[,TOPIC].",
        ),
    ],
    applying: ApplyOptions,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Output directory; an existing one is resumed."
        ),
    ],
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The cluster; read again when the file changes. By default the running cluster.",
        ),
    ] = None,
    window: Annotated[int, typer.Option(metavar="SECONDS", help="Length of a load window.")] = 60,
    allowed_lateness: Annotated[
        int, typer.Option(metavar="SECONDS", help="Keep a window open for late records.")
    ] = 60,
    over: Annotated[
        int, typer.Option(metavar="SECONDS", help="Period over which rates are averaged.")
    ] = 3600,
    alert_above: Annotated[
        float,
        typer.Option(metavar="RATIO", help="Alert if the busiest broker / mean is above this."),
    ] = 1.2,
    min_traffic: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="Do not judge while the busiest broker receives less: 1MB/s."
        ),
    ] = None,
    alert_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Run this for each alert, with the JSON event on its input."
        ),
    ] = None,
    plan: Annotated[str, one_of(_PLANS, "What a new plan may change.")] = "leaders",
    every: Annotated[int, typer.Option(metavar="SECONDS", help="Time between batches.")] = 10,
    once: Annotated[
        bool, typer.Option("--once", help="Process what is there, then exit; a later run resumes.")
    ] = False,
    max_offsets_per_trigger: Annotated[
        int | None, typer.Option(metavar="N", help="Most records of a batch, from Kafka.")
    ] = None,
    max_files_per_trigger: Annotated[
        int | None, typer.Option(metavar="N", help="Most files of a batch, the oldest first.")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write progress for Prometheus after each batch."),
    ] = None,
    *,
    running: Running,
    on: SparkOptions,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Measure a stream of records, and alert with a new plan when the load gets uneven.

    Prints nothing while all is well. With --apply, it keeps the running cluster balanced.

    Examples:

        partage watch records/ --cluster cluster.json -o watch/
        partage watch kafka://localhost:9092/orders --cluster cluster.json -o watch/
        partage watch kafka://kafka:9092/orders --bootstrap-server kafka:9092 -o watch/ --apply
    """
    from partage.cli import alert_command as alerting
    from partage.errors import InputError, read_parameter
    from partage.measured_loads.files import LONGEST_WINDOW
    from partage.units import Rate

    for name, value, least in (
        ("--window", window, 1),
        ("--allowed-lateness", allowed_lateness, 0),
        ("--over", over, window),
        ("--every", every, 1),
    ):
        if not least <= value <= LONGEST_WINDOW:
            problem = f"{value}: must be from {least:,} to {LONGEST_WINDOW:,} seconds"
            raise InputError(name, problem)
    if not (math.isfinite(alert_above) and alert_above >= 1):
        raise InputError("--alert-above", f"{alert_above:g}: must be 1 or more (busiest / mean)")
    check_choice(_PLANS, "--plan", plan)
    traffic = 0 if min_traffic is None else read_parameter("min_traffic", Rate.of, min_traffic)
    run = None if alert_command is None else alerting.alert_command(alert_command)

    over = over // window * window
    limits = applying.limits(
        moves=plan == "moves", over=over, late=window + allowed_lateness + every
    )
    if limits is not None and cluster is not None:
        raise InputError("--cluster", "--apply acts on the running cluster: leave it out")
    _check_place(out, applies=limits is not None)
    connection = running.connection(instead_of="--cluster") if cluster is None else None

    from partage.outputs import check_file, lines_with_checksum, write_file
    from partage.pipeline import session
    from partage.pipeline import watch as watching
    from partage.pipeline.sources.kafka import configured
    from partage.report import watch_lines
    from partage.report.html import render
    from partage.report.watch_metrics import prometheus

    rules = watching.Rules(
        window=window,
        allowed_lateness=allowed_lateness,
        over=over,
        alert_above=alert_above,
        moves=plan == "moves",
        min_traffic=float(traffic),
    )
    (named,) = configured([records], running.command_config)
    stream = watching.stream(named, max_offsets_per_trigger, max_files_per_trigger)
    if metrics is not None:
        check_file(metrics, "--metrics")
    watching.check(out, watching.Settings(stream.identity, window))
    known = _cluster_source(cluster, connection)

    lock = Lock()  # plans report from a separate thread

    def emit(event: dict[str, Any]) -> None:
        with lock:
            show(event)

    def show(event: dict[str, Any]) -> None:
        if run is not None and event["event"] in alerting.EVENTS and (problem := run(event)):
            show(watching.trouble(problem))
        if metrics is not None and event["event"] == "batch":
            write_file(metrics, lines_with_checksum(prometheus(event)))
        if json:
            output.print_json(event)
        elif event["event"] == "stopped":
            output.print_aside(watch_lines.end(event))
        elif line := watch_lines.line(event):
            output.print_plain(line)

    def render_page(document: dict[str, Any], directory: str) -> str:
        return render(document, directory=directory)

    stop, acting = Event(), None
    if limits is not None and connection is not None:
        acting = applier(
            applying,
            limits,
            connection,
            out,
            threshold=alert_above,
            moves=plan == "moves",
            once=once,
            emit=emit,
            render=render_page,
            stop=stop,
        )
    with ExitStack() as stack:
        with output.bar(quiet=json) as progress:
            progress(0, 0, "starting Spark")
            opening = session(on.master, short=once, config=on.settings(), paths=[named, out])
            spark = stack.enter_context(opening)
        watching.watch(
            spark,
            stream,
            out,
            known,
            rules,
            every=every,
            once=once,
            emit=emit,
            render=render_page,
            applier=acting,
            stop=stop,
        )


def _check_place(out: str, *, applies: bool) -> None:
    """Raise InputError if a plan would be applied without the ledger, which has locks."""
    from partage.errors import InputError
    from partage.outputs import is_store

    if applies and is_store(out):
        raise InputError("--apply", f"needs an output on this machine, found --out {out}")


def _cluster_source(cluster: str | None, connection: Connection | None) -> ClusterSource:
    from partage.pipeline import watch as watching

    if connection is None:
        assert cluster is not None
        return watching.ClusterFile(cluster)
    from partage.auto_apply.running_cluster import RunningCluster

    return RunningCluster(connection)
