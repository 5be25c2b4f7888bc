"""The tables of ``partage keys``: within a hundred columns, whatever the names are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from partage.producers.candidates import (
    Candidate,
    HotKey,
    KeyReport,
    TopicKeys,
    too_hot,
)
from partage.producers.recommendation import recommended
from partage.report.keys_tables import bars, print_keys
from tests.written_topics import detected, topics

TOPICS = topics()
HOT = HotKey(b"\xff" * 40, 1, 1, {"records": 0.6, "bytes": 0.99})


def topic(name: str, *partitioners: str, of: str = "java") -> TopicKeys:
    """As if it were one that is known; with a hot key, and 3 or 40 partitions."""
    detection = detected(TOPICS[of].records)
    tried = tuple(
        Candidate(
            partitions=count,
            partitioner=partitioner,
            loads={"records": np.arange(count) + 1, "bytes": 10**12 * (np.arange(count) == 2)},
            keys=300,
            keys_moved=count,
            records_moved=5,
            hot_keys=too_hot([HOT], count),
        )
        for count in (3, 40)
        for partitioner in partitioners
    )
    today = {"records": np.full(12, 100), "bytes": np.full(12, 1000)}
    return TopicKeys(
        name=name,
        detection=detection,
        today=today,
        keys=300,
        hot_keys=(HOT,),
        candidates=tried,
        recommended=recommended(tried, today, "murmur2", [HOT]),
    )


def printed(*shown: TopicKeys, fail_above: float | None = None) -> str:
    out = io.StringIO()
    why = ({"source": "a.jsonl", "reason": "partition is negative", "rows": 7},)
    report = KeyReport(shown, records=10**9, bytes=10**15, rejected=7, reasons=why)
    print_keys(report, Console(file=out, width=100, no_color=True), fail_above)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    return text


def test_a_topic_that_one_hash_explains() -> None:
    text = printed(topic("orders", "murmur2"))
    assert "1,000,000,000 records, 1.00 PB, 1 topic, 300 keys, 7 rejected" in text
    assert "rejected: 7 rows, partition is negative (a.jsonl)" in text
    row = next(line.split() for line in text.splitlines() if line.startswith("orders"))
    assert row[:5] == ["orders", "12", "300", "100", "%"]
    assert row[-1] == "murmur2"
    # one hash explains all: no remark, and it need not be named again
    assert text.count("murmur2") == 3
    assert "• orders: stay at 12, which keeps 12.0 of 12 consumers busy" in text
    assert "→ 12 now" in text
    assert "0xffff" in text
    assert "✓" not in text


def test_the_others_have_a_remark() -> None:
    names = ("client-replaced", "keys-in-turn", "null-sticky", "grown", "three-keys")
    text = printed(*(topic(f"of-{name}", "murmur2", of=name) for name in names))
    told = " ".join(text.split())
    assert "• of-client-replaced: murmur2 62.1 %, crc32 37.9 % of the records with a key" in told
    assert "• of-keys-in-turn: keys that come again are on other partitions" in told
    assert "• of-null-sticky: no record has a key; spread as sticky does" in told
    assert "grew from 12 to 24 partitions, first seen 2023-11-14T22:46:40Z" in told
    assert "• of-three-keys: too few keys for a decision: 3" in told


def test_names_as_long_as_kafka_allows() -> None:
    name = "n" * 249
    text = printed(*(topic(name, "murmur2", "sarama-reference", of=of) for of in TOPICS))
    assert "nnn…" in text
    assert "recor…" not in text
    assert "sarama-reference" in text


def test_very_many_topics_are_cut_short() -> None:
    text = printed(*[topic("t", "murmur2")] * 75)
    assert "and 15 more topics: --json lists all" in text


@pytest.mark.parametrize(("threshold", "sign"), [(50, "✓ Every skew is within 50."), (3, "✗")])
def test_the_gate(threshold: float, sign: str) -> None:
    text = printed(topic("orders", "murmur2"), topic("clicks", "crc32"), fail_above=threshold)
    assert sign in text
    if sign == "✗":
        assert "Above 3: 2 of 4 candidates; the worst is orders with 40: bytes 40.00" in text


def test_bars() -> None:
    assert bars(np.array([0, 1, 50, 100])) == " ▁▅█"
    assert bars(np.array([0, 0])) == "  "
    assert bars(np.array([5])) == "█"
    assert bars(np.array([1, 9, 9, 1, 0, 0]), width=3) == "██ "
