"""Connect (KIP-415): running tasks stay, lost tasks wait, then go to workers without tasks."""

from __future__ import annotations

from typing import Any

import pytest

from partage import Assignment, Group, InputError, Member, assign


def worker(name: str, *tasks: int, **more: Any) -> Member:
    return Member(name, [], owned=[("sink", number) for number in tasks], **more)


def connected(*workers: Member, tasks: int = 6, **settings: Any) -> Assignment:
    listed = [["sink", number] for number in range(tasks)]
    return assign(Group({}, workers, connect={"tasks": listed, **settings}), "connect")


def numbers(found: Assignment) -> dict[str, list[int]]:
    return {member: [number for _, number in held] for member, held in found.as_dict().items()}


def test_the_first_round_assigns_all_tasks() -> None:
    found = connected(worker("W1"), worker("W2"))
    assert numbers(found) == {"W1": [0, 2, 4], "W2": [1, 3, 5]}
    assert found.delay_ms == 0


def test_connectors_have_any_name() -> None:
    group = Group({}, [Member("w", [])], connect={"tasks": [["my sink (s3)", 0]]})
    assert assign(group, "connect").of("w") == [("my sink (s3)", 0)]


def test_lost_tasks_wait_for_their_worker() -> None:
    left = worker("W3", 4, 5, left_at_ms=1_000)
    found = connected(worker("W1", 0, 1), worker("W2", 2, 3), left, now_ms=61_000)
    assert numbers(found) == {"W1": [0, 1], "W2": [2, 3]}
    assert found.delay_ms == 240_000
    assert found.moves == 0
    assert "2 tasks of departed workers wait 240000 ms" in found.to_json()["warnings"][0]


def test_now_is_when_the_last_worker_left() -> None:
    gone = [worker("W2", 1, left_at_ms=5_000), worker("W3", 2, left_at_ms=9_000)]
    found = connected(worker("W1", 0), *gone, tasks=3, delay_ms=10_000)
    assert found.delay_ms == 6_000  # since the first of them
    assert numbers(found) == {"W1": [0]}


def test_workers_without_tasks_get_them_after_the_delay() -> None:
    left = worker("W3", 4, 5, left_at_ms=0)
    there = [worker("W1", 0, 1), worker("W2", 2, 3), worker("W4")]
    assert numbers(connected(*there, left, now_ms=299_999))["W4"] == []
    found = connected(*there, left, now_ms=300_000)
    assert numbers(found) == {"W1": [0, 1], "W2": [2, 3], "W4": [4, 5]}


def test_otherwise_the_least_loaded_get_them() -> None:
    left = worker("W3", 3, 4, 5, left_at_ms=0)
    found = connected(worker("W1", 0, 1), worker("W2", 2), left, now_ms=300_000)
    assert numbers(found) == {"W1": [0, 1, 4], "W2": [2, 3, 5]}


def test_without_a_delay_they_count_as_new_at_once() -> None:
    left = worker("W3", 4, 5, left_at_ms=0)
    found = connected(worker("W1", 0, 1), worker("W2", 2, 3), worker("W4"), left, delay_ms=0)
    assert numbers(found) == {"W1": [0, 1], "W2": [2, 3], "W4": [4, 5]}


def test_new_tasks_do_not_wait() -> None:
    left = worker("W3", 3, left_at_ms=0)
    found = connected(worker("W1", 0), worker("W2", 1, 2), left, tasks=5)
    assert numbers(found) == {"W1": [0, 4], "W2": [1, 2]}


def test_no_task_is_stopped_while_another_waits() -> None:
    left = worker("W3", 5, left_at_ms=0)
    found = connected(worker("W1", 0, 1, 2, 3, 4), worker("W2"), left)
    assert numbers(found) == {"W1": [0, 1, 2, 3, 4], "W2": []}


def test_excess_tasks_stop_first_and_start_elsewhere_next() -> None:
    found = connected(worker("W1", 0, 1, 2), worker("W2", 3, 4, 5), worker("W3"))
    assert numbers(found) == {"W1": [1, 2], "W2": [4, 5], "W3": []}
    assert found.revoke_first == [("sink", 0, "W1"), ("sink", 3, "W2")]
    after = connected(worker("W1", 1, 2), worker("W2", 4, 5), worker("W3"))
    assert numbers(after) == {"W1": [1, 2], "W2": [4, 5], "W3": [0, 3]}
    assert (after.owner == found.target).all()


@pytest.mark.parametrize(
    ("rounds", "wait"), [(0, 0), (1, 40), (2, 1_600), (3, 64_000), (9, 300_000)]
)
def test_repeated_revoking_is_put_off(rounds: int, wait: int) -> None:
    there = [worker("W1", 0, 1, 2), worker("W2", 3, 4, 5), worker("W3")]
    found = connected(*there, revoked_rounds=rounds)
    assert found.delay_ms == wait
    assert (numbers(found)["W1"] == [0, 1, 2]) == (wait > 0)


def test_a_task_on_two_workers_is_stopped_on_both() -> None:
    found = connected(worker("W1", 0, 1), worker("W2", 1), tasks=2)
    assert numbers(found) == {"W1": [0], "W2": []}
    assert found.revoke_first == [("sink", 1, "W1")]  # W2 gets it next


def test_deleted_tasks_are_stopped() -> None:
    found = connected(worker("W1", 0, 1, 7), worker("W2", 2), tasks=3)
    assert numbers(found) == {"W1": [0, 1], "W2": [2]}
    assert "1 claim to a partition outside of the topics" in found.to_json()["warnings"][0]


def test_tasks_by_name() -> None:
    group = Group({}, [worker("W1")], connect={"tasks": ["my-sink-3", "solo", ["my-sink", 0]]})
    found = assign(group, "connect")
    assert found.of("W1") == [("my-sink", 0), ("my-sink", 3), ("solo", 0)]


@pytest.mark.parametrize(
    ("connect", "problem"),
    [
        (None, "connect: expected"),
        (
            {"tasks": [], "delay": 1},
            "connect.delay: unknown key: did you mean delay_ms. expected one of tasks, delay_ms",
        ),
        ({}, "connect.tasks: missing, expected a list"),
        ({"tasks": [["a", -1]]}, r"connect.tasks\[0\]: expected .*\[connector, number\]"),
        ({"tasks": ["a-1", ["a", 1]]}, "a-1 is listed twice"),
        ({"tasks": [], "delay_ms": -1}, "connect.delay_ms: expected a whole number from 0"),
        ({"tasks": [], "now_ms": "x"}, "connect.now_ms: expected a whole number"),
        ({"tasks": ["a-999999999"]}, "numbers beyond"),
    ],
)
def test_bad_settings(connect: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        assign(Group({}, [worker("W1")], connect=connect), "connect")


def test_all_workers_have_left() -> None:
    with pytest.raises(InputError, match="members: all workers have left by 7 ms"):
        connected(worker("W1", 0, left_at_ms=7))
