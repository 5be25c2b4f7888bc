"""Records straight from a Kafka."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from partage.errors import InputError
from partage.period import Period
from partage.pipeline import read_records
from partage.pipeline.profile import write_profile
from partage.pipeline.sources import kafka as source

NOON = 1_790_000_000_000
RECORDS = [
    # topic, partition, timestamp, key, value
    ("orders", 0, NOON, b"a", b"12345"),
    ("orders", 0, NOON + 60_000, b"", b""),
    ("orders", 1, NOON + 120_000, None, b"1"),
    ("orders", 1, NOON + 180_000, b"\xff\x00", None),
    ("orders-late", 0, NOON + 3_600_000, b"z", b"123"),
    ("payments", 2, NOON + 60_000, b"p", b"1234567"),
]


@pytest.fixture(scope="module")
def filled(kafka: Any) -> str:
    """The bootstrap servers of a Kafka that has ``RECORDS``."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    keep = {"retention.ms": "-1"}  # these records are older than Kafka keeps any by default
    names = ("orders", "orders-late", "payments")
    admin.create_topics([NewTopic(name, 3, 1, topic_configs=keep) for name in names])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for topic, partition, timestamp, key, value in RECORDS:
        producer.send(topic, value, key=key, partition=partition, timestamp_ms=timestamp).get(30)
    producer.close()
    return str(kafka.bootstrap_servers)


@pytest.fixture
def read(spark: Any, filled: str, connector: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(source.CONNECTOR, str(connector))

    def rows(what: str) -> list[tuple[Any, ...]]:
        frame = read_records(spark, [f"kafka://{filled}/{what}"])
        assert frame.where("reason is not null").count() == 0
        found = frame.selectExpr(
            "topic", "partition", "unix_millis(timestamp)", "key", "value_bytes", "offset"
        ).collect()
        return sorted((*row[:3], row[3] and bytes(row[3]), row[4], row[5]) for row in found)

    return rows


def expected(*topics: str) -> list[tuple[Any, ...]]:
    """What a consumer would see of these topics, with the offsets."""
    at: dict[tuple[str, int], int] = {}
    found = []
    for topic, partition, timestamp, key, value in RECORDS:
        offset = at.setdefault((topic, partition), 0)
        at[topic, partition] += 1
        if topic in topics:
            found.append((topic, partition, timestamp, key, len(value or b""), offset))
    return sorted(found, key=str)


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_every_record_of_some_topics(read: Any) -> None:
    assert sorted(read("orders,payments"), key=str) == expected("orders", "payments")
    assert sorted(read("orders*"), key=str) == expected("orders", "orders-late")
    assert sorted(read("orders"), key=str) == expected("orders"), "the dot and the dash are literal"


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_between_two_times(read: Any) -> None:
    inside = [row for row in expected("orders") if NOON + 60_000 <= row[2] < NOON + 180_000]
    assert len(inside) == 2
    assert sorted(read(f"orders?from={NOON + 60_000}&to={NOON + 180_000}"), key=str) == inside
    # NOON is 2026-09-21T14:13:20Z
    assert (
        sorted(read("orders?from=2026-09-21T14:14:20&to=2026-09-21T16:16:20%2B02:00"), key=str)
        == inside
    )
    assert read("orders?from=2026-11-01") == []


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_a_profile_of_a_running_cluster(
    spark: Any, filled: str, connector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(source.CONNECTOR, str(connector))
    about = write_profile(spark, [f"kafka://{filled}/orders,payments"], tmp_path / "profile")
    assert about["totals"] == {
        "records": 5,
        "bytes": 13 + 4,  # values and keys
        "rejected": 0,
        "topics": 2,
        "partitions": 3,
    }


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_several_tasks_share_a_partition_with_most_records(
    spark: Any, filled: str, connector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(source.CONNECTOR, str(connector))
    monkeypatch.setattr(source, "RECORDS_PER_TASK", 100)
    admin = KafkaAdminClient(bootstrap_servers=filled)
    admin.create_topics([NewTopic("skewed", 3, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=filled)
    for partition, records in enumerate((900, 90, 90)):
        for number in range(records):
            producer.send("skewed", b"%d" % number, partition=partition)
    producer.close()
    frame = read_records(spark, [f"kafka://{filled}/skewed"])
    tasks = frame.selectExpr("spark_partition_id() as task").groupBy("task").count().collect()
    assert max(one["count"] for one in tasks) <= 100
    assert len(tasks) == 11
    url = source.parse_url(f"kafka://{filled}/skewed")
    again = source.read_between(spark, url, {("skewed", 0): (0, 900), ("skewed", 1): (0, 90)})
    tasks = again.selectExpr("spark_partition_id() as task").groupBy("task").count().collect()
    assert sorted(one["count"] for one in tasks) == [90, *[100] * 9]
    counts = frame.groupBy("partition").count().collect()
    assert {tuple(one) for one in counts} == {(0, 900), (1, 90), (2, 90)}


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_missing_paths(
    spark: Any, filled: str, connector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(source.CONNECTOR, str(connector))
    url = f"kafka://{filled}/orders"
    with pytest.raises(InputError, match="is given twice"):
        read_records(spark, [url, url])
    with pytest.raises(InputError, match="no-such-topic: a topic does not exist"):
        read_records(spark, [f"kafka://{filled}/no-such-topic"])


def test_no_server_is_reachable() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"no broker reachable \({address}: .*refused"):
            source.read(None, f"kafka://{address}/t")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("kafka://h:9092", "expected kafka://HOST:PORT/TOPIC"),
        ("kafka:///t", "expected kafka://HOST:PORT/TOPIC"),
        ("kafka://h/t", "h/t: expected HOST:PORT"),
        ("kafka://h:1,:2/t", "expected HOST:PORT[,HOST:PORT], not part 2 of 2"),
        ("kafka://h:1/t,", "expected topics: 1 to 249 letters, digits"),
        ("kafka://h:1/a b", "a b: expected topics: 1 to 249"),
        ("kafka://h:1/t?since=3", "?since=3: expected each of from, to, config at most once"),
        ("kafka://h:1/t?from=3&from=4", "expected each of from, to, config at most once"),
        ("kafka://h:1/t?from=noon", "from noon: expected a time such as"),
        ("kafka://h:1/t?from=5&to=5", "to 5: must be later than 5"),
        ("kafka://h:1/t?config=/no/where", "/no/where: no such file"),
    ],
)
def test_invalid_urls(url: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        source.parse_url(url)
    assert problem in str(raised.value)


def test_a_url() -> None:
    url = source.parse_url("kafka://a:1,[::1]:2/t,u*?from=2026-01-01&to=1767229200000")
    assert (url.servers, url.topics) == ("a:1,[::1]:2", ("t", "u*"))
    assert url.period == Period(1767225600000, 1767229200000)


def test_a_clients_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "me & you.properties"
    file.write_text("# how to get in\nsecurity.protocol = SASL_SSL\n")
    monkeypatch.setenv("PARTAGE_SECURITY_PROTOCOL", "SSL")
    monkeypatch.setenv("PARTAGE_SASL_JAAS_CONFIG", "secret")
    paths = ["kafka://h:1/t", "kafka://h:1/t?from=3", "kafka://h:1/t?config=own", "events"]
    assert source.configured(paths, None) == paths
    urls = source.configured(paths, str(file))
    assert urls[2:] == paths[2:]
    for parsed in map(source.parse_url, urls[:2]):
        found = {name: one.value for name, one in parsed.config.items()}
        assert found == {"security.protocol": "SASL_SSL", "sasl.jaas.config": "secret"}
        assert "secret" not in repr(parsed)
    assert source.parse_url(paths[0]).config["security.protocol"].value == "SSL"


def test_where_the_connector_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(name: str, *_: str) -> Path:
        asked.append(name)
        return tmp_path

    monkeypatch.setattr(source, "fetched_jars", fetch)
    monkeypatch.delenv(source.CONNECTOR, raising=False)
    for release, expected in (("4.1.0", "4.1.1"), ("4.2.3", "4.2.0"), ("4.10.0", "4.2.0")):
        monkeypatch.setattr(source.added_jars.pyspark, "__version__", release)
        source.connector()
        assert asked[-1] == f"spark-sql-kafka-0-10_2.13-{expected}"
    monkeypatch.setenv(source.CONNECTOR, "4.1.1")
    source.connector()
    assert asked[-1] == "spark-sql-kafka-0-10_2.13-4.1.1"
    monkeypatch.setenv(source.CONNECTOR, str(tmp_path))
    with pytest.raises(InputError, match="has no spark-sql-kafka"):
        source.connector()
    (tmp_path / "spark-sql-kafka-0-10_2.13-4.2.0.jar").touch()
    assert source.connector() == tmp_path
    monkeypatch.setenv(source.CONNECTOR, "org.example:connector:7.1")
    with pytest.raises(InputError, match=r"'org.example.*': expected a folder of jars, or one of"):
        source.connector()
