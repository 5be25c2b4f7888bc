"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partage
from partage import redaction
from tests import profiles

profiles.register()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background command ignores Ctrl-C, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Side by side (``-n 3 --dist loadgroup``), those that share a session or a cluster stay
    together and come first, since they take longest, then those with a browser and those about the
    whole repository. A file stays together, too, for what its tests share, unless it names a group;
    long tests are spread."""
    _spread_samples(items)
    items.sort(key=_turn)
    for item in items:
        file = item.path.as_posix()
        if _uses_kafka(item):
            item.add_marker(pytest.mark.xdist_group("kafka"))
        elif item.get_closest_marker("xdist_group"):
            continue
        elif item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif not item.get_closest_marker("long") or (
            item.get_closest_marker("kafka") and item.path.stem != "test_docs"
        ):
            item.add_marker(pytest.mark.xdist_group(file))


def _spread_samples(items: list[pytest.Item]) -> None:
    """``sampled(5)``: one case in five runs every day, the others are long."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, found in cases.items():
        one_in = next(marker.args[0] for marker in found[0].iter_markers("sampled"))
        daily = random.Random(test).sample(found, -(-len(found) // one_in))
        for item in found:
            if item not in daily:
                item.add_marker(pytest.mark.long)


def _uses_kafka(item: pytest.Item) -> bool:
    return "kafka" in getattr(item, "fixturenames", ())


def _turn(item: pytest.Item) -> int:
    if _uses_kafka(item):
        return 0
    if item.get_closest_marker("spark"):
        return 1
    whole = item.path.parent == Path(__file__).parent
    return 2 if whole or item.get_closest_marker("browser") else 3


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: Any) -> None:
    """xdist appends the group to the name of a test: without it, ``--last-failed`` finds it."""
    if hasattr(report, "node"):
        report.nodeid = re.sub(r"@[^\]]*$", "", report.nodeid)


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests write thousands of small files; tests/outputs/test_durable.py tests the waiting."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture(autouse=True)
def no_hidden_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test hides, as a secret, another may show."""
    monkeypatch.setattr(redaction, "_hidden", set())


@pytest.fixture
def in_a_terminal() -> Iterator[None]:
    """SIGHUP is not ignored, even if nohup has started the tests."""
    before = signal.signal(signal.SIGHUP, signal.default_int_handler)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def beside_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they import each other as scripts of one folder do."""
    folder = Path(__file__).resolve().parent.parent / "benchmarks"
    monkeypatch.syspath_prepend(str(folder / "consumers"))
    monkeypatch.syspath_prepend(str(folder))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of all tests, opened when the first of them asks for it."""
    pytest.importorskip("pyspark")
    from partage.pipeline.session import session

    config = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
    with session("local[2]", short=True, config=config) as opened:
        yield opened


@pytest.fixture(scope="session")
def change_events() -> str:
    """The bundled records: 378,940 changes of files, as Parquet."""
    return str(Path(partage.__file__).parent / "data" / "change-events.parquet")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one real Kafka of all tests, a ``Sandbox``: brokers 1, 2, 3 in racks a, b, c. Of another
    version with the variable KAFKA_VERSION, as 3.9.2-zookeeper with ZooKeeper.

    A test that stops a broker or adds one puts back what it found; topics have names of their own.
    """
    from partage.live.sandbox import Sandbox
    from tests.zookeeper_sandbox import ZooKeeperSandbox

    version, _, zookeeper = os.environ.get("KAFKA_VERSION", "").partition("-")
    kind = ZooKeeperSandbox if zookeeper else Sandbox
    # Ended by SIGTERM, as timeout does it, the run still ends the brokers.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = tmp_path_factory.mktemp("kafka") / "sandbox"
    with kind.start(folder, brokers=3, racks=("a", "b", "c"), kafka=version or None) as sandbox:
        yield sandbox
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def connector() -> Path:
    """Spark's Kafka connector."""
    from partage.pipeline.sources.kafka import connector

    return connector()


@pytest.fixture(scope="module")
def admin(kafka: Any) -> Iterator[Any]:
    """An admin client, as the commands have it."""
    from partage.live.admin.connection import Connection

    with Connection.of(kafka.bootstrap_servers).admin() as client:
        yield client
