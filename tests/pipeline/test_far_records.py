"""Records whose time is far from that of all others of their topic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from partage.measured_loads import Profile
from partage.period import Period
from partage.pipeline import append_profile, write_profile

pytestmark = pytest.mark.spark

SECOND = 1000
DAY = 86_400 * SECOND
BEGIN = 1_767_225_600_000  # 2026-01-01T00:00Z
LATE = 4_099_766_400_000  # 2099-12-01T00:00Z


def rows_of(topic: str, *times: int) -> list[dict[str, Any]]:
    common = {"topic": topic, "partition": 0, "key": "k", "value_bytes": 100}
    return [{**common, "offset": n, "timestamp": time} for n, time in enumerate(times)]


OTHERS = [BEGIN + n * 100 * SECOND for n in range(400)]
NORMAL = {
    "good": OTHERS,
    "once a day": [BEGIN + n * DAY for n in range(30)],
    "once a month": [BEGIN + n * 30 * DAY for n in range(5)],
    "bursts": [BEGIN + n * DAY + m for n in range(0, 60, 20) for m in range(200)],
    "growing": [BEGIN + int(1.1**n) * DAY // 10 for n in range(70) for _ in range(n)],
    "two": [BEGIN, BEGIN + 100 * DAY],
}
"""Times of topics whose mean rates are as they should be."""


def far(about: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in about["far_records"]]


def test_one_wrong_clock_is_found_and_normal_topics_are_not(
    spark: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    topics = {
        **NORMAL,
        "bad": [1 * SECOND, *OTHERS, LATE],
        "early": [1 * SECOND, 2 * SECOND, *OTHERS],
        "few": [*OTHERS[:5], LATE],
        "to come": [LATE, LATE + 1],
    }
    every = [row for topic, times in topics.items() for row in rows_of(topic, *times)]
    path = write_lines("r.jsonl", *every)
    about = write_profile(spark, [path], tmp_path / "out")
    since, until = "2026-01-01T00:00Z", "2026-01-01T11:05:00.001Z"
    early, late = "1970-01-01T00:00:01Z", "2099-12-01T00:00Z"
    assert far(about) == [
        ("bad", 2, early, late, since, until),
        ("early", 2, early, "2026-01-01T11:05Z", since, until),
        ("few", 1, since, late, since, "2026-01-01T00:06:40.001Z"),
    ]
    assert [one.topic for one in Profile.read(tmp_path / "out").far_records] == [
        *("bad", "early", "few")
    ]

    # the advice leaves nothing to warn of, and the mean rate is that of the other topic
    about = write_profile(spark, [path], tmp_path / "period", period=Period.of(since, until))
    assert far(about) == []
    about = write_profile(spark, [path], tmp_path / "late", period=Period.of(since))
    assert [row[0] for row in far(about)] == ["bad", "few"]


@pytest.mark.long
def test_an_appended_profile_is_judged_as_a_whole(
    spark: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    first = write_lines("1.jsonl", *rows_of("t", *OTHERS))
    assert far(append_profile(spark, [first], tmp_path / "out")) == []
    second = write_lines("2.jsonl", *rows_of("t", 1 * SECOND))
    about = append_profile(spark, [first, second], tmp_path / "out")
    assert [row[:2] for row in far(about)] == [("t", 1)]
    assert far(append_profile(spark, [first, second], tmp_path / "out")) == far(about)


def test_windows_longer_than_a_day_leave_no_gaps(
    spark: Any, write_lines: Callable[..., str], tmp_path: Path
) -> None:
    times = [BEGIN - DAY, *(BEGIN + 20 * DAY + n for n in range(400))]
    path = write_lines("r.jsonl", *rows_of("t", *times))
    about = write_profile(spark, [path], tmp_path / "long", window=15 * 86_400)
    assert far(about) == []
    about = write_profile(spark, [path], tmp_path / "short")
    assert [row[:2] for row in far(about)] == [("t", 1)]
