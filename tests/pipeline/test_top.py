"""The first rows of each group, against a sort in plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as sf

from partage.pipeline.top import first_rows, reaching_floor

pytestmark = pytest.mark.spark

Row = tuple[str, bytes, int]


def drawn(seed: int) -> list[Row]:
    """Groups of few and many rows, with few and many equal numbers."""
    draw = random.Random(seed)
    return [
        (group, f"{group}-{at}".encode(), draw.randint(0, highest))
        for group, rows, highest in [
            ("all equal", 700, 0),
            ("few", 3, 9),
            ("many", 3000, 10**6),
            ("some equal", 1500, 40),
        ]
        for at in range(rows)
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("most", [1, 7, 100, 2000])
def test_they_are_those_of_a_sort(spark: Any, most: int) -> None:
    rows = drawn(most)
    frame = spark.createDataFrame(rows, "name string, key binary, number int").repartition(3)
    order = (sf.desc("number"), sf.asc("key"))
    found = first_rows(frame, "name", "key", sf.col("number").cast("double"), order, most)
    expected = []
    for group in sorted({row[0] for row in rows}):
        own = sorted((-number, key) for name, key, number in rows if name == group)
        expected += [(group, key, -n, rank) for rank, (n, key) in enumerate(own[:most], 1)]
    assert sorted(
        (row["name"], bytes(row["key"]), row["number"], row["rank"]) for row in found.collect()
    ) == sorted(expected)


def test_hardly_more_rows_than_wanted_are_sorted(spark: Any) -> None:
    frame = spark.range(100_000).select(
        sf.lit("t").alias("name"),
        sf.col("id").cast("string").cast("binary").alias("key"),
        sf.xxhash64("id").alias("number"),
    )
    score = sf.col("number").cast("double")
    numbers = [n for (n,) in frame.select("number").collect()]
    for most in (10, 100, 1000):
        found = reaching_floor(frame, "name", "key", score, most).select("number").collect()
        reached = sorted((n for (n,) in found), reverse=True)
        assert reached[:most] == sorted(numbers, reverse=True)[:most]
        assert most <= len(reached) <= 1.2 * most
