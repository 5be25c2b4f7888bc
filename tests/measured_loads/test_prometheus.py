"""Rates out of answers of Prometheus: arithmetic, names, addresses on loopback, bad answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from partage.errors import InputError, PartageError
from partage.measured_loads.prometheus import LABELS, labels_of, prometheus_rates
from partage.measured_loads.rates import MeasuredRates, PartitionRates

SIZES = {("t", 0): 5_000, ("t", 1): 3_000}
"""The partitions of the cluster, and their bytes."""


def series(
    metric: str, values: list[float | str], start: float = 0, **labels: str
) -> dict[str, Any]:
    """A value every 60 seconds."""
    named = {"__name__": metric} if metric else {}
    points = [[start + 60 * i, str(value)] for i, value in enumerate(values)]
    return {"metric": named | labels, "values": points}


def of(topic: str, partition: int, **more: str) -> dict[str, str]:
    return {"topic": topic, "partition": str(partition), **more}


def answer(tmp_path: Path, *result: dict[str, Any], name: str = "answer.json") -> str:
    value = {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}
    (tmp_path / name).write_text(json.dumps(value))
    return str(tmp_path / name)


def rates(*answers: str) -> MeasuredRates:
    return prometheus_rates(answers, SIZES)


def test_the_jmx_exporter(tmp_path: Path) -> None:
    """Sizes and offsets of each replica; names of metrics are lower case by a setting only."""
    rows = [
        series("kafka_log_log_size", [0, 6_000, 12_000], **of("t", 0, instance="b1")),
        # a follower that catches up
        series("kafka_log_Log_Size", [0, 6_000, 12_000], **of("t", 0, instance="b2")),
        series("kafka_log_log_size", [0, 0, 12_000], **of("t", 0, instance="b3")),
        series("kafka_log_log_logendoffset", [0, 60, 120], **of("t", 0, instance="b1")),
        series("kafka_log_log_logendoffset", [0, 50, 110], **of("t", 0, instance="b2")),
        series("kafka_log_log_logstartoffset", [0, 0, 0], **of("t", 0, instance="b1")),
        series("kafka_log_log_size", [7, 7, 7], **of("t", 1, instance="b1")),
    ]
    found = rates(answer(tmp_path, *rows))
    assert found == MeasuredRates(
        120,
        3,
        {
            ("t", 0): PartitionRates(100, None, 1, None),
            ("t", 1): PartitionRates(0, None, None, None),  # sizes only
        },
    )


def test_retention_takes_nothing_off(tmp_path: Path) -> None:
    rows = [
        series("kafka_log_log_size", [6_000, 12_000, 18_000, 4_000, 10_000], **of("t", 0)),
        series("kafka_log_log_logendoffset", [60, 120, 180, 240, 300], **of("t", 0)),
        series("kafka_log_log_logstartoffset", [0, 0, 0, 200, 200], **of("t", 0)),
    ]
    assert rates(answer(tmp_path, *rows)).of["t", 0] == PartitionRates(100, None, 1, None)


def test_sizes_alone_count_only_what_grew(tmp_path: Path) -> None:
    sizes = series("kafka_log_log_size", [6_000, 12_000, 1_000, 7_000], **of("t", 0))
    assert rates(answer(tmp_path, sizes)).of["t", 0] == PartitionRates(100, None, None, None)


def test_kafka_exporter(tmp_path: Path) -> None:
    """It has offsets only: the cluster's sizes give the bytes of a record, 5,000 of 200 records."""
    rows = [
        series("kafka_topic_partition_current_offset", [1_080, 1_140, 1_200], **of("t", 0)),
        series("kafka_topic_partition_oldest_offset", [900, 950, 1_000], **of("t", 0)),
        series("kafka_topic_partition_current_offset", [0, 0, 0], **of("t", 1)),
    ]
    rows += [
        series(
            "kafka_consumergroup_current_offset",
            [offset, offset + 120, offset + 240],
            **of("t", 0, consumergroup=group, instance=instance),
        )
        for group, instance, offset in (("a", "x", 1), ("b", "x", 500), ("b", "y", 500))
    ]
    assert rates(answer(tmp_path, *rows)).of == {
        ("t", 0): PartitionRates(25, 100, 1, 4),
        ("t", 1): PartitionRates(0, 0, 0, 0),
    }


def test_rates_that_a_query_computed(tmp_path: Path) -> None:
    bytes_in = answer(
        tmp_path,
        series("", [10, 20, "NaN"], **of("t", 0)),
        series("", [1, 3], **of("t", 1)),
        name="in",
    )
    bytes_out = answer(tmp_path, series("", [7], **of("t", 0)), name="out")
    found = rates(f"bytes_in={bytes_in}", f"bytes_out={bytes_out}")
    assert found.of == {("t", 0): PartitionRates(15, 7), ("t", 1): PartitionRates(2)}
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("offsets", "shares", "evenly"), [([[0, 60], [0, 180]], [10, 30], False), ([], [20, 20], True)]
)
def test_the_rate_of_a_topic_is_shared(
    tmp_path: Path, offsets: list[list[float | str]], shares: list[float], evenly: bool
) -> None:
    """As the JMX exporter has bytes in, by topic."""
    name = "kafka_topic_partition_current_offset"
    rows = [series(name, values, **of("t", n)) for n, values in enumerate(offsets)]
    bytes_in = answer(tmp_path, series("", [40], topic="t"), name="in")
    found = rates(f"bytes_in={bytes_in}", *([answer(tmp_path, *rows)] if rows else []))
    assert [found.of["t", number].bytes_in for number in range(2)] == shares
    words = "bytes_in has no partitions, shared evenly: t"
    assert found.warnings == ((words,) if evenly else ())


def test_labels_by_other_names(tmp_path: Path) -> None:
    labels = labels_of("topic=kafka_topic, partition=p,group=g")
    rows = [
        series("kafka_topic_partition_current_offset", [0, 200], kafka_topic="t", p="0"),
        series("kafka_consumergroup_current_offset", [0, 60], kafka_topic="t", p="0", g="a"),
    ]
    found = prometheus_rates([answer(tmp_path, *rows)], {("t", 0): 5_000}, labels)
    assert found.of["t", 0].records_out == 1
    assert labels_of("group=g") == LABELS | {"group": "g"}


@pytest.mark.parametrize("text", ["", "topic", "topic=", "broker=x", "topic=a-b", "topic=x,,"])
def test_labels_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected for instance topic=NAME"):
        labels_of(text)


def test_partitions_that_only_one_side_has(tmp_path: Path) -> None:
    rows = [series("kafka_log_log_size", [0, 60], **of("gone", 3))]
    assert rates(answer(tmp_path, *rows)).warnings == (
        "no rate from Prometheus: t-0, t-1",
        "from Prometheus, but not in the cluster: gone-3",
    )


SIZE = "kafka_log_log_size"


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ([series("up", [1])], "result[0]: up is not a metric that is known (kafka_log_log_size"),
        ([series("", [1], **of("t", 0))], "result[0]: has no __name__: its values are rates, name"),
        ([series(SIZE, [1], partition="0")], "result[0]: has no label topic: see --labels"),
        ([series(SIZE, [1], topic="t")], "result[0]: has no label partition: see --labels"),
        ([series(SIZE, [1], **of("t", 0)), series(SIZE, [1], topic="t", partition="x")], "[1]: x"),
        ([series(SIZE, ["much"], **of("t", 0))], "result[0]: much is not a number"),
        ([series(SIZE, ["-5"], **of("t", 0))], "result[0]: -5: expected 0 or more"),
        ([series(SIZE, ["1e300"], **of("t", 0))], "result[0]: 1e300: expected 0 or more"),
        ([{"metric": of("t", 0), "values": [[1, 2]]}], "result[0].values[0][1]: expected "),
        ([{"metric": {}, "values": [[1]]}], "result[0].values[0]: expected "),
        ([], "the answers have no values"),
        ([series(SIZE, ["NaN", "+Inf"], **of("t", 0))], "the answers have no values"),
    ],
)
def test_answers_that_are_none(tmp_path: Path, result: list[Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        rates(answer(tmp_path, *result))
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_times_out_of_order(tmp_path: Path) -> None:
    row = series(SIZE, [1, 2], **of("t", 0))
    row["values"].reverse()
    with pytest.raises(InputError, match="its times do not ascend"):
        rates(answer(tmp_path, row))


def test_the_same_rate_twice(tmp_path: Path) -> None:
    rows = [series("", [1], **of("t", 0, instance=name)) for name in ("a", "b")]
    with pytest.raises(InputError, match="prometheus bytes_in: t-0 has several series: sum them"):
        rates(f"bytes_in={answer(tmp_path, *rows)}")


# ---------------------------------------------------------------------- addresses

OK = {
    "status": "success",
    "data": {"resultType": "matrix", "result": [series(SIZE, [0, 600], **of("t", 0))]},
}
ERROR = {"status": "error", "errorType": "bad_data", "error": "parse error\nat char 3"}
PAGES = {
    "/api/v1/query_range": (200, json.dumps(OK)),
    "/bad": (400, json.dumps(ERROR)),
    "/busy": (503, "<html>busy</html>"),
    "/page": (200, "<html>Grafana</html>"),
    "/latin": (200, "\udcff"),
    "/moved": (302, "/api/v1/query_range"),
}
LOGINS: list[tuple[str, str | None]] = []
"""Page and login of each request."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = self.path.partition("?")[0]
        LOGINS.append((page, self.headers["Authorization"]))
        code, text = PAGES[page]
        self.send_response(code)
        if code == 302:
            self.send_header("Location", text)
        self.end_headers()
        self.wfile.write(text.encode("utf-8", "surrogateescape"))

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Handler) as own:
        thread = threading.Thread(target=own.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{own.server_port}"
        own.shutdown()
        thread.join()


def test_an_address(server: str) -> None:
    found = rates(f"{server}/api/v1/query_range?query=x%7By%3D%22z%22%7D&start=1&end=2&step=60")
    assert found.of["t", 0].bytes_in == 10
    named = prometheus_rates([f"bytes_in={server}/api/v1/query_range?query=x"], SIZES)
    assert named.of["t", 0].bytes_in == 300


@pytest.mark.parametrize(
    ("path", "kind", "problem"),
    [
        ("/bad", InputError, "/bad: Prometheus answered 'bad_data: parse error\\nat char 3'"),
        ("/busy", PartageError, "/busy: HTTP 503 Service Unavailable"),
        ("/page", InputError, "/page: "),
        ("/latin", InputError, "/latin: byte 0: not UTF-8"),
    ],
)
def test_addresses_without_an_answer(
    server: str, path: str, kind: type[PartageError], problem: str
) -> None:
    with pytest.raises(kind) as raised:
        rates(server + path)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_login_is_sent_to_its_own_host_only(server: str) -> None:
    LOGINS.clear()
    address = server.replace("://", "://me:gehe%40im@")
    assert rates(f"{address}/moved?query=x").of["t", 0].bytes_in == 10
    assert LOGINS == [("/moved", "Basic bWU6Z2VoZUBpbQ=="), ("/api/v1/query_range", None)]


@pytest.mark.parametrize(
    "address",
    [
        "http://me:canary@127.0.0.1:1/x?query=x&token=canary",
        "https://me:canary@127.0.0.1/",
        "http://me:a/canary@127.0.0.1:1/",
        "http://me:canary/a@127.0.0.1:1/",
        "http://canary@me:canary@127.0.0.1:1/",
        "http://me:canary a@127.0.0.1:1/",
        "http://me:canary@[::1/",
        "http://me:canary@127.0.0.1:99999999/",
    ],
)
def test_nothing_listens_and_no_login_is_shown(address: str) -> None:
    with pytest.raises(PartageError, match="://") as raised:
        rates(address)
    assert "canary" not in str(raised.value)
