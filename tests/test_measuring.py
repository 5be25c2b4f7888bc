"""``partage.profile`` and ``partage.keys``, called as a notebook does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import partage
from partage import measuring
from partage.errors import InputError


@pytest.fixture
def records(tmp_path: Path) -> Path:
    lines = [
        {
            "topic": "orders",
            "partition": int(partage.partition([b"k%d" % i], 4)[0]),
            "offset": i,
            "timestamp": 1_700_000_000_000 + 1000 * i,
            "key": f"k{i}",
            "value_bytes": 100,
        }
        for i in range(40)
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.long
@pytest.mark.spark
def test_a_profile_is_measured_and_used_by_a_plan(spark: Any, records: Path) -> None:
    out = records.parent / "profile"
    found = partage.profile(records, out, window=10, spark=spark)
    assert found.totals["records"] == 40
    assert (out / "partitions").is_dir()
    cluster = partage.Cluster.from_json(
        {
            "brokers": [{"id": 1}, {"id": 2}],
            "partitions": [
                {"topic": "orders", "partition": number, "replicas": [1, 2]} for number in range(4)
            ],
        }
    )
    plan = partage.plan(cluster, leaders="rate", profile=out)
    assert plan.leader_changes > 0
    with pytest.raises(InputError, match="overwrite"):
        partage.profile(records, out, spark=spark)


@pytest.mark.long
@pytest.mark.spark
def test_keys_are_evaluated_for_one_count_or_several(spark: Any, records: Path) -> None:
    (topic,) = partage.keys([records], 8, cluster={"orders": 4}, spark=spark).topics
    assert [one.partitions for one in topic.candidates] == [8]
    (topic,) = partage.keys(str(records), [6, 12], partitioner="fnv1a", spark=spark).topics
    assert [(one.partitions, one.partitioner) for one in topic.candidates] == [
        (6, "fnv1a"),
        (12, "fnv1a"),
    ]


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark must not start."""

    def start(*_: Any) -> None:
        raise AssertionError("Spark starts")

    monkeypatch.setattr(measuring, "_session", start)


def test_bad_options_are_refused_before_spark_starts(no_spark: None, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="until"):
        partage.profile("records", until="noon")
    with pytest.raises(InputError, match="max_rejected"):
        partage.profile("records", max_rejected="many")
    with pytest.raises(InputError, match="move_cost"):
        partage.keys("records", 8, move_cost="dear")
    with pytest.raises(InputError, match="partitioner"):
        partage.keys("records", 8, partitioner="random")
    with pytest.raises(InputError):
        partage.keys("records", 8, cluster=tmp_path / "no-such-cluster.json")


@pytest.mark.parametrize("window", [0, 1.5, True, "3600", None, 10**10])
def test_a_window_that_is_not_a_number_of_seconds(no_spark: None, window: Any) -> None:
    problem = "expected a whole number of seconds, 1 to 1,000,000,000"
    with pytest.raises(InputError, match=f"^window {window!r}: {problem}$"):
        partage.profile("records", window=window)
    with pytest.raises(InputError, match=f"^top {window!r}: expected a whole number of keys"):
        partage.profile("records", top=window)


@pytest.mark.parametrize("counts", [0, [0], "8", [], True, 2.5, None, [8, "9"], [10**6]])
def test_counts_that_are_none(no_spark: None, counts: Any) -> None:
    problem = "expected numbers of partitions, 1 to 100,000, as in [12, 24, 48]"
    with pytest.raises(InputError, match=re.escape(f"partitions {counts!r}: {problem}")):
        partage.keys("records", counts)


def test_columns_are_checked_before_spark_starts(no_spark: None) -> None:
    for call in (partage.profile, lambda *_, **own: partage.keys("records", 8, **own)):
        with pytest.raises(InputError, match=r"^`columns`: key: expected the name of a column"):
            call("records", columns={"key": None})
        with pytest.raises(InputError, match=r"^`columns`: kee: is not a column of records"):
            call("records", columns={"kee": "k"})
    with pytest.raises(InputError, match=r"^consumers 0: expected a whole number"):
        partage.keys("records", 8, consumers=0)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ("", "path: is empty"),
        (["a.csv", ""], "path: is empty"),
        (None, "records: expected a path or a list of paths, got None"),
        ({"a.csv": 1}, "records: expected a path or a list of paths, got a value of type dict"),
        (["a.csv", 3], "records: expected a path or a list of paths, got a value of type int"),
        (pa.table({"topic": ["t"]}), "got a value of type Table"),
    ],
)
def test_what_is_not_a_path_is_refused(no_spark: None, records: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        partage.profile(records)
    with pytest.raises(InputError, match=problem):
        partage.keys(records, 8)
    for name in ("sizes", "lags"):
        with pytest.raises(InputError, match=problem.replace("records", name)):
            partage.profile(**{name: records})
