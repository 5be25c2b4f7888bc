"""Logs at INFO of three console consumers of Kafka 4.3.0 with ``group.protocol=consumer``.

Without a rebalance listener they log their partitions only when they reconcile. a has all six; b
joins, gets three, and is stopped without a line of its end; a gets them back; b2 joins and gets
them. Left out are settings and offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from partage.consumers.history import History
from partage.consumers.history.events import Event, EventKind
from partage.consumers.history.lines import events_of
from partage.consumers.history.replay import cases, replay, scenario_of
from partage.consumers.history.saving import saving_of
from tests.consumers.history.history_logs import one_group, text_of

FOLDER = Path(__file__).parents[2] / "data" / "logs-of-kip-848"
LOGS: dict[str, Sequence[str]] = {path.name: text_of(path) for path in sorted(FOLDER.glob("*.log"))}
A, B, B2 = "7XQhA_6wRD2qxDebvWhpyA", "CZ9Od1JxRZmumqH5S_A0lA", "thCzlB4HTRyKkKzW90Gavw"


def owners(history: History, number: int) -> list[tuple[str, float, float]]:
    """(member, from, to) of a partition, in seconds after 15:16."""
    minute = history.start - 9_346_000
    return [
        (one.member, (one.start - minute) / 1e6, (one.end - minute) / 1e6)
        for one in history.owned
        if one.partition == ("orders", number)
    ]


def test_partitions_move_when_members_reconcile() -> None:
    history = one_group(LOGS)
    assert owners(history, 0) == [(A, 10.006, 56.643)]
    for number in (3, 4, 5):
        (a, start, end), (b, b_start, _), (a_again, *_), (b2, *_) = owners(history, number)
        assert [a, b, a_again, b2] == [A, B, A, B2]
        # read until the line that revokes, and again once the member has acknowledged
        assert (start, end, b_start) == (10.006, 20.454, 23.731)
        assert owners(history, number)[2][1:] == (36.475, 51.997)
    assert history.moved == 9
    assert min(history.unowned.values()) > 7_900_000


def test_a_member_without_a_line_of_its_end_left_before_others_got_its_partitions() -> None:
    history = one_group(LOGS)
    assert [(one.id, one.ended) for one in history.members] == [(A, None), (B, "left"), (B2, None)]
    # it closed at 33.7 s; others learn with the next heartbeat, after up to 5 s
    assert {owners(history, number)[1] for number in (3, 4, 5)} == {(B, 23.731, 31.475)}
    assert "at 2026-11-28T15:16:36.475 others got its partitions, 12.615 s after its last line" in (
        "\n".join(history.unknown)
    )


def later(log: Sequence[str]) -> list[str]:
    """From its second generation of partitions on, two minutes later."""
    at = next(n for n, line in enumerate(log) if "15:16:3" in line)
    return [*log[:at], *(line.replace(" 15:16:", " 15:18:") for line in log[at:])]


def test_after_a_session_timeout_it_crashed() -> None:
    history = one_group({"a.log": later(LOGS["a.log"]), "b.log": LOGS["b.log"]})
    assert [(one.id, one.ended) for one in history.members] == [(A, None), (B, "gone")]
    assert owners(history, 3)[1] == (B, 23.731, 111.475)
    assert "at most a session timeout (45 s, the broker's default) before that" in (
        "\n".join(history.unknown)
    )


def test_the_clients_settings_have_no_effect() -> None:
    history = one_group(LOGS)
    assert dict(history.settings) == {}
    assert "session timeout: not in the logs" in "\n".join(history.unknown)


def test_nothing_is_compared_without_rounds() -> None:
    history = one_group(LOGS)
    replays = {a: {p: replay(scenario_of(history), a, p)} for a, p in cases()}
    assert saving_of(history, replays) is None


def without_lists(log: Sequence[str]) -> list[str]:
    """As a client at WARN for what it reconciles."""
    return [line for line in log if "Reconcil" not in line and "artitions" not in line]


def test_without_a_line_about_owners_moves_and_gaps_are_unknown() -> None:
    history = one_group({name: without_lists(log) for name, log in LOGS.items()})
    value = history.to_json()
    assert [len(history.members), history.owned] == [3, ()]
    assert (value["moved"], value["unowned_partition_seconds"]) == (None, None)
    assert "owners: no line shows which member owned a partition" in "\n".join(history.unknown)


def test_a_member_without_a_line_about_owners_is_named() -> None:
    logs = {**LOGS, "b.log": without_lists(LOGS["b.log"])}
    history = one_group(logs)
    assert f"{B}: no line shows what it owned; its partitions count as without an owner" in (
        history.unknown
    )
    assert not any(one.startswith(A) for one in history.unknown if "no line shows what" in one)


def reconciled(*lines: str) -> list[Event]:
    head = "2026-01-02 03:04:05,678 INFO [Consumer clientId=c, groupId=g] "
    lists = [
        "\tAssigned partitions:                       [t-1, t-2]",
        "\tCurrent owned partitions:                  [t-0, t-1]",
        "\tAdded partitions (assigned - owned):       [t-2]",
        "\tRevoked partitions (owned - assigned):     [t-0]",
    ]
    shown = [head + lines[0], *lines[1:2], *lists, "", *(head + line for line in lines[2:])]
    found = list(events_of([("log", enumerate(shown, 1))]))
    return [one for one in found if isinstance(one, Event) and one.kind is not EventKind.SEEN]


def test_what_is_added_is_owned_once_it_is_acknowledged() -> None:
    head = ("Reconciling assignment with local epoch 7", "\tMember:                         m-1")
    (kept,) = reconciled(*head)
    assert (kept.kind, kept.member, kept.partitions) == (EventKind.HELD, "m-1", (("t", 1),))
    done = "Member m-1 with epoch 2 transitioned from RECONCILING to ACKNOWLEDGING."
    _, more = reconciled(*head, done)
    assert (more.kind, more.member, more.partitions) == (EventKind.ADDED, "m-1", (("t", 2),))
    assert len(reconciled(*head, done.replace("m-1", "m-2"))) == 1


def test_kafka_3_8_swaps_the_member_and_the_epoch() -> None:
    (held,) = reconciled("Reconciling assignment with local epoch m-1", "\tMember:          7")
    assert (held.member, held.partitions) == ("m-1", (("t", 1), ("t", 2)))
    assert held.owned == (("t", 0), ("t", 1))


@pytest.mark.parametrize("state", ["FENCED", "FATAL"])
def test_a_fenced_member_has_lost_its_partitions(state: str) -> None:
    (lost,) = reconciled(
        "Reconciling assignment with local epoch 7",
        "\tMember:     m-1",
        f"Member m-1 with epoch 2 transitioned from STABLE to {state}.",
    )[1:]
    assert (lost.kind, lost.member, lost.partitions) == (EventKind.LOST, "m-1", None)


def test_kafka_3_7_names_topics_with_their_ids() -> None:
    head = "2026-01-02 03:04:05,678 INFO [Consumer clientId=c, groupId=g] "
    lines = [
        head + "Updating assignment with",
        "\tAssigned partitions:                       [KpXh1QYqQjOLLXlqO3bFmQ:t-1]",
        "\tCurrent owned partitions:                  []",
        "\tAdded partitions (assigned - owned):       [t-1]",
        "\tRevoked partitions (owned - assigned):     []",
    ]
    (held, _) = events_of([("log", enumerate(lines, 1))])
    assert isinstance(held, Event)
    assert held.partitions == (("t", 1),)
