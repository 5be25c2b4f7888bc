"""Replay every group's membership with Kafka's assignors and protocols, each a row, in parallel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from partage.consumers.history.replay import cases, replay
from partage.consumers.scenario import Scenario
from partage.errors import InputError
from partage.pipeline.history.tables import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Replays = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]
"""The results of replays by group, assignor and protocol."""

_FEWEST_TASKS = 64
_A_TASK = 200
"""Replays of a task, which takes seconds for them."""


def replayed(scenarios: DataFrame, groups: int) -> DataFrame:
    """``name`` and ``scenario`` of this number of groups → the rows of the table ``replay``."""
    every = cases()
    rows = groups * len(every)
    of_case = [
        sf.struct(sf.lit(assignor).alias("assignor"), sf.lit(protocol).alias("protocol"))
        for assignor, protocol in every
    ]
    return (
        scenarios.select("name", "scenario", sf.explode(sf.array(*of_case)).alias("case"))
        .select(sf.col("name").alias("group"), "case.*", "scenario")
        .repartition(max(1, min(rows, max(_FEWEST_TASKS, -(-rows // _A_TASK)))))
        .mapInArrow(play, from_arrow_schema(SCHEMAS["replay"]))
    )


def results(rows: Iterable[Mapping[str, Any]]) -> Replays:
    """The results in rows of the table, in the order of the groups' names and of the cases."""
    order = {case: at for at, case in enumerate(cases())}
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for row in sorted(
        rows, key=lambda row: (row["group"], order[row["assignor"], row["protocol"]])
    ):
        values = {name: row[name] for name in SCHEMAS["replay"].names[3:] if row[name] is not None}
        found.setdefault(row["group"], {}).setdefault(row["assignor"], {})[row["protocol"]] = values
    return found


def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Scenarios → results."""
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            text = row.pop("scenario")
            try:
                scenario = Scenario.from_json(json.loads(text), row["group"])
                result = replay(scenario, row["assignor"], row["protocol"])
            except InputError as why:
                result = {"cannot": str(why)}
            rows.append(row | result)
        yield pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["replay"])
