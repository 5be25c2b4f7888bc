"""Connect over time: the delay of KIP-415 for workers that left, and the back-off of balancing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import InputError
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from tests.profiles import seeds

Json = dict[str, Any]


def played(*members: Json, tasks: int = 6, delay: float = 300, until: float = 2_000) -> Simulation:
    value = {
        "topics": {},
        "connect": {"tasks": [["s", n] for n in range(tasks)], "delay_ms": round(1000 * delay)},
        "members": [{"topics": [], **member} for member in members],
        "session_timeout": 10,
        "until": until,
    }
    found = simulate(Scenario.from_json(value), "connect")
    assert found.protocol == "cooperative"
    assert found.violations == ()
    return found


def events(found: Simulation, what: str) -> list[tuple[float, str, list[int]]]:
    """(time, worker, tasks) of what was added, revoked or lost."""
    return [
        (one.at, worker, [n for _, n in tasks])
        for one in found.rounds
        for worker, tasks in sorted(getattr(one, what).items())
    ]


def test_a_worker_that_bounces_within_the_delay_gets_its_tasks_when_it_is_over() -> None:
    found = played(
        {"id": "w1"},
        {"id": "w2"},
        {"id": "w3", "leaves_at": 60},
        {"id": "w3-again", "joins_at": 120},
    )
    (_, _, gone), *more = events(found, "revoked")
    assert not more
    (at, worker, tasks) = events(found, "added")[-1]
    assert (worker, tasks) == ("w3-again", gone)
    assert 360 <= at <= 360 + 2 * 3  # noticed within a heartbeat, scheduled, again a heartbeat
    waiting = [one.details["delay_ms"] for one in found.rounds if one.details["lost_tasks_wait"]]
    assert waiting[0] == 300_000
    assert 230_000 < waiting[1] < 245_000  # what is left when it joins
    assert found.rounds[-1].details == {"delay_ms": 0, "lost_tasks_wait": False}


def test_otherwise_the_other_workers_get_them_after_the_delay() -> None:
    found = played({"id": "w1"}, {"id": "w2"}, {"id": "w3", "crashes_at": 60})
    ((noticed, _, lost),) = events(found, "lost")
    assert 67 <= noticed <= 73  # the session timeout after the last heartbeat
    later = [event for event in events(found, "added") if event[0] > 0]
    assert [worker for _, worker, _ in later] == ["w1", "w2"]
    assert sorted(later[0][2] + later[1][2]) == lost
    assert all(noticed + 300 <= at <= noticed + 306 for at, _, _ in later)
    assert events(found, "revoked") == []


def test_without_a_delay_nothing_waits() -> None:
    found = played({"id": "w1"}, {"id": "w2"}, {"id": "w3", "leaves_at": 60}, delay=0)
    later = [event for event in events(found, "added") if event[0] > 0]
    assert len(later) == 2
    assert all(at <= 66 for at, _, _ in later)


def test_the_next_leader_does_not_wait() -> None:
    """The memory of the departed is the leader's."""
    found = played({"id": "w1", "leaves_at": 60}, {"id": "w2"}, {"id": "w3"})
    later = [event for event in events(found, "added") if event[0] > 0]
    assert [worker for _, worker, _ in later] == ["w2", "w3"]
    assert all(at <= 66 for at, _, _ in later)


def test_balancing_twice_in_a_row_is_put_off() -> None:
    """w2 joins, and w3 right after w1 has stopped half of its tasks: the next one stops later."""
    found = played({"id": "w1"}, {"id": "w2", "joins_at": 60}, {"id": "w3", "joins_at": 63})
    put_off = [one for one in found.rounds if one.details["delay_ms"]]
    assert [one.details for one in put_off] == [{"delay_ms": 40, "lost_tasks_wait": False}]
    stops = events(found, "revoked")
    assert [len(tasks) for _, _, tasks in stops] == [3, 1]
    assert stops[0][0] < put_off[0].at < put_off[0].at + 0.04 <= stops[1][0]
    assert {len(held) for held in found.rounds[-1].assignment.values()} == {2}


def random_members(draw: random.Random) -> list[Json]:
    """w0 leads to the end; others come and go."""
    members: list[Json] = [{"id": "w0"}]
    for number in range(1, draw.randint(2, 6)):
        member: Json = {"id": f"w{number}"}
        if draw.random() < 0.6:
            member["joins_at"] = round(draw.uniform(0, 900), 1)
        if draw.random() < 0.6:
            end = draw.choice(("leaves_at", "crashes_at"))
            member[end] = round(member.get("joins_at", 0) + draw.uniform(1, 900), 1)
        members.append(member)
    return members


@pytest.mark.random
def test_lost_tasks_wait_for_the_delay_and_no_longer() -> None:
    """From the rounds alone: a lost task starts again in the first round after the delay since the
    first loss was noticed, nothing stops meanwhile, and in the end everything is even."""
    waited = 0
    for seed in seeds(60, fewest=6):
        draw = random.Random(seed)
        tasks, delay = draw.randint(1, 12), draw.choice((20, 120, 300))
        found = played(*random_members(draw), tasks=tasks, delay=delay, until=2_500)
        due, pending = None, set[tuple[str, int]]()
        for one in found.rounds:
            departed = {
                pair
                for held in (one.revoked, one.lost)
                for worker, pairs in held.items()
                if worker not in one.assignment
                for pair in pairs
            }
            started = {pair for pairs in one.added.values() for pair in pairs}
            if due is not None and one.at >= due:
                assert pending <= started
                pending, due = set(), None
            assert not started & pending
            if departed - started:
                pending |= departed - started
                due = due or one.at + delay
                waited += 1
            if due is not None:
                assert not any(worker in one.assignment for worker in one.revoked)
        loads = [len(pairs) for pairs in found.rounds[-1].assignment.values()]
        assert sum(loads) == tasks
        assert max(loads) - min(loads) <= 1
    assert waited > 5


@pytest.mark.parametrize(
    ("connect", "problem"),
    [
        (None, "assignor connect: the scenario has no connect object"),
        ({"tasks": ["a-1"]}, "connect.tasks: a: expected tasks 0, 1, 2 and so on"),
        ({"tasks": 3}, "connect.tasks: expected a list of tasks, got 3"),
    ],
)
def test_bad_scenarios(connect: Any, problem: str) -> None:
    value = {"topics": {}, "connect": connect, "members": [{"id": "w", "topics": []}], "until": 9}
    with pytest.raises(InputError, match=problem):
        simulate(Scenario.from_json(value), "connect")


def test_members_cannot_list_other_assignors() -> None:
    member = {"id": "w", "topics": [], "assignors": ["range"]}
    value = {"topics": {}, "connect": {"tasks": ["a"]}, "members": [member], "until": 9}
    with pytest.raises(InputError, match="members list other assignors, too: range"):
        simulate(Scenario.from_json(value), "IncrementalCooperativeAssignor")
