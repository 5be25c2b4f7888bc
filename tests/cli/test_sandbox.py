"""partage sandbox: one broker up and down for real, and what is refused before anything starts."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from partage.jars import MIRROR
from partage.live import sandbox
from partage.live.sandbox import jars

Run = Callable[..., Any]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NODE = {"address", "pid", "log"}


@pytest.mark.long
@pytest.mark.kafka
def test_the_life_of_a_sandbox(run: Run, tmp_path: Path) -> None:
    try:
        up = run("sandbox", "up", "--brokers", "1", "--racks", "a", "--json")
        found = up.json
        assert set(found) == {
            "directory",
            "kafka",
            "cluster_id",
            "secure",
            "assignor",
            "bootstrap_servers",
            "brokers",
            "controller",
            "started",
            "client_properties",
        }
        properties = "sandbox/client.properties"
        client = {"file": properties, "user": None, "listener": "PLAINTEXT"}
        assert (found["secure"], found["client_properties"]) == (False, [client])
        (broker,) = found["brokers"]
        assert (broker["id"], broker["rack"], found["started"]) == (1, "a", [1])
        assert set(broker) - {"id", "rack"} == set(found["controller"]) == NODE
        assert broker["address"] == found["bootstrap_servers"]
        assert (tmp_path / broker["log"]).is_file()
        nodes = [broker["pid"], found["controller"]["pid"]]

        again = run("sandbox", "up")
        assert (again.code, again.err) == (0, "")
        assert again.out.startswith(f"Kafka {found['kafka']} in sandbox: already running\n")
        for shown in (broker["address"], str(broker["pid"]), broker["log"], "sandbox down\n"):
            assert shown in again.out
        assert f"For this shell: export PARTAGE_COMMAND_CONFIG={properties}\n" in again.out
        named = f"--command-config {properties}"
        assert again.out.endswith(f"Next: partage snapshot {named} -o cluster.json\n")
        for _ in range(2):  # the topic is made once
            example = run("sandbox", "up", "--example")
            assert example.out.endswith(f"Next: partage plan {named} -o plan/\n")
        seen = run("snapshot", "--command-config", properties, "-o", "seen.json")
        assert seen.out.startswith("1 broker, 1 topic, 4 partitions, 4 replicas, 4.01 MB\n")
        (tmp_path / "seen.json").unlink()

        other = run("sandbox", "up", "--brokers", "2")
        assert (other.code, other.out) == (2, "")
        assert other.err == (
            "partage: --brokers: 2: sandbox has 1; partage sandbox down --dir sandbox removes it\n"
        )

        stopped = run("sandbox", "stop", "1", "--kill", "--json").json
        assert [one["pid"] for one in stopped["brokers"]] == [None]
        assert run("sandbox", "stop", "1").out.endswith("sandbox down\n")
        assert run("sandbox", "stop", "2").code == 2
        back = run("sandbox", "start", "1", "--json").json
        assert back["started"] == [1]
        nodes.append(back["brokers"][0]["pid"])
        added = run("sandbox", "add", "--rack", "b", "--json").json
        assert added["brokers"][1]["rack"] == "b"
        assert added["bootstrap_servers"] in (tmp_path / properties).read_text()
        kept = run("sandbox", "down", "--keep")
        assert kept.out == (
            "Stopped: controller, broker-1, broker-2\nKept: sandbox\n\nNext: partage sandbox up\n"
        )
    finally:
        down = run("sandbox", "down", "--json")
    assert down.json == {"directory": "sandbox", "ended": [], "left": []}
    assert list(tmp_path.iterdir()) == []
    for pid in nodes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("up", "--brokers", "0"), "--brokers: 0: expected 1 to 30"),
        (("up", "--brokers", "x"), "--brokers"),
        (("up", "--racks", "a,,b"), "--racks: '': expected the name of a rack"),
        (("up", "--racks", ""), "--racks: '': expected the name of a rack"),
        (("up", "--racks", "a,b", "--brokers", "1"), "--racks: 2 racks for 1 brokers"),
        (("up", "--kafka", "2.8"), "--kafka: '2.8': expected one of 3.4.1, 3.6.2, "),
        (("up", "--dir", "no/such"), "no/such: there is no folder "),
        (("up", "--dir", "theirs"), "theirs: contains files that partage did not write"),
        (("up", "--dir", "theirs/file"), "theirs/file: is a file"),
        (("up", "--dir", ""), "--dir: the name of the folder is empty"),
        (("up", "more"), "more"),
        (("down",), "sandbox: there is no sandbox (no sandbox.json)"),
        (("down", "--dir", "theirs"), "theirs: there is no sandbox"),
        (("add", "--rack", "d"), "sandbox: there is no sandbox"),
        (("stop", "1"), "sandbox: there is no sandbox"),
        (("start", "1"), "sandbox: there is no sandbox"),
        (("stop",), "ID"),
    ],
    ids=" ".join,
)
def test_arguments_that_are_not_accepted(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").write_text("theirs")
    for json_too in ((), ("--json",)):
        ended = run("sandbox", *arguments, *json_too)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("partage: ")
        assert ended.err.count("\n") == 1
        assert message in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    assert (tmp_path / "theirs" / "file").read_text() == "theirs"


def test_a_failed_start_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(jars.OWN_JARS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(MIRROR, "https://localhost:1")
    monkeypatch.setenv("no_proxy", "localhost")
    ended = run("sandbox", "up")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert "PARTAGE_KAFKA_JARS can name a folder of its jars" in ended.err
    assert list(tmp_path.rglob("*.jar")) == []
    assert not (tmp_path / "sandbox").exists()


@pytest.mark.long
@pytest.mark.parametrize("command", [("up",), ("add",), ("start", "1")], ids=" ".join)
@pytest.mark.parametrize("sent", SIGNALS)
def test_a_signal_ends_the_started_nodes(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], sent: signal.Signals
) -> None:
    cleaned_up: list[bool] = []

    def launch(*_: Any, **__: Any) -> None:
        try:
            os.kill(os.getpid(), sent)
            time.sleep(10)
        finally:
            os.kill(os.getpid(), sent)  # again: it must not disturb
            cleaned_up.append(True)

    monkeypatch.setattr(sandbox.Sandbox, "start", launch)
    launcher = SimpleNamespace(add_broker=launch, start_broker=launch)
    monkeypatch.setattr(sandbox.Sandbox, "open", lambda _: launcher)
    before = [signal.getsignal(one) for one in SIGNALS]
    try:
        ended = run("sandbox", *command)
    finally:
        for one, earlier in zip(SIGNALS, before, strict=True):
            signal.signal(one, earlier)
    assert (ended.code, ended.out) == (130, "")
    assert cleaned_up == [True]


def test_down_leaves_other_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    (folder / "broker-1").mkdir(parents=True)
    (folder / "notes").write_text("mine")
    nodes = [{"id": n, "rack": None, "port": 1, "pid": None} for n in (0, 1)]
    state = {
        "format_version": 1,
        "kafka": "4.3.0",
        "cluster_id": "x",
        "folder": "/",
        "nodes": nodes,
    }
    (folder / sandbox.MARKER).write_text(json.dumps(state))
    ended = run("sandbox", "down", "--dir", "other")
    assert ended.code == 0
    assert ended.out == (
        "Stopped: nothing was running\nLeft in other, not written by the sandbox: notes\n"
    )
    assert [path.name for path in folder.iterdir()] == ["notes"]
