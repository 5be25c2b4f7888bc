"""The command history: rebalances from consumers' logs, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import next_step, output
from partage.cli.arguments import (
    PICTURE_ROWS,
    Format,
    Json,
    Overwrite,
    ResultPage,
    SkipDamaged,
    check_choice,
    check_present,
    check_tables,
    one_of,
)
from partage.cli.spark_options import SparkOptions

if TYPE_CHECKING:
    from rich.console import Console


def history(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...", help="Logs of consumers: files, folders, patterns; .gz too."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write the tables to this directory."),
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="NAME", help="Show only this group.")] = None,
    by: Annotated[
        str | None,
        one_of(PICTURE_ROWS, "What each line of the picture shows."),
    ] = None,
    skip_damaged: SkipDamaged = False,
    format: Format = "parquet",
    overwrite: Overwrite = False,
    report: ResultPage = None,
    *,
    on: SparkOptions,
    json: Json = False,
) -> None:
    """Read rebalances from consumers' logs, and replay them with Kafka's assignors.

    Shows which member owned which partition when, and for how long partitions had no owner.

    Examples:

        partage history app-1.log app-2.log -o history/
        partage history logs/ --group billing --by member
    """
    from partage.report.history_tables import (
        print_damaged,
        print_history,
        print_more,
        print_rejected,
    )

    if by is not None:
        check_choice(PICTURE_ROWS, "--by", by)
    output.check_files(report=report)
    if out is not None:
        from partage.pipeline.history import MARKER

        check_tables(out, MARKER, overwrite)
    check_present(logs, on.master, None)
    with output.bar(quiet=json) as progress:
        progress(0, 0, "starting Spark")
        from partage.pipeline import session
        from partage.pipeline.history import read_history, write_history

        paths = [*logs, out or ""]
        with session(on.master, short=True, config=on.settings(), paths=paths) as spark:
            if out is None:
                found = read_history(
                    spark, logs, group=group, skip_damaged=skip_damaged, progress=progress
                )
            else:
                found = write_history(
                    spark,
                    logs,
                    out,
                    format=format,
                    overwrite=overwrite,
                    group=group,
                    skip_damaged=skip_damaged,
                    progress=progress,
                )

    def show(console: Console) -> None:
        for number, (name, history) in enumerate(found.groups.items()):
            if number:
                console.print()
            print_history(history, found.replays.get(name, {}), console, by)
        if group is None:
            print_more(found.more_groups, console)
        print_rejected(found.first_rejected[:1], found.rejected, console)
        print_damaged(found.damaged, console)

    output.write_page(report, "history", show)
    if json:
        output.print_json(found.to_json())
        return
    console = output.console()
    show(console)
    if out is None:
        next_step.show(console, *next_step.same_call("history"), "-o", "history/")
    else:
        next_step.show(console, written=out)
