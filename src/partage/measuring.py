"""``partage.profile`` and ``partage.keys``: measure records from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from partage.cluster import Cluster
from partage.errors import InputError, PartageError, read_parameter
from partage.files import check_not_empty
from partage.installation import not_installed
from partage.measured_loads import Profile, needs_spark
from partage.measured_loads.max_rejected import MaxRejected
from partage.measured_loads.offsets import ReadOffsets
from partage.period import Period, Time
from partage.producers.candidates import KeyReport, checked_counts, partition_counts
from partage.producers.fitting import hash_named
from partage.producers.recommendation import MOVE_COST
from partage.units import Percent, count_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Path: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = Path | Sequence[Path]
Progress: TypeAlias = Callable[[int, int, str], None]


def profile(
    records: Paths = (),
    out: Path = "profile",
    *,
    sizes: Paths = (),
    lags: Paths = (),
    since: Time | None = None,
    until: Time | None = None,
    window: int = 3600,
    top: int = 100,
    max_rejected: int | str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_damaged: bool = False,
    approximate: bool = False,
    append: bool = False,
    overwrite: bool = False,
    command_config: Path | None = None,
    spark: SparkSession | None = None,
    master: str | None = None,
    progress: Progress | None = None,
) -> Profile:
    """Measure records with Spark and write the tables to ``out``: rates, key skew, windows.

    - ``records``: files, folders, patterns, or ``kafka://HOST:PORT/TOPIC``; ``sizes`` and ``lags``:
      samples of log-dir sizes and of group offsets
    - ``since``, ``until``: ISO 8601, a ``datetime``, or milliseconds since 1970
    - ``window``: seconds; ``top``: hottest keys kept per topic
    - ``max_rejected``: fail if more rows are rejected: a number, or a share such as ``"0.1%"``
    - ``columns``: those of files that are called otherwise: ``{"key": "payload.id"}``;
      ``skip_damaged``: leave out damaged files
    - ``approximate``: estimate distinct and hottest keys, faster
    - ``append``: add only what is new since the last run: files of records, offsets of Kafka
    - ``overwrite``: replace an existing profile
    - ``command_config``: client properties for ``kafka://``
    - ``spark``: a session to use; without one, a session at ``master`` (default: local)
    - ``progress``: called with (tasks done, tasks, step)

    Raises InputError, and PartageError where Spark or Java is missing or too many rows are
    rejected.
    """
    from partage.pipeline import append_profile, copied_profile, write_profile
    from partage.pipeline.profile import check_options
    from partage.pipeline.records import RECORDS
    from partage.pipeline.sources.kafka import configured

    if append and (sizes or lags):
        raise InputError("`append`", f"measures records, not {'sizes' if sizes else 'lags'}")
    if append and approximate:
        raise InputError("`append`", "adds exact counts of keys: leave out `approximate`")
    config = None if command_config is None else os.fspath(command_config)
    paths = configured(_paths("records", records), config)
    samples: dict[str, Any] = {"sizes": _paths("sizes", sizes), "lags": _paths("lags", lags)}
    period = Period.of(since, until)
    limit = None if max_rejected is None else MaxRejected.of(max_rejected)
    check_options(window, top, period)
    RECORDS.check_mapping(columns or {}, "`columns`")
    common: dict[str, Any] = {
        "window": window,
        "top": top,
        "period": period,
        "max_rejected": limit,
        "columns": columns,
        "skip_damaged": skip_damaged,
        "overwrite": overwrite,
        "progress": progress,
    }
    given = [*paths, *samples["sizes"], *samples["lags"], out]
    with _session(spark, master, given) as session:
        if append:
            append_profile(session, paths, out, read_offsets=offsets_of(paths), **common)
        else:
            write_profile(session, paths, out, approximate=approximate, **samples, **common)
        where = os.fspath(out)
        return Profile.read(copied_profile(where) if needs_spark(where) else where)


def keys(
    records: Paths,
    partitions: int | Sequence[int],
    *,
    partitioner: str | Sequence[str] = (),
    cluster: Cluster | Path | Mapping[str, int] | None = None,
    consumers: int | None = None,
    move_cost: float | str = MOVE_COST,
    columns: Mapping[str, str] | None = None,
    skip_damaged: bool = False,
    command_config: Path | None = None,
    spark: SparkSession | None = None,
    master: str | None = None,
    progress: Progress | None = None,
) -> KeyReport:
    """Detect the partitioner of each topic with Spark, and evaluate other partition counts.

    - ``records``: files, folders, patterns, or ``kafka://HOST:PORT/TOPIC``
    - ``partitions``: the counts to evaluate; ``partitioner``: those to evaluate them with, also
      your own as ``module:Class``; default: the one that wrote the topic
    - ``cluster``: a cluster, its file, or the partition count by topic
    - ``consumers``: how many the recommended count should keep busy; ``move_cost``: the gain in
      busy consumers that is worth moving all keys, 1 or ``"100%"``
    - ``columns``, ``skip_damaged``, ``command_config``, ``spark``, ``master``, ``progress``: as for
      ``partage.profile``

    Raises InputError, and PartageError where Spark or Java is missing.
    """
    from partage.pipeline.key_report import key_report
    from partage.pipeline.records import RECORDS
    from partage.pipeline.sources.kafka import configured

    names = [partitioner] if isinstance(partitioner, str) else list(partitioner)
    config = None if command_config is None else os.fspath(command_config)
    paths, known = configured(_paths("records", records), config), _counts(cluster)
    hashes = [hash_named(name) for name in names]
    counts = checked_counts(partitions)
    cost = float(read_parameter("move_cost", Percent.of, move_cost))
    busy = None if consumers is None else read_parameter("consumers", count_of, consumers)
    RECORDS.check_mapping(columns or {}, "`columns`")
    with _session(spark, master, paths) as session:
        return key_report(
            session,
            paths,
            counts,
            hashes,
            known=known,
            consumers=busy,
            move_cost=cost,
            columns=columns,
            skip_damaged=skip_damaged,
            progress=progress,
        )


def offsets_of(paths: Iterable[str]) -> ReadOffsets | None:
    """How to ask Kafka for offsets, if a path is a URL of Kafka. Raises PartageError without
    kafka-python."""
    if not any(path.startswith("kafka://") for path in paths):
        return None
    if find_spec("kafka") is None:
        raise PartageError(not_installed("kafka-python", "kafka"))
    from partage.live.admin.offsets import offsets_at

    return offsets_at


@contextmanager
def _session(
    spark: SparkSession | None, master: str | None, paths: Iterable[Path]
) -> Iterator[SparkSession]:
    if spark is not None:
        yield spark
        return
    from partage.pipeline.session import session

    with session(master, short=True, paths=paths) as opened:
        yield opened


def _paths(name: str, given: Paths) -> list[str]:
    """The paths of a parameter. Raises InputError for what is none, and for an empty one."""
    several = [given] if isinstance(given, (str, os.PathLike)) else given
    kinds = (Sequence, Set, Iterator)
    found = list(several) if isinstance(several, kinds) else [several]
    for path in found:
        if not isinstance(path, (str, os.PathLike)):
            kind = "None" if path is None else f"a value of type {type(path).__name__}"
            raise InputError(name, f"expected a path or a list of paths, got {kind}")
        check_not_empty(os.fspath(path))
    return [os.fspath(path) for path in found]


def _counts(cluster: Cluster | Path | Mapping[str, int] | None) -> Mapping[str, int] | None:
    if cluster is None or isinstance(cluster, Mapping):
        return cluster
    return partition_counts(cluster if isinstance(cluster, Cluster) else Cluster.read(cluster))
