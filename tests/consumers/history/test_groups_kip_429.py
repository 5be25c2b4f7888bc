"""The log of KnowStreaming's page on KIP-415 and KIP-429: two clients that share a client id.

Its third "Updating assignment" of the first client has no line with a member id before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from partage.consumers.history import History
from tests.consumers.history.history_logs import KIP_429, name_of, one_group, text_of

ONE, TWO = text_of(KIP_429 / "client-one.log"), text_of(KIP_429 / "client-two.log")
FIRST = "consumer-cg_logi_kafka_test_1-1-56a695ad-68c2-4e09-88a2-759e3854e366"
SECOND = "consumer-cg_logi_kafka_test_1-1-6ea3c93c-d878-4451-81f7-fc6c41d12963"
TOPIC = "kmo_community"


def by_time() -> list[str]:
    """Both logs in one, as one process would have written them."""
    messages: list[list[str]] = []
    for line in [*ONE, *TWO]:
        if line.startswith("20"):
            messages.append([line])
        else:
            messages[-1].append(line)
    return [line for message in sorted(messages, key=lambda m: m[0][:23]) for line in message]


LAYOUTS: dict[str, dict[str, Sequence[str]]] = {
    "a file each": {"one.log": ONE, "two.log": TWO},
    "the files the other way round": {"b.log": ONE, "a.log": TWO},
    "one file, one after the other": {"all.log": [*ONE, *TWO]},
    "one file, the other first": {"all.log": [*TWO, *ONE]},
    "one file, by time": {"all.log": by_time()},
}


@pytest.fixture(params=LAYOUTS, name="history")
def _history(request: pytest.FixtureRequest) -> History:
    return one_group(LAYOUTS[request.param])


def places(*numbers: int) -> tuple[tuple[str, int], ...]:
    return tuple((TOPIC, number) for number in numbers)


def test_one_partition_had_no_owner_for_3_119_s(history: History) -> None:
    assert history.unowned == {(TOPIC, 0): 3_119_000}
    value = history.to_json()
    assert value["unowned"] == {"kmo_community-0": 3.119}
    assert value["unowned_partition_seconds"] == 3.119
    assert history.moved == 1


def test_its_rounds_are_generations_9_10_and_11(history: History) -> None:
    nine, ten, eleven = history.rounds
    assert [one.generation for one in history.rounds] == [9, 10, 11]
    assert {one.protocol for one in history.rounds} == {"cooperative"}
    assert [history.since_start(one.at) for one in history.rounds] == [0.0, 36.179, 39.296]

    assert nine.assignment == {FIRST: places(0, 1, 2)}
    assert (nine.added, nine.revoked) == ({FIRST: places(0, 1, 2)}, {})

    assert ten.assignment == {FIRST: places(1, 2), SECOND: ()}
    assert (ten.added, ten.revoked) == ({}, {FIRST: places(0)})

    assert eleven.assignment == {FIRST: places(1, 2), SECOND: places(0)}
    assert (eleven.added, eleven.revoked) == ({SECOND: places(0)}, {})
    assert [one.unowned for one in history.rounds] == [{}, {}, {(TOPIC, 0): 3_119_000}]
    assert not any(one.lost for one in history.rounds)


def test_owners(history: History) -> None:
    spans = [
        (one.partition[1], one.member, history.since_start(one.start), history.since_start(one.end))
        for one in history.owned
    ]
    assert spans == [
        (0, FIRST, 0.036, 36.213),
        (0, SECOND, 39.332, 39.332),
        (1, FIRST, 0.036, 39.332),
        (2, FIRST, 0.036, 39.332),
    ]
    assert {name_of(one.id) for one in history.members} == {"consumer-cg_logi_kafka_test_1-1"}


def test_missing_information(history: History) -> None:
    told = "\n".join(history.unknown)
    for words in ("subscriptions of", "partition counts", "session timeout", "time zone"):
        assert words in told
    assert "begin in generation 9" in told
    assert "assignor: not in the logs" in told


def test_without_debug_the_second_is_found_by_the_leaders_assignments() -> None:
    logs = {
        name: [line for line in lines if " DEBUG " not in line]
        for name, lines in {"one.log": ONE, "two.log": TWO}.items()
    }
    history = one_group(logs)
    assert {one.id for one in history.members} == {FIRST, SECOND}
    assert history.unowned == {(TOPIC, 0): 3_119_000}
    guessed = [text for text in history.unknown if "no line contains its member id" in text]
    assert len(guessed) == 2
    assert all("DEBUG" in text for text in guessed)


def test_without_debug_and_the_leader_it_stays_without_an_id() -> None:
    history = one_group({"two.log": [line for line in TWO if " DEBUG " not in line]})
    (member,) = history.members
    assert member.id == "consumer-cg_logi_kafka_test_1-1@two.log"
    told = "\n".join(history.unknown)
    assert (
        "no line contains its member id, and it cannot be derived from the leader's assignments"
        in told
    )
    assert "so there are no rounds" in told


def test_with_the_leaders_log_alone_the_other_is_known_by_its_assignments() -> None:
    history = one_group({"one.log": ONE})
    assert {one.id for one in history.members} == {FIRST, SECOND}
    assert [one.generation for one in history.rounds] == [9, 10, 11]
    # until the leader's decision, for what the other says is not there
    assert history.unowned == {(TOPIC, 0): 3_083_000}
    assert any(f"{SECOND}: its log is missing" in text for text in history.unknown)
