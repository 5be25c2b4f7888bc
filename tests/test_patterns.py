"""Patterns match as Python's ``re`` does, and none takes more than a bounded number of steps."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from partage.patterns import compile_pattern, matcher
from tests.profiles import examples

LONGEST = "a" * 249


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|aa)+b",
        "(a+)+b",
        "(a*)*b",
        "(?:a?){249}a{249}b",
        ".*.*.*.*.*.*.*.*.*.*b",
        r"(\w+\.?)+!",
        "([a-z]+)*-([a-z]+)*!",
        "(?!b).*.*!",
        r"(a*)\1!",
    ],
)
def test_no_name_takes_long(pattern: str) -> None:
    assert not matcher(compile_pattern(pattern))(LONGEST)


@pytest.mark.parametrize(
    "pattern",
    ["(?!b)(a|aa)+b", r"(a|aa)+b\Z", r"(a*)*\1b", "(?=.*.*.*.*b)a", "((a{1,100}){1,100}){1,100}b"],
)
def test_what_could_take_long_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="may take too long to match"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(", "a**", "(" * 5000, "a{99999999999}", r"\8", "[z-a]"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("(?!__).*", "orders", "__consumer_offsets"),
        ("(?!__|connect-).*", "orders", "connect-status"),
        ("(?!.*-internal).*", "orders", "orders-internal-1"),
        (r"[a-z]+-[a-z]+-[a-z]+-v\d+", "eu-shop-orders-v2", "eu-orders-v2"),
        ("(?i)ORDERS|payments", "Payments", "order"),
        ("a{,2}", "aa", "aaa"),
        (r"orders\Z", "orders", "orders2"),
        ("[[a-z].*", "a", "-"),
        (re.compile("ORDERS", re.IGNORECASE), "orders", "order"),
    ],
)
def test_ordinary_patterns(pattern: str | re.Pattern[str], matching: str, others: str) -> None:
    found = compile_pattern(pattern)
    again = compile_pattern(found.pattern)  # as plan.json stores it
    for one in (found, again):
        assert matcher(one)(matching)
        assert not matcher(one)(others)


ATOMS = ("a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "-", "^", "$", r"\b", "(?:)", "[a-b.]")
patterns = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(("*", "+", "?", "{2}", "{1,3}", "*?", "{,2}"))).map(
            lambda one: f"(?:{one[0]}){one[1]}"
        ),
        inner.map(lambda one: f"(?!{one})a?"),
    ),
    max_leaves=6,
)


@examples(2000)
@given(pattern=patterns, names=st.lists(st.text("ab-.0", max_size=8), min_size=1, max_size=6))
def test_matches_as_re_does(pattern: str, names: list[str]) -> None:
    try:
        found = compile_pattern(pattern)
    except ValueError:
        assume(False)
    assert [matcher(found)(name) for name in names] == [
        re.fullmatch(pattern, name) is not None for name in names
    ]
