"""The ``streams`` object of a group: what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from partage import Group, InputError, assign
from tests.consumers.streams_groups import STREAMS, THREADS, TOPICS


@pytest.mark.parametrize(
    ("streams", "problem"),
    [
        (None, "streams: expected"),
        ({"subtopologies": [], "tasks": []}, "streams.tasks: unknown key, expected one of sub"),
        ({"subtopologies": {}}, "streams.subtopologies: expected a list"),
        ({"subtopologies": [{"topics": []}]}, r"streams.subtopologies\[0\].topics: expected"),
        ({"subtopologies": [{"topics": ["q"]}]}, "'q' is not listed under topics"),
        ({"subtopologies": [{"topics": ["a", "a"]}]}, "'a' is listed twice"),
        ({"subtopologies": [{"topics": ["a"], "stateful": 1}]}, "stateful: expected true or false"),
        ({"subtopologies": [{"name": 1}]}, r"streams.subtopologies\[0\].topics: missing"),
        ({"subtopologies": [], "standbys": -1}, "streams.standbys: expected a whole number from 0"),
        ([], "streams: expected an object"),
        ({**STREAMS, "lags": []}, "streams.lags: expected an object"),
        ({**STREAMS, "lags": {"w": {}}}, "streams.lags.w: no member is a thread of process 'w'"),
        ({**STREAMS, "lags": {"x": 3}}, "streams.lags.x: expected an object, got 3"),
        ({**STREAMS, "lags": {"x": {"0_6": 1}}}, "'0_6': expected a stateful task, such as 0_3"),
        ({**STREAMS, "lags": {"x": {"1_0": 1}}}, "'1_0': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"2_0": 1}}}, "'2_0': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"0_01": 1}}}, "'0_01': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"a": 1}}}, "streams.lags.x: 'a': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"0_1": -1}}}, "streams.lags.x.0_1: expected a number"),
        ({**STREAMS, "lags": {"x": {"0_1": True}}}, "streams.lags.x.0_1: expected a number"),
        ({**STREAMS, "acceptable_recovery_lag": -1}, "acceptable_recovery_lag: expected"),
        (
            {**STREAMS, "max_warmup_replicas": 0},
            "streams.max_warmup_replicas: expected a whole number from 1",
        ),
        (
            {**STREAMS, "probing_rebalance_interval_ms": 5},
            "interval_ms: expected a whole number from 6",
        ),
        ({**STREAMS, "rack_aware": "none"}, "streams.rack_aware: expected an object"),
        ({**STREAMS, "rack_aware": {"cost": 1}}, "streams.rack_aware.cost: unknown key"),
        (
            {**STREAMS, "rack_aware": {"strategy": "near"}},
            'strategy: expected "none" or "min_traffic" or .*, got "near"',
        ),
        (
            {**STREAMS, "rack_aware": {"traffic_cost": 1.5}},
            "rack_aware.traffic_cost: expected a whole number.*, got 1.5",
        ),
        (
            {**STREAMS, "rack_aware": {"non_overlap_cost": 2**31}},
            "non_overlap_cost: .*, got 2147483648",
        ),
    ],
)
def test_bad_settings(streams: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        assign(Group(TOPICS, THREADS, streams=streams), "streams")
