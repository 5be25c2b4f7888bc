"""What-ifs: simulate many possible futures on Spark, a row each, and report percentiles.

Each type of what-if is a module of this package. It defines the number of rows and a function from
a row's number to its results; random draws come from a generator seeded with the user's seed and
that number. So results do not depend on how rows are distributed over workers. The rows go through
``mapInArrow``; the results are collected, put back in order and summed up.

A percentile is a value that occurred: the smallest that the given share of runs does not exceed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

import partage
from partage.pipeline.progress import Progress, reported
from partage.pipeline.session import spark_errors
from partage.pipeline.sinks import Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    - ``about``: the input, and figures over all runs
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
    def of_row(self, row: int) -> list[dict[str, Any]]: ...
    def about(self, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Answer:
    """``runs``: the results in the order of the rows; ``percentiles``: a row per case and measure.
    ``to_json`` is the output of ``what-if --json``."""

    what_if: WhatIf
    about: dict[str, Any]
    runs: pa.Table
    percentiles: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """The input and the percentiles."""
        return {**self.about, "percentiles": self.percentiles}

    def write(self, spark: SparkSession, sink: Sink) -> None:
        """The tables ``runs`` and ``percentiles``, and the marker."""
        tables = {"runs": self.runs, "percentiles": self._table()}
        about = {"format_version": FORMAT_VERSION, "partage": partage.__version__}
        sink.write(spark, tables, about | self.about)

    def _table(self) -> pa.Table:
        names = [*self.what_if.by, "measure"]
        numbers = [*PERCENTILES, *(("threshold", "above") if self.what_if.thresholds else ())]
        fields = [(name, pa.string()) for name in names] + [("runs", pa.int64())]
        fields += [(name, pa.float64()) for name in numbers]
        return pa.Table.from_pylist(self.percentiles, schema=pa.schema(fields))


def explore(
    spark: SparkSession,
    what_if: WhatIf,
    *,
    progress: Progress | None = None,
) -> Answer:
    """Compute every row on Spark."""
    schema = _placed(what_if.schema)
    parts = min(-(-what_if.rows // what_if.worth), _SLICES)
    numbers = spark.range(0, what_if.rows, 1, parts)
    found = numbers.mapInArrow(partial(_compute, what_if=what_if), from_arrow_schema(schema))
    with spark_errors(), reported(spark, progress, "trying"):
        table: pa.Table = found.toArrow().cast(schema)
    order = [(name, "ascending") for name in _PLACE]
    runs = table.sort_by(order).drop_columns(list(_PLACE)).combine_chunks()
    rows = runs.to_pylist()
    return Answer(what_if, what_if.about(rows), runs, percentiles(what_if, rows))


def percentiles(what_if: WhatIf, runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Per case, in order of appearance, and measure: ``runs`` (those with a value), the
    percentiles, and with a threshold the share of runs above it; None if there is no value."""
    cases: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        cases.setdefault(tuple(run[name] for name in what_if.by), []).append(run)
    found = []
    for case, own in cases.items():
        for measure in what_if.measures:
            known = np.array([run[measure] for run in own if run[measure] is not None], float)
            row: dict[str, Any] = dict(zip(what_if.by, case, strict=True))
            row |= {"measure": measure, "runs": len(known)}
            for name, part in PERCENTILES.items():
                value = np.quantile(known, part, method="inverted_cdf") if len(known) else None
                row[name] = None if value is None else float(value)
            if what_if.thresholds:
                limit = what_if.thresholds.get(measure)
                counted = limit is not None and len(known) > 0
                row["threshold"] = limit
                row["above"] = float((known > limit).mean()) if counted else None
            found.append(row)
    return found


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
