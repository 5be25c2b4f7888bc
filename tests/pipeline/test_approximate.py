"""``profile --approximate``: figures within their bounds of the exact ones, and what Spark does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import partage
from partage.errors import InputError
from partage.measured_loads import Profile
from partage.pipeline import accepted, approximate, read_records, write_profile
from partage.pipeline.profile import profile_tables
from tests.pipeline.test_plans import SORTS, columns_read, counts, plan_of

pytestmark = pytest.mark.spark

RECORDS = 40_000
TOPICS = ("large", "small")
"""A large topic, of which few records are in the sample, and a small one."""


def write_records(folder: Path, files: int = 2) -> str:
    """Keys of which the k-th is about 1/k as likely as the first, some of them missing, on six
    partitions, of which the last has few keys; the small topic has one record in 40."""
    draw = np.random.default_rng(7)
    offset = np.arange(RECORDS)
    number = np.floor(5000 ** draw.random(RECORDS)).astype(int)
    partition = np.where(number < 20, 5, number % 5)
    table = pa.table(
        {
            "topic": [TOPICS[int(n % 40 == 0)] for n in offset],
            "partition": partition,
            "offset": offset,
            "timestamp": 1_700_000_000_000 + offset,
            "key": [None if n % 50 == 0 else b"key-%d" % n for n in number],
            "value_bytes": number % 100,
        }
    )
    folder.mkdir()
    size = RECORDS // files
    for at in range(0, RECORDS, size):
        pq.write_table(table.slice(at, size), folder / f"{at}.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_records(tmp_path_factory.mktemp("approximate") / "records")


@pytest.fixture(scope="module")
def exact(spark: Any, path: str) -> dict[str, Any]:
    return profile_tables(spark, [path], top=10**6)


@pytest.fixture
def few_sampled(monkeypatch: pytest.MonkeyPatch) -> int:
    """The small topic is in the sample whole, of the large one an eighth."""
    monkeypatch.setattr(approximate, "SAMPLE", 4096)
    return 4096


def rows(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return found


@pytest.mark.long
def test_figures_are_within_their_bounds(
    spark: Any, path: str, exact: dict[str, Any], few_sampled: int, tmp_path: Path
) -> None:
    out = tmp_path / "profile"
    about = write_profile(spark, [path], out, approximate=True, top=20)
    bounds = about["approximate"]
    assert bounds == {"distinct_keys": 0.08, "share": 4 / (2 * few_sampled**0.5)}
    assert json.loads((out / "profile.json").read_text())["approximate"] == bounds
    true = {(row["topic"], row["key"]): row for row in rows(exact["keys"])}
    every = {
        topic: sum(row["records"] for row in rows(exact["partitions"]) if row["topic"] == topic)
        for topic in TOPICS
    }
    found = rows(pq.read_table(out / "keys"))
    assert [row["rank"] for row in found] == [*range(1, 21)] * 2
    for row in found:
        own = true[row["topic"], row["key"]]
        wrong = abs(row["share"] - own["records"] / every[row["topic"]])
        assert wrong <= bounds["share"]
        assert row["records"] == round(row["share"] * every[row["topic"]])
        if row["topic"] == "small":
            assert {name: row[name] for name in own} == own
    large = [row for row in found if row["topic"] == "large"]
    assert any(row["records"] != true["large", row["key"]]["records"] for row in large)
    # a key that is not listed has at most the share of the last one listed, and the bound
    listed = {row["key"] for row in large}
    left = max(
        row["share"] for (topic, key), row in true.items() if topic == "large" and key not in listed
    )
    assert left <= large[-1]["share"] + 2 * bounds["share"]
    for row, own in zip(
        rows(pq.read_table(out / "partitions")), rows(exact["partitions"]), strict=True
    ):
        assert abs(row["distinct_keys"] - own["distinct_keys"]) <= 0.08 * own["distinct_keys"]
        assert row | {"distinct_keys": 0} == own | {"distinct_keys": 0}
    for name in ("windows", "rejected"):
        assert pq.read_table(out / name).num_rows == exact[name].num_rows
    assert Profile.read(out).hot_keys(1)[0].key == true["large", found[0]["key"]]["key"].decode()


def test_a_topic_that_is_sampled_whole_has_exact_shares(
    spark: Any, path: str, exact: dict[str, Any], tmp_path: Path
) -> None:
    about = write_profile(spark, [path], tmp_path / "profile", approximate=True, top=10**6)
    assert about["approximate"]["share"] == 0
    assert rows(pq.read_table(tmp_path / "profile" / "keys")) == rows(exact["keys"])


@pytest.mark.long
def test_tables_do_not_depend_on_the_files(
    spark: Any, path: str, few_sampled: int, tmp_path: Path
) -> None:
    other = write_records(tmp_path / "other", files=5)
    one, two = (profile_tables(spark, [own], approximate=True) for own in (path, other))
    assert one == two


def test_keys_are_neither_sorted_nor_exchanged_but_for_the_sample(spark: Any, path: str) -> None:
    records = read_records(spark, [path], origins=False).transform(accepted)
    sketches = plan_of(records.transform(approximate.distinct_keys))
    topics = spark.createDataFrame([("large", 39_000, 7)], "topic string, all bigint, mask bigint")
    sample = plan_of(records.transform(approximate.sampled, topics))
    for plan, grouped in ((sketches, ["topic", "partition"]), (sample, ["topic", "key"])):
        assert counts(plan) == [1, 1, 0], plan
        assert not re.search(SORTS, plan), plan
        (exchanged,) = re.findall(r"Exchange hashpartitioning\(([^)]*)\)", plan)
        assert re.findall(r"(\w+)#", exchanged) == grouped
    # a plan is printed from its end to its beginning
    drawn, grouped_at = sample.index("xxhash64(partition"), sample.index("Exchange hashpart")
    assert "BroadcastHashJoin" in sample
    assert grouped_at < drawn
    assert "unread" not in columns_read(sketches)


def test_nothing_approximate_is_appended(spark: Any, path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`append`: adds exact counts of keys"):
        partage.profile(path, tmp_path / "out", append=True, approximate=True, spark=spark)
    write_profile(spark, [path], tmp_path / "out", approximate=True)
    with pytest.raises(InputError, match="was not written with `append`"):
        partage.profile(path, tmp_path / "out", append=True, spark=spark)
