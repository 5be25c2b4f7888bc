"""Reading a profile: columns in a cluster's rows, and one line for a directory that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

import partage
from partage.cluster import Cluster
from partage.errors import InputError
from partage.measured_loads import Profile, shown_key
from partage.period import FIRST, LAST, Period
from tests.measured_loads.conftest import (
    BEGIN,
    HOUR,
    LAGS,
    PARTITIONS,
    SIZES,
    WINDOWS,
    Write,
    add,
)

FAR = {
    "topic": "a",
    "records": 1,
    "first": "2026-01-01T00:00Z",
    "last": "2099-12-01T00:00Z",
    "from": "2026-01-01T00:00Z",
    "to": "2026-01-01T04:00Z",
}


def _cluster(*partitions: tuple[str, int]) -> Cluster:
    return Cluster.from_json(
        {
            "brokers": [{"id": 1}],
            "partitions": [{"topic": t, "partition": p, "replicas": [1]} for t, p in partitions],
        }
    )


def test_columns_are_in_order(write: Write) -> None:
    profile = Profile.read(write())
    assert profile.topics == ("a", "b")
    assert profile.topic.tolist() == [0, 0, 1]
    assert profile.partition.tolist() == [2, 10, 0]
    assert profile.records.tolist() == [3, 2, 1]
    assert profile.bytes.tolist() == [30, 20, 10]
    assert profile.bytes_per_second.tolist() == [1.5, 1.0, 0.5]
    assert profile.peak_bytes_per_second.tolist() == [7.0, 6.0, 5.0]
    assert profile.window_seconds == 3600
    assert profile.totals["records"] == 6


def test_aligned_with_a_cluster(write: Write) -> None:
    measured = Profile.read(write()).aligned(_cluster(("a", 1), ("a", 2), ("b", 0), ("c", 0)))
    assert measured.bytes_per_second.dtype == np.float64
    assert measured.bytes_per_second.tolist() == [0.0, 1.5, 0.5, 0.0]
    assert measured.bytes.dtype == np.int64
    assert measured.bytes.tolist() == [-1, 30, 10, -1]
    assert measured.not_in_cluster == ("a-10",)
    assert measured.not_measured == ("a-1", "c-0")


def test_weights_for_a_group(write: Write) -> None:
    assert Profile.read(write()).weights() == {"a": {2: 1500, 10: 1000}, "b": {0: 500}}


# ---------------------------------------------------------------- rates of a part of the time


def rates(profile: Profile) -> list[float]:
    """Of a-2, a-10 and b-0."""
    return profile.bytes_per_second.tolist()


def test_rates_over_a_part_of_the_time(write: Write) -> None:
    directory = write()
    add(directory, "windows", WINDOWS)
    profile = Profile.read(directory)
    assert profile.over() is profile
    assert profile.rates == "the mean of all records"
    peak = profile.over(rate="peak")
    assert rates(peak) == [7.0, 6.0, 5.0]
    assert peak.rates == "each partition's fullest window of 3600 s"
    assert profile.reach() == (BEGIN, BEGIN + 4 * HOUR)

    two = Period.of("2026-01-01T00:00", "2026-01-01T02:00")
    mean = profile.over(two)
    assert rates(mean) == [43_200 / 7200, 0.0, 1800 / 7200]
    assert mean.rates == (
        "the mean of 2 windows of 3600 s, from 2026-01-01T00:00Z to 2026-01-01T02:00Z"
    )
    assert rates(profile.over(two, "peak")) == [10.0, 0.0, 0.5]
    # what is not about rates stays
    assert mean.bytes.tolist() == profile.bytes.tolist() == [30, 20, 10]
    # windows count that lie wholly in the time asked for
    late = profile.over(Period.of("2026-01-01T00:30"))
    assert rates(late) == [36_000 / (3 * 3600), 3600 / (3 * 3600), 1800 / (3 * 3600)]
    assert late.rates == (
        "the mean of 3 windows of 3600 s, from 2026-01-01T01:00Z to 2026-01-01T04:00Z"
    )
    assert rates(profile.over(Period.of(None, "2026-01-01T01:59"))) == [2.0, 0.0, 0.0]
    weights = profile.over(two).weights()
    assert weights == {"a": {2: 6000, 10: 0}, "b": {0: 250}}


@pytest.mark.parametrize(
    ("since", "until", "problem"),
    [
        ("2025-12-31", None, "from 2025-12-31T00:00Z is beyond that"),
        (None, "2026-01-01T04:01", None),
        (None, "2026-01-01T05:00", "to 2026-01-01T05:00Z is beyond that"),
        ("2026-01-01T00:10", "2026-01-01T01:50", "is no whole one"),
        ("2027-01-01", "2027-01-02", "is beyond that"),
    ],
)
def test_a_time_that_was_not_measured(
    write: Write, since: str | None, until: str | None, problem: str | None
) -> None:
    directory = write()
    add(directory, "windows", WINDOWS)
    profile = Profile.read(directory)
    if problem is None:  # less than a window more is nothing more
        assert profile.over(Period.of(since, until)).rates.startswith("the mean of 4 windows")
        return
    reach = r"was measured from 2026-01-01T00:00Z to 2026-01-01T04:00Z, in windows of 3600 s; "
    with pytest.raises(InputError, match=f"{reach}.*{problem}$"):
        profile.over(Period.of(since, until))
    with pytest.raises(InputError, match=r"^rate median: expected mean or peak$"):
        profile.over(rate="median")


def test_a_limited_measurement_reaches_to_its_limits(write: Write) -> None:
    directory = write({"from": "2025-12-31T22:10Z", "to": "2026-01-01T06:10Z", "outside": 3})
    add(directory, "windows", WINDOWS)
    profile = Profile.read(directory)
    assert profile.outside == 3
    assert profile.rates == ("the mean of all records from 2025-12-31T22:10Z to 2026-01-01T06:10Z")
    assert profile.reach() == (BEGIN - HOUR, BEGIN + 6 * HOUR)
    empty = profile.over(Period.of("2026-01-01T04:00", "2026-01-01T06:00"))
    assert rates(empty) == [0.0, 0.0, 0.0]


def test_windows_of_a_partition_that_is_not_there(write: Write) -> None:
    directory = write()
    add(directory, "windows", WINDOWS | {"partition": [2, 2, 11, 0]})
    with pytest.raises(InputError, match=r"a-11 has windows, but is not in partitions"):
        Profile.read(directory).over(Period.of("2026-01-01"))


# ---------------------------------------------------------------- sizes and lags over time


def test_sizes_over_time(write: Write) -> None:
    directory = write()
    profile = Profile.read(directory)
    assert profile.sizes() is None
    assert profile.aligned(_cluster(("a", 2))).size_bytes.tolist() == [-1]
    add(directory, "sizes", SIZES)
    sizes = profile.sizes()
    assert sizes is not None
    assert sizes.bytes_per_day.tolist() == [250.0, 600.0, 0.0]
    assert sizes.after(0).tolist() == [1000, 300, 5]
    # growing on; up to the largest where retention deletes; one sample tells no growth
    assert sizes.after(10).tolist() == [3500, 900, 5]
    cluster = _cluster(("a", 2), ("a", 3), ("a", 10))
    assert profile.aligned(cluster).size_bytes.tolist() == [1000, -1, 300]
    assert profile.ahead(10).aligned(cluster).size_bytes.tolist() == [3500, -1, 900]


@pytest.mark.parametrize("time", [FIRST - 1, LAST + 1, 2**53])
def test_times_that_cannot_be_shown_are_refused(write: Write, time: int) -> None:
    directory = write()
    add(directory, "sizes", SIZES | {"last": [*SIZES["last"][:-1], time]})
    with pytest.raises(InputError, match="column last has a time before year 1 or after 9999"):
        Profile.read(directory).sizes()


def test_a_plan_takes_sizes_that_are_missing(write: Write) -> None:
    directory = write()
    cluster = _cluster(("a", 2), ("a", 10), ("b", 0))
    plan = partage.plan(cluster, profile=directory)
    assert plan.before.size_bytes.tolist() == [30, 20, 10]
    assert plan.document()["loads"] == [
        "rates: the mean of all records",
        "bytes out: where unknown, as if one consumer read everything",
    ]
    add(directory, "sizes", SIZES)
    plan = partage.plan(cluster, profile=directory)
    assert plan.before.size_bytes.tolist() == [1000, 300, 5]
    assert plan.document()["loads"][1] == "sizes: log dirs, 2026-01-03T00:00Z"
    assert not any("retention" in line for line in plan.document()["warnings"])
    known = cluster.with_sizes(np.array([7, -1, 7]))
    assert partage.plan(known, profile=directory).before.size_bytes.tolist() == [7, 300, 7]
    ahead = partage.plan(known, profile=Profile.read(directory).ahead(10))
    assert ahead.before.size_bytes.tolist() == [3500, 900, 5]
    assert ahead.document()["loads"][1] == (
        "sizes: log dirs, 2026-01-03T00:00Z, expected 10 days later"
    )


def test_a_plan_warns_of_rates_that_far_records_make_too_low(write: Write) -> None:
    directory = write({"far_records": [FAR]})
    add(directory, "windows", WINDOWS)
    profile, cluster = Profile.read(directory), _cluster(("a", 2), ("b", 0), ("c", 0))

    def warned(own: Profile) -> bool:
        warnings = partage.plan(cluster, profile=own, leaders="rate").document()["warnings"]
        return any("far from all others" in line for line in warnings)

    plan = partage.plan(cluster, profile=profile, leaders="rate")
    warning = (
        "topic a: 1 record is far from all others in time (its last record is of "
        "2099-12-01T00:00Z), and its mean rate is over all that time: leave those out with --from "
        "and --to, or plan with --rate peak"
    )
    warnings = plan.document()["warnings"]
    assert warning in warnings
    assert "1 partition without a record in the profile, rate 0 (c-0)" in warnings
    assert "1 partition of the profile ignored: not in the cluster (a-10)" in warnings
    assert not warned(profile.over(rate="peak"))
    assert warned(profile.over(Period.of("2026-01-01T01:00")))
    assert not warned(profile.over(Period.of(None, "2026-01-01T03:00")))
    assert not warned(profile.over(Period.of("2026-01-01T01:00"), "peak"))


def test_sizes_ahead_need_sizes(write: Write) -> None:
    with pytest.raises(InputError, match=r"^horizon: .* has no log-dir sizes"):
        partage.plan(_cluster(("a", 2)), profile=Profile.read(write()).ahead(1))


def test_lags_over_time(write: Write) -> None:
    directory = write()
    profile = Profile.read(directory)
    assert profile.lags() is None
    with pytest.raises(InputError, match="has no lags: measure with `lags`"):
        profile.weights("lag")
    add(directory, "lags", LAGS)
    assert profile.weights("lag", "g") == {"a": {2: 10}, "b": {0: 0}}
    assert profile.weights("lag", "h") == {"a": {2: 1}}
    assert profile.weights() == {"a": {2: 1500, 10: 1000}, "b": {0: 500}}
    with pytest.raises(InputError, match="has several groups, choose one: g, h"):
        profile.weights("lag")
    with pytest.raises(InputError, match="has no group 'x': g, h"):
        profile.weights("lag", "x")
    with pytest.raises(InputError, match=r"^weight_by bytes: expected rate or lag"):
        profile.weights("bytes")
    lags = profile.lags()
    assert lags is not None
    assert lags.consumed_per_second.tolist() == [0.5, 0.0, 0.4]


def test_what_groups_read(write: Write, tmp_path: Path) -> None:
    """Records consumed by all groups, 0.5 and 0.4 a second, of 10 bytes each."""
    directory = write()
    cluster = _cluster(("a", 2), ("a", 10), ("b", 0), ("b", 1))
    assert Profile.read(directory).bytes_out(cluster) is None
    add(directory, "lags", LAGS)
    reads = Profile.read(directory).bytes_out(cluster)
    assert reads is not None
    # a group with one sample shows no rate
    assert reads.tolist() == pytest.approx([9.0, *[np.nan] * 3], nan_ok=True)

    sized = cluster.with_sizes(np.array([4, 4, 4, 4]))
    for balance in ("load", "replicas"):
        plan = partage.plan(sized, profile=directory, balance=balance)
        rates = plan.problem.rates
        assert rates is not None
        # where no group was sampled, as if one consumer read everything
        assert rates.bytes_out.tolist() == pytest.approx([9.0, 1.0, 0.5, 0.0])
        of_groups = "bytes out: what groups consumed between samples, of 1 partition"
        assert of_groups in plan.problem.loads
        plan.write(tmp_path / balance)
        assert partage.check(tmp_path / balance).sound
    # the size of one partition is not known
    assert partage.plan(cluster, profile=directory).problem.rates is None


def test_without_records(write: Write) -> None:
    empty = {name: pa.array([], pa.table({name: v})[name].type) for name, v in PARTITIONS.items()}
    directory = write(**empty)
    add(directory, "lags", LAGS)
    profile = Profile.read(directory)
    assert profile.topics == ()
    # records produced per 1,000 seconds, since no bytes were measured
    assert profile.weights(group="g") == {"a": {2: 2500}, "b": {0: 0}}
    cluster = _cluster(("a", 0))
    assert partage.plan(cluster, profile=profile).document()["warnings"] == []
    with pytest.raises(InputError, match=r"^leaders rate: needs rates: "):
        partage.plan(cluster, profile=profile, leaders="rate")


def test_hot_keys(write: Write) -> None:
    profile = Profile.read(write())
    assert [(k.topic, k.rank, k.key, k.share) for k in profile.hot_keys()] == [
        ("a", 1, "hot", 0.6),
        ("a", 2, "cold", 0.2),
        ("b", 1, "0xff00", 1.0),
    ]
    assert [k.key for k in profile.hot_keys(1)] == ["hot", "0xff00"]


@pytest.mark.parametrize(
    ("key", "shown"),
    [(b"plain", "plain"), ("é".encode(), "é"), (b"", ""), (b"a\nb", "0x610a62"), (b"\xff", "0xff")],
)
def test_keys_as_text(key: bytes, shown: str) -> None:
    assert shown_key(key) == shown


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        ({"format_version": 2}, "format_version is 2"),
        ({"format_version": None}, "format_version is None"),
        ({"window_seconds": "1h"}, "window_seconds"),
        ({"sources": "x"}, "sources"),
        ({"totals": {}}, "totals"),
        ({"from": "noon"}, "from noon: "),
        ({"to": 3}, "to: expected text or null, got 3"),
        ({"outside": "many"}, 'outside: expected a whole number from 0, got "many"'),
        ({"outside": 1.5}, "outside: expected a whole number from 0, got 1.5"),
        ({"far_records": [{**FAR, "records": -1}]}, r"far_records\[0\]"),
        ({"far_records": [{**FAR, "last": "noon"}]}, "far_records: expected a time"),
    ],
)
def test_a_bad_marker_is_refused(write: Write, about: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=f"profile.json: {problem}"):
        Profile.read(write(about))


def test_a_number_past_all_is_refused(write: Write) -> None:
    marker = write({"outside": 7531}) / "profile.json"
    marker.write_text(marker.read_text().replace("7531", "1e999"))
    with pytest.raises(InputError, match="outside: expected a whole number from 0, got Infinity"):
        Profile.read(marker.parent)


NOT_UTF_8 = pa.array([b"a", b"a", b"\xe9"]).view(pa.string())
"""Texts as only a damaged file has them."""


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"bytes": None, "records": None}, "columns missing: records, bytes"),
        ({"partition": ["x", "y", "z"]}, "not a readable table"),
        ({"topic": NOT_UTF_8}, "not a readable table .*UTF8"),
        ({"bytes": [1, None, 2]}, "column bytes has nulls"),
        ({"bytes_per_second": [0.0, float("nan"), 1.0]}, "not measurements"),
        ({"partition": [-1, 0, 1]}, "not measurements"),
        ({"partition": [0, 2, 2]}, "a-2: measured twice"),
    ],
)
def test_a_bad_table_is_refused(write: Write, columns: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        Profile.read(write(**columns))
    assert "\n" not in str(caught.value)


def test_a_damaged_name_of_a_column_is_refused(write: Write) -> None:
    directory = write()
    file, *_ = sorted((directory / "partitions").iterdir())
    pq.write_table(pq.read_table(file), file, store_schema=False)
    file.write_bytes(file.read_bytes().replace(b"records", b"re\xe9ords"))
    with pytest.raises(InputError, match=r"is not a readable table \('utf-8' codec"):
        Profile.read(directory)


def test_not_a_profile(write: Write, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "other").mkdir()
    for name, problem in (
        ("nowhere", "no such directory"),
        ("file", "is a file"),
        ("other", r"has no profile\.json"),
    ):
        with pytest.raises(InputError, match=problem):
            Profile.read(tmp_path / name)
    directory = write()
    (directory / "partitions" / "part-1.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(InputError, match=r"part-1\.parquet: is not a readable table"):
        Profile.read(directory)
    for file in (directory / "partitions").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="has no Parquet files"):
        Profile.read(directory)


def test_repr_and_html(write: Write) -> None:
    profile = Profile.read(write())
    summary = "6 records, 60 bytes, 2 topics, 3 partitions, windows of 3600 s"
    assert repr(profile) == f"<Profile {profile.path}: {summary}>"
    text = profile._repr_html_()
    assert f"<caption>{summary}</caption>" in text
    assert "<td>a</td><td>2</td><td>5</td><td>50</td><td>1</td><td>2.5</td><td>1.5</td>" in text


def test_tables_have_names(write: Write) -> None:
    pytest.importorskip("pandas")
    profile = Profile.read(write())
    columns = profile.to_arrow().to_pydict()
    assert list(columns) == list(PARTITIONS)
    assert columns["topic"] == ["a", "a", "b"]
    assert columns["partition"] == [2, 10, 0]
    assert columns["bytes_per_second"] == [1.5, 1.0, 0.5]
    assert profile.to_pandas()["topic"].tolist() == columns["topic"]
