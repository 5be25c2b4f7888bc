"""Values of plan.json that are missing or of another type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    at,
    judged,
)

MALFORMED = Tamperings()


@MALFORMED.add
def another_format_version(f: Files) -> None:
    f.plan["format_version"] = 2


@MALFORMED.add
def more_brokers_than_pairs_of_them_can_be_counted(f: Files) -> None:
    brokers = f.plan["brokers"]
    brokers += [brokers[-1] | {"id": 10**6 + number} for number in range(200_000)]
    f.seal()


for _text in (
    "",
    "x",
    "{",
    "[]",
    "7",
    "null",
    "NaN",
    '"plan"',
    "[" * 100_000,
    "\ufeff",
    "1" * 9999,
):
    MALFORMED[f"plan.json is {_text[:9]!r}"] = lambda f, text=_text: f.values.update(
        {"plan.json": text}
    )

for _key in (
    *("format_version", "strategy", "changes", "options", "brokers", "topics", "partitions"),
    *("figures", "certificate", "waves", "fingerprint", "binding", "gaps"),
):
    MALFORMED[f"without {_key}"] = lambda f, key=_key: f.plan.pop(key)
    for _value in (None, 7, "x", [], {}, [None], [[]], {"x": 1}, [7], [{}]):
        if (_key, _value) != ("gaps", {}):  # as it is
            MALFORMED[f"{_key} = {_value!r}"] = lambda f, key=_key, value=_value: f.plan.update(
                {key: value}
            )
for _key in ("topic", "partition", "size_bytes", "chosen", "replication_factor", "before", "after"):
    for _value in (None, 7, "x", [], {}, [[]], [None]):
        MALFORMED[f"partitions.{_key} = {_value!r}"] = lambda f, key=_key, value=_value: (
            f.part.update({key: value})
        )

_RETYPED: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (
    (("partitions", "size_bytes", 0), ("7", -1, 1.0, True)),
    (("partitions", "bytes_per_second"), ("x", 7, [], ["x"] * 40, [-1.0] * 40, [True] * 40, [0.5])),
    (("partitions", "chosen", 0), (1, "true", None)),
    (("partitions", "partition", 0), (-1, True, 0.0, "0")),
    (("partitions", "topic", 0), (False, 0.0, -1)),
    (("partitions", "replication_factor", 0), (3.0, True)),
    (("partitions", "before", 0), ([], [1, 1], [1.0, 2], "12")),
    (("partitions", "x"), (1,)),
    (("cluster_id",), (False, 7)),
    (("topic_ids",), (False, "x", [], {}, ["x"], [7] * 40, [None] * 99)),
    (("format_version",), (True, 1.0, "1")),
    (("brokers", 0, "id"), (False, 0.0, -1)),
    (("brokers", 0, "alive"), ("no", 1, None)),
    (("brokers", 0, "excluded"), (0, "no")),
    (("brokers", 0, "added"), (0, None)),
    (("brokers", 0, "rack"), (7, False)),
    (("brokers", 0, "disk_bytes"), ("1", -1, 1e99, True)),
    (("brokers", 0, "capacity"), (0, -1, True, "1", None)),
    (("brokers", 0, "x"), (1,)),
    (("options", "no_moves"), (1, "true")),
    (("options", "concurrency"), (True, 0, 2.0, "2")),
    (("options", "batch"), (True, 0, 9999.0)),
    (("options", "max_moves"), (True, -1, "9999")),
    (("options", "topics"), (7, ["t"])),
    (("options", "remove_broker"), ("3", [3])),
    (("options", "x"), (1,)),
    (("certificate", "stages", 0, "exact"), ("True", 1)),
    (("certificate", "stages", 0, "x"), (1,)),
    (("certificate", "x"), (1,)),
    (("figures", "before", "rack_violations"), (False, 0.0)),
    (("figures", "after", "settled"), (1, None)),
    (("figures", "after", "x"), (1,)),
    (("waves",), ([{}], [{"file": "waves/001.json"}])),
    (("binding",), ("x", [7], None)),
    (("loads",), ("x", [7], None)),
    (("warnings",), ("x", [7], [None])),
    (("partage",), (1,)),
    (("x",), (1,)),
)
for _path, _values in _RETYPED:
    for _value in _values:
        MALFORMED[f"{_path} is {str(_value)[:20]!r}"] = at(*_path, value=_value)
MALFORMED["a pattern too deep"] = at("options", "topics", value="(" * 9999)
MALFORMED["a pattern that is none"] = at("options", "topics", value="(")
for _key in ("loads", "warnings", "partage"):
    MALFORMED[f"without {_key}"] = lambda f, key=_key: f.plan.pop(key)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_values_are_found(sound_plans: LazyPlans, name: str) -> None:
    MALFORMED.assert_found(name, {"mixed": sound_plans["mixed"]})


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("brokers", 2, "alive"), "no", "brokers[2].alive: 'no', expected true or false"),
        (
            ("brokers", 0, "capacity"),
            0,
            "brokers[0].capacity: 0, expected a number above 0, at most 1e9",
        ),
        (("cluster_id",), False, "cluster_id: False, expected text"),
        (("options", "hidden"), 1, "options.hidden: unknown key"),
        (("partitions", "chosen", 1), 1, "partitions.chosen[1]: 1, expected true or false"),
        (("binding",), "none", "binding: 'none', expected a list"),
        (("figures",), [], "figures: [], expected an object"),
        (("format_version",), True, "format_version is True, expected 1"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_named(
    sound_plans: LazyPlans, path: tuple[Any, ...], value: Any, said: str
) -> None:
    found = sound_plans["no-moves"]
    try:
        at(*path, value=value)(found)
        assert judged(found.write()).defects == [f"plan.json: {said}"]
    finally:
        found.restore()
