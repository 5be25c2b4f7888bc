"""A real Kafka on this machine, to try things on: its nodes are processes, its state is a folder.

``sandbox.json``, the marker, says which nodes there are: id, rack, port, process id. It is written
anew whenever one of them changes, so whatever interrupts a run, the next one knows what to end or to
start again. Beside it every node has a folder: settings, data, log. Nothing is kept elsewhere but the
jars.

One node is the controller and nothing else, the others are brokers and nothing else. So any broker can
be killed, and all of them, and the cluster goes on. Three nodes that are both would be one process
fewer, but the cluster would stand still with any two of them gone.

A free port is found by binding it, held while settings are written, and let go just before the process
starts. If another takes it in between, the node says so in its log, ends, and is given another.

A node is ready when its log says so: Kafka writes that line once the controller has unfenced the
broker. Whoever asks the cluster instead may be told of the broker that was killed a second ago.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from partage.errors import InputError, PartageError
from partage.files import check_writable_directory, parse_json, read_text, to_json, write_text
from partage.java import find_java
from partage.live import process
from partage.live.jars import kafka_jars

MARKER = "sandbox.json"
DIRECTORY = "sandbox"
"""Below the current directory: in sight, and gone with it."""

BROKERS = 3
MOST_BROKERS = 30
"""At about 200 MB each, more than this is a slip of the finger."""

_FORMAT_VERSION = 1
_CONTROLLER = 0
_HOST = "127.0.0.1"
_READY = "Kafka Server started"
_PORT_TAKEN = "Address already in use"
_PORT_TRIES = 3
_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1

_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
"""Java's first compiler only, few threads, and no file of its own in the temporary folder."""

_HEAP = {"controller": "-Xmx256m", "broker": "-Xmx384m"}

_SETTINGS: dict[str, object] = {
    # A dead broker is fenced in seconds; Kafka's own 9 s and 2 s suit real networks.
    "broker.session.timeout.ms": 4000,
    "broker.heartbeat.interval.ms": 500,
    # A group that is tried out does not wait for members to come.
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.min.isr": 1,
    # Few threads, and 4 MB instead of 128 for the cleaner's map: the cluster shares one machine.
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
}

Tell = Callable[[str], None]


def _silent(_: str) -> None:
    return None


@dataclass(frozen=True)
class Node:
    """One process of a sandbox: the controller (id 0) or a broker. No ``pid``: not started."""

    id: int
    rack: str | None = None
    port: int = 0
    pid: int | None = None

    @property
    def role(self) -> str:
        """``controller`` or ``broker``."""
        return "broker" if self.id else "controller"

    @property
    def name(self) -> str:
        """How messages, and its folder, call it."""
        return f"broker-{self.id}" if self.id else "controller"

    @property
    def address(self) -> str:
        """``127.0.0.1:PORT``."""
        return f"{_HOST}:{self.port}"


class Sandbox:
    """A Kafka cluster of this machine, in a folder. ``with Sandbox.start(...)`` ends it at the end.

    ``start`` makes one, or brings up the one that is there; ``open`` takes it as it is.
    """

    def __init__(self, folder: Path, kafka: str, cluster_id: str, nodes: Iterable[Node]) -> None:
        self.folder = folder
        self.kafka = kafka
        self.cluster_id = cluster_id
        self._nodes = {node.id: node for node in nodes}

    # ------------------------------------------------------------------ making and finding

    @classmethod
    def start(
        cls,
        directory: str | os.PathLike[str] = DIRECTORY,
        *,
        brokers: int | None = None,
        racks: Sequence[str] | None = None,
        kafka: str | None = None,
        tell: Tell = _silent,
    ) -> Self:
        """A sandbox with every broker registered and unfenced.

        A new one has ``brokers`` (3), ids from 1 on, dealt round the ``racks`` in turn, and runs the
        version ``kafka`` (4.3.0). Of one that is there, what does not run is started, on its data;
        what is asked for must be what it is. Raises InputError for what cannot be asked, PartageError
        for a cluster that does not come up: then nothing of this call is left.
        """
        count, dealt = _layout(brokers, racks)
        where = os.fspath(directory)
        folder = Path(directory).absolute()
        check_writable_directory(where, MARKER)
        if "," in str(folder):
            raise InputError(where, "a comma in its path, which Kafka takes for two folders")
        if not folder.parent.is_dir():
            raise InputError(where, f"there is no folder {folder.parent}")
        folder.mkdir(exist_ok=True)
        with _alone(folder):
            fresh = not (folder / MARKER).exists()
            if fresh:
                made = (Node(number + 1, rack) for number, rack in enumerate(dealt))
                sandbox = cls(folder, "", _random_id(), (Node(_CONTROLLER), *made))
            else:
                sandbox = cls.open(directory)
                sandbox._must_be(brokers, racks, kafka)
            before = {node.id for node in sandbox._running()}
            try:
                if fresh:
                    tell("looking for Kafka's jars")
                    sandbox.kafka = kafka_version_of(kafka_jars(kafka, tell))
                sandbox._bring_up([node.id for node in sandbox.brokers], tell)
            except BaseException:
                sandbox._end((n for n in sandbox._running() if n.id not in before), patience=0)
                if fresh:
                    sandbox._remove()
                raise
        return sandbox
