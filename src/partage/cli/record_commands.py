"""profile: the command about records, on Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from partage.cli import output
from partage.cli.arguments import Json, Master


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    app.command()(profile)


def profile(
    records: Annotated[
        list[str],
        typer.Argument(
            metavar="RECORDS...", help="Parquet, JSON or CSV: files, folders, patterns."
        ),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Where the tables go.")],
    cluster: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A cluster, to say which partitions were not measured."),
    ] = None,
    window: Annotated[int, typer.Option(metavar="SECONDS", help="Length of a load window.")] = 3600,
    top: Annotated[int, typer.Option(metavar="N", help="Hottest keys kept per topic.")] = 100,
    master: Master = None,
    json: Json = False,
) -> None:
    """Measure records with Spark: bytes, rates, key skew and windows per partition.

    Example: partage profile events/*.parquet -o profile/
    """
    from partage.cluster import Cluster
    from partage.files import check_writable_directory
    from partage.profile import MARKER, Profile
    from partage.report.measured import print_profile

    check_writable_directory(out, MARKER)
    known = None if cluster is None else Cluster.read(cluster)
    with output.bar(quiet=json) as tell:
        tell(0, 0, "starting Spark")
        from partage.pipeline import session, write_profile

        with session(master, short=True) as spark:
            about = write_profile(spark, records, out, window=window, top=top, progress=tell)
    if json:
        if known is not None:
            measured = Profile.read(out).aligned(known)
            about = about | {
                "not_measured": list(measured.not_measured),
                "not_in_cluster": list(measured.not_in_cluster),
            }
        output.print_json(about)
        return
    print_profile(Profile.read(out), known, output.console())
    output.console().print(
        f"\nWritten: {out}   Next: partage plan CLUSTER --profile {out} --leaders rate",
        highlight=False,
    )
