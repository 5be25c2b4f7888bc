"""Rows, percentiles and bad input of all what-ifs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["churn", "failures", "growth"])
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
    spread = []
    for worth in (what_if.rows, 2):  # all rows as one problem, and two in each
        monkeypatch.setattr(type(what_if), "worth", worth)
        spread.append(explore(spark, what_if))
    one, many = spread
    direct = [found for row in range(what_if.rows) for found in what_if.of_row(row)]
    empty = dict.fromkeys(what_if.schema.names)
    assert one.runs.to_pylist() == [empty | found for found in direct]
    assert many.runs.equals(one.runs)
    assert many.to_json() == one.to_json()
    assert one.percentiles == percentiles(what_if, one.runs.to_pylist())

    sink = Sink(tmp_path / "out", MARKER)
    one.write(spark, sink)
    assert pq.read_table(tmp_path / "out" / "runs").equals(one.runs)
    assert pq.read_table(tmp_path / "out" / "percentiles").to_pylist() == one.percentiles
    about = json.loads((tmp_path / "out" / MARKER).read_text())
    assert (about["what_if"], about["seed"], about["format"]) == (kind, 3, "parquet")


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=150))
def test_percentiles_are_values_that_occurred(values: list[int | None]) -> None:
    what_if = Churn(scenario("failover"), CASES[:1], runs=len(values))
    rows = [
        {"assignor": "a", "protocol": "p"} | dict.fromkeys(what_if.measures, value)
        for value in values
    ]
    known = sorted(value for value in values if value is not None)
    for found in percentiles(what_if, rows):
        assert found["runs"] == len(known)
        for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
            rank = -(-percent * len(known) // 100)
            assert found[name] == (known[rank - 1] if known else None)


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
