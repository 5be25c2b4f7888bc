"""Replay every group's membership with every assignor and protocol, each a row, in parallel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from partage.consumers.history import History
from partage.consumers.history.replay import cases, replay, scenario_of, to_text
from partage.consumers.scenario import Scenario
from partage.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLAYED = pa.schema([(name, pa.string()) for name in ("group", "assignor", "protocol", "result")])
_MOST_TASKS = 64


def scenarios(spark: SparkSession, groups: Mapping[str, History]) -> DataFrame | None:
    """``group``, ``assignor``, ``protocol``, ``scenario`` (JSON): a row per replay. None if there
    is nothing to replay."""
    texts = {name: to_text(scenario_of(one)) for name, one in groups.items() if one.topics}
    rows = [
        (name, assignor, protocol, text)
        for name, text in texts.items()
        for assignor, protocol in cases()
    ]
    if not rows:
        return None
    frame = spark.createDataFrame(
        rows, "group string, assignor string, protocol string, scenario string"
    )
    return frame.repartition(min(len(rows), _MOST_TASKS))


def played(frame: DataFrame) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """The results by group, assignor and protocol, in the order of their names."""
    table = frame.mapInArrow(
        play, "group string, assignor string, protocol string, result string"
    ).toArrow()
    order = {case: at for at, case in enumerate(cases())}
    rows = sorted(
        table.to_pylist(), key=lambda row: (row["group"], order[row["assignor"], row["protocol"]])
    )
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for row in rows:
        of_group = found.setdefault(row["group"], {})
        of_group.setdefault(row["assignor"], {})[row["protocol"]] = json.loads(row["result"])
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
            rows.append(row | {"result": json.dumps(result)})
        yield pa.RecordBatch.from_pylist(rows, schema=_PLAYED)
