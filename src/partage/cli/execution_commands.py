"""apply, rollback, verify and throttle: the commands that carry a plan out, or look at how far it
is."""

from __future__ import annotations

import json as json_text
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from partage.cli import output
from partage.cli.arguments import BootstrapServer, CommandConfig, Json, PlanArgument

Throttle = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="What a broker may send and fetch of it, for instance 50MB."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Begin without asking.")]
OnFailure = Annotated[
    str,
    typer.Option(
        "--on-broker-failure",
        metavar="cancel|wait|stop",
        help="Its moves are cancelled and the rest goes on; or wait for it; or cancel all.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    for command in (apply, rollback, verify, throttle):
        app.command()(command)


def apply(
    plan: PlanArgument,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    throttle: Throttle = None,
    on_failure: OnFailure = "cancel",
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Carry a plan out on a running cluster, wave by wave, or go on with it.

    Example: partage apply plan/ --bootstrap-server localhost:9092 --throttle 50MB
    """
    _carry_out(plan, bootstrap_server, command_config, throttle, on_failure, yes, json, forth=True)


def rollback(
    plan: PlanArgument,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    throttle: Throttle = None,
    on_failure: OnFailure = "cancel",
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Bring back exactly what was before a plan, however far it has come.

    Example: partage rollback plan/ --bootstrap-server localhost:9092
    """
    _carry_out(plan, bootstrap_server, command_config, throttle, on_failure, yes, json, forth=False)


def verify(
    plan: PlanArgument,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Say how far a plan is: done, in progress, or what differs.

    Exits 0 if it is done, 1 otherwise. Example: partage verify plan/ --bootstrap-server H:9092
    """
    from partage.live.connection import Connection
    from partage.live.execution.job import Job
    from partage.live.execution.verify import compare
    from partage.report.execution_lines import print_verdict

    job = Job.read(plan)
    with Connection.of(bootstrap_server, command_config).admin() as admin:
        found = compare(job, admin)
    if json:
        output.print_json(found)
    else:
        print_verdict(found, output.console())
    raise typer.Exit(0 if found["state"] == "done" else 1)


def throttle(
    plan: PlanArgument,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="For instance 100MB.")],
    json: Json = False,
) -> None:
    """Change the throttle of a plan that is being carried out.

    Example: partage throttle plan/ 100MB
    """
    from partage.brokers.options import parse_bytes
    from partage.live.execution.job import Job
    from partage.live.execution.run import wish_throttle

    wished = parse_bytes(rate, "RATE")
    job = Job.read(plan)
    wish_throttle(job.directory, wished)
    if json:
        output.print_json({"bytes_per_second": wished})
    else:
        output.console().print(f"Asked for {wished:,} bytes per second.", highlight=False)


def _carry_out(
    plan: str,
    bootstrap_server: str | None,
    command_config: str | None,
    throttle: str | None,
    on_failure: str,
    yes: bool,
    json: bool,
    *,
    forth: bool,
) -> None:
    from partage.brokers.options import parse_bytes
    from partage.errors import PartageError
    from partage.live.connection import Connection
    from partage.live.execution.job import Job
    from partage.live.execution.journal import Journal
    from partage.live.execution.preflight import preflight
    from partage.live.execution.run import Interrupts, Run
    from partage.live.snapshot import take
    from partage.report.execution_lines import print_intention, print_outcome

    rate = None if throttle is None else parse_bytes(throttle, "--throttle")
    job = Job.read(plan) if forth else Job.read(plan).back()
    console = output.console()
    with (
        Connection.of(bootstrap_server, command_config).admin() as admin,
        Journal.open(plan) as journal,
    ):
        now = take(admin, groups=False)
        verdict = preflight(job, now, throttle=rate, ours=journal.submitted)
        if verdict.refusals:
            raise PartageError("\npartage: ".join(f"{plan}: {why}" for why in verdict.refusals))
        standings = job.standings(now.partitions)
        if not json:
            print_intention(job, standings, rate, verdict.remarks, console)
        _ask(yes, forth)
        interrupts = Interrupts()
        with _interrupted_by(interrupts), _progress(json) as tell:
            run = Run(
                job,
                admin,
                journal,
                throttle=rate,
                on_failure=on_failure,
                tell=tell,
                interrupts=interrupts,
            )
            outcome = run.go()
    if json:
        output.print_json({"event": "ended", **vars(outcome)})
    else:
        print_outcome(job, outcome, console)
    raise typer.Exit(0 if outcome.state == "done" else 1)


def _ask(yes: bool, forth: bool) -> None:
    from partage.errors import InputError

    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("--yes", "nobody can be asked here: say --yes to begin without")
    if not typer.confirm("Begin?" if forth else "Bring it back?", err=True):
        raise typer.Exit(1)


@contextmanager
def _interrupted_by(handler: Callable[..., None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[Any], None]]:
    """JSON lines, or a bar with notes above it."""
    from partage.report.execution_lines import progress_line

    if as_json:

        def line(progress: Any) -> None:
            said = {"event": "progress", **vars(progress)}
            sys.stdout.write(json_text.dumps(said, separators=(",", ":")) + "\n")
            sys.stdout.flush()

        yield line
        return
    with output.progress() as show:

        def status(progress: Any) -> None:
            if progress.note:
                print(f"… {progress.note}", file=sys.stderr, flush=True)
            else:
                show(progress_line(progress))

        yield status
