"""profile and keys: measure records with Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.cli import next_step, output
from partage.cli.arguments import (
    Columns,
    CommandConfig,
    Format,
    Json,
    Overwrite,
    ResultPage,
    SkipDamaged,
    Table,
    check_present,
    check_tables,
    record_columns,
)
from partage.cli.spark_options import SparkOptions

if TYPE_CHECKING:
    from rich.console import Console

Records = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RECORDS",
        help="Parquet, ORC, Avro, JSON, CSV: files, folders, patterns; kafka://HOST/TOPIC.",
    ),
]


def _check_inputs(
    master: str | None,
    records: list[str] | None,
    sizes: list[str] | None = None,
    lags: list[str] | None = None,
) -> None:
    """Raise InputError for files that are missing or of an unknown format, before Spark starts."""
    from functools import partial

    from partage.pipeline import records as record_rows
    from partage.pipeline.samples import LAGS, SIZES
    from partage.pipeline.sources import check_formats

    for paths, row_type in ((records, record_rows.RECORDS), (sizes, SIZES), (lags, LAGS)):
        check_present(paths or (), master, partial(check_formats, row_type=row_type))


def profile(
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Output directory.")],
    records: Records = None,
    table: Table = None,
    columns: Columns = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="Log-dir sizes over time: columns, or output of kafka-log-dirs.sh.",
        ),
    ] = None,
    lags: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="Group offsets over time: columns, or output of kafka-consumer-groups.sh.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Ignore anything before this time: 2026-11-20T08:00."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Ignore anything from this time on.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A cluster, to report partitions without records."),
    ] = None,
    window: Annotated[int, typer.Option(metavar="SECONDS", help="Length of a load window.")] = 3600,
    top: Annotated[int, typer.Option(metavar="N", help="Hottest keys kept per topic.")] = 100,
    max_rejected: Annotated[
        str | None,
        typer.Option(metavar="N|%", help="Fail if more rows than this are rejected: 1000 or 0.1%."),
    ] = None,
    skip_damaged: SkipDamaged = False,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Estimate distinct and hottest keys, within bounds."),
    ] = False,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Measure only what is new: files, Kafka's offsets, rows of a table."
        ),
    ] = False,
    format: Format = "parquet",
    overwrite: Overwrite = False,
    command_config: CommandConfig = None,
    *,
    on: SparkOptions,
    json: Json = False,
) -> None:
    """Measure records with Spark: bytes, rates, key skew and windows per partition.

    Also sizes and lags over time, if samples of them are given.

    Examples:

        partage profile events/*.parquet -o profile/
        partage profile kafka://localhost:9092/orders,payments -o profile/
        partage profile --sizes sizes/ --lags lags/ -o profile/
    """
    from partage.cluster import Cluster
    from partage.errors import InputError
    from partage.measured_loads import MARKER, Profile
    from partage.measured_loads.max_rejected import MaxRejected
    from partage.outputs import is_store
    from partage.period import Period
    from partage.report.profile_tables import print_notes, print_profile, print_totals

    if append:
        _check_append(records, table, sizes, lags, format, approximate)
    check_tables(out, MARKER, overwrite or append)
    readable = format.lower() == "parquet" and not is_store(out)
    if cluster is not None and not readable:
        found = f"--out {out}" if is_store(out) else f"--format {format}"
        raise InputError("--cluster", f"needs a profile in Parquet on this machine, found {found}")
    period = Period.of(since, until)
    limit = None if max_rejected is None else MaxRejected.of(max_rejected)
    _check_inputs(on.master, records, sizes, lags)
    mapping = _mapping(records, table, columns)
    known = None if cluster is None else Cluster.read(cluster)
    with output.bar(quiet=json) as progress:
        progress(0, 0, "starting Spark")
        from partage.measuring import offsets_of
        from partage.pipeline import append_profile, session, write_profile

        inputs = _inputs(records, table, mapping, command_config)
        read_offsets = offsets_of(inputs) if append else None
        common: dict[str, Any] = {
            "window": window,
            "top": top,
            "period": period,
            "max_rejected": limit,
            "columns": mapping,
            "skip_damaged": skip_damaged,
            "overwrite": overwrite,
            "progress": progress,
        }
        where: dict[str, Any] = {
            "config": on.settings(),
            "paths": [*inputs, *(sizes or ()), *(lags or ()), out],
            "formats": [format],
        }
        with session(on.master, short=True, **where) as spark:
            if append:
                about = append_profile(spark, inputs, out, read_offsets=read_offsets, **common)
            else:
                samples: dict[str, Any] = {"sizes": sizes or [], "lags": lags or []}
                own: dict[str, Any] = {"format": format, "approximate": approximate}
                about = write_profile(spark, inputs, out, **own, **samples, **common)
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
    if not readable:
        print_totals(about["totals"], console)
        print_notes(about, console)
        next_step.show(console, written=out)
        return
    print_profile(Profile.read(out), known, console)
    print_notes(about, console)
    if records or table or sizes:
        use, how = (
            ("plan", cluster or "CLUSTER"),
            "--leaders rate" if records or table else "--balance bytes",
        )
    else:
        use, how = ("assign", "GROUP"), "--assignor weighted --weight-by lag"
    next_step.show(console, *use, "--profile", out, *how.split(), written=out)


def keys(
    partitions: Annotated[
        str,
        typer.Option(metavar="N,…", help="Partition counts to evaluate, for instance 12,24,48."),
    ],
    records: Records = None,
    table: Table = None,
    columns: Columns = None,
    partitioner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Partitioners to evaluate, or module:Class; default: the one that wrote it.",
        ),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(metavar="RATIO", help="Exit 1 if a skew (max/mean) is above this: 1.5."),
    ] = None,
    consumers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Keep N consumers busy; default: as many as there are partitions today.",
        ),
    ] = None,
    move_cost: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="Gain in busy consumers that is worth moving all keys to other partitions.",
        ),
    ] = "100%",
    cluster: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A cluster, for the partition counts of topics."),
    ] = None,
    skip_damaged: SkipDamaged = False,
    command_config: CommandConfig = None,
    *,
    on: SparkOptions,
    report: ResultPage = None,
    json: Json = False,
) -> None:
    """Detect the partitioner of each topic, and the effect of other partition counts.

    Examples:

        partage keys events/*.parquet --partitions 12,24,48
        partage keys events/*.parquet --partitions 48 --fail-above 1.5
    """
    import math

    from partage.cluster import Cluster
    from partage.errors import InputError, read_parameter
    from partage.producers.candidates import parse_counts, partition_counts
    from partage.producers.fitting import hash_named
    from partage.units import Percent

    output.check_files(report=report)
    if not records and table is None:
        raise InputError("", "no records given: name files, folders or a --table")
    counts = parse_counts(partitions)
    names = [] if partitioner is None else [hash_named(n.strip()) for n in partitioner.split(",")]
    if fail_above is not None and not (math.isfinite(fail_above) and fail_above >= 1):
        raise InputError("--fail-above", f"{fail_above:g}: must be 1 or more (max/mean)")
    if consumers is not None and consumers < 1:
        raise InputError("--consumers", f"{consumers}: must be at least 1")
    cost = float(read_parameter("move_cost", Percent.of, move_cost))
    _check_inputs(on.master, records)
    mapping = _mapping(records, table, columns)
    known = None if cluster is None else partition_counts(Cluster.read(cluster))
    with output.bar(quiet=json) as progress:
        progress(0, 0, "starting Spark")
        from partage.pipeline import key_report, session

        inputs = _inputs(records, table, mapping, command_config)
        with session(on.master, short=True, config=on.settings(), paths=inputs) as spark:
            found = key_report(
                spark,
                inputs,
                counts,
                names,
                known=known,
                consumers=consumers,
                move_cost=cost,
                columns=mapping,
                skip_damaged=skip_damaged,
                progress=progress,
            )
    above = [] if fail_above is None else found.above(fail_above)
    from partage.report.keys_tables import print_keys

    def show(console: Console) -> None:
        print_keys(found, console, fail_above)

    output.write_page(report, "keys", show)
    if json:
        failed = [
            {"topic": topic, "partitions": one.partitions, "partitioner": one.partitioner}
            for topic, one in above
        ]
        output.print_json({**found.to_json(), "fail_above": fail_above, "failed": failed})
    else:
        console = output.console()
        show(console)
        next_step.show(console, *next_step.same_call("profile"), "-o", "profile/")
    raise typer.Exit(1 if above else 0)


def _check_append(
    records: list[str] | None,
    table: str | None,
    sizes: list[str] | None,
    lags: list[str] | None,
    format: str,
    approximate: bool,
) -> None:
    """Raise InputError for what ``--append`` does not measure."""
    from partage.errors import InputError

    if sizes or lags:
        other = "--sizes" if sizes else "--lags"
        raise InputError("--append", f"measures records, not {other}")
    if not records and table is None:
        problem = "no records given: name files, folders, kafka://HOST/TOPIC or a --table"
        raise InputError("", problem)
    if format.lower() != "parquet":
        raise InputError("--append", f"needs a profile in Parquet, found --format {format}")
    if approximate:
        raise InputError("--append", "adds exact counts of keys: leave out --approximate")


def _mapping(records: list[str] | None, table: str | None, columns: str | None) -> dict[str, str]:
    """The values of ``--columns`` by name. Raises InputError."""
    from partage.errors import InputError

    found = record_columns(columns)
    if found and table is None and all(one.startswith("kafka://") for one in records or ()):
        raise InputError("--columns", "needs files or a --table: those of Kafka have their names")
    return found


def _inputs(
    records: list[str] | None,
    table: str | None,
    mapping: dict[str, str],
    command_config: str | None,
) -> list[str]:
    """The records as ``read_rows`` takes them."""
    from partage.pipeline.sources.kafka import configured
    from partage.pipeline.sources.tables import Table as TableOf

    tables = [] if table is None else [TableOf(table, mapping).url]
    return [*configured(records or [], command_config), *tables]
