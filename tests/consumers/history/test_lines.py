"""Single lines: the wording of other versions, and lines that cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate

import pytest

from partage.consumers.history import Event, Rejected, events_of
from partage.consumers.history.events import EventKind
from partage.consumers.history.timestamps import format_timestamp, parse_timestamp
from tests.consumers.history.history_logs import RECORDED, text_of

HEAD = "2026-01-02 03:04:05,678 INFO "
JAVA = HEAD + "[Consumer clientId=c, groupId=g] "
PYTHON = HEAD + "kafka.coordinator "
ROTATED = (
    "java-cooperative-whole/c.log",
    "kafka-python-eager-whole/c.log",
    "librdkafka-cooperative-whole/c.log",
)
LIBRDKAFKA = "%7|1767323045.678|{}|c#consumer-1| [thrd:main]: "


def events(*lines: str) -> list[Event]:
    """The events of lines, except SEEN; no line is rejected."""
    found = list(events_of([("log", enumerate(lines, 1))]))
    assert not [one for one in found if isinstance(one, Rejected)]
    return [one for one in found if isinstance(one, Event) and one.kind is not EventKind.SEEN]


def rejected(*lines: str) -> list[tuple[int, str]]:
    found = events_of([("log", enumerate(lines, 1))])
    return [(one.line, one.reason) for one in found if isinstance(one, Rejected)]


# -- other versions of the clients


def test_an_older_java() -> None:
    joined, revoked, added = events(
        JAVA + "Successfully joined group with generation 7",
        JAVA + "Revoking previously assigned partitions [a-b-0, t-12]",
        JAVA + "Setting newly assigned partitions [t-0, t.x_y-3]",
    )
    assert (joined.kind, joined.generation, joined.member) == (EventKind.JOINED, 7, "")
    assert (revoked.kind, revoked.partitions) == (EventKind.REVOKED, (("a-b", 0), ("t", 12)))
    assert (added.kind, added.partitions) == (EventKind.ADDED, (("t", 0), ("t.x_y", 3)))


def test_java_with_the_logger_at_the_end_and_a_static_member() -> None:
    (added,) = events(
        "[2026-01-02 03:04:05,678] INFO [Consumer instanceId=i, clientId=c, groupId=g] "
        "Adding newly assigned partitions: t-0, t-1 "
        "(org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker)"
    )
    assert (added.consumer, added.group, added.instance) == ("c", "g", "i")
    assert added.partitions == (("t", 0), ("t", 1))


def test_a_line_with_colours() -> None:
    (subscribed,) = events(f"\x1b[32m{JAVA}\x1b[1;34mSubscribed to topic(s): t, u\x1b[0m")
    assert (subscribed.group, subscribed.topics) == ("g", ("t", "u"))


@pytest.mark.parametrize("prefix", ["app-1  | ", "2026-01-02T03:04:05.678Z stdout F "])
def test_java_with_a_prefix_on_every_line(prefix: str) -> None:
    """As container logs have it, also on the further lines of a message."""
    settings, held, confirmed = events(
        prefix + HEAD + "ConsumerConfig values: ",
        prefix + "\tclient.id = c",
        prefix + "\tgroup.id = g",
        prefix + "\tsession.timeout.ms = 45000",
        prefix + JAVA + "Updating assignment with",
        prefix + "\tAssigned partitions:                       [t-0, t-1]",
        prefix + "\tCurrent owned partitions:                  [t-0]",
        prefix + "\tAdded partitions (assigned - owned):       [t-1]",
        prefix + "\tRevoked partitions (owned - assigned):     []",
        prefix + JAVA + "Reconciling assignment with local epoch 3",
        prefix + "\tMember:                                    m",
        prefix + "\tAssigned partitions:                       [t-0]",
        prefix + "\tCurrent owned partitions:                  [t-0, t-1]",
        prefix + "\tAdded partitions (assigned - owned):       []",
        prefix + "\tRevoked partitions (owned - assigned):     [t-1]",
    )
    assert (settings.group, settings.settings) == ("g", {"session_timeout": 45.0})
    assert (held.owned, held.partitions) == ((("t", 0),), (("t", 0), ("t", 1)))
    assert (confirmed.member, confirmed.partitions) == ("m", (("t", 0),))


def test_java_settings() -> None:
    (settings,) = events(
        HEAD + "ConsumerConfig values: ",
        "\tclient.id = c",
        "\tgroup.id = g",
        "\theartbeat.interval.ms = 3000",
        "\tsession.timeout.ms = 45000",
        HEAD + "ProducerConfig values: ",
        "\tclient.id = producer-1",
    )
    assert (settings.kind, settings.consumer, settings.group) == (EventKind.SETTINGS, "c", "g")
    assert settings.settings == {"session_timeout": 45.0, "heartbeat_interval": 3.0}


def test_kafka_python_2() -> None:
    joining, joined, added, left = events(
        PYTHON + "(Re-)joining group g",
        PYTHON + "Successfully joined group g with generation 2",
        PYTHON + "Setting newly assigned partitions "
        "{TopicPartition(topic='t', partition=1), TopicPartition(topic='t', partition=0)} "
        "for group g",
        PYTHON + "Leaving consumer group g.",
    )
    assert [one.group for one in (joining, joined, added, left)] == ["g"] * 4
    assert joined.generation == 2
    assert added.partitions == (("t", 0), ("t", 1))
    assert (left.kind, left.member) == (EventKind.LEFT, "")


def test_librdkafka_through_a_python_logger() -> None:
    (joined,) = events(
        "2026-01-02 03:04:05,678 DEBUG app: JOINGROUP [c#consumer-1] [thrd:main]: JoinGroup "
        "response: GenerationId 2, Protocol range, LeaderId c-1, my MemberId c-2, member metadata "
        "count 0: (no error)"
    )
    assert (joined.consumer, joined.member, joined.generation) == ("c#consumer-1", "c-2", 2)


def test_loggers_that_write_json() -> None:
    message = (
        "[Consumer clientId=c, groupId=g] Updating assignment with\n"
        "\tAssigned partitions:                       [t-0]\n"
        "\tCurrent owned partitions:                  []\n"
        "\tAdded partitions (assigned - owned):       [t-0]\n"
        "\tRevoked partitions (owned - assigned):     []\n"
    )
    one = {"@timestamp": "2021-06-08T20:17:50.252Z", "level": "INFO", "message": message}
    other = {"msg": "(Re-)joining group g", "timestamp": 1_623_183_470_252, "logger": "kafka"}
    held, joining = events(json.dumps(one), json.dumps(other))
    assert (held.kind, held.partitions, held.owned) == (EventKind.HELD, (("t", 0),), ())
    assert (joining.kind, joining.group) == (EventKind.JOINING, "g")
    assert held.at == joining.at == 1_623_183_470_252_000
    assert events('{"message": "no more', '{"message": 7}', "{}") == []


@pytest.mark.parametrize("path", ROTATED, ids=str)
def test_lines_in_the_files_of_docker(path: str) -> None:
    """Every line is the text of an object, also the lines of a message without a time."""
    lines = text_of(RECORDED / path)
    times = accumulate(map(parse_timestamp, lines), lambda before, when: when or before)
    docker = [
        in_docker(line, format_timestamp(when.at))
        for line, when in zip(lines, times, strict=True)
        if when is not None
    ]
    whole = list(events_of([("log", enumerate(lines, 1))]))
    assert list(events_of([("log", enumerate(docker, 1))])) == [
        replace(one, zoned=True) for one in whole if isinstance(one, Event)
    ]


def in_docker(line: str, time: str, end: str = "\n") -> str:
    value = {"log": line + end, "stream": "stdout", "time": time}
    return json.dumps(value, separators=(",", ":"))


def test_a_line_that_a_container_runtime_has_cut() -> None:
    """Of a long list only some partitions are in the first piece, the last of them cut."""
    time = "2026-01-02T03:04:05.678Z"
    line = f"{JAVA}Adding newly assigned partitions: {', '.join(f't-{n}' for n in range(3000))}"
    cut = line[:16384]
    for first in (in_docker(cut, time, end=""), f"{time} stdout P {cut}"):
        ((number, reason),) = rejected(first, in_docker("t-2999", time))
        assert number == 1
        assert reason.startswith("the first piece of a line that a container runtime has cut; ")
    for whole in (in_docker(line, time), f"{time} stdout F {line}"):
        (added,) = events(whole)
        assert len(added.partitions) == 3000


def test_json_in_the_files_of_docker() -> None:
    message = "[Consumer clientId=c, groupId=g] (Re-)joining group"
    inner = {"level": "INFO", "message": message}
    (joining,) = events(in_docker(json.dumps(inner), "2026-01-02T03:04:05.6789Z"))
    assert (joining.kind, joining.group) == (EventKind.JOINING, "g")
    assert joining.at == 1_767_323_045_678_900
    elastic = {"log": {"level": "INFO"}, "message": message, "time": "2026-01-02 03:04:05"}
    assert [one.kind for one in events(json.dumps(elastic))] == [EventKind.JOINING]


def test_other_lines_are_no_events() -> None:
    assert (
        events("", "INFO something else", HEAD + "order 17 has 3 partitions", JAVA + "Hello") == []
    )


# -- rotated files


@pytest.mark.parametrize("path", ROTATED, ids=str)
def test_every_line_may_be_the_last_of_a_file(path: str) -> None:
    """Events are the same, and name the file and line where their message begins."""
    lines = text_of(RECORDED / path)
    whole = list(events_of([("log", enumerate(lines, 1))]))
    for cut in range(1, len(lines)):
        files = [("log.1", enumerate(lines[:cut], 1)), ("log", enumerate(lines[cut:], 1))]
        found = list(events_of(files))
        assert [(one.source, one.line) for one in found] == [
            ("log.1", one.line) if one.line <= cut else ("log", one.line - cut) for one in whole
        ]
        assert [replace(one, source="", line=0) for one in found] == [
            replace(one, source="", line=0) for one in whole
        ]


def test_a_list_that_is_incomplete_in_the_next_file_names_where_it_begins() -> None:
    head = LIBRDKAFKA.format("GRPASSIGNMENT")
    older = ["nothing", head + "List with 3 partition(s):", head + " t [0] offset INVALID"]
    newer = ["nothing", head + " t [1] offset INVALID", head + "List with 0 partition(s):"]
    files = [("log.2", older), ("log.1", ["nothing"]), ("log", newer)]
    found = events_of([(name, enumerate(lines, 1)) for name, lines in files])
    (bad,) = [one for one in found if isinstance(one, Rejected)]
    assert (bad.source, bad.line, bad.reason) == ("log.2", 2, "the list below it is incomplete")


def test_lines_that_are_left_out_count() -> None:
    """Java's lists must follow at once, also in the next file."""
    update = JAVA + "Updating assignment with"
    lists = [
        "\tAssigned partitions:                       [t-0]",
        "\tCurrent owned partitions:                  []",
        "\tAdded partitions (assigned - owned):       [t-0]",
        "\tRevoked partitions (owned - assigned):     []",
    ]
    for length, whole in ((1, True), (2, True), (9, False)):
        older = [(1, update), (length, "")]
        found = list(events_of([("log.1", older), ("log", enumerate(lists, 1))]))
        assert [(one.source, one.line) for one in found if isinstance(one, Rejected)] == (
            [] if whole else [("log.1", 1)]
        )
        assert any(isinstance(one, Event) and one.partitions for one in found) is whole


# -- rejected lines


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (JAVA + "Adding newly assigned partitions: t-0, nonsense", "'nonsense' is not a topic and"),
        (JAVA + "Successfully joined group with generation", "no generation where one is"),
        (JAVA + "Executing onJoinComplete with generation 3", "no generation and memberId"),
        (
            JAVA + "Finished assignment for group at generation 3: {c-1=Assignment(part",
            "incomplete",
        ),
        (JAVA + "Finished assignment for group at generation x: {}", "no generation and members"),
        ("[Consumer clientId=c, groupId=g] (Re-)joining group", "no date and time"),
        (
            JAVA.replace("Consumer", "Worker") + "(Re-)joining group",
            "lines of Kafka Connect workers are not read",
        ),
        ("kafka.coordinator (Re-)joining group g", "no date and time"),
        (PYTHON + "Successfully joined group g <Generation", "in an unknown form"),
        (PYTHON + "Setting newly assigned partitions {x} for group g", "in an unknown form"),
        (PYTHON + "Finished assignment for group g: {'c': ConsumerProtocolAssignment(", "known"),
        (LIBRDKAFKA.format("JOINGROUP") + "JoinGroup response: who knows", "an unknown form"),
        (LIBRDKAFKA.format("GRPASSIGNMENT") + " t [0] offset INVALID", "none is expected"),
        (LIBRDKAFKA.format("GRPASSIGNMENT") + "List with 2 partition(s):", "is incomplete"),
    ],
)
def test_a_line_that_cannot_be_read_is_rejected(line: str, reason: str) -> None:
    ((number, why),) = rejected("nothing", line, "nothing")
    assert number == 2
    assert reason in why


def test_the_four_lists_of_java_must_follow_and_agree() -> None:
    update = JAVA + "Updating assignment with"
    lists = [
        "\tAssigned partitions:                       [t-0]",
        "\tCurrent owned partitions:                  [t-1]",
        "\tAdded partitions (assigned - owned):       [t-0]",
        "\tRevoked partitions (owned - assigned):     [t-1]",
    ]
    (held,) = events(update, *lists)
    assert (held.partitions, held.owned) == ((("t", 0),), (("t", 1),))
    assert rejected(update, *lists[:3]) == [(1, "its four lists of partitions do not follow")]
    assert rejected(update, *lists[:2], JAVA + "Hello", *lists[2:])[0][0] == 1
    wrong = [*lists[:3], lists[3].replace("t-1", "t-2")]
    assert rejected(update, *wrong) == [(1, "its four lists of partitions contradict each other")]


def test_incomplete_lists_of_librdkafka() -> None:
    """The first line of the list is rejected, not the line that follows instead."""
    head = LIBRDKAFKA.format("GRPASSIGNMENT")
    place, announced = head + " t [0] offset INVALID", head + "List with 2 partition(s):"
    empty = head + "List with 0 partition(s):"
    assert rejected(announced, place, empty) == [(1, "the list below it is incomplete")]
    plan = LIBRDKAFKA.format("ASSIGN") + (
        'Group "g" range assignment for 2 member(s) finished in 0.1ms, assigned:'
    )
    member = LIBRDKAFKA.format("ASSIGN") + '  Member "c-1" (me) assigned 0 partition(s):'
    other = LIBRDKAFKA.format("HEARTBEAT") + 'Heartbeat for group "g" generation id 2'
    for lines in ((plan, member, other), (plan, member)):
        assert rejected(*lines) == [(1, "the list below it is incomplete")]
    assert rejected(plan, member, member.replace("c-1", "c-2"), other) == []


def test_settings_without_a_date_are_rejected() -> None:
    lines = ["INFO ConsumerConfig values:", "\tgroup.id = g", "\tsession.timeout.ms = 45000"]
    assert rejected(*lines) == [(1, "no date and time in a known layout")]


def test_events_survive_json() -> None:
    lines = [
        JAVA + "Finished assignment for group at generation 3: {c-1=Assignment(partitions=[t-0])}",
        JAVA + "Revoke previously assigned partitions [t-0]",
        LIBRDKAFKA.format("LOST") + 'Group "g": current assignment of 1 partition(s) lost',
    ]
    for one in events(*lines):
        assert Event.from_json(one.to_json()) == one


@pytest.mark.parametrize("digits", ["9" * 5000, "2147483648", "3000000000", "99999999999999"])
@pytest.mark.parametrize(
    "line",
    [
        JAVA + "Successfully joined group with generation {}",
        JAVA + "Finished assignment for group at generation {}: {{}}",
        JAVA + "Executing onJoinComplete with generation {} and memberId m",
        JAVA + "Adding newly assigned partitions: t-{}",
        JAVA + "Sending JoinGroup (sessionTimeoutMs={})",
        PYTHON + "Successfully joined group g with generation {}",
        PYTHON + "Finished assignment for group g: {{'m': ConsumerProtocolAssignment("
        "version=1, assigned_partitions=[('t', [{}])], user_data=b'')}}",
        PYTHON + "Sending JoinGroup (JoinGroupRequest(group_id='g', session_timeout_ms={}))",
        LIBRDKAFKA.format("GRPASSIGNMENT") + "List with {} partition(s):",
        LIBRDKAFKA.format("SUBSCRIPTION")
        + "effective subscription list changed from 0 to {} topic",
        LIBRDKAFKA.format("ASSIGN") + 'Group "g" range assignment for {} member(s) finished',
    ],
)
def test_a_number_that_kafka_cannot_have_written(line: str, digits: str) -> None:
    ((number, reason),) = rejected(line.format(digits))
    assert number == 1
    assert "is not a number up to " in reason


def test_a_partition_number_that_would_make_a_long_list() -> None:
    text = JAVA + "Adding newly assigned partitions: t-{}"
    assert events(text.format(99_999))
    assert rejected(text.format(100_000)) == [(1, "'100000' is not a number up to 99999")]
