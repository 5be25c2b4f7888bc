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
    from rich.text import Text

    from partage.brokers.directory import REPORT
    from partage.cluster.reassignment import Reassignment
    from partage.live.admin.connection import Connection
    from partage.live.admin.snapshot import take
    from partage.live.execution.run import Outcome
    from partage.live.execution.wrapping import directory_of, is_begun, wrap
    from partage.report.html import render
    from partage.report.printing import remark
    from partage.report.view import view

    beside = directory_of(file)
    directory = out or beside
    reassignment = Reassignment.read(file)
    console = output.console()
    if is_begun(directory, reassignment):
        _check_batch(directory, options.get("batch"))
        if not json:
            output.say(console, f"Goes on with {directory}")
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
        console.print(Text(shown.headline, "bold"))
        for warning in shown.warnings:
            remark(warning, console)
        if document["changes"]:
            output.say(console, f"Written: {directory}")
    return directory if document["changes"] else None


def _check_batch(directory: str, batch: int | None) -> None:
    """A plan that was begun has its waves: another size of them would not be what is done."""
    from partage.errors import InputError
    from partage.live.execution.job import Job

    begun_with = Job.read(directory).batch
    if batch is not None and batch != begun_with:
        raise InputError(
            "--batch", f"{batch}: {directory} was begun with {begun_with or 'no such limit'}"
        )
