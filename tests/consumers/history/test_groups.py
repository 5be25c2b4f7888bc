"""Small groups in lines of the Java client, and their histories."""

from __future__ import annotations

import pytest

from partage.consumers.history import History
from partage.consumers.history.replay import scenario_of
from tests.consumers.history.history_logs import one_group, read

G = "group"


def line(at: float, text: str, client: str = "c", instance: str = "") -> str:
    minutes, seconds = divmod(at, 60)
    static = f"instanceId={instance}, " if instance else ""
    who = f"[Consumer {static}clientId={client}, groupId={G}]"
    return f"2026-01-01 10:{minutes:02.0f}:{seconds:06.3f} INFO {who} {text}"


def joined(at: float, member: str, generation: int, **more: str) -> str:
    told = f"generationId={generation}, memberId='{member}', protocol='range'"
    return line(at, f"Successfully joined group with generation Generation{{{told}}}", **more)


def plan(at: float, generation: int, shares: dict[str, str], client: str = "c") -> str:
    told = ", ".join(f"{m}=Assignment(partitions=[{held}])" for m, held in shares.items())
    return line(
        at, f"Finished assignment for group at generation {generation}: {{{told}}}", client=client
    )


def added(at: float, held: str, **more: str) -> str:
    return line(at, f"Adding newly assigned partitions: {held}", **more)


def revoked(at: float, held: str, **more: str) -> str:
    return line(at, f"Revoke previously assigned partitions {held}", **more)


def joining(at: float, **more: str) -> str:
    return line(at, "(Re-)joining group", **more)


def left(at: float, member: str, **more: str) -> str:
    return line(at, f"Member {member} sending LeaveGroup request to coordinator", **more)


def lost(at: float, held: str, **more: str) -> str:
    return line(at, f"Lost previously assigned partitions {held}", **more)


SESSION = "\tsession.timeout.ms = 10000"


def config(client: str) -> list[str]:
    head = "2026-01-01 10:00:00.000 INFO ConsumerConfig values:"
    return [head, f"\tclient.id = {client}", f"\tgroup.id = {G}", SESSION]


def owned(history: History) -> list[tuple[str, int, float, float]]:
    return [
        (one.member, one.partition[1], history.since_start(one.start), history.since_start(one.end))
        for one in history.owned
    ]


def unknown(history: History) -> str:
    return "\n".join(history.unknown)


# -- members that end without a log line


def falls_silent(
    last: float, *settings: str, joins_again: float = 50, assigned: float = 50
) -> History:
    """a leads; b's last line is at ``last``, and none that it left; a begins to join again, and
    gets b's partition when generation 2 is assigned."""
    return one_group(
        {
            "a.log": [
                *settings,
                joining(0, client="a"),
                joined(1, "a-1", 1, client="a"),
                plan(1, 1, {"a-1": "t-0", "b-1": "t-1"}, client="a"),
                added(1, "t-0", client="a"),
                joining(joins_again, client="a"),
                revoked(joins_again, "t-0", client="a"),
                joined(assigned, "a-1", 2, client="a"),
                plan(assigned, 2, {"a-1": "t-0, t-1"}, client="a"),
                added(assigned, "t-0, t-1", client="a"),
            ],
            "b.log": [
                joined(1, "b-1", 1, client="b"),
                added(1, "t-1", client="b"),
                line(last, "Received successful Heartbeat response", client="b"),
            ],
        }
    )


def crash(*settings: str) -> History:
    """b crashes after its heartbeat at 5 s."""
    return falls_silent(5, *settings, joins_again=16, assigned=17)


def test_a_crash_is_counted_until_a_session_timeout_before_the_others_join() -> None:
    history = crash(*config("a"))
    assert owned(history) == [
        ("a-1", 0, 1.0, 16.0),
        ("a-1", 0, 17.0, 17.0),
        ("b-1", 1, 1.0, 6.0),
        ("a-1", 1, 17.0, 17.0),
    ]
    assert history.unowned == {("t", 0): 1_000_000, ("t", 1): 11_000_000}
    assert history.rounds[1].lost == {"b-1": (("t", 1),)}
    assert history.rounds[1].unowned == history.unowned
    assert "counted until a session timeout (10 s) before that" in unknown(history)


def test_without_the_session_timeout_it_is_counted_until_the_last_line() -> None:
    history = crash()
    assert ("b-1", 1, 1.0, 5.0) in owned(history)
    assert "counted until its last line, which is at most 11.000 s too early" in unknown(history)
    assert "session timeout: not in the logs; the replay uses 11.000 s" in unknown(history)
    assert history.settings == {"session_timeout": 11.0}


def test_a_silence_longer_than_kafkas_default_session_timeout_does_not_replace_it() -> None:
    history = falls_silent(5, joins_again=76, assigned=77)
    assert "counted until its last line, which is at most 71.000 s too early" in unknown(history)
    assert "the replay uses Kafka's default, 45 s" in unknown(history)
    assert "session_timeout" not in history.settings


def test_a_member_left_if_the_others_join_sooner_than_its_session_can_expire() -> None:
    history = falls_silent(49, *config("a"))
    assert [(one.id, one.ended) for one in history.members] == [("a-1", None), ("b-1", "left")]
    assert ("b-1", 1, 1.0, 49.0) in owned(history)
    assert history.rounds[1].revoked["b-1"] == (("t", 1),)
    assert not history.rounds[1].lost
    assert (
        "b-1: no line shows that it left, but at 2026-01-01T10:00:50.000 the group rebalanced "
        "without it, 1.000 s after its last line: too soon for a session to expire, so it left; "
        "counted until its last line, at most 1.000 s too early, 2026-01-01T10:00:49.000"
    ) in history.unknown
    (b,) = (one for one in scenario_of(history).members if one.id == "b-1")
    assert (b.leaves_at is not None, b.crashes_at) == (True, None)


@pytest.mark.parametrize(
    ("last", "known", "ended"),
    [
        # a session of 10 s, the last heartbeat at most 3 s before the last line
        (43.1, True, "left"),
        (42.9, True, "gone"),
        # Kafka accepts no session below 6 s; a heartbeat each third
        (46.1, False, "left"),
        (45.9, False, "gone"),
    ],
)
def test_how_soon_a_session_can_expire(last: float, known: bool, ended: str) -> None:
    history = falls_silent(last, *(config("a") if known else ()))
    (b,) = (one for one in history.members if one.id == "b-1")
    assert b.ended == ended
    if not known:  # only a crash shows how long a session is
        found = history.settings.get("session_timeout")
        assert found == (pytest.approx(50 - last) if ended == "gone" else None)


def test_others_learn_with_their_next_heartbeat_that_a_member_left() -> None:
    history = falls_silent(44, *config("a"))
    assert ("b-1", 1, 1.0, 47.0) in owned(history)
    assert "counted until a heartbeat interval (3 s) before that, 2026-01-01T10:00:47.000" in (
        unknown(history)
    )


def test_that_a_new_member_joins_does_not_show_that_a_session_expired() -> None:
    """b crashes after 20 s, c joins at 22 s and waits until b's session has expired."""
    history = one_group(
        {
            "b.log": [
                joined(1, "b-1", 1, client="b"),
                added(1, "t-0", client="b"),
                line(20, "Received successful Heartbeat response", client="b"),
            ],
            "c.log": [
                joining(22, client="c"),
                joined(29, "c-1", 2, client="c"),
                plan(29, 2, {"c-1": "t-0"}, client="c"),
                added(29, "t-0", client="c"),
            ],
        }
    )
    assert [one.ended for one in history.members] == ["gone", None]
    assert history.settings == {"session_timeout": 9.0}
    assert "b-1: no line shows that it left, and at 2026-01-01T10:00:29.000 the group" in unknown(
        history
    )


def test_other_lines_of_its_file_show_that_it_is_alive() -> None:
    logs = {
        "a.log": [
            joined(1, "a-1", 1, client="a"),
            plan(1, 1, {"a-1": "t-0", "b-1": "t-1"}, client="a"),
            added(1, "t-0", client="a"),
            joining(16, client="a"),
            joined(16, "a-1", 2, client="a"),
            plan(16, 2, {"a-1": "t-0, t-1"}, client="a"),
            added(16, "t-1", client="a"),
        ],
        "b.log": [
            joined(1, "b-1", 1, client="b"),
            added(1, "t-1", client="b"),
            "2026-01-01 10:00:09.000 INFO an order was shipped",
        ],
    }
    assert ("b-1", 1, 0.0, 8.0) in owned(one_group(logs))


def test_a_member_that_finds_out_that_it_was_removed() -> None:
    history = one_group(
        {
            "a.log": [
                *config("a"),
                joined(1, "a-1", 1, client="a"),
                plan(1, 1, {"a-1": "t-0", "b-1": "t-1"}, client="a"),
                added(1, "t-0", client="a"),
                lost(30, "t-0", client="a"),
                joining(30, client="a"),
                joined(31, "a-2", 3, client="a"),
                added(31, "", client="a"),
            ],
            "b.log": [
                joined(1, "b-1", 1, client="b"),
                added(1, "t-1", client="b"),
                joining(13, client="b"),
                joined(13, "b-1", 2, client="b"),
                plan(13, 2, {"b-1": "t-0, t-1"}, client="b"),
                added(13, "t-0", client="b"),
                joining(30, client="b"),
                joined(31, "b-1", 3, client="b"),
                plan(31, 3, {"b-1": "t-0, t-1", "a-2": ""}, client="b"),
                added(31, "", client="b"),
            ],
        }
    )
    assert [(one.id, one.ended) for one in history.members] == [
        ("a-1", "gone"),
        ("b-1", None),
        ("a-2", None),
    ]
    assert owned(history)[0] == ("a-1", 0, 1.0, 3.0)
    assert history.rounds[1].lost == {"a-1": (("t", 0),)}
    assert "a-1: learned at 2026-01-01T10:00:30.000 that it was removed" in unknown(history)


# -- which member a line belongs to


def test_two_members_with_one_client_id_in_one_file() -> None:
    """Revoked partitions belong to their owner, not to the member that was named last."""
    history = one_group(
        {
            "all.log": [
                joined(0, "c-1", 1),
                joined(0, "c-2", 1),
                plan(0, 1, {"c-1": "t-0", "c-2": "t-1"}),
                added(1, "t-1"),
                added(1, "t-0"),
                revoked(5, "t-0"),
                left(5, "c-1"),
                revoked(6, "t-1"),
                joined(7, "c-2", 2),
                plan(7, 2, {"c-2": "t-0, t-1"}),
                added(7, "t-0, t-1"),
            ]
        }
    )
    assert owned(history) == [
        ("c-1", 0, 1.0, 5.0),
        ("c-2", 0, 7.0, 7.0),
        ("c-2", 1, 1.0, 6.0),
        ("c-2", 1, 7.0, 7.0),
    ]


def test_a_log_that_begins_during_the_membership() -> None:
    update = [
        line(3, "Updating assignment with"),
        "\tAssigned partitions: [t-0]",
        "\tCurrent owned partitions: [t-0, t-1]",
        "\tAdded partitions (assigned - owned): []",
        "\tRevoked partitions (owned - assigned): [t-1]",
    ]
    history = one_group({"a.log": [joined(2, "c-1", 8), *update]})
    assert owned(history) == [("c-1", 0, 0.0, 1.0), ("c-1", 1, 0.0, 1.0)]
    assert "the logs begin in generation 8: the ones before are unknown" in unknown(history)


# -- unowned partitions and moves


def two_in_turn(second: str, instance: str = "") -> History:
    return one_group(
        {
            "a.log": [
                joined(0, "a-1", 1, client="a", instance=instance),
                plan(0, 1, {"a-1": "t-0"}, client="a"),
                added(0, "t-0", client="a", instance=instance),
                revoked(10, "t-0", client="a", instance=instance),
                left(10, "a-1", client="a", instance=instance),
            ],
            "b.log": [
                joining(40, client="b", instance=instance),
                joined(41, second, 2, client="b", instance=instance),
                plan(41, 2, {second: "t-0"}, client="b"),
                added(42, "t-0", client="b", instance=instance),
                line(50, "Received successful Heartbeat response", client="b", instance=instance),
            ],
        }
    )


def test_a_group_without_members_has_no_partition_without_an_owner() -> None:
    history = two_in_turn("b-1")
    assert history.unowned == {("t", 0): 2_000_000}
    assert history.empty == 30_000_000
    assert history.moved == 1


def test_a_static_member_that_returns_is_the_same() -> None:
    assert two_in_turn("b-1", instance="i").moved == 0


def test_a_group_that_kafka_deleted_counts_from_the_beginning() -> None:
    history = two_in_turn("b-1")
    assert [one.generation for one in history.rounds] == [1, 2]
    again = one_group(
        {
            "a.log": [
                joined(0, "a-1", 1),
                plan(0, 1, {"a-1": "t-0"}),
                added(0, "t-0"),
                left(5, "a-1"),
                joined(900, "a-2", 1),
                plan(900, 1, {"a-2": "t-0"}),
                added(900, "t-0"),
            ]
        }
    )
    assert [one.generation for one in again.rounds] == [1, 1]
    assert [set(one.assignment) for one in again.rounds] == [{"a-1"}, {"a-2"}]


def test_overlapping_owners_are_noted_and_the_later_one_counts() -> None:
    history = one_group(
        {
            "a.log": [
                joined(0, "a-1", 1, client="a"),
                plan(0, 1, {"a-1": "t-0"}, client="a"),
                added(0, "t-0", client="a"),
                joining(10, client="a"),
                revoked(12, "t-0", client="a"),
                joined(12, "a-1", 2, client="a"),
                added(12, "", client="a"),
            ],
            "b.log": [
                joined(11, "b-1", 2, client="b"),
                plan(11, 2, {"a-1": "", "b-1": "t-0"}, client="b"),
                added(11.5, "t-0", client="b"),
            ],
        }
    )
    assert owned(history) == [("a-1", 0, 0.0, 11.5), ("b-1", 0, 11.5, 12.0)]
    assert "b-1 took partitions up to 0.500 s before the log of a-1" in unknown(history)


def test_a_generation_in_no_log_is_noted() -> None:
    history = one_group(
        {"a.log": [joined(0, "a-1", 1), added(0, "t-0"), joined(9, "a-1", 4), added(9, "")]}
    )
    assert "generations 2, 3: in none of the logs" in unknown(history)


def test_two_billion_generations_in_no_log_are_counted() -> None:
    last = 2**31 - 1
    history = one_group(
        {"a.log": [joined(0, "a-1", 1), added(0, "t-0"), joined(9, "a-1", last), added(9, "")]}
    )
    expected = f"generations 2, 3, 4, 5, 6, 7, 8, 9 and {last - 10} more: in none of the logs"
    assert expected in unknown(history)


def test_a_line_without_a_group_belongs_to_the_only_one_of_its_file() -> None:
    """librdkafka's JoinGroup response has no group and comes before the first line that has it."""
    head = "%7|1767323045.678|{}|c#consumer-1| [thrd:main]: "
    response = (
        "JoinGroup response: GenerationId 2, Protocol range, LeaderId c-2, my MemberId c-2, "
        "member metadata count 1: (no error)"
    )
    lines = [
        head.format("JOINGROUP") + response,
        head.format("LOST") + 'Group "{}": 0 partition(s) lost',
    ]
    (history,) = read({"c.log": [lines[0], lines[1].format("g")]})[0].values()
    assert ([one.id for one in history.members], len(history.rounds)) == (["c-2"], 1)
    both = read({"c.log": [*lines[:1], lines[1].format("g"), lines[1].format("h")]})[0]
    assert [one.rounds for one in both.values()] == [(), ()]


def test_with_kip_848_members_and_owners_are_known_but_no_rounds() -> None:
    """Lines of the Java client 4.3 with group.protocol=consumer."""
    a, b = "5z2vBbAKQWK7eaSDzqsIRA", "wCfGWUbsSy2IT7c7G7SGVw"

    def goes(at: float, member: str, epoch: int, states: str, client: str) -> str:
        text = f"Member {member} with epoch {epoch} transitioned from {states}."
        return line(at, text, client=client)

    history = one_group(
        {
            "a.log": [
                line(0, "Subscribed to topic(s): t", client="a"),
                goes(1, a, 0, "UNSUBSCRIBED to JOINING", "a"),
                goes(2, a, 2, "JOINING to RECONCILING", "a"),
                line(2, "Reconciling assignment with local epoch 0", client="a"),
                "\tAssigned partitions:                       [t-0, t-1]",
                "\tCurrent owned partitions:                  []",
                "\tAdded partitions (assigned - owned):       [t-0, t-1]",
                "\tRevoked partitions (owned - assigned):     []",
                added(2, "[t-0, t-1]", client="a"),
                line(9, "Revoking previously assigned partitions [t-1]", client="a"),
                revoked(9, "[t-1]", client="a"),
                added(9, "[]", client="a"),
                revoked(20, "[t-0]", client="a"),
                goes(21, a, 3, "STABLE to PREPARE_LEAVING", "a"),
                goes(21, a, -1, "PREPARE_LEAVING to LEAVING", "a"),
            ],
            "b.log": [
                goes(8, b, 0, "UNSUBSCRIBED to JOINING", "b"),
                added(12, "[t-1]", client="b"),
                added(23, "[t-0]", client="b"),
            ],
            "c.log": [
                goes(22, "c", 0, "UNSUBSCRIBED to JOINING", "c"),
                added(22.5, "[t-2]", client="c"),
            ],
            "d.log": [
                goes(24, "d", 0, "UNSUBSCRIBED to JOINING", "d"),
                added(24.5, "[t-2]", client="d"),
                line(25, "Received successful Heartbeat response", client="d"),
            ],
        }
    )
    members = [(one.id, one.ended) for one in history.members]
    assert members == [(a, "left"), (b, None), ("c", "left"), ("d", None)]
    assert "c: no line shows that it left, but at 2026-01-01T10:00:24.500 others got" in unknown(
        history
    )
    assert owned(history) == [
        (a, 0, 2.0, 20.0),
        (b, 0, 23.0, 25.0),
        (a, 1, 2.0, 9.0),
        (b, 1, 12.0, 25.0),
        ("c", 2, 22.5, 22.5),
        ("d", 2, 24.5, 25.0),
    ]
    assert history.unowned == {("t", 0): 3_000_000, ("t", 1): 3_000_000, ("t", 2): 2_000_000}
    assert [one.generation for one in history.rounds] == [None]
    assert "generations: not in the logs (KIP-848 has none), so there are no rounds" in unknown(
        history
    )


def test_heartbeats_of_one_moment_show_no_interval() -> None:
    beat = line(5, "Received successful Heartbeat response", client="b")
    history = one_group(
        {"b.log": [joined(1, "b-1", 1, client="b"), added(1, "t-1", client="b"), *[beat] * 6]}
    )
    assert "heartbeat_interval" not in history.settings


def test_times_that_go_back_are_named() -> None:
    lines = [
        joined(3000, "m", 1),
        added(3001, "t-0"),
        joining(200),
        joined(201, "m", 2),
        added(202, "t-0"),
    ]
    assert [one for one in one_group({"c.log": lines}).unknown if "go back" in one] == [
        "c.log: times go back by 47 min before line 3, 2026-01-01T10:03:20.000, as at the end of "
        "summer time; the order of events and times without an owner are wrong: correct these "
        "times, or leave out the lines before"
    ]
    assert not any("go back" in one for one in one_group({"c.log": lines[:2]}).unknown)
    cut = {"c.log.1": [joining(100), *lines[:2]], "c.log": lines[2:]}
    (note,) = [one for one in one_group(cut).unknown if "go back" in one]
    assert note.startswith("c.log: times go back by 47 min before line 1, ")
