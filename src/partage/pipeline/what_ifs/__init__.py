"""What-ifs: simulate many possible futures on Spark, a row each, and report percentiles.

Each type of what-if is a module of this package. It defines the number of rows and a function from
a row's number to its results; random draws come from a generator seeded with the user's seed and
that number. So results do not depend on how rows are distributed over workers. The rows go through
``mapInArrow``; the executors keep the results, sum them up and write them.

A percentile is a value that occurred: the smallest that the given share of runs does not exceed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

import partage
from partage.pipeline.cache import Cache
from partage.pipeline.progress import Progress, reported
from partage.pipeline.sinks import Sink
from partage.pipeline.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMAT_VERSION = 1
MARKER = "what-if.json"

PERCENTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}

_SLICES = 64
"""Most tasks: enough for many cores, and to see progress."""


class WhatIf(Protocol):
    """A type of what-if with its input; it is sent to the workers.

    - ``rows``: the number of rows; ``worth``: rows per task that make its start worthwhile
    - ``of_row``: the results of a row, values by column of ``schema``
    - ``by``: the columns that name what is compared; ``measures``: the columns that are summed up
    - ``thresholds``: by measure, the value above which runs are counted
    - ``counted``: columns of which the results above 0 are counted
    - ``worst_by``: columns of which the largest values make a run the worst of its case, the first
      that differs decides; none: the worst run is not named
    - ``about``: the input, and those counts
    """

    @property
    def rows(self) -> int: ...
    @property
    def worth(self) -> int: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def by(self) -> tuple[str, ...]: ...
    @property
    def measures(self) -> tuple[str, ...]: ...
    @property
    def thresholds(self) -> Mapping[str, float]: ...
    @property
    def counted(self) -> tuple[str, ...]: ...
    @property
    def worst_by(self) -> tuple[str, ...]: ...
    def of_row(self, row: int) -> list[dict[str, Any]]: ...
    def about(self, counts: Mapping[str, int]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Answer:
    """``percentiles``: a row per case and measure; ``worst``: the worst run of each case, where it
    is named. ``to_json`` is the output of ``what-if --json``."""

    about: dict[str, Any]
    percentiles: list[dict[str, Any]]
    worst: list[dict[str, Any]] | None

    def to_json(self) -> dict[str, Any]:
        """The input, the worst runs and the percentiles."""
        worst = {} if self.worst is None else {"worst": self.worst}
        return {**self.about, **worst, "percentiles": self.percentiles}


def explore(
    spark: SparkSession,
    what_if: WhatIf,
    *,
    sink: Sink | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Compute every row on Spark. With a ``sink``, write the tables ``runs`` and ``percentiles``
    and the marker."""
    schema = _placed(what_if.schema)
    parts = min(-(-what_if.rows // what_if.worth), _SLICES)
    numbers = spark.range(0, what_if.rows, 1, parts)
    computed = numbers.mapInArrow(partial(_compute, what_if=what_if), from_arrow_schema(schema))
    with spark_errors(), Cache() as cached, reported(spark, progress, "trying"):
        runs = cached(computed)
        found, worst = percentiles(what_if, runs), worst_runs(what_if, runs)
        counts = runs.agg(
            sf.count("*").alias("results"),
            *(sf.count_if(sf.col(name) > 0).alias(name) for name in what_if.counted),
        )
        about = what_if.about(counts.collect()[0].asDict())
        if sink is not None:
            with sink.opened(spark) as tables:
                tables.add("runs", runs, what_if.schema, tuple(_PLACE))
                tables.add_here("percentiles", _table(what_if, found))
                version = {"format_version": FORMAT_VERSION, "partage": partage.__version__}
                tables.about = version | about
    return Answer(about, found, worst)


def percentiles(what_if: WhatIf, runs: DataFrame) -> list[dict[str, Any]]:
    """Per case, in order of appearance, and measure: ``runs`` (those with a value), the
    percentiles, and with a threshold the share of runs above it; None if there is no value."""
    measures = [
        sf.struct(
            sf.lit(measure).alias("measure"),
            sf.col(measure).cast("double").alias("value"),
            sf.lit(what_if.thresholds.get(measure)).cast("double").alias("threshold"),
        )
        for measure in what_if.measures
    ]
    each = runs.select("row", "place", *what_if.by, sf.explode(sf.array(*measures)).alias("one"))
    above = (sf.col("value") > sf.col("threshold")).cast("int")
    grouped = (
        each.select("row", "place", *what_if.by, "one.*")
        .groupBy(*what_if.by, "measure", "threshold")
        .agg(
            sf.min(_order()).alias("first"),
            sf.count("value").alias("runs"),
            *(
                sf.expr(f"percentile_disc({part}) WITHIN GROUP (ORDER BY value)").alias(name)
                for name, part in PERCENTILES.items()
            ),
            sf.avg(above).alias("above"),
        )
    )
    rows = [row.asDict() for row in grouped.collect()]
    rows.sort(key=lambda row: (row["first"], what_if.measures.index(row["measure"])))
    names = _columns(what_if)
    return [{name: row[name] for name in names} for row in rows]


def worst_runs(what_if: WhatIf, runs: DataFrame) -> list[dict[str, Any]] | None:
    """Per case, in order of appearance, the worst run; of equal ones the first. None where the
    worst run is not named."""
    if not what_if.worst_by:
        return None
    worst = sf.struct(*what_if.worst_by, -_order())
    grouped = runs.groupBy(*what_if.by).agg(
        sf.min(_order()).alias("first"),
        sf.max_by(sf.struct(*what_if.schema.names), worst).alias("run"),
    )
    rows = sorted(grouped.collect(), key=lambda row: int(row["first"]))
    return [row["run"].asDict() for row in rows]


def _order() -> Column:
    """The place of a result among all."""
    return sf.shiftleft("row", _PLACE_BITS) + sf.col("place")


def _columns(what_if: WhatIf) -> list[str]:
    more = ("threshold", "above") if what_if.thresholds else ()
    return [*what_if.by, "measure", "runs", *PERCENTILES, *more]


def _table(what_if: WhatIf, rows: list[dict[str, Any]]) -> pa.Table:
    types = dict.fromkeys((*what_if.by, "measure"), pa.string()) | {"runs": pa.int64()}
    fields = [(name, types.get(name, pa.float64())) for name in _columns(what_if)]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


_PLACE_BITS = 20
"""Fewer results of a row than two to this power."""

_PLACE = {"row": pa.int64(), "place": pa.int32()}
"""Columns for the order of results: the row, and the place among the results of that row."""


def _placed(schema: pa.Schema) -> pa.Schema:
    return pa.schema([*map(pa.field, _PLACE, _PLACE.values()), *schema])


def _compute(batches: Iterator[pa.RecordBatch], what_if: WhatIf) -> Iterator[pa.RecordBatch]:
    """Row numbers → results."""
    schema = _placed(what_if.schema)
    for batch in batches:
        for row in batch.column(0).to_pylist():
            found = [
                {"row": row, "place": place, **values}
                for place, values in enumerate(what_if.of_row(row))
            ]
            yield pa.RecordBatch.from_pylist(found, schema=schema)
