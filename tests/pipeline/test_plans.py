"""What Spark does for a table: scans, exchanges, Python, and the columns that it reads."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.period import Period
from partage.pipeline import accepted, by_key, by_window, keys, placements, read_records, rejected
from partage.pipeline import profile as profile_module
from partage.pipeline.cache import Cache
from partage.pipeline.measure import distinct_keys, key_places, with_uncounted
from partage.pipeline.profile import profile_tables

pytestmark = pytest.mark.spark

REASONS = "is negative|is too large|is missing|is not between"
SORTS = r"\bSort\b|SortAggregate|ObjectHashAggregate|SortMergeJoin"
COLUMNS = ["topic", "partition", "offset", "timestamp", "key", "value_bytes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two Parquet files with a column that nothing reads."""
    folder = tmp_path_factory.mktemp("plans")
    for name in ("a", "b"):
        pq.write_table(pa.table(_columns()), folder / f"{name}.parquet")
    return str(folder)


def _columns() -> dict[str, Any]:
    columns: dict[str, Any] = {"topic": ["t"], "key": [b"k"], "unread": ["x"]}
    numbers = ("partition", "offset", "timestamp", "value_bytes")
    return columns | {name: [1] for name in numbers}


@pytest.fixture(scope="module")
def rows(spark: Any, folder: str) -> Any:
    return read_records(spark, [folder], origins=False)


def plan_of(frame: Any) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        frame.explain()
    return printed.getvalue()


def counts(plan: str) -> list[int]:
    """Scans, exchanges, and nodes in which Python runs."""
    words = ("FileScan", r"Exchange (?:\w+partitioning|RoundRobin)", "Python|InArrow")
    return [len(re.findall(word, plan)) for word in words]


def columns_read(plan: str) -> list[str]:
    (columns,) = re.findall(r"FileScan parquet \[([^]]*)\]", plan)
    return sorted(re.findall(r"(\w+)#", columns))


@pytest.mark.parametrize("period", [Period(), Period(1, 2)], ids=["all", "period"])
def test_a_grouping_is_one_scan_without_reasons_and_file_names(rows: Any, period: Period) -> None:
    for frame in (
        rows.transform(with_uncounted, period).transform(by_window),
        rows.transform(accepted).transform(by_key),
        rows.transform(accepted).transform(key_places, 100),
    ):
        plan = plan_of(frame)
        assert counts(plan) == [1, 1, 0], plan
        assert columns_read(plan) == sorted(COLUMNS)
        assert "_metadata" not in plan
        assert "file_path" not in plan
        assert not re.search(REASONS, plan)


class GroupedError(Exception):
    """Ends a profile where its records are grouped by key."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("period", "columns"),
    [
        (Period(), ["key", "partition", "topic", "value_bytes"]),
        (Period(1, 10**13), ["key", "partition", "topic", "value_bytes"]),
        (Period(2, 10**13), COLUMNS),
    ],
    ids=["all valid", "all in the period", "some outside"],
)
def test_the_second_pass_checks_rows_only_if_the_first_found_others(
    spark: Any,
    folder: str,
    tmp_path: Path,
    monkeypatch: Any,
    period: Period,
    columns: list[str],
) -> None:
    plans: list[str] = []

    def grouped(records: Any, partitions: int) -> Any:
        plans.append(plan_of(key_places(records, partitions)))
        raise GroupedError

    monkeypatch.setattr(profile_module, "_by_key", grouped)
    pq.write_table(pa.table({**_columns(), "timestamp": [2]}), tmp_path / "later.parquet")
    with pytest.raises(GroupedError):
        profile_tables(spark, [folder, str(tmp_path)], window=1, period=period)
    (plan,) = plans
    assert counts(plan) == [2, 1, 0], plan  # a scan of each path
    for read in re.findall(r"FileScan parquet \[([^]]*)\]", plan):
        assert sorted(re.findall(r"(\w+)#", read)) == sorted(columns)
    assert not re.search(SORTS, plan), plan


def test_distinct_keys_are_counted_without_a_sort(rows: Any) -> None:
    plan = plan_of(rows.transform(accepted).transform(key_places, 100).transform(distinct_keys))
    # by key, by the partitions of a key, by partition
    assert counts(plan) == [1, 3, 0], plan
    assert not re.search(SORTS, plan), plan


def test_reasons_are_worked_out_for_rejected_rows(spark: Any, folder: str) -> None:
    plan = plan_of(read_records(spark, [folder]).transform(rejected))
    assert counts(plan) == [1, 0, 0], plan
    assert re.search(REASONS, plan)
    assert "file_path" in plan
    assert "unread" not in columns_read(plan)


@pytest.fixture(scope="module")
def placements_(rows: Any) -> Iterator[Any]:
    """The placements as ``keys`` has them: cached, the rows of a key in one task."""
    with Cache() as cached:
        frame = rows.transform(placements.placed).transform(placements.hashed, cached)
        frame.count()
        yield frame


def test_placements_are_one_scan_two_exchanges_and_one_python_node(rows: Any) -> None:
    plan = plan_of(rows.transform(placements.placed).transform(placements.hashed))
    assert counts(plan) == [1, 2, 1], plan
    assert "offset" in columns_read(plan)  # whether a row is valid depends on it
    assert "file_path" not in plan
    assert not re.search(SORTS, plan), plan


def steps(plan: str) -> list[str]:
    """What is done above the cache."""
    return re.findall(r"\b(Exchange|\w*Aggregate|Sort|\w*Python)\b", plan.partition("InMemory")[0])


def test_no_row_is_moved_or_sorted_to_put_the_placements_of_a_key_together(
    placements_: Any,
) -> None:
    plan = plan_of(placements_.transform(placements.per_key))
    assert set(steps(plan)) == {"HashAggregate"}, plan


@pytest.mark.parametrize("name", ["loads", "spread", "agreement", "scatter", "candidates"])
def test_only_sums_leave_the_tasks_with_the_placements(
    spark: Any, placements_: Any, name: str
) -> None:
    per_key = placements_.transform(placements.per_key)
    rules = spark.createDataFrame([("t", 3, [(0, 3)])], placements.RULES)
    what_ifs = spark.createDataFrame([("t", [(3, 0, None, False)])], placements.WHAT_IFS)
    frame = {
        "loads": lambda: placements_.transform(placements.loads),
        "spread": lambda: per_key.transform(placements.spread),
        "agreement": lambda: placements_.transform(placements.agreement, rules),
        "scatter": lambda: placements_.transform(placements.scatter, rules),
        "candidates": lambda: per_key.transform(placements.candidates, what_ifs),
    }[name]()
    plan = plan_of(frame)
    assert not re.search(SORTS, plan), plan
    assert len(re.findall(r"Exchange hashpartitioning", plan.partition("InMemory")[0])) == 1, plan


@pytest.mark.parametrize("top", [1, 5000])
def test_hot_keys_are_limited_before_any_is_sorted(
    spark: Any, rows: Any, placements_: Any, top: int
) -> None:
    totals = spark.createDataFrame(
        [("t", 2, 2)], "topic string, all_records bigint, all_bytes bigint"
    )
    for frame in (
        rows.transform(accepted).transform(by_key).transform(keys, top),
        rows.transform(accepted).transform(key_places, 100).transform(keys, top),
        placements_.transform(placements.per_key).transform(placements.hottest, totals, top),
    ):
        plan = plan_of(frame)
        # the rows that reach the floor, and the best scores of the buckets
        assert len(re.findall("WindowGroupLimit", plan)) == 4, plan
        sorts = plan.split("Sort [")
        assert len(sorts) == 5, plan
        assert ">= floor#" in sorts[2], plan


def test_only_a_share_of_the_placements_is_sorted_for_a_sample(
    spark: Any, placements_: Any
) -> None:
    rules = spark.createDataFrame([("t", 3, [(0, 3)])], placements.RULES)
    shares = spark.createDataFrame([("t", 0.1)], "topic string, share double")
    plan = plan_of(placements_.transform(placements.sample, rules, shares, 5000))
    assert len(re.findall("WindowGroupLimit", plan)) == 2, plan
    below = plan.partition("WindowGroupLimit")[2]
    assert "share#" in below
