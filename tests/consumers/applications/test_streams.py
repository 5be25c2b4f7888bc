"""Streams over time: standbys, warm-ups and probing rebalances on the virtual clock."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import InputError
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from tests.profiles import seeds

Json = dict[str, Any]
RECORDS, RATE, INTERVAL = 600_000, 20_000, 60
TOPICS = {"n": 3, "s": 6}


def played(*members: Json, standbys: int = 1, until: float = 900, **more: Any) -> Simulation:
    value = {
        "topics": TOPICS,
        "streams": {
            "subtopologies": [{"topics": ["s"], "stateful": True}, {"topics": ["n"]}],
            "standbys": standbys,
            "probing_rebalance_interval_ms": 1000 * INTERVAL,
        },
        "restore": {"records": RECORDS, "rate": RATE},
        "members": [{"topics": ["s", "n"], **member} for member in members],
        "until": until,
        **more,
    }
    found = simulate(Scenario.from_json(value), "StreamsPartitionAssignor")
    assert (found.assignor, found.protocol, found.violations) == ("streams", "cooperative", ())
    return found


def test_a_standby_takes_over_without_restoring() -> None:
    found = played({"id": "A"}, {"id": "B"}, {"id": "C", "crashes_at": 60})
    before, after = found.rounds
    copies = {tuple(p) for m in "AB" for p in before.details["standbys"][m]}
    taken = {pair for m in "AB" for pair in after.added[m] if pair[0] == "s"}
    assert taken == {pair for pair in before.assignment["C"] if pair[0] == "s"}
    assert taken <= copies
    assert found.to_json()["restoring_task_seconds"] == 0


def test_without_standbys_tasks_restore_their_state() -> None:
    found = played({"id": "A"}, {"id": "B"}, {"id": "C", "crashes_at": 60}, standbys=0)
    assert found.restoring == 2 * RECORDS / RATE
    # where lags are unknown, nothing is said of it
    unknown = played({"id": "A"}, {"id": "B", "crashes_at": 60}, restore=None)
    assert unknown.restoring is None
    assert "restoring_task_seconds" not in unknown.to_json()
    assert "warmups" not in unknown.rounds[-1].details


def test_a_new_instance_warms_up_before_tasks_move() -> None:
    """B joins: three of six tasks warm up, two at a time, and move at probing rebalances."""
    found = played({"id": "A"}, {"id": "B", "joins_at": 100}, standbys=0)
    moved = [(one.at, n) for one in found.rounds for t, n in one.added.get("B", ()) if t == "s"]
    assert len(moved) == 3
    first = next(one for one in found.rounds if one.details["waiting"])
    assert len(first.details["warmups"]["B"]) == 2
    assert min(at for at, _ in moved) >= first.at + INTERVAL
    assert found.restoring == 0
    last = found.rounds[-1].details
    assert (last["waiting"], last["probing_rebalance_ms"]) == (0, None)
    # slower: the warm-ups are not ready after one interval, and the group asks again
    slow = played(
        {"id": "A"},
        {"id": "B", "joins_at": 100},
        standbys=0,
        restore={"records": RECORDS, "rate": RECORDS / (2.5 * INTERVAL)},
    )
    waits = [one.at for one in slow.rounds if one.details["waiting"]]
    assert len(waits) > 5
    assert slow.restoring == 0


def test_a_process_that_comes_back_has_most_of_its_state_on_its_disk() -> None:
    """C is away for a minute: its state is 60 times 100 records behind, which is acceptable."""
    members = [
        {"id": "A"},
        {"id": "B"},
        {"id": "C", "process": "C", "leaves_at": 60},
        {"id": "C-again", "process": "C", "joins_at": 120},
    ]
    found = played(*members, standbys=0, produce={"s": 100, "n": 1})
    back = next(one for one in found.rounds if "C-again" in one.assignment)
    assert back.details["waiting"] == 0
    busy = played(*members, standbys=0, produce={"s": 5_000, "n": 1})
    back = next(one for one in busy.rounds if "C-again" in one.assignment)
    assert back.details["waiting"] > 0


def restored(found: Simulation) -> float:
    """Task-seconds of active tasks without their state, from the rounds alone."""
    behind: dict[tuple[str, Any], float] = {}
    total = 0.0
    ends = [one.at for one in found.rounds[1:]] + [found.scenario.until]
    for number, (one, end) in enumerate(zip(found.rounds, ends, strict=True)):
        active = {(m, p) for m, pairs in one.assignment.items() for p in pairs if p[0] == "s"}
        copies = set(active)
        for name in ("standbys", "warmups"):
            for member, pairs in one.details[name].items():
                copies |= {(member, tuple(pair)) for pair in pairs if pair[0] == "s"}
        for copy in copies:
            behind.setdefault(copy, RECORDS if number else 0)
        for copy in copies:
            needs = behind[copy] / RATE
            if copy in active:
                total += min(needs, end - one.at)
            behind[copy] = max(0.0, behind[copy] - RATE * (end - one.at))
    return total


@pytest.mark.random
def test_histories_end_even_with_all_copies() -> None:
    """Instances come and go; in the end nothing waits, and loads, state and standbys are even."""
    waited = 0
    for seed in seeds(40):
        draw = random.Random(seed)
        members: list[Json] = [{"id": "a0"}]
        for number in range(1, draw.randint(2, 5)):
            member: Json = {"id": f"a{number}"}
            if draw.random() < 0.5:
                member["joins_at"] = round(draw.uniform(0, 600), 1)
            if draw.random() < 0.5:
                end = draw.choice(("leaves_at", "crashes_at"))
                member[end] = round(member.get("joins_at", 0) + draw.uniform(1, 600), 1)
            members.append(member)
        standbys = draw.randint(0, 2)
        found = played(*members, standbys=standbys, until=2_500)
        assert found.restoring == pytest.approx(restored(found), abs=0.01), f"seed {seed}"
        last = found.rounds[-1]
        assert last.details["waiting"] == 0
        loads = [len(pairs) for pairs in last.assignment.values()]
        assert sum(loads) == 9
        assert max(loads) - min(loads) <= 1
        copies = sum(len(pairs) for pairs in last.details["standbys"].values())
        assert copies == 6 * min(standbys, len(loads) - 1)
        waited += sum(one.details["waiting"] > 0 for one in found.rounds)
    assert waited > 5


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"streams": None}, "assignor streams: the scenario has no streams object"),
        ({"streams": {"subtopologies": [], "lags": {}}}, "streams.lags: leave it out"),
        ({"streams": {"subtopologies": [{"topics": ["x"]}]}}, "'x' is not listed under topics"),
        ({"restore": {"records": 5, "rate": 0}}, "restore.rate: expected more than 0 records"),
        ({"restore": {"records": 5}}, "restore.rate: missing"),
    ],
)
def test_bad_scenarios(changed: Json, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        played({"id": "A"}, **changed)
