"""What-ifs: very many possible futures, each a row on Spark, and their percentiles.

A kind of what-if is one file beside this. It says how many rows there are and what a row is worth:
a function of the row's number alone, whose random draws come from a generator seeded with the seed
asked for and that number. So a row is the same whoever works it out, and the tables do not depend
on how the rows are spread over workers. The rows go through ``mapInArrow``; what they give comes
home, is put back into the order of the rows, and summed up.

A percentile is a value that occurred: the least that so large a part of the runs does not exceed.
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
"""Parts of the rows at most: enough for many cores, and to see progress."""


class WhatIf(Protocol):
    """One kind, with all that it needs; it is sent to the workers.

    - ``rows``: how many; ``worth``: how many make up a task that is worth its start
    - ``of_row``: what one of them finds, values by column of ``schema``
    - ``by``: the columns that name what is compared; ``measures``: those that are summed up
    - ``thresholds``: by measure, what its runs are counted above
    - ``about``: what was asked, and what is to be said of all runs
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
    """``runs``: what every row found, in the order of the rows; ``percentiles``: a row per case and
    measure. ``to_json`` is what ``what-if --json`` prints."""

    what_if: WhatIf
    about: dict[str, Any]
    runs: pa.Table
    percentiles: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """What was asked, and the percentiles."""
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
    """Work out every row on Spark."""
    schema = _placed(what_if.schema)
    parts = min(-(-what_if.rows // what_if.worth), _SLICES)
    numbers = spark.range(0, what_if.rows, 1, parts)
    found = numbers.mapInArrow(partial(_work_out, what_if=what_if), from_arrow_schema(schema))
    with spark_errors(), reported(spark, progress, "trying"):
        table: pa.Table = found.toArrow().cast(schema)
    order = [(name, "ascending") for name in _PLACE]
    runs = table.sort_by(order).drop_columns(list(_PLACE)).combine_chunks()
    rows = runs.to_pylist()
    return Answer(what_if, what_if.about(rows), runs, percentiles(what_if, rows))


def percentiles(what_if: WhatIf, runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Per case, in the order in which they come, and measure: ``runs`` (that have a value), the
    percentiles, and with a threshold the share of runs above it; None where there is no value."""
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
"""Where what a row finds belongs: which row it was, and its place among what that row found."""


def _placed(schema: pa.Schema) -> pa.Schema:
    return pa.schema([*map(pa.field, _PLACE, _PLACE.values()), *schema])


def _work_out(batches: Iterator[pa.RecordBatch], what_if: WhatIf) -> Iterator[pa.RecordBatch]:
    """Numbers of rows → what the rows find."""
    schema = _placed(what_if.schema)
    for batch in batches:
        for row in batch.column(0).to_pylist():
            found = [
                {"row": row, "place": place, **values}
                for place, values in enumerate(what_if.of_row(row))
            ]
            yield pa.RecordBatch.from_pylist(found, schema=schema)
