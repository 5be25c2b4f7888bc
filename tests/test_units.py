"""Sizes, rates, percentages and counts: out of text and out of numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.units import (
    AUTO,
    Bytes,
    Duration,
    Percent,
    Rate,
    at_least,
    count_of,
    listed,
    throttle_of,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1000", 1000),
        ("50MB", 50_000_000),
        ("50 MB", 50_000_000),
        (" 50mb ", 50_000_000),
        ("50M", 50_000_000),
        ("1k", 1000),
        ("1KB", 1000),
        ("1KiB", 1024),
        ("1Ki", 1024),
        ("1MiB", 1024**2),
        ("2GiB", 2 * 1024**3),
        ("1TiB", 1024**4),
        ("1PiB", 1024**5),
        ("3G", 3 * 10**9),
        ("2TB", 2 * 10**12),
        ("1P", 10**15),
        ("1.5GB", 1_500_000_000),
        ("0.1MB", 100_000),
        ("0.000001MB", 1),
        ("100B", 100),
    ],
)
def test_bytes_of_text(text: str, value: int) -> None:
    assert Bytes.of(text) == value
    assert Rate.of(text) == value


@pytest.mark.parametrize(("text", "value"), [("50MB/s", 50_000_000), ("1.5 GiB/s", 1_610_612_736)])
def test_only_a_rate_is_per_second(text: str, value: int) -> None:
    assert Rate.of(text) == value
    with pytest.raises(ValueError, match="expected a size such as 50MB"):
        Bytes.of(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "MB", "fast", "-1", "-5MB", "+5MB", "0", "0MB", "0.1", "1e6", "1,5MB", "1.MB"),
        *(".5MB", "5XB", "5MBit", "5MB/h", "NaN", "inf", "5 5", "5\n5", "1" * 20, "0.0000001MB"),
        "0x10",
    ],
)
@pytest.mark.parametrize("kind", [Bytes, Rate])
def test_text_that_is_not_a_size(kind: type[Bytes], text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a|must be above 0"):
        kind.of(text)


@given(st.text(max_size=12))
def test_bytes_of_any_text(text: str) -> None:
    try:
        value = Bytes.of(text)
    except ValueError as error:
        value, lines = Bytes(0), str(error).splitlines()
    assert value > 0 or len(lines) == 1


@pytest.mark.parametrize(("number", "value"), [(1, 1), (2e12, 2 * 10**12), (5.0, 5)])
def test_bytes_of_a_number(number: float, value: int) -> None:
    assert Bytes.of(number) == value


@pytest.mark.parametrize(
    "number", [0, -1, 0.5, 1.5, 2**60 + 1, 1e300, float("nan"), float("inf"), True, None, [1]]
)
def test_numbers_that_are_not_sizes(number: Any) -> None:
    with pytest.raises(ValueError, match=r"expected a size|must be above 0|must be at most"):
        Bytes.of(number)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (999, "999"),
        (1000, "1kB"),
        (1024, "1024"),
        (50_000_000, "50MB"),
        (2 * 10**12, "2TB"),
        (1_610_612_736, "1.5GiB"),
        (1_234_567, "1234567"),
    ],
)
def test_bytes_as_text(value: int, text: str) -> None:
    assert str(Bytes(value)) == text
    assert f"{Bytes(value):,}" == f"{value:,}"  # a number in any other form


@given(st.integers(1, 2**60))
def test_bytes_as_text_read_as_the_same(value: int) -> None:
    assert Bytes.of(str(Bytes(value))) == value


@pytest.mark.parametrize(
    ("given_value", "value"),
    [
        ("2%", Fraction(2, 100)),
        ("12.5 %", Fraction(1, 8)),
        ("0%", Fraction(0)),
        ("100%", Fraction(1)),
        (0.05, Fraction(5, 100)),
        (0, Fraction(0)),
        (1, Fraction(1)),
        (Fraction(1, 8), Fraction(1, 8)),
        (1 / 3, Fraction(333333, 1000000)),
    ],
)
def test_percent(given_value: Any, value: Fraction) -> None:
    assert Percent.of(given_value) == value


@pytest.mark.parametrize(
    "given_value", ["", "2", "%", "-2%", "1e2%", "2 %%", "2.00001%", -0.1, 10, "x", True, None]
)
def test_invalid_percentages(given_value: Any) -> None:
    with pytest.raises(
        ValueError, match=r"expected a percentage|must be at least 0%|a number is a share of 1"
    ):
        Percent.of(given_value)


@pytest.mark.parametrize("given_value", ["1000%", "12345.5 %", 10, 1e300])
def test_percentages_that_are_too_large(given_value: Any) -> None:
    with pytest.raises(ValueError, match=r"below 1000%$|a number is a share of 1"):
        Percent.of(given_value)


@given(st.fractions(0, 9))
def test_percent_as_text_reads_as_the_same(value: Fraction) -> None:
    percent = Percent.of(value)
    assert Percent.of(str(percent)) == percent
    assert abs(percent - value) <= Fraction(1, 2_000_000)


def test_throttle() -> None:
    assert throttle_of("auto") == AUTO
    assert throttle_of("50MB") == Rate(50_000_000)
    with pytest.raises(ValueError, match="expected a rate"):
        throttle_of("fast")


def test_counts() -> None:
    assert count_of(3) == count_of("3") == 3
    assert count_of("0", least=0) == 0
    for wrong in (0, -1, 2**31, "x", "", "-1", "1.5", "٣", 1.5, True, None, "9" * 5000):
        with pytest.raises(ValueError, match="expected a whole number from 1 to 2147483647"):
            count_of(wrong)  # type: ignore[arg-type]


def test_listed() -> None:
    assert listed([], 2) == ""
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(["a", "b"], 2, count=9) == "a, b and 7 more"


@pytest.mark.parametrize(
    ("given_value", "seconds"),
    [
        ("60s", 60),
        ("60", 60),
        (90, 90),
        ("5min", 300),
        ("5 m", 300),
        ("2H", 7200),
        ("168h", 604800),
    ],
)
def test_durations(given_value: str | int, seconds: int) -> None:
    assert Duration.of(given_value) == seconds
    assert Duration.of(str(Duration.of(given_value))) == seconds


@pytest.mark.parametrize("given_value", ["", "s", "1.5s", "-1s", "1 day", "0s", "169h", 0, True])
def test_durations_that_are_none(given_value: Any) -> None:
    with pytest.raises(ValueError, match=r"expected a|must be from 1s to 168h"):
        Duration.of(given_value)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1001, "1010"), (122_392_712_000, "123GB")]
)
def test_the_limit_that_allows_so_many_bytes(number: int, text: str) -> None:
    assert str(at_least(number)) == text
    assert at_least(number) >= number
