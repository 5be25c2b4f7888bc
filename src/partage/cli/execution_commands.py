"""apply, rollback, verify and throttle: the commands that carry a plan out, or look at how far it
is."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from partage.cli import interrupts, next_step, output, settings
from partage.cli.arguments import (
    RUNNING,
    BootstrapServer,
    CommandConfig,
    Json,
    JsonLines,
    PlanArgument,
    one_of,
)

Throttle = Annotated[
    str | None,
    typer.Option(
        metavar="RATE|auto",
        help="What a broker may send and fetch of it: 50MB, or auto: as fast as all stay in sync.",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(metavar="N", help="Replicas that a broker has on its way at once."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Begin without asking.")]
OnFailure = Annotated[
    str,
    one_of(
        "cancel|replan|wait|stop",
        "A broker dies: cancel its moves, plan them anew, wait for it, or stop and cancel all.",
        "--on-broker-failure",
    ),
]


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    for command in (apply, rollback, verify, throttle):
        app.command(rich_help_panel=RUNNING)(command)


def apply(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|FILE", help="A plan directory, or another tool's reassignment JSON."
        ),
    ],
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    throttle: Throttle = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of a FILE, partitions that are reassigned at a time."),
    ] = None,
    concurrency: Concurrency = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where the plan of a FILE is written."),
    ] = None,
    on_failure: OnFailure = "cancel",
    yes: Yes = False,
    json: JsonLines = False,
) -> None:
    """Carry a plan out on a running cluster, wave by wave, or go on with it.

    The reassignment JSON of another tool becomes a plan first, with waves and a way back.

    Examples:

        partage apply plan/ --bootstrap-server localhost:9092 --throttle 50MB
        partage apply plan/ --bootstrap-server localhost:9092 --yes --json
        partage apply reassignment.json --bootstrap-server localhost:9092
    """
    made = _directory_of(plan, bootstrap_server, command_config, out, batch, concurrency, json)
    if made is None:
        raise typer.Exit(0)
    how = How(throttle, concurrency, on_failure, yes, json)
    _carry_out(made, bootstrap_server, command_config, how, forth=True)


def rollback(
    plan: PlanArgument,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    throttle: Throttle = None,
    concurrency: Concurrency = None,
    on_failure: Annotated[
        str,
        one_of(
            "cancel|wait|stop",
            "A broker dies: cancel its moves, wait for it, or stop and cancel all.",
            "--on-broker-failure",
        ),
    ] = "cancel",
    yes: Yes = False,
    json: JsonLines = False,
) -> None:
    """Bring back exactly what was before a plan, however far it has come.

    Examples:

        partage rollback plan/ --bootstrap-server localhost:9092
    """
    how = How(throttle, concurrency, on_failure, yes, json)
    _carry_out(plan, bootstrap_server, command_config, how, forth=False)


def verify(
    plan: PlanArgument,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Say how far a plan is: done, in progress, or what differs.

    Exits 0 if it is done, 1 otherwise.

    Examples:

        partage verify plan/ --bootstrap-server localhost:9092
    """
    from partage.live.admin.connection import Connection
    from partage.live.execution.job import Job
    from partage.live.execution.verify import compare
    from partage.report.execution_lines import print_verdict

    job = Job.read(plan)
    with Connection.of(bootstrap_server, command_config).admin() as admin:
        found = compare(job, admin)
    if json:
        output.print_json(found)
    else:
        console = output.console()
        print_verdict(found, console)
        next_step.show(console, *_after(found["state"], plan))
    raise typer.Exit(0 if found["state"] == "done" else 1)


def throttle(
    plan: PlanArgument,
    rate: Annotated[
        str | None, typer.Argument(metavar="RATE|auto", help="For instance 100MB.")
    ] = None,
    concurrency: Concurrency = None,
    json: Json = False,
) -> None:
    """Change the throttle, or how much moves at once, of a plan that is being carried out.

    Examples:

        partage throttle plan/ 100MB
        partage throttle plan/ 100MB --concurrency 4
    """
    from partage.errors import InputError, PartageError
    from partage.live.execution.job import Job
    from partage.live.execution.journal import is_held
    from partage.live.execution.wishes import Wishes, wish

    if rate is None and concurrency is None:
        raise InputError("RATE", "expected for instance 100MB, auto, or --concurrency N")
    wishes = Wishes(_rate(rate, "RATE"), _number(concurrency))
    directory = Job.read(plan).directory
    if not is_held(directory):  # a run forgets when it begins what was wished before
        raise PartageError("nothing is being carried out: give --throttle to apply instead")
    wish(directory, wishes)
    if json:
        output.print_json(vars(wishes))
        return
    asked = []
    if wishes.throttle is not None:
        auto = isinstance(wishes.throttle, str)
        asked += [wishes.throttle if auto else f"{wishes.throttle:,} bytes per second"]
    if concurrency is not None:
        asked += [f"a concurrency of {concurrency} from the next wave on"]
    output.console().print(f"Asked for {', '.join(map(str, asked))}.", highlight=False)


def _directory_of(
    plan: str,
    bootstrap_server: str | None,
    command_config: str | None,
    out: str | None,
    batch: int | None,
    concurrency: int | None,
    json: bool,
) -> str | None:
    """The plan directory, of a FILE too; None where a FILE changes nothing."""
    from partage.cli.given_file import plan_of
    from partage.errors import InputError

    if Path(plan).is_file():
        cut = {"batch": batch, "concurrency": concurrency}
        return plan_of(plan, out, bootstrap_server, command_config, json, **cut)
    for option, name in (("-o", "out"), ("--batch", "batch")):
        if settings.typed(name):  # a project may set them for its files
            raise InputError(
                option, "is for another tool's FILE: a plan is a directory, with waves"
            )
    return plan


@dataclass(frozen=True)
class How:
    """The options of ``apply`` and ``rollback`` that say how, as they were typed."""

    throttle: str | None
    concurrency: int | None
    on_failure: str
    yes: bool
    json: bool


def _carry_out(
    plan: str,
    bootstrap_server: str | None,
    command_config: str | None,
    how: How,
    *,
    forth: bool,
) -> None:
    from partage.errors import SeveralError
    from partage.live.admin.connection import Connection
    from partage.live.execution.job import Job
    from partage.live.execution.journal import Journal
    from partage.live.execution.preflight import prepare
    from partage.live.execution.run import REQUEST_MS, Interrupts, Run, check_choice
    from partage.live.execution.throttling import clear_away
    from partage.report.execution_lines import print_intention, print_outcome

    rate, concurrency, json = _rate(how.throttle, "--throttle"), _number(how.concurrency), how.json
    check_choice(how.on_failure, forth)
    job = Job.read(plan) if forth else Job.read(plan).back()
    console = output.console()
    with (
        Connection.of(bootstrap_server, command_config).admin(
            request_timeout_ms=REQUEST_MS
        ) as admin,
        Journal.open(plan) as journal,
    ):
        with output.progress(quiet=json) as step:
            try:
                ready = prepare(
                    job,
                    admin,
                    throttle=rate,
                    concurrency=concurrency,
                    ours=journal.submitted,
                    replanned=how.on_failure == "replan",
                    tell=step,
                )
            except SeveralError:
                clear_away(admin, journal)
                raise
        job = ready.job
        if not json:
            standings = job.standings(ready.now.partitions)
            limits = rate, ready.remarks, console, ready.need, ready.source
            print_intention(job, standings, *limits)
        _ask(how.yes, forth)
        asked_to_stop = Interrupts()
        with interrupts.told_to(asked_to_stop), _progress(json) as tell:
            run = Run(
                job,
                admin,
                journal,
                throttle=rate,
                on_failure=how.on_failure,
                tell=tell,
                interrupts=asked_to_stop,
            )
            outcome = run.go()
    if json:
        output.print_json({"event": "ended", **vars(outcome)})
    else:
        print_outcome(job, outcome, console)
        if outcome.state == "done":  # otherwise it has said what goes on
            after = ("verify", plan) if forth else ("snapshot",)
            next_step.show(console, *after, *next_step.there(after[0]))
    raise typer.Exit(0 if outcome.state == "done" else 1)


def _after(state: str, plan: str) -> list[str]:
    """What follows a plan that ``verify`` found in this state."""
    if state == "done":
        return ["snapshot", *next_step.there("snapshot"), "-o", "cluster.json"]
    if state == "differs":
        return ["plan", *next_step.there("plan"), "-o", "new-plan/"]
    return ["apply", plan, *next_step.there("apply"), *next_step.throttled("apply")]


def _rate(text: str | None, option: str) -> int | str | None:
    from partage.brokers.options import parse_bytes
    from partage.live.execution.pacing import AUTO

    return text if text is None or text == AUTO else parse_bytes(text, option)


def _number(concurrency: int | None) -> int | None:
    from partage.brokers.options import check_count

    if concurrency is not None:
        check_count(concurrency, "--concurrency")
    return concurrency


def _ask(yes: bool, forth: bool) -> None:
    from partage.errors import InputError

    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("--yes", "nobody can be asked here: say --yes to begin without")
    if not typer.confirm("Begin?" if forth else "Bring it back?", err=True):
        raise typer.Exit(1)


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
