"""Dates and times of log lines in many layouts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from partage.consumers.history.timestamps import format_timestamp, parse_timestamp


@pytest.mark.parametrize(
    ("line", "when", "zoned"),
    [
        ("2021-06-08 20:17:50.252 [main] INFO x", "2021-06-08T20:17:50.252", False),
        ("[2021-06-08 20:17:50,252] INFO x", "2021-06-08T20:17:50.252", False),
        ("2021/06/08 20:17:50 x", "2021-06-08T20:17:50", False),
        ("INFO 2021-06-08 20:17:50,252 x", "2021-06-08T20:17:50.252", False),
        ("2021-06-08T20:17:50.252123456Z x", "2021-06-08T20:17:50.252123", True),
        ("2021-06-08T20:17:50.252+02:00 x", "2021-06-08T18:17:50.252", True),
        ("2021-06-08 20:17:50,252 -0330 x", "2021-06-08T23:47:50.252", True),
        ("%7|1623183470.252|JOIN|c#consumer-1| x", "2021-06-08T20:17:50.252", True),
        ("app-1  | %7|1623183470.252|JOIN|c#consumer-1| x", "2021-06-08T20:17:50.252", True),
        ("1623183470252 INFO x", "2021-06-08T20:17:50.252", True),
        ("1623183470.5 INFO x", "2021-06-08T20:17:50.5", True),
    ],
)
def test_a_date_in_many_layouts(line: str, when: str, zoned: bool) -> None:
    found = parse_timestamp(line)
    assert found is not None
    expected = datetime.fromisoformat(when).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert found.at == expected.days * 86_400_000_000 + (
        expected.seconds * 1_000_000 + expected.microseconds
    )
    assert found.zoned is zoned


@pytest.mark.parametrize(
    "line",
    [
        "Jun  8 20:17:50 host app: x",
        "20:17:50.252 INFO x",
        "2021-13-08 20:17:50 x",
        "2021-06-31 20:17:50 x",
        "0001-01-01 00:17:50+01:00 x",
        "9999-12-31 23:59:50-01:00 x",
        "12345 x",
        "",
    ],
)
def test_lines_without_a_time(line: str) -> None:
    assert parse_timestamp(line) is None


def test_format_has_the_zone_where_it_is_known() -> None:
    assert format_timestamp(1_623_183_470_252_000) == "2021-06-08T20:17:50.252Z"
    assert format_timestamp(1_623_183_470_252_000, zoned=False) == "2021-06-08T20:17:50.252"
