"""Numbers of partitions: skew and Gini by their definitions, hot keys, and what is recommended."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.cluster import Cluster
from partage.errors import InputError
from partage.producers.candidates import (
    Candidate,
    HotKey,
    KeyReport,
    Recommendation,
    TopicKeys,
    evenly,
    gini,
    hashed_keys,
    max_over_mean,
    parse_counts,
    partition_counts,
    too_hot,
)
from partage.producers.detection import Detection
from tests.matrices import cluster_json

loads = st.lists(st.integers(0, 10**12), min_size=1, max_size=12)


@given(loads)
def test_skew_is_the_fullest_over_the_mean(load: list[int]) -> None:
    if not any(load):
        assert max_over_mean(np.array(load)) == 1
        return
    expected = Fraction(max(load)) / (Fraction(sum(load)) / len(load))
    assert max_over_mean(np.array(load)) == pytest.approx(float(expected), rel=1e-12)


@given(loads)
def test_gini_is_half_the_mean_difference_over_the_mean(load: list[int]) -> None:
    if not any(load):
        assert gini(np.array(load)) == 0
        return
    differences = sum(abs(a - b) for a, b in product(load, load))
    expected = Fraction(differences, 2 * len(load) * sum(load))
    assert gini(np.array(load)) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 100))
def test_evenly(total: int, partitions: int) -> None:
    load = evenly(total, partitions)
    assert (len(load), int(load.sum())) == (partitions, total)
    assert int(load.max() - load.min()) <= 1


@pytest.mark.parametrize(
    ("text", "counts"), [("12,24,48", [12, 24, 48]), (" 3 , 1,3", [1, 3]), ("100000", [100_000])]
)
def test_numbers_of_partitions(text: str, counts: list[int]) -> None:
    assert parse_counts(text) == counts


@pytest.mark.parametrize(
    "text", ["", "0", "12,", "12,,24", "-3", "+3", "1_2", "1.5", "twelve", "100001", "1e3", "९"]
)
def test_invalid_partition_counts(text: str) -> None:
    with pytest.raises(InputError, match=r"partitions: .*expected numbers of partitions"):
        parse_counts(text)


def test_the_partitions_of_a_cluster() -> None:
    cluster = Cluster.from_json(cluster_json("1,2 2,1 1,2 u: 2,1", "1 2"))
    assert sorted(partition_counts(cluster).values()) == [1, 3]


def hot(name: str, records: float, bytes_: float) -> HotKey:
    return HotKey(name.encode(), 1, 1, {"records": records, "bytes": bytes_})


def candidate(
    *records: int, keys: tuple[HotKey, ...] = (), moved: int = 0, bytes_: tuple[int, ...] = ()
) -> Candidate:
    return Candidate(
        partitions=len(records),
        partitioner="murmur2",
        loads={"records": np.array(records), "bytes": np.array(bytes_ or records)},
        keys=100,
        keys_moved=moved,
        records_moved=moved,
        hot_keys=too_hot(keys, len(records)),
    )


def test_a_candidate_by_hand() -> None:
    keys = (hot("a", 0.3, 0.1), hot("b", 0.2, 0.6), hot("c", 0.25, 0.25))
    one = candidate(4, 2, 1, 1, keys=keys, moved=25, bytes_=(0, 0, 0, 9))
    assert one.skew == {"records": 2.0, "bytes": 4.0}
    assert one.worst == "bytes"
    assert one.gini == {"records": pytest.approx(5 / 16), "bytes": pytest.approx(0.75)}
    assert one.busy == 1
    assert one.moved == 0.25
    # c has exactly a partition's share, so it is none too hot
    assert [key.key for key in one.hot_keys] == [b"a", b"b"]
    assert one.limit == {"records": pytest.approx(1.2), "bytes": pytest.approx(2.4)}
    value = one.to_json()
    assert value["records"] == [4, 2, 1, 1]
    assert value["share_of_keys_moved"] == 0.25
    assert value["hot_keys"] == ["a", "b"]


def test_no_load_at_all() -> None:
    one = candidate(0, 0, 0)
    assert (one.skew["bytes"], one.gini["bytes"], one.busy) == (1, 0, 3)
    assert one.limit == {"records": 1, "bytes": 1}


def test_the_empty_key_is_null_for_crc32() -> None:
    keys = (hot("", 0.9, 0.9), hot("a", 0.1, 0.1))
    assert hashed_keys(keys, "murmur2") == hashed_keys(keys, None) == keys
    assert hashed_keys(keys, "crc32") == keys[1:]


@pytest.fixture
def report() -> KeyReport:
    """A topic of two partitions, with candidates of two and four."""
    keys = (hot("a", 0.5, 0.5),)
    candidates = (candidate(6, 4, keys=keys), candidate(5, 2, 2, 1, keys=keys, moved=50))
    today = {"records": np.array([6, 4]), "bytes": np.array([60, 40])}
    topic = TopicKeys(
        name="orders",
        detection=Detection("murmur2", 2, "murmur2", "", {}),
        today=today,
        keys=100,
        hot_keys=keys,
        candidates=candidates,
        recommended=Recommendation(4, "murmur2", "because", stay=False),
    )
    return KeyReport((topic,), records=10, bytes=100, rejected=0)


def test_repr_of_a_report(report: KeyReport) -> None:
    summary = "orders: written by murmur2, 2 partitions, 4 recommended"
    assert repr(report) == f"<KeyReport of 10 records, 100 bytes, 1 topic, 0 rejected\n  {summary}>"
    assert repr(report.topics[0]) == f"<TopicKeys {summary}>"
    assert repr(report.topics[0].candidates[1]) == (
        "<Candidate of 4 partitions with murmur2: skew 2.00 by records, 2.00 by bytes; "
        "50.0 % of the keys move>"
    )
    many = KeyReport(report.topics * 7, records=10, bytes=100, rejected=0)
    assert repr(many).splitlines()[-1] == "  and 2 more topics>"


def test_html_of_a_report(report: KeyReport) -> None:
    text = report._repr_html_()
    assert "<td>orders</td><td>murmur2</td><td>2</td><td>1.20</td><td>1.20</td>" in text
    assert "<td>4</td><td>because</td>" in text


def test_tables_of_a_report(report: KeyReport) -> None:
    pytest.importorskip("pandas")
    columns = report.to_arrow().to_pydict()
    assert columns["topic"] == ["orders", "orders"]
    assert columns["partitions"] == [2, 4]
    assert columns["skew_records"] == [1.2, 2.0]
    assert columns["keys_moved"] == [0, 50]
    assert columns["recommended"] == [False, True]
    assert report.to_pandas()["busy_consumers"].tolist() == columns["busy_consumers"]
