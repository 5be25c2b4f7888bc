"""snapshot --watch, as a user types it, on a fake cluster."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.live.admin import rates
from partage.live.admin.connection import Connection
from partage.testing import FakeCluster

Run = Callable[..., Any]
WATCH = ("snapshot", "--bootstrap-server", "h:1", "-o", "live.json", "--watch")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """What each command connects to. Every request for groups comes after more traffic."""
    cluster = FakeCluster({("t", 0): (1, 2), ("t", 1): (2, 1)}, [1, 2], partition_bytes=0)
    real = cluster.admin.list_groups

    def list_groups() -> list[dict[str, Any]]:
        cluster.produce(("t", 0), 1000, 100.0)
        cluster.commit("g", ("t", 0), cluster._partitions["t", 0].next_offset)
        return real()

    cluster.admin.list_groups = list_groups  # type: ignore[method-assign]

    @contextmanager
    def connected(_: Connection) -> Iterator[Any]:
        yield cluster.admin

    monkeypatch.setattr(Connection, "admin", connected)
    return cluster


def test_rates_in_the_file_and_the_table(run: Run, cluster: FakeCluster) -> None:
    ended = run(*WATCH, "1s")
    assert (ended.code, ended.err) == (0, "")
    written = json.loads(Path("live.json").read_text())
    assert written["rates"]["samples"] == 2
    assert written["rates"]["seconds"] >= 1
    busy, idle = written["partitions"]
    assert busy["bytes_in_per_second"] > 0
    assert busy["bytes_out_per_second"] > 0
    assert 0 < busy["records_in_per_second"] <= 1000
    assert (idle["bytes_in_per_second"], idle["bytes_out_per_second"]) == (0, 0)
    assert "\nRates of " in ended.out
    assert "Hottest partitions: t-0 (in " in ended.out
    assert ended.out.endswith(
        "\nWritten: live.json   Next: partage plan live.json --balance load -o plan/\n"
    )
    plan = run("plan", "live.json", "--balance", "load", "--json")
    assert plan.json["resources"]["in"]["max"] > 0


def test_json_is_what_is_written(run: Run, cluster: FakeCluster) -> None:
    ended = run(*WATCH, "1s", "--json")
    written = json.loads(Path("live.json").read_text())
    written.pop("checksum")
    assert ended.json == written


@pytest.mark.parametrize("least", [1, 0])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_what_was_measured_or_nothing(
    run: Run,
    cluster: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
    least: float,
    sent: signal.Signals,
) -> None:
    monkeypatch.setattr(rates, "LEAST_SECONDS", least)
    real, calls = cluster.admin.list_groups, [0]

    def list_groups() -> list[dict[str, Any]]:
        calls[0] += 1
        if calls[0] == 1:
            os.kill(os.getpid(), sent)
        return real()

    cluster.admin.list_groups = list_groups  # type: ignore[method-assign]
    ended = run(*WATCH, "168h")
    if least:
        assert (ended.code, ended.out, ended.err) == (130, "", "partage: interrupted\n")
        assert not Path("live.json").exists()
    else:
        assert (ended.code, ended.err) == (0, "")
        assert json.loads(Path("live.json").read_text())["rates"]["samples"] == 2


def test_a_second_interrupt_ends_it_at_once(run: Run, cluster: FakeCluster) -> None:
    def list_groups() -> list[dict[str, Any]]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("it went on")

    cluster.admin.list_groups = list_groups  # type: ignore[method-assign]
    ended = run(*WATCH, "60s")
    assert (ended.code, ended.out, ended.err) == (130, "", "partage: interrupted\n")
    assert not Path("live.json").exists()


@pytest.mark.parametrize("given", ["0s", "soon", "1.5s", "169h", "-1s"])
def test_a_duration_that_is_none(run: Run, given: str) -> None:
    ended = run("snapshot", "--bootstrap-server", "h:1", f"--watch={given}")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: --watch {given}: ")
    assert ended.err.count("\n") == 1


def test_prometheus(run: Run, cluster: FakeCluster, tmp_path: Path) -> None:
    points = [[0, "0"], [60, "6000"]]
    labels = {"t": "t", "partition": "0"}
    row = {"metric": {"__name__": "kafka_log_log_size", **labels}, "values": points}
    data = {"status": "success", "data": {"resultType": "matrix", "result": [row]}}
    (tmp_path / "answer.json").write_text(json.dumps(data))
    words = ("--prometheus", "answer.json", "--labels", "topic=t")
    ended = run("snapshot", "--bootstrap-server", "h:1", "-o", "live.json", *words)
    assert (ended.code, ended.err) == (0, "")
    written = json.loads(Path("live.json").read_text())
    assert written["rates"] == {"seconds": 60.0, "samples": 2}
    assert written["partitions"][0]["bytes_in_per_second"] == 100
    assert "--balance load" in ended.out
    assert "no rate from Prometheus: t-1" in ended.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--prometheus", "none.json"), "none.json: no such file"),
        (("--prometheus", "x", "--watch", "1s"), "--prometheus: cannot be combined with --watch"),
        (("--labels", "topic=x"), "--labels: needs --prometheus"),
        (("--labels", "x", "--prometheus", "y"), "--labels x: expected for instance topic=NAME"),
    ],
)
def test_prometheus_refused(
    run: Run, cluster: FakeCluster, words: tuple[str, ...], problem: str
) -> None:
    ended = run("snapshot", "--bootstrap-server", "h:1", "-o", "live.json", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert ended.err.count("\n") == 1
    assert not Path("live.json").exists()
