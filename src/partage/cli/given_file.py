"""``apply FILE``: another tool's reassignment JSON made a plan directory, then carried out."""

from __future__ import annotations

from typing import Any

from partage.cli import output


def plan_of(
    file: str,
    out: str | None,
    bootstrap_server: str | None,
    command_config: str | None,
    json: bool,
    **options: Any,
) -> str | None:
    """The directory of the file's plan, begun or new; None where nothing changes. What was written
    is said. ``options`` are those of ``partage.plan``."""
    from partage.brokers.directory import REPORT
    from partage.cluster.reassignment import Reassignment
    from partage.live.connection import Connection
    from partage.live.execution.run import Outcome
    from partage.live.execution.wrapping import directory_of, is_begun, wrap
    from partage.live.snapshot import take
    from partage.report.html import render
    from partage.report.view import view

    beside = directory_of(file)
    directory = out or beside
    reassignment = Reassignment.read(file)
    console = output.console()
    if is_begun(directory, reassignment):
        if not json:
            console.print(f"Goes on with {directory}", highlight=False, soft_wrap=True)
        return directory
    connection = Connection.of(bootstrap_server, command_config)
    with output.progress(quiet=json) as tell:
        tell("looking at the cluster")
        with connection.admin() as admin:
            now = take(admin, groups=False, throttles=False)
        made = wrap(reassignment, now, tell, **options)
        document = made.document()
        if document["changes"]:
            tell("writing")
            made.write(directory, {REPORT: render(document)})
    shown = view(document)
    if json:
        where = directory if document["changes"] else None
        output.print_json({"event": "planned", "plan": where, **made.figures})
        if where is None:
            output.print_json({"event": "ended", **vars(Outcome())})
    else:
        console.print(shown.headline, highlight=False, style="bold")
        for warning in shown.warnings:
            console.print(f"! {warning}", highlight=False, style="yellow", markup=False)
        if document["changes"]:
            console.print(f"Written: {directory}", highlight=False, soft_wrap=True)
    return directory if document["changes"] else None
