"""The three forms of a cluster file, and sizes from the output of kafka-log-dirs.sh."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from partage import Cluster, InputError
from partage.cluster.formats import read_cluster_file

File = Callable[..., str]
Refused = Callable[..., str]

PLAIN: dict[str, Any] = {
    "brokers": [
        {"id": 7, "rack": "b", "disk_bytes": None, "capacity": 1},
        {"id": 1, "rack": "a", "disk_bytes": 500, "capacity": 0.5},
        {"id": 42, "rack": "a", "alive": False},
    ],
    "partitions": [
        {"topic": "u", "partition": 10, "replicas": [7]},
        {"topic": "t", "partition": 3, "replicas": [42, 1, 7], "size_bytes": 9},
        {"topic": "u", "partition": 2, "replicas": [1, 7], "size_bytes": 0},
    ],
}

REASSIGNMENT: dict[str, Any] = {
    "version": 1,
    "partitions": [
        {"topic": "t", "partition": 1, "replicas": [3, 1], "log_dirs": ["any", "any"]},
        {"topic": "t", "partition": 0, "replicas": [1, 1002], "log_dirs": ["any", "any"]},
    ],
}

# Apache Kafka 4.x: tabs, TopicId, two more columns that may be empty or N/A; noise in between.
CLICKS = "3b0nSXNjQMSmSNQk5Kc3Rw"
DESCRIBE_4 = (
    "OpenJDK 64-Bit Server VM warning: sharing is only supported for boot loader classes\n"
    "Topic: clicks\tTopicId: 3b0nSXNjQMSmSNQk5Kc3Rw\tPartitionCount: 3\tReplicationFactor: 3\t"
    "Configs: min.insync.replicas=2,segment.bytes=1073741824\n"
    "\tTopic: clicks\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1,2\tElr: \t"
    "LastKnownElr: \n"
    "\tTopic: clicks\tPartition: 1\tLeader: none\tReplicas: 1,2,3\tIsr: \tElr: 2,1\t"
    "LastKnownElr: 3\n"
    "[2026-03-01 10:00:00,000] WARN [AdminClient clientId=adminclient-1] Connection to node -2 "
    "(kafka-2/10.0.0.2:9092) could not be established. (org.apache.kafka.clients.NetworkClient)\n"
    "\tTopic: clicks\tPartition: 2\tLeader: 2\tReplicas: 2,3,1\tIsr: 2,3\tElr: N/A\t"
    "LastKnownElr: N/A\n"
    "\n"
    "Topic: __consumer_offsets\tTopicId: kkUFvaIfTPyVfMKfQKlP7g\tPartitionCount: 1\t"
    "ReplicationFactor: 1\tConfigs: compression.type=producer,cleanup.policy=compact\n"
    "\tTopic: __consumer_offsets\tPartition: 0\tLeader: 1002\tReplicas: 1002\tIsr: 1002\t"
    "Elr: \tLastKnownElr: \n"
)

# Apache Kafka 2.x: no TopicId, and its own spacing after "Configs:".
DESCRIBE_2 = (
    "Topic: pay.ments\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: pay.ments\tPartition: 0\tLeader: 2\tReplicas: 2,1\tIsr: 2,1\n"
    "\tTopic: pay.ments\tPartition: 1\tLeader: 1\tReplicas: 1,2\tIsr: 2,1\n"
)

# Before Apache Kafka 2.2 the head line had no spaces after its colons.
DESCRIBE_0 = (
    "Topic:old\tPartitionCount:2\tReplicationFactor:1\tConfigs:\n"
    "\tTopic: old\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0\n"
    "\tTopic: old\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\n"
)

# As copied from a terminal or a web page: spaces instead of tabs.
DESCRIBE_BLANKS = (
    "Topic: quickstart-events        TopicId: NPmZHyhbR9y00wMglMH2sg PartitionCount: 1 "
    "      ReplicationFactor: 1       Configs:\n"
    "    Topic: quickstart-events Partition: 0    Leader: 0   Replicas: 0 Isr: 0"
)


def same(one: Cluster, other: Cluster) -> bool:
    return (
        one.brokers == other.brokers
        and one.topics == other.topics
        and one.topic.tolist() == other.topic.tolist()
        and one.partition.tolist() == other.partition.tolist()
        and one.replicas.tolist() == other.replicas.tolist()
        and one.size_bytes.tolist() == other.size_bytes.tolist()
    )


# ---------------------------------------------------------------- plain JSON


def test_plain(file: File) -> None:
    cluster = Cluster.read(file(PLAIN))
    assert [b.id for b in cluster.brokers] == [1, 7, 42]
    assert [b.rack for b in cluster.brokers] == ["a", "b", "a"]
    assert [b.disk_bytes for b in cluster.brokers] == [500, None, None]
    assert [b.capacity for b in cluster.brokers] == [Fraction(1, 2), 1, 1]
    assert cluster.alive.tolist() == [True, True, False]
    assert cluster.names == ["t-3", "u-2", "u-10"]
    assert cluster.replica_lists() == [[42, 1, 7], [1, 7], [7]]
    assert cluster.replicas.tolist() == [[2, 0, 1], [0, 1, -1], [1, -1, -1]]
    assert cluster.size_bytes.tolist() == [9, 0, -1]


def test_plain_with_a_byte_order_mark_and_blank_lines(file: File) -> None:
    text = "\n\n  " + json.dumps(PLAIN, indent=2) + "\n\n"
    assert same(Cluster.read(file(text.encode("utf-8-sig"))), Cluster.from_json(PLAIN))


def test_other_fields_are_ignored(file: File) -> None:
    value = PLAIN | {"comment": [1, {"a": None}]}
    value["brokers"] = [b | {"host": "kafka-1", "endpoints": []} for b in PLAIN["brokers"]]
    assert same(Cluster.read(file(value)), Cluster.from_json(PLAIN))


@pytest.mark.parametrize("name", ["cluster-grown.json", "cluster-256.json"])
def test_bundled_clusters(name: str) -> None:
    text = files("partage.data").joinpath(name).read_text(encoding="utf-8")
    cluster = Cluster.from_json(json.loads(text))
    assert cluster.partitions == {"cluster-grown.json": 162, "cluster-256.json": 256}[name]


# ---------------------------------------------------------------- Kafka's reassignment JSON


def test_reassignment(file: File) -> None:
    cluster = Cluster.read(file(REASSIGNMENT))
    assert cluster.broker_ids.tolist() == [1, 3, 1002]
    assert cluster.rack_names == ()
    assert cluster.rack.tolist() == [0, 0, 0]
    assert cluster.replica_lists() == [[1, 1002], [3, 1]]
    assert cluster.size_bytes.tolist() == [-1, -1]


def test_to_reassignment_round_trip(file: File) -> None:
    cluster = Cluster.read(file(PLAIN))
    again = Cluster.read(file(cluster.to_reassignment()))
    assert again.replica_lists() == cluster.replica_lists()
    assert again.names == cluster.names
    some = cluster.to_reassignment(cluster.replication_factor.nonzero()[0][1:2])
    assert some == {
        "version": 1,
        "partitions": [{"topic": "u", "partition": 2, "replicas": [1, 7]}],
    }


# ---------------------------------------------------------------- kafka-topics.sh --describe


def test_describe_of_kafka_4(file: File) -> None:
    cluster = Cluster.read(file(DESCRIBE_4, "describe.txt"))
    assert cluster.names == ["__consumer_offsets-0", "clicks-0", "clicks-1", "clicks-2"]
    assert cluster.replica_lists() == [[1002], [3, 1, 2], [1, 2, 3], [2, 3, 1]]
    assert cluster.broker_ids.tolist() == [1, 2, 3, 1002]


def test_topic_ids_of_describe_are_those_of_snapshots(file: File) -> None:
    """Kafka's tools print in base64 what its clients have as a UUID."""
    cluster = Cluster.read(file(DESCRIBE_4, "describe.txt"))
    assert cluster.topic_ids["clicks"] == "ddbd2749-7363-40c4-a648-d424e4a73747"
    assert set(cluster.topic_ids) == {"clicks", "__consumer_offsets"}
    blanks = Cluster.read(file(DESCRIBE_BLANKS, "blanks.txt"))
    assert list(blanks.topic_ids) == ["quickstart-events"]
    for text in (DESCRIBE_2, DESCRIBE_0):
        assert not Cluster.read(file(text, "old.txt")).topic_ids
    written = Cluster.from_json(PLAIN | {"topic_ids": {"t": CLICKS, "u": "of another form"}})
    assert written.topic_ids == {"t": cluster.topic_ids["clicks"], "u": "of another form"}


@pytest.mark.parametrize("found", ["x", CLICKS + "w", "%" * 22])
def test_a_damaged_topic_id_of_describe(file: File, refused: Refused, found: str) -> None:
    text = DESCRIBE_4.replace(f"TopicId: {CLICKS}", f"TopicId: {found}")
    assert re.fullmatch(
        r"line 2: TopicId .*: expected 22 letters, digits, - or _", refused(file(text))
    )


def test_describe_of_kafka_2(file: File) -> None:
    cluster = Cluster.read(file(DESCRIBE_2, "describe.txt"))
    assert cluster.names == ["pay.ments-0", "pay.ments-1"]
    assert cluster.replica_lists() == [[2, 1], [1, 2]]


def test_describe_of_kafka_before_2_2(file: File) -> None:
    cluster = Cluster.read(file(DESCRIBE_0, "describe.txt"))
    assert cluster.replica_lists() == [[0], [1]]


def test_describe_with_spaces_instead_of_tabs(file: File) -> None:
    cluster = Cluster.read(file(DESCRIBE_BLANKS, "describe.txt"))
    assert cluster.names == ["quickstart-events-0"]
    assert cluster.replica_lists() == [[0]]


def test_describe_with_windows_line_endings(file: File) -> None:
    text = DESCRIBE_4.replace("\n", "\r\n")
    assert same(Cluster.read(file(text, "a.txt")), Cluster.read(file(DESCRIBE_4, "b.txt")))


def test_describe_without_head_lines(file: File) -> None:
    # --under-replicated-partitions and the like print no head lines, so no counts to compare with
    lines = [line for line in DESCRIBE_4.splitlines() if "PartitionCount" not in line]
    cluster = Cluster.read(file("\n".join(lines), "a.txt"))
    assert cluster.partitions == 4
    assert cluster.notes[-1] == (
        "no header counts the partitions of __consumer_offsets, clicks: the input may be a part of "
        "the cluster, as --under-replicated-partitions prints it; what it lacks does not count"
    )


@pytest.mark.parametrize("leader", ["none", "-1"])
def test_describe_with_offline_partitions(file: File, leader: str) -> None:
    text = DESCRIBE_2.replace(
        "Leader: 1\tReplicas: 1,2\tIsr: 2,1", f"Leader: {leader}\tReplicas: 1\tIsr: 1"
    )
    cluster = Cluster.read(file(text, "a.txt"))
    assert cluster.notes == (
        "1 partition is offline (pay.ments-1): no leader to copy from; Kafka cannot move these "
        "until a broker that holds one is back",
    )


def test_describe_of_a_healthy_cluster(file: File) -> None:
    for text in (DESCRIBE_2, DESCRIBE_0, DESCRIBE_BLANKS):
        cluster = Cluster.read(file(text, "a.txt"))
        assert (cluster.notes, cluster.maybe_dead) == ((), ())


def test_brokers_that_no_leader_has_in_sync(file: File) -> None:
    text = DESCRIBE_2.replace("Isr: 2,1", "Isr: 2").replace("Leader: 1", "Leader: 2")
    assert Cluster.read(file(text, "a.txt")).maybe_dead == (1,)
    without = DESCRIBE_2.replace("\tIsr: 2,1", "")
    assert Cluster.read(file(without, "b.txt")).maybe_dead == ()


def test_min_insync_replicas(file: File) -> None:
    cluster = Cluster.read(file(DESCRIBE_4, "a.txt"))
    assert cluster.min_insync_replicas == {"clicks": 2}
    brokers = [{"id": 1}]
    rows = [{"topic": "t", "partition": 0, "replicas": [1]}]
    value = {"brokers": brokers, "partitions": rows, "min_insync_replicas": {"t": 2, "gone": 1}}
    cluster = Cluster.from_json(value)
    assert cluster.to_json()["min_insync_replicas"] == {"t": 2}
    with pytest.raises(InputError, match=r"min_insync_replicas\.t: expected"):
        Cluster.from_json(value | {"min_insync_replicas": {"t": 0}})


@pytest.mark.parametrize(
    ("numbers", "lacking"),
    [
        ([0, 1, 2], None),
        ([0, 2], "1 partition (t-1)"),
        ([3], "3 partitions (t-0, t-1, t-2)"),
        ([1, 3, 6], "4 partitions (t-0, t-2, t-4 and 1 more)"),
        ([2**31 - 1], "2,147,483,647 partitions (t-0, t-1, t-2 and 2147483644 more)"),
    ],
)
def test_partitions_that_are_not_there(numbers: list[int], lacking: str | None) -> None:
    rows = [{"topic": "t", "partition": number, "replicas": [1]} for number in numbers]
    others = [{"topic": topic, "partition": 0, "replicas": [1]} for topic in ("s", "u")]
    cluster = Cluster.from_json({"brokers": [{"id": 1}], "partitions": [*others, *rows]})
    said = (
        []
        if lacking is None
        else [f"the input lacks {lacking}: what brokers hold of them does not count"]
    )
    assert list(cluster.notes) == said


def test_truncated_describe(file: File, refused: Refused) -> None:
    text = DESCRIBE_4.replace("\tTopic: clicks\tPartition: 2", "gone", 1)
    assert refused(file(text)) == "topic clicks announces 3 partitions, 2 follow"
    text = "".join(DESCRIBE_4.splitlines(keepends=True)[:-1])
    assert refused(file(text)) == "topic __consumer_offsets announces 1 partition, 0 follow"


@pytest.mark.parametrize(
    "columns",
    [
        "Isr: 3,1\tAdding Replicas: 4\tRemoving Replicas: 2",
        "Isr: 3,1\tAdding Replicas: 4\tRemoving Replicas: ",
        "Isr: 3,1\tAdding Replicas: \tRemoving Replicas: 2",
        "Isr: 3,1\tAdding Replicas: 4\tRemoving Replicas: 2\tElr: \tLastKnownElr: ",
    ],
)
def test_describe_during_a_reassignment(file: File, refused: Refused, columns: str) -> None:
    line = f"\tTopic: t\tPartition: 0\tLeader: 3\tReplicas: 3,1,2,4\t{columns}\n"
    message = refused(file(f"Topic: t\tPartitionCount: 1\tReplicationFactor: 4\tConfigs: \n{line}"))
    assert message.startswith("line 2: t-0 is being reassigned (")


def test_describe_after_a_reassignment(file: File) -> None:
    line = "\tTopic: t\tPartition: 0\tLeader: 3\tReplicas: 3,1\tIsr: 3,1"
    cluster = Cluster.read(file(f"{line}\tAdding Replicas: \tRemoving Replicas: "))
    assert cluster.replica_lists() == [[3, 1]]


@pytest.mark.parametrize(
    "line",
    [
        "Topic: t",
        "Topic: t\tPartition: 0\tLeader: 1",
        "Topic: t\tPartition: 0\tLeader: 1\tReplicas: \tIsr: ",
        "Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,x\tIsr: 1",
        "Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,,2\tIsr: 1",
        "Topic: t\tPartition: -1\tLeader: 1\tReplicas: 1\tIsr: 1",
        "Topic: t\tPartition: 99999999999\tLeader: 1\tReplicas: 1\tIsr: 1",
        "Topic: \tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1",
    ],
)
def test_malformed_describe_lines(file: File, refused: Refused, line: str) -> None:
    good = "Topic: s\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    assert refused(file(good + line)).startswith("line 2: ")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,1\tIsr: 1", "t-0: broker 1 holds two"),
        ("Topic: t\tPartition: 0\tLeader: 1\tReplicas: 9999999999\tIsr: 1", "broker 9999999999"),
        ("Topic: t!\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", "topic 't!'"),
        ("Topic: s\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", "s-0: listed twice"),
        ("Topic: t\tPartition: 2147483648\tLeader: 1\tReplicas: 1\tIsr: 1", "line 2: "),
        ("Topic: t\tPartition: 9999999999\tLeader: 1\tReplicas: 1\tIsr: 1", "line 2: "),
    ],
)
def test_invalid_describe_values(file: File, refused: Refused, line: str, problem: str) -> None:
    good = "Topic: s\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\n"
    assert refused(file(good + line)).startswith(problem)


# ---------------------------------------------------------------- gzip, detected by content


@pytest.mark.parametrize(
    "content", [PLAIN, REASSIGNMENT, DESCRIBE_4], ids=["plain", "kafka", "text"]
)
@pytest.mark.parametrize("name", ["cluster.json.gz", "cluster.json", "cluster"])
def test_gzip(file: File, content: Any, name: str) -> None:
    packed = Cluster.read(file(content, name, packed=True))
    assert same(packed, Cluster.read(file(content, "plain")))


# ---------------------------------------------------------------- kafka-log-dirs.sh

TWO = {
    "brokers": [{"id": 1}, {"id": 2}],
    "partitions": [
        {"topic": "t-1", "partition": 0, "replicas": [1, 2]},
        {"topic": "t", "partition": 10, "replicas": [2], "size_bytes": 5},
        {"topic": "t", "partition": 11, "replicas": [2]},
    ],
}
PREAMBLE = (
    "Querying brokers for log directories information\n"
    "Received log directory information from brokers 1,2\n"
)


def log_dir(*entries: tuple[str, Any, bool], error: str | None = None) -> dict[str, Any]:
    return {
        "logDir": "/var/lib/kafka/data",
        "error": error,
        "partitions": [
            {"partition": p, "size": s, "offsetLag": 0, "isFuture": f} for p, s, f in entries
        ],
    }


def log_dirs(*brokers: list[dict[str, Any]]) -> str:
    rows = [{"broker": i, "logDirs": dirs} for i, dirs in enumerate(brokers, start=1)]
    return PREAMBLE + json.dumps({"version": 1, "brokers": rows}) + "\n"


def test_size_is_that_of_the_largest_replica(file: File) -> None:
    text = log_dirs(
        [log_dir(("t-1-0", 100, False), ("t-10", 9, True)), log_dir()],
        [log_dir(("t-1-0", 103, False)), log_dir(("t-10", 7, False))],
    )
    cluster = Cluster.read(file(TWO), sizes=file(text, "sizes.txt"))
    assert dict(zip(cluster.names, cluster.size_bytes.tolist(), strict=True)) == {
        "t-10": 7,
        "t-11": -1,
        "t-1-0": 103,
    }


def test_sizes_without_preamble_as_gzip_and_with_text_after(file: File) -> None:
    text = log_dirs([log_dir(("t-10", 7, False))])
    alone = text.removeprefix(PREAMBLE)
    for i, content in enumerate((alone, text + "\nbye\n", json.dumps(json.loads(alone), indent=1))):
        for packed in (False, True):
            path = file(content, f"sizes{i}{packed}", packed)
            assert Cluster.read(file(TWO), sizes=path).size_bytes.tolist() == [7, -1, -1]


def test_failed_log_dir_has_no_sizes(file: File) -> None:
    error = "org.apache.kafka.common.errors.KafkaStorageException: disk error"
    text = log_dirs([log_dir(error=error)], [log_dir(("t-11", 0, False))])
    assert Cluster.read(file(TWO), sizes=file(text, "s")).size_bytes.tolist() == [5, 0, -1]


def test_future_replicas_are_ignored(file: File) -> None:
    text = log_dirs([log_dir(("gone-0", 100, True), ("t-11", 100, True))])
    assert Cluster.read(file(TWO), sizes=file(text, "s")).size_bytes.tolist() == [5, -1, -1]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (("gone-0", 1, False), "gone-0: a size for a partition that does not exist"),
        (("t-12", 1, False), "t-12: a size for a partition that does not exist"),
        (("t-9999999999", 1, False), "t-9999999999: a size for a partition"),
        (("t-" + "9" * 5000, 1, False), "brokers[0].logDirs[0].partitions[0].partition: "),
        (
            ("t", 1, False),
            "brokers[0].logDirs[0].partitions[0].partition: expected text such as topic-0",
        ),
        (
            ("-1", 1, False),
            "brokers[0].logDirs[0].partitions[0].partition: expected text such as topic-0",
        ),
        (
            ("t-١", 1, False),
            "brokers[0].logDirs[0].partitions[0].partition: expected text such as topic-0",
        ),
        (
            (None, 1, False),
            "brokers[0].logDirs[0].partitions[0].partition: expected text such as topic-0",
        ),
        (("a\nb-0", 1, False), 'got "a\\nb-0"'),
        (
            ("t-10", -1, False),
            "brokers[0].logDirs[0].partitions[0].size: expected a whole number of bytes",
        ),
        (
            ("t-10", True, False),
            "brokers[0].logDirs[0].partitions[0].size: expected a whole number of bytes",
        ),
        (
            ("t-10", "7", False),
            "brokers[0].logDirs[0].partitions[0].size: expected a whole number of bytes",
        ),
        (
            ("t-10", 0.5, False),
            "brokers[0].logDirs[0].partitions[0].size: expected a whole number of bytes",
        ),
        (("t-10", 2**61, False), "brokers[0].logDirs[0].partitions[0].size: "),
        (("t-10", float("nan"), False), "brokers[0].logDirs[0].partitions[0].size: "),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_refused_sizes(
    file: File, refused: Refused, entry: tuple[Any, Any, bool], problem: str
) -> None:
    message = refused(file(TWO), file(log_dirs([log_dir(entry)]), "sizes.txt"))
    assert problem in message


@pytest.mark.parametrize(
    "text",
    [
        "",
        PREAMBLE,
        "{",
        PREAMBLE + '{"version":1,"brokers":',
        "[1]",
        "{}",
        '{"brokers":{}}',
        '{"brokers":[1]}',
        '{"brokers":[{}]}',
        '{"brokers":[{"logDirs":null}]}',
        '{"brokers":[{"logDirs":[7]}]}',
        '{"brokers":[{"logDirs":[{"partitions":7}]}]}',
        '{"brokers":[{"logDirs":[{"partitions":[7]}]}]}',
        '{"brokers":[{"logDirs":[{"partitions":[{}]}]}]}',
        '{"brokers":[{"logDirs":[{"partitions":[{"partition":"t-10"}]}]}]}',
        '{"brokers":' + "[" * 100_000,
        '{"brokers":' + "1" * 10_000 + "}",
    ],
    ids=lambda text: text[:70] or "empty",
)
def test_refused_sizes_files(file: File, refused: Refused, text: str) -> None:
    assert refused(file(TWO), file(text, "sizes.txt"))


@pytest.mark.parametrize(
    "words", ["Partition: 1 ", "Partition: 1 Replicas: 1,2x ", "PartitionCount: x ", "Replicas: "]
)
def test_a_line_that_could_be_read_in_many_ways(tmp_path: Path, words: str) -> None:
    """In linear time: with backtracking it would take hours."""
    path = tmp_path / "describe.txt"
    path.write_text(f"Topic: a {words * 200_000}\n")
    with pytest.raises(InputError, match="line 1: expected 'Topic: "):
        read_cluster_file(path)
