"""Rows, percentiles and bad input of all what-ifs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyspark")
import pyarrow.parquet as pq

from partage.errors import InputError
from partage.pipeline.sinks import Sink
from partage.pipeline.what_ifs import MARKER, explore, percentiles
from partage.pipeline.what_ifs.churn import Churn
from partage.pipeline.what_ifs.failures import Failures
from partage.pipeline.what_ifs.growth import Growth
from tests.bundled import grown
from tests.pipeline.what_ifs.cases import (
    _PLACED,
    CASES,
    placements,
    rates_of,
    scenario,
)


@pytest.mark.sampled(2)
@pytest.mark.spark
@pytest.mark.parametrize(
    "kind", ["churn", "failures", pytest.param("growth", marks=pytest.mark.long)]
)
def test_rows_do_not_depend_on_their_spread(
    spark: Any, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = grown()
    placed = placements(cluster, "exact", rates=rates_of(cluster))
    what_if: Any = {
        "churn": Churn(scenario("failover"), CASES, runs=6, seed=3),
        "failures": Failures(placed, pairs=5, seed=3),
        "growth": Growth(placed, runs=6, seed=3),
    }[kind]
    out, answers = tmp_path / "out", []
    for worth in (what_if.rows, 2):  # all rows as one problem, and two in each
        monkeypatch.setattr(type(what_if), "worth", worth)
        sink = Sink(out / str(worth), MARKER)
        answers.append(explore(spark, what_if, sink=sink).to_json())
        runs = pq.read_table(out / str(worth) / "runs")
        direct = [found for row in range(what_if.rows) for found in what_if.of_row(row)]
        empty = dict.fromkeys(what_if.schema.names)
        assert runs.to_pylist() == [empty | found for found in direct]
        assert (runs.schema.names, runs.schema.types) == (
            what_if.schema.names,
            what_if.schema.types,
        )
    one, many = answers
    assert many == one
    written = pq.read_table(out / "2" / "percentiles")
    assert written.to_pylist() == one["percentiles"] == expected_percentiles(what_if, direct)
    about = json.loads((out / "2" / MARKER).read_text())
    assert (about["what_if"], about["seed"], about["format"]) == (kind, 3, "parquet")
    assert one.get("worst") == expected_worst(what_if, direct)
    if kind == "churn":
        assert about["violations"] == sum(row["violations"] > 0 for row in direct)


@pytest.mark.spark
def test_percentiles_are_values_that_occurred(spark: Any) -> None:
    """Of many lists of values, each a case: a percentile is the smallest value that the share of
    runs does not exceed."""
    random = Random(7)
    lists: list[list[int | None]] = [[None], [5], [3, None, 3], list(range(150))]
    lists += [
        [random.choice([None, *range(10)]) for _ in range(random.randint(1, 150))]
        for _ in range(60)
    ]
    what_if = Churn(scenario("failover"), CASES[:1], runs=len(lists))
    rows = [
        (row, place, str(row), "p", *[value] * len(what_if.measures))
        for row, values in enumerate(lists)
        for place, value in enumerate(values)
    ]
    random.shuffle(rows)
    types = "row long, place int, assignor string, protocol string"
    measures = ", ".join(f"{measure} int" for measure in what_if.measures)
    found = percentiles(what_if, spark.createDataFrame(rows, f"{types}, {measures}"))
    assert [(row["assignor"], row["measure"]) for row in found] == [
        (str(row), measure) for row in range(len(lists)) for measure in what_if.measures
    ]
    for row in found:
        known = sorted(value for value in lists[int(row["assignor"])] if value is not None)
        assert row["runs"] == len(known)
        for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
            rank = -(-percent * len(known) // 100)
            assert row[name] == (known[rank - 1] if known else None)


def expected_percentiles(what_if: Any, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of results in the order of their rows, in plain Python."""
    cases = dict.fromkeys(tuple(run[name] for name in what_if.by) for run in runs)
    found = []
    for case in cases:
        own = [run for run in runs if tuple(run[name] for name in what_if.by) == case]
        for measure in what_if.measures:
            known = sorted(run[measure] for run in own if run.get(measure) is not None)
            row = dict(zip(what_if.by, case, strict=True)) | {"measure": measure}
            row["runs"] = len(known)
            for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
                row[name] = known[-(-percent * len(known) // 100) - 1] if known else None
            if what_if.thresholds:
                limit = what_if.thresholds.get(measure)
                above = sum(value > limit for value in known) if limit is not None else 0
                row["threshold"] = limit
                row["above"] = above / len(known) if known and limit is not None else None
            found.append(row)
    return found


def expected_worst(what_if: Any, runs: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The first of the worst runs of each case, in plain Python."""
    if not what_if.worst_by:
        return None
    worst: dict[Any, dict[str, Any]] = {}
    for run in (dict.fromkeys(what_if.schema.names) | run for run in runs):
        case = tuple(run[name] for name in what_if.by)
        costs = [[one[name] for name in what_if.worst_by] for one in (run, worst.get(case, run))]
        if costs[0] > costs[1] or case not in worst:
            worst[case] = run
    return list(worst.values())


@pytest.mark.parametrize(
    ("what_if", "message"),
    [
        (Churn(scenario("failover"), CASES, runs=0), "runs: 0: expected a number from 1"),
        (Churn(scenario("failover"), CASES, runs=1, seed=-1), "seed: -1: expected"),
        (Churn(scenario("failover"), CASES, runs=1, events=0), "events: 0: expected"),
        (Churn(scenario("failover"), (("best", "eager"),), 1), "assignor best"),
        (Churn(scenario("failover"), (("range", "eagre"),), 1), "protocol eagre"),
        (Failures(_PLACED, pairs=-1), "pairs: -1: expected a number from 0"),
        (Growth(_PLACED, runs=0), "runs: 0"),
        (Growth(_PLACED, runs=1, factor=0), "factor: 0: expected a number from 0.001 to 1000"),
        (Growth(_PLACED, runs=1, sigma=math.nan), "sigma: nan"),
        (Growth(_PLACED, runs=1, above=0.5), "skew_threshold: 0.5: expected a number from 1 to"),
        (Growth(placements(grown()), runs=1), "profile: no rate of a partition"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_bad_numbers(what_if: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        what_if.checked()
    assert str(caught.value).startswith(message)
