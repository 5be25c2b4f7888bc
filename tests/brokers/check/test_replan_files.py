"""Files that a run writes when it replans."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Value,
    judged,
)


def replanned(f: Files, change: Callable[[Value], None] = lambda value: None) -> list[str]:
    """The defects beside a file as a run writes it, but for one change."""
    row = next(row for row in f.changed() if 4 not in f.part["before"][row])
    entry = {
        "topic": f.plan["topics"][f.part["topic"][row]],
        "partition": f.part["partition"][row],
        "replicas": f.part["before"][row],
        "wave": 0,
    }
    value = {"version": 1, "without": [4], "partitions": [entry]}
    change(value)
    f.values["replan-1.json"] = value
    try:
        return judged(f.write()).defects
    finally:
        f.restore()


def test_a_replan_is_sound(sound_plans: LazyPlans) -> None:
    assert replanned(sound_plans["count"]) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"replicas": [4, 4, 4]},
            "partitions[0].replicas: [4, 4, 4], expected a list of different",
        ),
        ({"replicas": []}, "partitions[0].replicas: [], expected a list of different"),
        (
            {"replicas": [True, 2]},
            "partitions[0].replicas: [True, 2], expected a list of different",
        ),
        ({"partition": "0"}, "partitions[0].partition: '0', expected a whole number"),
        ({"wave": 1.0}, "partitions[0].wave: 1.0, expected a whole number"),
        ({"log_dirs": []}, "partitions[0].log_dirs: unknown key"),
        ({"topic": "another"}, "the plan does not change another-"),
    ],
    ids=str,
)
def test_a_replan_that_no_run_can_have_written(
    sound_plans: LazyPlans, change: Value, said: str
) -> None:
    (defect,) = replanned(sound_plans["count"], lambda value: value["partitions"][0].update(change))
    assert defect.startswith(f"replan-1.json: cannot have been written by a run ({said}")


def test_a_partition_is_replanned_once(sound_plans: LazyPlans) -> None:
    def twice(value: Value) -> None:
        value["partitions"] *= 2

    (defect,) = replanned(sound_plans["count"], twice)
    assert defect.endswith("is listed twice)")


def test_a_partition_that_stays_is_not_replanned_again(sound_plans: LazyPlans) -> None:
    f = sound_plans["count"]

    def and_again(value: Value) -> None:
        f.values["replan-2.json"] = value

    (defect,) = replanned(f, and_again)
    assert defect.startswith(
        "replan-2.json: cannot have been written by a run (the plan does not change "
    )
