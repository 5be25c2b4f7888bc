"""Records read again after a crash: by hand, and against a count of small steps."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from tests.profiles import seeds


def crash(at: float, **member: Any) -> Simulation:
    """Two members share four partitions with 50 records per second each; C1 crashes."""
    value = {
        "topics": {"t": 4},
        "produce": {"t": 50},
        "members": [
            {"id": "C0", "topics": ["t"]},
            {"id": "C1", "topics": ["t"], "crashes_at": at, **member},
        ],
        "until": 200,
    }
    return simulate(Scenario.from_json(value), "range")


@pytest.mark.parametrize(
    ("at", "interval", "seconds"),
    [(57, 1, 1), (57, 5, 2), (60, 5, 5), (57.5, 5, 2.5), (57, 30, 27), (57, 100, 57)],
)
def test_what_was_read_since_the_last_commit(at: float, interval: float, seconds: float) -> None:
    expected = pytest.approx(50 * seconds)
    assert crash(at).read_again(interval) == {("t", 2): expected, ("t", 3): expected}


def test_a_member_that_is_slow_has_read_less() -> None:
    """10 records per second, although 100 are produced."""
    found = crash(57, rate=10).read_again(30)
    assert found == {("t", 2): pytest.approx(27 * 5), ("t", 3): pytest.approx(27 * 5)}


def test_nothing_where_no_member_crashes_or_takes_over() -> None:
    assert crash(250).read_again(5) == {}
    assert crash(199).read_again(5) == {}  # nobody reads the partitions before the end
    value = {
        "topics": {"t": 2},
        "produce": {"t": 50},
        "members": [
            {"id": "C0", "topics": ["t"]},
            {"id": "C1", "topics": ["t"], "leaves_at": 57},
        ],
        "until": 100,
    }
    assert simulate(Scenario.from_json(value), "range").read_again(30) == {}


def test_the_json(tmp_path: Any) -> None:
    found = crash(57).to_json((5.0, 30.0))["read_again"]
    assert found == [
        {"commit_interval": 5.0, "records": 200.0, "partitions": {"t-2": 100.0, "t-3": 100.0}},
        {"commit_interval": 30.0, "records": 2700.0, "partitions": {"t-2": 1350.0, "t-3": 1350.0}},
    ]


STEP = 0.01


def counted(found: Simulation, interval: float) -> dict[Any, float]:
    """Plays the owners in small steps: records come in, members read, commit, and crash."""
    scenario = found.scenario
    members = {one.id: one for one in scenario.members}
    waiting = dict.fromkeys(found.produce, 0.0)
    read, committed = dict(waiting), dict(waiting)
    again = dict(waiting)
    timer = dict.fromkeys(members, 0.0)
    owners: dict[Any, str] = {}
    left_behind: dict[Any, float] = {}
    for step in range(round(scenario.until / STEP)):
        now = step * STEP
        for partition, owner in list(owners.items()):
            if members[owner].crashes_at is not None and now >= members[owner].crashes_at - 1e-6:
                left_behind[partition] = read[partition] - committed[partition]
                del owners[partition]
        for one in found.rounds:
            if abs(one.at - now) < STEP / 2:
                for member in one.assignment:
                    timer[member] = now
        here = {
            span.partition: span.member
            for span in found.spans
            if span.start <= now + 1e-6 and now + 1e-6 < span.end
        }
        for partition, owner in here.items():
            if owners.get(partition) != owner:
                again[partition] += left_behind.pop(partition, 0.0)
                committed[partition] = read[partition]
        owners = here
        for partition, owner in owners.items():
            if abs((now - timer[owner]) / interval - round((now - timer[owner]) / interval)) < (
                STEP / interval / 2
            ):
                committed[partition] = read[partition]
        for partition, rate in found.produce.items():
            waiting[partition] += rate * STEP
        for name, member in members.items():
            own = [p for p in owners if owners[p] == name]
            budget = float("inf") if member.rate is None else member.rate * STEP
            for left, partition in zip(
                range(len(own), 0, -1), sorted(own, key=waiting.__getitem__), strict=True
            ):
                taken = min(waiting[partition], budget / left)
                budget -= taken
                waiting[partition] -= taken
                read[partition] += taken
    return {partition: records for partition, records in again.items() if records > 0}


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(12))
def test_against_small_steps(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(2, 4)
    value = {
        "topics": {"t": draw.randint(2, 6)},
        "produce": {"t": draw.randint(1, 40)},
        "members": [
            {
                "id": f"C{number}",
                "topics": ["t"],
                "joins_at": draw.choice([0, draw.randint(0, 20)]),
                "rate": draw.choice([None, draw.randint(5, 100)]),
                **({"crashes_at": draw.randint(30, 90)} if number and draw.random() < 0.7 else {}),
            }
            for number in range(count)
        ],
        "session_timeout": 10,
        "until": 150,
    }
    found = simulate(
        Scenario.from_json(value),
        draw.choice(["range", "sticky", "cooperative-sticky"]),
        draw.choice(["eager", "cooperative"]),
    )
    interval = draw.choice([2, 5, 7, 40])
    ours, theirs = found.read_again(interval), counted(found, interval)
    slack = 3 * max(100.0, value["produce"]["t"]) * STEP  # type: ignore[index]
    for partition in ours.keys() | theirs.keys():
        assert ours.get(partition, 0) == pytest.approx(theirs.get(partition, 0), abs=slack)
