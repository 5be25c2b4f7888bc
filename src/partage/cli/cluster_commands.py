"""plan, compare, check and report: the commands about a cluster and its plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partage.brokers.declaration import COMPARE, PLAN
from partage.brokers.options import EXACT, PlanOptions
from partage.cli import next_step, output
from partage.cli.arguments import (
    Json,
    Picture,
    PlanArgument,
    Running,
)
from partage.cli.cluster_argument import ClusterOrRunning, cluster_or_running
from partage.cli.compat import get_current_context
from partage.cli.loads import Loads
from partage.cli.plan_options import Strategies, problem_of
from partage.units import plural


def plan(
    options: Annotated[PlanOptions, PLAN],
    loads: Loads,
    cluster: ClusterOrRunning = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC-NUMBER",
            help="Explain why each replica of this partition stays or moves.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="DIR", help="Write the plan directory.")
    ] = None,
    picture: Picture = None,
    *,
    running: Running,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Also print the loads of the brokers, the copies and the waves."
        ),
    ] = False,
    detailed_exitcode: Annotated[
        bool,
        typer.Option("--detailed-exitcode", help="Exit with 0: no changes, 1: error, 2: changes."),
    ] = False,
    json: Json = False,
) -> None:
    """Decide which brokers hold and lead each partition: the fairest share, the fewest moves.

    Examples:

        partage plan cluster.json --add-broker 10:a --add-broker 11:b -o plan/
        partage plan cluster.json --remove-broker 3 --max-bytes-moved 2TB
        partage plan cluster.json --profile profile/ --leaders rate --no-moves
        partage plan --bootstrap-server localhost:9092 -o plan/
    """
    from partage.brokers.directory import REPORT, check_writable
    from partage.brokers.solving import solve

    if out is not None:
        check_writable(out)
    output.check_files(picture=picture)
    with output.progress(quiet=json) as progress:
        progress("reading")
        source = cluster_or_running(cluster, loads.sizes, running)
        problem = problem_of(source, options, loads)
        if out is not None:
            from partage.brokers.kept_rollback import check_rollback

            check_rollback(out, problem.cluster)
        made = solve(problem, progress)
        contents, reasons = None, None
        if explain is not None:
            from partage.brokers.explain import explain as explain_partition

            reasons = explain_partition(made, explain)
        if out is not None:
            progress("writing")
            from partage.report.html import render

            contents = made.document()
            made.write(out, {REPORT: render(contents, directory=out)})

    def draw() -> str:
        from partage.report.pictures import placement_svg

        title = f"{made.figures['strategy']}: {plural(made.moves, 'move')}"
        if made.replicas_deleted:
            title += f", {plural(made.replicas_deleted, 'replica')} deleted"
        return placement_svg(made.before, made.after, title)

    output.write_picture(picture, draw)
    changes = bool(len(made.changed))
    if json:
        extra = {} if reasons is None else {"explain": reasons.to_json()}
        warnings = {"warnings": list(made.warnings)} if made.warnings else {}
        output.print_json(made.figures | warnings | extra)
    else:
        from partage.report.plan_tables import print_plan

        console = output.console()
        print_plan(contents or made.contents(), console, verbose)
        if reasons is not None:
            from partage.report.explanation import print_explanation

            print_explanation(reasons, console)
        if out is not None:
            output.print_line(console, f"\nReport: {Path(out) / REPORT}")
        if not changes:
            next_step.show(console, written=out)
        elif out is None:
            this = next_step.same_call("plan", without=("explain",), more=("-o", "plan/"))
            next_step.show(console, *this)
        else:
            next_step.show(console, "check", out, written=out)
    if detailed_exitcode and changes:
        raise typer.Exit(2)


def compare(
    options: Annotated[PlanOptions, COMPARE],
    loads: Loads,
    cluster: ClusterOrRunning = None,
    strategies: Strategies = None,
    *,
    running: Running,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all criteria, in several tables.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare the plans of all strategies for the same problem.

    Exits 1 if no strategy has a plan.

    Examples:

        partage compare cluster.json --add-broker 10:a
        partage compare cluster.json --strategy exact --strategy generate
        partage compare --bootstrap-server localhost:9092
    """
    from partage.brokers.compare import Comparison, deterministic, solve_with_each

    with output.progress(quiet=json) as progress:
        source = cluster_or_running(cluster, loads.sizes, running)
        problem = problem_of(source, options, loads)
        answers = solve_with_each(problem, strategies, progress)
        same = deterministic(problem, answers, progress)
        found = Comparison(answers, same, tuple(problem.warnings)).to_json()
    for figures in found["strategies"].values():
        if "cannot" in figures:
            from partage.cli.spelling import spelled

            figures["cannot"] = spelled(figures["cannot"], get_current_context())
    having = [name for name, row in found["strategies"].items() if "cannot" not in row]
    if json:
        output.print_json(found)
    else:
        from partage.report.comparison_tables import print_compare

        console = output.console()
        print_compare(found, console, verbose)
        if having:
            only = () if EXACT not in found["strategies"] or EXACT in having else having[:1]
            more = (*(word for name in only for word in ("--strategy", name)), "-o", "plan/")
            this = next_step.same_call("plan", without=("strategies",), more=more)
            next_step.show(console, *this)
    if not having:
        raise typer.Exit(1)


def check(plan: PlanArgument, json: Json = False) -> None:
    """Check a plan from its files: it is feasible and optimal, and its rollback restores.

    Exits 1 on any defect.

    Examples:

        partage check plan/
        partage check plan/ --json
    """
    from partage.brokers.check import check as check_directory

    verdict = check_directory(plan)
    if json:
        output.print_json(
            {
                "sound": verdict.sound,
                "optimal": verdict.optimal,
                "held": verdict.held,
                "defects": verdict.defects,
                "not_proven": verdict.not_proven,
            }
        )
    else:
        from partage.report.check_lines import print_verdict

        console = output.console()
        print_verdict(verdict, console)
        if verdict.sound and verdict.changes:
            rate = next_step.throttle_options("apply", rate=verdict.throttle)
            next_step.show(console, "apply", plan, *next_step.cluster_options("apply"), *rate)
    raise typer.Exit(0 if verdict.sound else 1)


def report(plan: PlanArgument, json: Json = False) -> None:
    """Write plan/report.html again: one file that needs no network.

    Examples:

        partage report plan/
    """
    from jinja2 import TemplateError

    from partage.brokers.directory import COMPARE, MARKER, MEASURED, REPORT, check_plan_directory
    from partage.errors import MISSHAPEN, InputError
    from partage.files import parse_json, read_text
    from partage.outputs import write_file
    from partage.report.html import render

    def value(name: str) -> Any:
        source = str(Path(plan) / name)
        return parse_json(read_text(source), source)

    def optional(name: str) -> Any:
        return value(name) if (Path(plan) / name).is_file() else None

    check_plan_directory(plan)
    document, compare, measured = value(MARKER), optional(COMPARE), optional(MEASURED)
    try:
        page = render(document, compare, measured, plan)
    except (*MISSHAPEN, TemplateError) as error:
        problem = f"cannot be rendered ({type(error).__name__}: {error})"
        raise InputError(str(Path(plan) / MARKER), problem) from None
    path = str(Path(plan) / REPORT)
    write_file(path, page, root=plan)
    if json:
        output.print_json({"report": path})
    else:
        output.print_line(output.console(), path)
