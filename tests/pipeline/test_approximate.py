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
from pyspark.sql import functions as sf

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
    """The small topic is in the sample whole, of the large one an eighth, and of the keys of most
    partitions a part."""
    monkeypatch.setattr(approximate, "SAMPLE", 4096)
    monkeypatch.setattr(approximate, "KEYS", 128)
    monkeypatch.setattr(approximate, "_SKIPPED", 2)
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
    assert bounds["share"] == 4 / (2 * few_sampled**0.5)
    # 128 keys, of which a part of a half or less is drawn, or fewer where their number is misjudged
    assert 4 * (1 / 2 / 256) ** 0.5 <= bounds["distinct_keys"] <= 4 * (1 / 64) ** 0.5
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
    estimated = 0
    for row, own in zip(
        rows(pq.read_table(out / "partitions")), rows(exact["partitions"]), strict=True
    ):
        true_keys, wrong = own["distinct_keys"], row["distinct_keys"] - own["distinct_keys"]
        assert abs(wrong) <= bounds["distinct_keys"] * true_keys
        assert not wrong or true_keys > 128
        estimated += bool(wrong)
        assert row | {"distinct_keys": 0} == own | {"distinct_keys": 0}
    assert estimated >= 3
    for name in ("windows", "rejected"):
        assert pq.read_table(out / name).num_rows == exact[name].num_rows
    assert Profile.read(out).hot_keys(1)[0].key == true["large", found[0]["key"]]["key"].decode()


def test_few_keys_and_records_are_drawn_all(
    spark: Any, path: str, exact: dict[str, Any], tmp_path: Path
) -> None:
    about = write_profile(spark, [path], tmp_path / "profile", approximate=True, top=10**6)
    assert about["approximate"] == {"distinct_keys": 0, "share": 0}
    for name in ("keys", "partitions"):
        assert rows(pq.read_table(tmp_path / "profile" / name)) == rows(exact[name])


@pytest.mark.long
def test_tables_do_not_depend_on_the_files(
    spark: Any, path: str, few_sampled: int, tmp_path: Path
) -> None:
    other = write_records(tmp_path / "other", files=5)
    one, two = (profile_tables(spark, [own], approximate=True) for own in (path, other))
    assert one == two


@pytest.mark.parametrize("keys", [100, 20_000, 600_000])
def test_about_as_many_keys_are_drawn_as_asked(spark: Any, keys: int) -> None:
    records = spark.range(keys).selectExpr(
        "'t' as topic",
        "0 as partition",
        "1L as records",
        "cast(cast(id as string) as binary) as key",
    )
    by_window = records.groupBy("topic", "partition").agg(
        sf.sum("records").alias("records"), approximate.bitmaps().alias("bitmaps")
    )
    (place,) = approximate.places(by_window).to_pylist()
    part = place["key_mask"] + 1
    # twice as many to half as many, as the estimate has a standard error of 39 %
    assert approximate.KEYS / 2.2 <= keys / part <= approximate.KEYS * 2 * 2.2 or part == 1
    assert (part == 1) == (keys < approximate.KEYS)


def test_only_samples_are_exchanged_and_nothing_is_sorted(spark: Any, path: str) -> None:
    records = read_records(spark, [path], origins=False).transform(accepted)
    numbers = {"all": [39_000], "record_mask": [7], "key_mask": [1]}
    places = pa.table({"topic": ["large"], "partition": pa.array([0], pa.int32()), **numbers})
    plan = plan_of(records.transform(approximate.drawn, places))
    assert counts(plan) == [1, 1, 0], plan
    assert not re.search(SORTS, plan), plan
    (exchanged,) = re.findall(r"Exchange hashpartitioning\(([^)]*)\)", plan)
    assert re.findall(r"(\w+)#", exchanged) == ["topic", "partition", "key"]
    # a plan is printed from its end to its beginning: hashes are compared before the look-up
    grouped_at, joined = plan.index("Exchange hashpart"), plan.index("BroadcastHashJoin")
    assert grouped_at < joined < plan.rindex("xxhash64(partition")
    assert "unread" not in columns_read(plan)


@pytest.mark.long
def test_nothing_approximate_is_appended(spark: Any, path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`append`: adds exact counts of keys"):
        partage.profile(path, tmp_path / "out", append=True, approximate=True, spark=spark)
    write_profile(spark, [path], tmp_path / "out", approximate=True)
    with pytest.raises(InputError, match="was not written with `append`"):
        partage.profile(path, tmp_path / "out", append=True, spark=spark)


@pytest.mark.long
def test_a_second_profile_compiles_nothing_and_starts_few_jobs(spark: Any, path: str) -> None:
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
    compiled = metrics.METRIC_COMPILATION_TIME().getCount
    jobs = spark.sparkContext._jsc.sc().dagScheduler().nextJobId
    profile_tables(spark, [path], approximate=True)
    classes, begun = compiled(), jobs()
    profile_tables(spark, [path], approximate=True)
    assert compiled() == classes
    assert jobs() - begun <= 12
