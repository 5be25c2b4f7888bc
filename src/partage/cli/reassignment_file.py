"""``apply FILE``: turn another tool's reassignment JSON into a plan directory."""

from __future__ import annotations

from partage.cli import output
from partage.cli.arguments import Running


def plan_directory_of(
    file: str,
    out: str | None,
    running: Running,
    json: bool,
    *,
    batch: int | None = None,
    concurrency: int | None = None,
) -> str | None:
    """Make a plan of the file, or find the one that has begun, and print what it is.

    Returns its directory; None where nothing changes.
    """
    from rich.text import Text

    from partage.brokers.directory import REPORT, write
    from partage.cluster.reassignment import Reassignment
    from partage.live.admin.snapshot import take_snapshot
    from partage.live.execution.outcome import Outcome
    from partage.live.execution.reassignment_file import default_directory, has_begun, make_plan
    from partage.report.html import render
    from partage.report.printing import remark
    from partage.report.view import view

    default = default_directory(file)
    directory = out or default
    reassignment = Reassignment.read(file)
    console = output.console()
    if has_begun(directory, reassignment):
        _check_batch(directory, batch)
        if not json:
            output.print_line(console, f"Resuming {directory}")
        return directory
    connection = running.connection()
    with output.progress(quiet=json) as progress:
        progress("reading the cluster")
        with connection.admin() as admin:
            cluster = take_snapshot(admin, groups=False, throttles=False)
        plan = make_plan(reassignment, cluster, progress, batch=batch, concurrency=concurrency)
        document = plan.document()
        if document["changes"]:
            progress("writing")
            write(directory, {REPORT: render(document), **plan.files()})
    shown = view(document)
    if json:
        written = directory if document["changes"] else None
        output.print_json({"event": "planned", "plan": written, **plan.figures})
        if written is None:
            output.print_json({"event": "ended", **vars(Outcome())})
    else:
        console.print(Text(shown.headline, "bold"))
        for warning in shown.warnings:
            remark(warning, console)
        if document["changes"]:
            output.print_line(console, f"Written: {directory}")
    return directory if document["changes"] else None


def _check_batch(directory: str, batch: int | None) -> None:
    """Refuse another batch size for a plan that has begun: its waves are fixed."""
    from partage.errors import InputError
    from partage.live.execution.execution_plan import ExecutionPlan

    begun_with = ExecutionPlan.read(directory).batch
    if batch is not None and batch != begun_with:
        raise InputError(
            "--batch", f"{batch}: {directory} has begun with {begun_with or 'no batch size'}"
        )
