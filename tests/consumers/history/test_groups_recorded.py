"""Logs of real groups beside what the members' own callbacks told: every client, both protocols.

In ``whole`` a, b and c join, b leaves, c crashes, a leaves; in ``put-out`` a and b join, a stands
still until it is put out, comes back, and both leave.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from partage.consumers.history import History
from partage.consumers.history.replay import scenario_of
from partage.consumers.history.timestamps import MICROSECONDS, format_timestamp, parse_timestamp
from tests.consumers.history.history_logs import (
    CASES,
    Partition,
    Stay,
    happened,
    name_of,
    one_group,
    read,
    recorded,
    rotated,
)

NEAR = 0.2
"""Seconds between a line and the callback beside it: Java's goes to another process."""
SILENT = 0.8
"""Between the real end of a member that fell silent and the guess: two heartbeats of librdkafka."""

INFO = [case for case in CASES if not case.startswith("librdkafka")]
"""librdkafka logs nothing without debug=cgrp."""


def not_debug(line: str) -> bool:
    return " DEBUG " not in line[:60]


@pytest.fixture(params=CASES, scope="module", name="case")
def _case(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module", name="history")
def _history(case: str) -> History:
    return one_group(recorded(case))


def test_every_client_is_recorded_with_both_protocols() -> None:
    assert len(CASES) == 3 * 2 * 2


def test_owners(history: History, case: str) -> None:
    same(history, happened(case).stays)


def same(history: History, stays: list[Stay]) -> None:
    found = sorted(history.owned, key=lambda one: (one.partition, one.start))
    told = [(one.partition, name_of(one.member)) for one in found]
    assert told == [(stay.partition, stay.name) for stay in stays]
    for one, stay in zip(found, stays, strict=True):
        assert one.start / MICROSECONDS == pytest.approx(stay.start, abs=NEAR), stay
        if stay.how == "revoked":
            assert one.end / MICROSECONDS == pytest.approx(stay.end, abs=NEAR), stay


def test_when_silent_members_ended(history: History, case: str) -> None:
    """When it was killed, or stopped, is in no log: the others' lines and the session timeout tell
    of it."""
    stays = happened(case).stays
    silent = [stay for stay in stays if stay.how in ("ended", "lost")]
    assert silent
    for stay in silent:
        (one,) = (
            one
            for one in history.owned
            if one.partition == stay.partition and abs(one.start / MICROSECONDS - stay.start) < NEAR
        )
        assert one.end / MICROSECONDS == pytest.approx(stay.end, abs=SILENT)


def test_how_members_ended(history: History, case: str) -> None:
    ended = [(name_of(one.id), one.ended) for one in history.members]
    if case.endswith("whole"):
        assert ended == [("a", "left"), ("b", "left"), ("c", "gone")]
    else:
        assert ended == [("a", "gone"), ("b", "left"), ("a", "left")]
    assert all(case.startswith(str(one.client)) for one in history.members)


def test_the_stable_assignments(history: History, case: str) -> None:
    """Each stable assignment is that of a round, in the same order."""
    rounds = iter(history.rounds)
    for shares in happened(case).settled:
        assert any(
            {name_of(m): [n for _, n in held] for m, held in one.assignment.items()} == shares
            for one in rounds
        ), shares


def test_generations_rise_by_one(history: History, case: str) -> None:
    numbers = [one.generation for one in history.rounds if one.generation is not None]
    assert numbers == list(range(1, len(numbers) + 1))


def test_protocol_and_assignor(history: History, case: str) -> None:
    cooperative = "cooperative" in case
    rounds = [one for one in history.rounds if one.generation is not None]
    assert {one.protocol for one in rounds} == {"cooperative" if cooperative else "eager"}
    assert {one.assignor for one in rounds} == {"cooperative-sticky" if cooperative else "range"}


def test_unowned_times(history: History, case: str) -> None:
    """From the callbacks: the time between one stay and the next."""
    by_partition: dict[Partition, list[Stay]] = {}
    for stay in happened(case).stays:
        by_partition.setdefault(stay.partition, []).append(stay)
    for partition, stays in by_partition.items():
        pairs = [(one, other) for one, other in pairwise(stays) if other.start > one.end]
        length = sum(other.start - one.end for one, other in pairs)
        slack = sum(2 * NEAR if one.how == "revoked" else SILENT for one, _ in pairs)
        found = history.unowned.get(partition, 0) / MICROSECONDS
        assert found == pytest.approx(length, abs=slack + 0.001), partition


@pytest.mark.parametrize("case", INFO)
def test_the_same_without_debug(case: str) -> None:
    history = one_group(recorded(case, not_debug))
    same(history, happened(case).stays)
    told = "\n".join(history.unknown)
    python = case.startswith("kafka-python")
    assert ("session timeout: not in the logs; the replay uses" in told) is python
    assert "subscriptions of" not in told
    # Without heartbeats in the log, members seem to be silent for longer.
    assert 6 - NEAR < history.settings["session_timeout"] < (10 if python else 6 + NEAR)


@pytest.mark.parametrize("case", CASES)
def test_all_members_in_one_file(case: str) -> None:
    logs = recorded(case)
    messages = []
    for number, lines in enumerate(logs.values()):
        for at, line in enumerate(lines):
            when = parse_timestamp(line)
            if when is None:
                messages[-1][-1].append(line)
            else:
                messages.append((when.at, number, at, [line]))
    merged = [line for *_, message in sorted(messages) for line in message]
    same(one_group({"all.log": merged}), happened(case).stays)


def test_rotated_files_are_one_log(history: History, case: str) -> None:
    """Wherever a file ends, also within a message of several lines."""
    chance = random.Random(case)
    for _ in range(5):
        cut = {}
        for name, lines in recorded(case).items():
            cut |= rotated(name, lines, cuts_of(lines, chance))
        assert without_ages(one_group(cut)) == without_ages(history)


def cuts_of(lines: Sequence[str], chance: random.Random) -> list[int]:
    """Random cuts, with a time in every file."""
    while True:
        cuts = sorted(chance.sample(range(1, len(lines)), 3))
        bounds = pairwise([0, *cuts, len(lines)])
        if all(any(map(parse_timestamp, lines[begin:end])) for begin, end in bounds):
            return cuts


def without_ages(history: History) -> str:
    return re.sub(r"\.log\.\d+", ".log", json.dumps(history.to_json()))


def test_the_last_line_of_a_rotated_log_shows_that_its_only_consumer_is_alive() -> None:
    """It is in a file without a line of the consumer."""
    logs = recorded("java-eager-whole")
    *_, last = filter(None, map(parse_timestamp, logs["c.log"]))
    later = format_timestamp(last.at + MICROSECONDS, zoned=False)
    logs["c.log"] = [*logs["c.log"], f"{later} INFO a line of the application"]
    cut = logs | rotated("c.log", logs["c.log"], [len(logs["c.log"]) - 1])
    assert len(cut) == len(logs) + 1
    whole = without_ages(one_group(logs))
    assert without_ages(one_group(cut)) == whole
    assert whole != without_ages(one_group(recorded("java-eager-whole")))


def test_a_member_with_two_logs() -> None:
    logs = recorded("java-eager-whole")
    cut = {}
    for name, lines in logs.items():
        at = middle(lines)
        cut |= {f"late-{name}": lines[at:], f"soon-{name}": lines[:at]}
    assert one_group(cut).owned == one_group(logs).owned


def middle(lines: Sequence[str]) -> int:
    """A position where no message has several lines."""
    half = len(lines) // 2
    return next(at for at in range(half, len(lines)) if "heartbeat" in lines[at].lower())


def test_several_groups_in_one_read() -> None:
    logs = {f"{case}/{name}": lines for case in CASES for name, lines in recorded(case).items()}
    groups, rejected = read(logs)
    assert not rejected
    assert sorted(groups) == CASES
    for case, history in groups.items():
        same(history, happened(case).stays)


@pytest.mark.parametrize("case", CASES)
def test_incomplete_logs(case: str) -> None:
    """Missing lines, cut lines and missing files: never two owners, no time before the start."""
    chance = random.Random(case)
    for _ in range(6):
        logs = {}
        for name, lines in recorded(case).items():
            kept = [line for line in lines if chance.random() < 0.8]
            cut = [
                line[: chance.randrange(200)] if chance.random() < 0.1 else line for line in kept
            ]
            if chance.random() < 0.8:
                logs[name] = cut[chance.randrange(len(cut) // 2) :]
        for history in read(logs)[0].values():
            for one, other in pairwise(history.owned):
                assert one.start <= one.end
                assert one.partition < other.partition or one.end <= other.start
            assert all(length > 0 for length in history.unowned.values())
            assert sum(history.unowned.values()) >= sum(
                length for one in history.rounds for length in one.unowned.values()
            )
            scenario_of(history)
            assert json.loads(json.dumps(history.to_json()))["until"] >= 0


def by_name(held: dict[str, tuple[Partition, ...]]) -> dict[str, tuple[Partition, ...]]:
    return {name_of(member): held[member] for member in sorted(held)}


def test_the_leaders_log_alone_shows_the_same_rounds() -> None:
    """Eager members revoke all partitions in a round, also those whose logs are missing."""
    whole = one_group(recorded("java-eager-whole"))
    alone = one_group({"a.log": recorded("java-eager-whole")["a.log"]})
    for one, other in zip(whole.rounds, alone.rounds, strict=True):
        assert by_name(other.added) == by_name(one.added)
        assert by_name({**other.revoked, **other.lost}) == by_name({**one.revoked, **one.lost})
    assert alone.moved == whole.moved


def test_whether_members_without_a_log_crashed_is_unknown() -> None:
    alone = one_group({"a.log": recorded("java-eager-whole")["a.log"]})
    for member, replayed in zip(alone.members, scenario_of(alone).members, strict=True):
        if name_of(member.id) != "a":
            assert (member.ended, member.crashed) == ("gone", False)
            assert replayed.crashes_at is None
            assert replayed.leaves_at is not None
            (note,) = (one for one in alone.unknown if one.startswith(member.id))
            assert "its log is missing" in note
            assert "whether it crashed, and for how long its partitions had no owner" in note
