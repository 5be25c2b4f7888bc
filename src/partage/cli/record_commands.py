"""profile and keys: the commands about records, on Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from partage.cli import next_step, output
from partage.cli.arguments import RECORDS, CommandConfig, Format, Json, Master, Overwrite

Records = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORDS...",
        help="Parquet, JSON, CSV: files, folders, patterns; kafka://HOST/TOPIC.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    for command in (profile, keys):
        app.command(rich_help_panel=RECORDS)(command)


def profile(
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Where the tables go.")],
    records: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECORDS",
            help="Parquet, JSON, CSV: files, folders, patterns; kafka://HOST/TOPIC.",
        ),
    ] = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES", help="Log-dir sizes over time: columns, or the tool's output."
        ),
    ] = None,
    lags: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES", help="Groups' offsets over time: columns, or the tool's output."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Only what is since then: 2026-11-20T08:00."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Only what is before then.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A cluster, to say which partitions were not measured."),
    ] = None,
    window: Annotated[int, typer.Option(metavar="SECONDS", help="Length of a load window.")] = 3600,
    top: Annotated[int, typer.Option(metavar="N", help="Hottest keys kept per topic.")] = 100,
    format: Format = "parquet",
    overwrite: Overwrite = False,
    command_config: CommandConfig = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Measure records with Spark: bytes, rates, key skew and windows per partition.

    And sizes and lags over time, where samples of them are given.

    Examples:

        partage profile events/*.parquet -o profile/
        partage profile kafka://localhost:9092/orders,payments -o profile/
        partage profile --sizes sizes/ --lags lags/ -o profile/
    """
    from partage.cluster import Cluster
    from partage.errors import InputError
    from partage.files import check_writable_directory
    from partage.period import Period
    from partage.profile import MARKER, Profile
    from partage.report.measured import print_profile, print_totals

    check_writable_directory(out, MARKER, overwrite)
    if cluster is not None and format.lower() != "parquet":
        raise InputError("--cluster", f"is compared with a profile in Parquet, not in {format}")
    period = Period.of(since, until)
    known = None if cluster is None else Cluster.read(cluster)
    with output.bar(quiet=json) as tell:
        tell(0, 0, "starting Spark")
        from partage.pipeline import session, write_profile
        from partage.pipeline.sources.kafka import configured

        with session(master, short=True) as spark:
            about = write_profile(
                spark,
                configured(records or [], command_config),
                out,
                sizes=sizes or [],
                lags=lags or [],
                window=window,
                top=top,
                period=period,
                format=format,
                overwrite=overwrite,
                progress=tell,
            )
    if json:
        if known is not None:
            measured = Profile.read(out).aligned(known)
            about = about | {
                "not_measured": list(measured.not_measured),
                "not_in_cluster": list(measured.not_in_cluster),
            }
        output.print_json(about)
        return
    console = output.console()
    if format.lower() != "parquet":
        print_totals(about["totals"], console)
        next_step.show(console, written=out)
        return
    print_profile(Profile.read(out), known, console)
    if records or sizes:
        use, how = (
            ("plan", cluster or "CLUSTER"),
            "--leaders rate" if records else "--balance bytes",
        )
    else:
        use, how = ("assign", "GROUP"), "--assignor weighted --weigh lag"
    next_step.show(console, *use, "--profile", out, *how.split(), written=out)


def keys(
    records: Records,
    partitions: Annotated[
        str, typer.Option(metavar="12,24,48", help="Numbers of partitions to work out.")
    ],
    partitioner: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help="By these; the one that wrote the topic if none."),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(metavar="1.5", help="Exit 1 if a skew (max/mean) is above that."),
    ] = None,
    consumers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Recommend enough for so many; as many as now if none."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="FILE", help="A cluster: how many partitions topics have.")
    ] = None,
    command_config: CommandConfig = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Say which partitioner wrote each topic, and what other numbers of partitions would do to it.

    Examples:

        partage keys events/*.parquet --partitions 12,24,48
        partage keys events/*.parquet --partitions 48 --fail-above 1.5
    """
    import math

    from partage.cluster import Cluster
    from partage.errors import InputError
    from partage.producers.candidates import THRESHOLD, counts_named, partition_counts
    from partage.producers.fitting import hash_named

    counts = counts_named(partitions)
    names = [] if partitioner is None else [hash_named(n.strip()) for n in partitioner.split(",")]
    if fail_above is not None and not (math.isfinite(fail_above) and fail_above >= 1):
        raise InputError("--fail-above", f"{fail_above:g}: max/mean is 1 or more")
    if consumers is not None and consumers < 1:
        raise InputError("--consumers", f"{consumers}: expected 1 or more")
    known = None if cluster is None else partition_counts(Cluster.read(cluster))
    with output.bar(quiet=json) as tell:
        tell(0, 0, "starting Spark")
        from partage.pipeline import key_report, session
        from partage.pipeline.sources.kafka import configured

        with session(master, short=True) as spark:
            found = key_report(
                spark,
                configured(records, command_config),
                counts,
                names,
                known=known,
                consumers=consumers,
                threshold=THRESHOLD if fail_above is None else fail_above,
                progress=tell,
            )
    above = [] if fail_above is None else found.above(fail_above)
    if json:
        failed = [
            {"topic": topic, "partitions": one.partitions, "partitioner": one.partitioner}
            for topic, one in above
        ]
        output.print_json({**found.to_json(), "fail_above": fail_above, "failed": failed})
    else:
        from partage.report.keys_tables import print_keys

        console = output.console()
        print_keys(found, console, fail_above)
        next_step.show(console, *next_step.again("profile"), "-o", "profile/")
    raise typer.Exit(1 if above else 0)
