"""watch: the command that follows records as they come, on Spark."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from partage.cli import output
from partage.cli.arguments import RECORDS, CommandConfig, Master, must_be_one_of, one_of

_PLANS = "leaders|moves"


def register(app: typer.Typer) -> None:
    """Add this room's command."""
    app.command(rich_help_panel=RECORDS)(watch)


def watch(
    records: Annotated[
        str,
        typer.Argument(
            metavar="RECORDS", help="A folder that grows, or kafka://HOST:PORT/TOPIC[,TOPIC]."
        ),
    ],
    cluster: Annotated[
        str, typer.Option(metavar="FILE", help="Who leads what; read again when it changes.")
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Where windows and plans go; goes on if it is there."
        ),
    ],
    window: Annotated[int, typer.Option(metavar="SECONDS", help="Length of a load window.")] = 60,
    late: Annotated[
        int, typer.Option(metavar="SECONDS", help="How long a window waits for late records.")
    ] = 60,
    over: Annotated[
        int, typer.Option(metavar="SECONDS", help="The time that rates are worked out over.")
    ] = 3600,
    alert_above: Annotated[
        float,
        typer.Option(metavar="1.2", help="Alert if the busiest broker / mean is above that."),
    ] = 1.2,
    plan: Annotated[str, one_of(_PLANS, "What a fresh plan may change.")] = "leaders",
    every: Annotated[int, typer.Option(metavar="SECONDS", help="From batch to batch.")] = 10,
    once: Annotated[
        bool, typer.Option("--once", help="Take what is there, then exit; a later run goes on.")
    ] = False,
    command_config: CommandConfig = None,
    master: Master = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Follow records as they come: windows of load, and an alert with a fresh plan when it drifts.

    Silent while all is well.

    Examples:

        partage watch records/ --cluster cluster.json -o watch/
        partage watch kafka://localhost:9092/orders --cluster cluster.json -o watch/
    """
    from partage.errors import InputError

    for name, value, least in (
        ("--window", window, 1),
        ("--late", late, 0),
        ("--over", over, window),
        ("--every", every, 1),
    ):
        if value < least:
            raise InputError(name, f"{value}: expected {least} seconds or more")
    if not (math.isfinite(alert_above) and alert_above >= 1):
        raise InputError("--alert-above", f"{alert_above:g}: busiest / mean is 1 or more")
    must_be_one_of(_PLANS, "--plan", plan)

    from partage.pipeline import session
    from partage.pipeline import watch as watching
    from partage.pipeline.sources.kafka import configured
    from partage.report import watch_lines
    from partage.report.html import render

    rules = watching.Rules(
        window=window,
        late=late,
        over=over // window * window,
        alert_above=alert_above,
        moves=plan == "moves",
    )
    known = watching.ClusterFile(cluster)
    (named,) = configured([records], command_config)
    stream = watching.stream(named)
    watching.check(out, watching.Settings(stream.identity, window))

    def tell(event: dict[str, Any]) -> None:
        if json:
            output.print_json(event)
        elif event["event"] == "stopped":
            print(watch_lines.end(event), file=sys.stderr)
        elif line := watch_lines.line(event):
            print(line)
        sys.stdout.flush()  # whoever reads a pipe is to hear of it now

    def draw(document: dict[str, Any], directory: str) -> str:
        return render(document, directory=directory)

    with ExitStack() as stack:
        with output.bar(quiet=json) as say:
            say(0, 0, "starting Spark")
            spark = stack.enter_context(session(master, short=once))
        watching.watch(
            spark, stream, out, known, rules, every=every, once=once, tell=tell, draw=draw
        )
