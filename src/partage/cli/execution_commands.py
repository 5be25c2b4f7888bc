"""apply, rollback, verify and throttle: execute a plan on a running cluster and watch it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage import interrupts
from partage.cli import next_step, output, settings
from partage.cli.arguments import (
    Json,
    JsonLines,
    PlanArgument,
    Running,
    one_of,
)

if TYPE_CHECKING:
    from partage.live.execution.execution_plan import Direction, ExecutionPlan
    from partage.live.execution.outcome import Outcome
    from partage.live.execution.preflight import Ready
    from partage.live.execution.progress import ProgressUpdate
    from partage.report.execution_lines import Tally

Throttle = Annotated[
    str | None,
    typer.Option(
        metavar="RATE|auto",
        help="What moves may take of each broker's bandwidth: 50MB (per second), or auto: the "
        "highest rate at which all replicas stay in sync.",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(metavar="N", help="New replicas that a broker receives or sends at once."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Start without asking.")]
Force = Annotated[
    bool, typer.Option("--force", help="Accept a throttle at which the run takes over a month.")
]
OnFailure = Annotated[
    str,
    one_of(
        "cancel|replan|wait|stop",
        "If a broker dies: cancel its moves, plan them again without it, wait for it, or stop and "
        "cancel all.",
        "--on-broker-failure",
    ),
]


def apply(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|FILE", help="A plan directory, or another tool's reassignment JSON."
        ),
    ],
    running: Running,
    throttle: Throttle = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of a FILE: partitions to reassign at a time."),
    ] = None,
    concurrency: Concurrency = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Of a FILE: where to write its plan."),
    ] = None,
    on_failure: OnFailure = "cancel",
    yes: Yes = False,
    force: Force = False,
    json: JsonLines = False,
) -> None:
    """Apply a plan to a running cluster, wave by wave, or resume it.

    The reassignment JSON of another tool becomes a plan first, with waves and a rollback.

    Examples:

        partage apply plan/ --bootstrap-server localhost:9092 --throttle 50MB
        partage apply plan/ --bootstrap-server localhost:9092 --yes --json
        partage apply reassignment.json --bootstrap-server localhost:9092
    """
    from partage.live.execution.execution_plan import Direction

    directory = _plan_directory(plan, running, out, batch, concurrency, json)
    if directory is None:
        raise typer.Exit(0)
    options = RunOptions(throttle, concurrency, on_failure, yes, force, json)
    _execute(directory, running, options, Direction.FORWARD)


def rollback(
    plan: PlanArgument,
    running: Running,
    throttle: Throttle = None,
    concurrency: Concurrency = None,
    on_failure: Annotated[
        str,
        one_of(
            "cancel|wait|stop",
            "If a broker dies: cancel its moves, wait for it, or stop and cancel all.",
            "--on-broker-failure",
        ),
    ] = "cancel",
    yes: Yes = False,
    force: Force = False,
    json: JsonLines = False,
) -> None:
    """Roll a plan back to the original placement, however far it has come.

    Examples:

        partage rollback plan/ --bootstrap-server localhost:9092
    """
    from partage.live.execution.execution_plan import Direction

    options = RunOptions(throttle, concurrency, on_failure, yes, force, json)
    _execute(plan, running, options, Direction.ROLLBACK)


def verify(
    plan: PlanArgument,
    running: Running,
    json: Json = False,
) -> None:
    """Show how far a plan is: done, in progress, or what differs.

    Exits 0 if it is done, 1 otherwise.

    Examples:

        partage verify plan/ --bootstrap-server localhost:9092
    """
    from partage.live.execution import verify
    from partage.live.execution.execution_plan import ExecutionPlan
    from partage.report.execution_lines import print_verification

    execution_plan = ExecutionPlan.read(plan)
    with running.connection().admin() as admin:
        found = verify.verify(execution_plan, admin)
    if json:
        output.print_json(found)
    else:
        console = output.console()
        print_verification(found, console)
        next_step.show(console, *_after_verify(found, plan))
    raise typer.Exit(0 if found["state"] == "done" else 1)


def throttle(
    plan: PlanArgument,
    rate: Annotated[
        str | None, typer.Argument(metavar="RATE|auto", help="For instance 100MB (per second).")
    ] = None,
    concurrency: Concurrency = None,
    json: Json = False,
) -> None:
    """Change the throttle or the concurrency of a plan while it is being applied.

    Examples:

        partage throttle plan/ 100MB
        partage throttle plan/ 100MB --concurrency 4
    """
    from partage.errors import InputError, PartageError
    from partage.live.execution.execution_plan import Direction
    from partage.live.execution.journal import is_locked
    from partage.live.execution.overrides import Overrides
    from partage.live.execution.proven_plan import read_proven

    if rate is None and concurrency is None:
        raise InputError("RATE", "expected for instance 100MB, auto, or --concurrency N")
    overrides = Overrides(_rate(rate, "rate"), _checked_count(concurrency))
    # a rollback may be running
    directory = read_proven(plan, Direction.ROLLBACK).directory
    if not is_locked(directory):  # a run would remove overrides from before it began
        raise PartageError(
            f"{plan}: is not being applied now: use --throttle of partage apply instead"
        )
    overrides.write(directory)
    if json:
        output.print_json(vars(overrides))
        return
    changes = []
    if overrides.throttle is not None:
        auto = isinstance(overrides.throttle, str)
        value = overrides.throttle if auto else f"{overrides.throttle:,} bytes per second"
        changes.append(f"throttle {value}")
    if concurrency is not None:
        changes.append(f"concurrency {concurrency} from the next wave on")
    output.console().print(f"Requested: {', '.join(changes)}.", highlight=False)


def _plan_directory(
    plan: str,
    running: Running,
    out: str | None,
    batch: int | None,
    concurrency: int | None,
    json: bool,
) -> str | None:
    """The plan directory, of a FILE too; None where a FILE changes nothing."""
    from partage.cli.reassignment_file import plan_directory_of
    from partage.errors import InputError

    if Path(plan).is_file():
        return plan_directory_of(plan, out, running, json, batch=batch, concurrency=concurrency)
    for option, name in (("-o", "out"), ("--batch", "batch")):
        if settings.typed(name):  # a project's settings may set them for its files
            raise InputError(
                option, f"only for another tool's reassignment JSON: {plan} has its waves already"
            )
    return plan


@dataclass(frozen=True)
class RunOptions:
    """The options that ``apply`` and ``rollback`` share, as typed."""

    throttle: str | None
    concurrency: int | None
    on_failure: str
    yes: bool
    force: bool
    json: bool


def _execute(
    directory: str,
    running: Running,
    options: RunOptions,
    direction: Direction,
) -> None:
    """Check, confirm and run a plan; exits 0 if it is done, 1 otherwise."""
    from partage.live.execution.execute import execute
    from partage.live.execution.executor import REQUEST_MS, Interrupts, check_failure_choice
    from partage.live.execution.proven_plan import read_proven
    from partage.report.execution_lines import Tally

    rate, concurrency = _rate(options.throttle, "throttle"), _checked_count(options.concurrency)
    check_failure_choice(options.on_failure, direction)
    plan = read_proven(directory, direction)
    connection = running.connection()
    handler = Interrupts()
    with ExitStack() as stack:
        admin = stack.enter_context(connection.admin(request_timeout_ms=REQUEST_MS))
        checking = stack.enter_context(ExitStack())
        steps = checking.enter_context(output.progress(quiet=options.json))
        report: list[Callable[[ProgressUpdate], None]] = []
        lost: list[OSError | SystemExit] = []
        tally = Tally()

        def show(update: ProgressUpdate) -> None:
            if lost:
                return
            try:
                report[0](update)
            except (OSError, SystemExit) as error:  # rich exits by itself on a broken pipe
                lost.append(error)
                if not handler.count:  # a terminal that was closed has been reported by a signal
                    handler()

        def confirm(ready: Ready) -> None:
            checking.close()
            _confirm(ready, rate, options, connection.servers)
            stack.enter_context(interrupts.handled_by(handler))
            report.append(stack.enter_context(_run_progress(options.json, direction, tally)))

        outcome = execute(
            plan,
            admin,
            throttle=rate,
            concurrency=concurrency,
            on_broker_failure=options.on_failure,
            confirm=confirm,
            begin=tally.start,
            steps=steps,
            progress=show,
            interrupts=handler,
        )
    if lost:
        with suppress(OSError):
            output.print_aside(
                f"partage: {directory}: {outcome.state}, {outcome.waves_left} waves left: its "
                "output could not be written; the same command resumes it"
            )
        raise lost[0]
    if not options.json:
        restored = "" if outcome.dead else ", throttles as before the run"
        if (ended := tally.end_wave()) is not None:
            output.print_aside(f"✓ {ended}")
        if (copied := tally.in_all()) is not None:
            output.print_aside(f"… {copied}{restored}")
    _print_outcome(plan, outcome, directory, options.json)
    raise typer.Exit(0 if outcome.state == "done" else 1)


def _resume(plan: ExecutionPlan) -> str:
    """This call's command, with the directory of a FILE."""
    command = "apply" if plan.direction == "forward" else "rollback"
    return _with_options(command, plan.directory)


def _undo(plan: ExecutionPlan) -> str:
    """The command that undoes a plan in this direction; nothing of a rollback."""
    forward = plan.direction == "forward"
    return _with_options("rollback", plan.directory, "on_failure", "yes") if forward else ""


def _with_options(command: str, directory: str, *without: str) -> str:
    words = next_step.same_call(command, without=("plan", "out", "batch", *without))
    return shlex.join((*next_step.program(), command, directory, *words[1:]))


def _print_outcome(plan: ExecutionPlan, outcome: Outcome, directory: str, json: bool) -> None:
    from partage.report.execution_lines import print_outcome

    if json:
        output.print_json({"event": "ended", **vars(outcome)})
        return
    console = output.console()
    print_outcome(plan, outcome, console, _resume(plan) if outcome.resumable else "", _undo(plan))
    if outcome.state == "done":  # otherwise it has printed how to resume
        after = ("verify", directory) if plan.direction == "forward" else ("snapshot",)
        next_step.show(console, *after, *next_step.cluster_options(after[0]))


def _after_verify(found: dict[str, Any], plan: str) -> list[str]:
    """The next command for a plan of which ``verify`` found this."""
    from partage.live.execution.journal import is_rolled_back

    if found["state"] == "done":
        return ["snapshot", *next_step.cluster_options("snapshot"), "-o", "cluster.json"]
    back = (found["done"] or found["moving"]) and is_rolled_back(plan)
    command = "rollback" if back else "apply"
    if found["state"] == "differs" and not back:
        return ["plan", *next_step.cluster_options("plan"), "-o", "new-plan/"]
    return [
        command,
        plan,
        *next_step.cluster_options(command),
        *next_step.throttle_options(command),
    ]


def _rate(text: str | None, name: str) -> int | str | None:
    from partage.errors import read_parameter
    from partage.units import throttle_of

    return None if text is None else read_parameter(name, throttle_of, text)


def _checked_count(concurrency: int | None) -> int | None:
    from partage.errors import read_parameter
    from partage.units import count_of

    if concurrency is not None:
        read_parameter("concurrency", count_of, concurrency)
    return concurrency


def _confirm(ready: Ready, rate: int | str | None, options: RunOptions, address: str) -> None:
    """Print what will change, and ask unless it is nothing or ``--yes``."""
    from partage.live.execution.preflight import refuse_months
    from partage.report.execution_lines import print_pending_changes

    if not options.force:
        refuse_months(ready, rate)
    if not options.json:
        known = rate, ready.warnings, output.console(), ready.required, ready.source
        cluster = f"Cluster {ready.cluster.cluster_id} at {address}"
        print_pending_changes(ready.plan, ready.statuses, *known, cluster, _undo(ready.plan))
    if not options.yes and ready.left:
        output.ask("Apply the plan?" if ready.plan.direction == "forward" else "Roll back?")


@contextmanager
def _run_progress(
    as_json: bool, direction: Direction, tally: Tally
) -> Iterator[Callable[[ProgressUpdate], None]]:
    """Report progress as JSON lines, or as a status line with notes above it."""
    from partage.report.execution_lines import progress_bars, progress_line

    if as_json:

        def print_line(update: Any) -> None:
            output.print_json({"event": "progress", **vars(update)})

        yield print_line
        return
    forward = direction == "forward"
    with output.progress() as show:

        def show_line(update: Any) -> None:
            if update.note:
                output.print_aside(f"… {update.note}")
                return
            if (ended := tally.add(update)) is not None:
                output.print_aside(f"✓ {ended}")
            bars = progress_bars(update, tally.copied)
            show("\n".join(filter(None, (progress_line(update, forward=forward), bars))))

        yield show_line
