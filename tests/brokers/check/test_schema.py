"""Where a value does not match a schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.brokers.check import schema
from partage.brokers.check.schema import COUNT, FLAG, IDS, TEXT, OrNull, Schema, mismatch
from tests.profiles import examples

ROWS: Schema = {
    "rows": [
        {"name": TEXT, "number": COUNT, "replicas": IDS, "on?": OrNull(FLAG), "far?": [[TEXT]]}
    ]
}
ROW = {"name": "a", "number": 0, "replicas": [1, 2]}


def rows(*more: dict[str, Any]) -> dict[str, Any]:
    return {"rows": [ROW, *({**ROW, **one} for one in more)]}


@pytest.mark.parametrize(
    "value", [{"rows": []}, rows(), rows({"on": None}, {"on": True}), rows({"far": [[], ["x"]]})]
)
def test_a_match(value: Any) -> None:
    assert mismatch(value, ROWS) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "[], expected an object"),
        ({}, "rows: is missing"),
        ({"rows": {}}, "rows: {}, expected a list"),
        ({"rows": [ROW, 1]}, "rows[1]: 1, expected an object"),
        ({"rows": [{"name": "a", "number": 0}]}, "rows[0].replicas: is missing"),
        (rows({"other": 1}), "rows[1].other: unknown key"),
        (rows({"number": True}), "rows[1].number: True, expected a whole number from 0"),
        (rows({"number": 1.0}), "rows[1].number: 1.0, expected a whole number from 0"),
        (
            rows({}, {"replicas": []}),
            "rows[2].replicas: [], expected a list of different broker ids",
        ),
        (
            rows({"replicas": [1, 1]}),
            "rows[1].replicas: [1, 1], expected a list of different broker ids",
        ),
        (
            rows({"replicas": [1, True]}),
            "rows[1].replicas: [1, True], expected a list of different broker ids",
        ),
        (rows({"on": 1}), "rows[1].on: 1, expected true or false"),
        (rows({"far": [["x", 1]]}), "rows[1].far[0][1]: 1, expected text"),
        (rows({"far": ["x"]}), "rows[1].far[0]: 'x', expected a list"),
    ],
)
def test_the_first_mismatch(value: Any, problem: str) -> None:
    assert mismatch(value, ROWS) == problem


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.just(1.0) | st.just("a"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "number", "replicas", "on", "x"]), inner)
    ),
    max_leaves=8,
)
LIKELY = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("a") | VALUES,
        "number": st.just(1) | VALUES,
        "replicas": st.just([3]) | VALUES,
        "on": VALUES,
        "far": st.just([["a"]]) | VALUES,
    },
)


@examples(200)
@given(st.fixed_dictionaries({"rows": st.lists(LIKELY | VALUES, max_size=3)}) | VALUES)
def test_many_at_a_time_match_as_one_by_one(value: Any) -> None:
    assert schema._all_match([value], ROWS) is (schema._mismatch(value, ROWS) is None)
