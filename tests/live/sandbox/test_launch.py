"""Nodes that do not start, and processes that are ended."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from partage.errors import PartageError
from partage.live.sandbox import MARKER, Sandbox, launch, nodes, process
from partage.live.sandbox.jars import OWN_JARS
from tests.live.sandbox.running import alive, exists, pids, state

real = pytest.mark.kafka


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def always(port: int) -> Callable[[int], Any]:
    """Instead of ``bound``: another process takes the port before the node starts."""

    class Held:
        def getsockname(self) -> tuple[str, int]:
            return "127.0.0.1", port

    @contextmanager
    def bound(_: int) -> Iterator[Held]:
        yield Held()

    return bound


@pytest.mark.long
@real
@pytest.mark.parametrize("loser", ["controller", "broker"])
def test_a_port_taken_before_the_start_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loser: str
) -> None:
    bound, asked = nodes.bound, []

    def first_time(port: int) -> Any:
        asked.append(port)
        lost = len(asked) == (1 if loser == "controller" else 2)
        return always(taken)(port) if lost else bound(port)

    monkeypatch.setattr(launch, "bound", first_time)
    with taken_port() as taken, Sandbox.start(tmp_path / "s", brokers=1) as sandbox:
        assert alive(sandbox) == {1}
        assert taken not in {node.port for node in sandbox._nodes.values()}
    assert not (tmp_path / "s").exists()


@pytest.mark.long
@real
def test_ports_that_are_taken_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = nodes.bound
    started: list[int] = []

    def progress(_: str) -> None:
        if (tmp_path / "s" / MARKER).exists():
            started.extend(pids(tmp_path / "s"))

    with taken_port() as taken:
        calls: list[int] = []

        def taken_except_for_the_controller(port: int) -> Any:
            calls.append(port)
            return bound(port) if len(calls) == 1 else always(taken)(port)

        monkeypatch.setattr(launch, "bound", taken_except_for_the_controller)
        with pytest.raises(PartageError, match=r"^broker-1 did not start: .*already in use") as e:
            Sandbox.start(tmp_path / "s", brokers=1, progress=progress)
    assert "\n" not in str(e.value)
    assert len(calls) == 4
    assert started
    assert not any(map(exists, set(started)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@real
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    started: list[int] = []

    def interrupt(step: str) -> None:
        if step.endswith("nodes"):
            started.extend(pids(tmp_path / "s"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Sandbox.start(tmp_path / "s", brokers=2, progress=interrupt)
    assert len(started) == 3
    assert not any(map(exists, started))
    assert list(tmp_path.iterdir()) == []


def test_jars_without_kafka_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    (libs / "kafka_2.13-4.3.0.jar").touch()
    monkeypatch.setenv(OWN_JARS, str(libs))
    message = r"^controller cannot be formatted: .*kafka\.tools\.StorageTool"
    with pytest.raises(PartageError, match=message) as raised:
        Sandbox.start(tmp_path / "s")
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["libs"]


def test_a_recycled_process_id_is_not_killed(tmp_path: Path) -> None:
    """The state has the id of a process that is now another program: it keeps running."""
    folder = tmp_path / "s"
    (folder / "broker-1").mkdir(parents=True)
    config = folder / "elsewhere" / "server.properties"
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", "kafka.Kafka", str(config)]
    with subprocess.Popen(sleep) as other:
        try:
            nodes = [{"id": n, "rack": None, "port": 1, "pid": other.pid} for n in (0, 1)]
            (folder / MARKER).write_text(json.dumps(state(nodes=nodes)))
            sandbox = Sandbox.open(folder)
            assert sandbox.to_json()["brokers"][0]["pid"] is None
            assert sandbox.down() == ([], [])
            assert other.poll() is None
        finally:
            other.kill()
    assert not folder.exists()


@pytest.mark.long
def test_the_controller_is_ended_even_if_a_broker_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [{"id": n, "rack": None, "port": 1, "pid": 100 + n} for n in (0, 1)]
    (tmp_path / MARKER).write_text(json.dumps(state(nodes=nodes, folder=str(tmp_path))))
    asked: list[int] = []

    def end(processes: dict[int, str], timeout: float) -> None:
        asked.extend(processes)
        if 101 in processes:
            raise PartageError("still running: process 101")

    monkeypatch.setattr(process, "end", end)
    monkeypatch.setattr(process, "runs", lambda *_: True)
    with pytest.raises(PartageError, match="still running: process 101"):
        Sandbox.open(tmp_path).down()
    assert asked == [101, 100]
    left = json.loads((tmp_path / MARKER).read_text())["nodes"]
    assert [node["pid"] for node in left] == [None, 101]
