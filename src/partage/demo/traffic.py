"""A producer and a consumer group that work on a cluster while it changes.

Each client is a process (``traffic_client.py``) in its own session, so that Ctrl-C does not reach
it. It ends when its standard input does: at the end of ``Traffic``, and also when the process that
started it is killed. The events that clients print are collected here; ``delivery.py`` counts them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import partage
from partage.demo.delivery import Records
from partage.errors import PartageError

PROGRAM = ("-m", "partage.demo.traffic_client")
"""Python's arguments that run a client."""

_TIMEOUT_SECONDS = 60.0
_POLL_SECONDS = 0.05


class Client:
    """A process with one client. ``events``: the events that it printed, in order."""

    def __init__(
        self, name: str, spec: Mapping[str, Any], program: Sequence[str] = PROGRAM
    ) -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []
        self.records = 0
        """How many records it has acknowledged or read."""
        self.ended: float | None = None
        """When it was asked to stop, or killed; seconds since 1970."""
        self._process = subprocess.Popen(
            [sys.executable, *program, json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(partage.__file__).parents[1])},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):  # the last line of a killed process may be incomplete
                event = json.loads(line)
                self.events.append(event)
                self.records += sum(last - first + 1 for _, first, last in event.get("records", ()))

    @property
    def failed(self) -> str | None:
        """Its first error, if any."""
        return next((one["error"] for one in list(self.events) if one["kind"] == "failed"), None)

    @property
    def joined(self) -> float | None:
        """When a member that knows the topics' metadata began to join; seconds since 1970."""
        return next((one["at"] for one in list(self.events) if one["kind"] == "joins"), None)

    @property
    def owned(self) -> frozenset[str]:
        """The partitions that a member owns, as ``topic-3``."""
        owned: frozenset[str] = frozenset()
        for event in list(self.events) if self.ended is None else ():
            if event["kind"] == "assigned":
                owned |= frozenset(event["partitions"])
            elif event["kind"] in ("revoked", "lost"):
                owned -= frozenset(event["partitions"])
        return owned

    def stop(self) -> None:
        """Ask it to close and end; ``wait`` waits for that."""
        if self.ended is None:
            self.ended = time.time()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill it, like a machine that is switched off."""
        if self.ended is None:
            self.ended = time.time()
        self._process.kill()
        self.wait()

    def wait(self, timeout: float = _TIMEOUT_SECONDS) -> None:
        """Wait until it has ended; kill it after ``timeout`` seconds."""
        try:
            self._process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=timeout)

    @property
    def runs(self) -> bool:
        """Whether its process runs."""
        return self._process.poll() is None


class Traffic:
    """The members of one group and its producer: ``with Traffic(...) as traffic`` ends them all.

    ``servers``: HOST:PORT,…; ``topics``: partition counts by name.
    """

    def __init__(self, servers: str, group: str, topics: Mapping[str, int]) -> None:
        self.servers, self.group, self.topics = servers, group, dict(topics)
        self.members: list[Client] = []
        self.producer: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            for client in self._clients():
                client.kill()
            return
        for client in self._clients():
            client.stop()
        for client in self._clients():
            client.wait()

    def _clients(self) -> list[Client]:
        return [*self.members, *([self.producer] if self.producer else [])]

    @property
    def partitions(self) -> frozenset[str]:
        """All partitions of the topics, as ``topic-3``."""
        return frozenset(
            f"{topic}-{n}" for topic, count in self.topics.items() for n in range(count)
        )

    def produce(self, *, every: float, value_bytes: int = 100) -> Client:
        """Start the producer, which sends a record to each partition every ``every`` seconds.
        Returns when each partition has an acknowledged record that, if there are members, was
        read."""
        spec = {
            "role": "producer",
            "servers": self.servers,
            "topics": self.topics,
            "every": every,
            "value_bytes": value_bytes,
        }
        self.producer = Client("producer", spec)
        self.wait_until(lambda: self._seen("acknowledged") == self.partitions)
        if self.members:
            self.wait_until(lambda: self._seen("read") == self.partitions)
        return self.producer

    def join(
        self,
        name: str,
        assignor: str,
        options: Mapping[str, Any] | None = None,
        program: Sequence[str] = PROGRAM,
        **settings: Any,
    ) -> Client:
        """Start one more member without waiting for it. ``assignor``: a class of ``partage.live``,
        created with ``options``, or several separated by commas; ``settings``: of kafka-python's
        consumer. ``program``: another program that takes the same JSON and prints the same
        events."""
        spec = {
            "role": "member",
            "servers": self.servers,
            "topics": self.topics,
            "group": self.group,
            "name": name,
            "assignor": assignor,
            "options": dict(options or {}),
            "settings": settings,
        }
        self.members.append(Client(name, spec, program))
        return self.members[-1]

    def wait_until_stable(self, seconds: float = 1.0) -> None:
        """Wait until each partition has had exactly one owner for so many ``seconds``."""
        since: list[float] = []

        def stable() -> bool:
            shares = [member.owned for member in self.members]
            complete = frozenset().union(*shares) == self.partitions
            if not complete or sum(map(len, shares)) != len(self.partitions):
                since.clear()
            elif not since:
                since.append(time.monotonic())
            return bool(since) and time.monotonic() - since[0] >= seconds

        self.wait_until(stable)

    def wait_until(self, done: Callable[[], bool], timeout: float = _TIMEOUT_SECONDS) -> None:
        """Wait for a condition on the clients' events. Raises PartageError if a client fails, or
        after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while not done():
            self.check()
            if time.monotonic() > deadline:
                raise PartageError(f"group {self.group}: not ready after {timeout:.0f} s")
            time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Raise PartageError if a client has failed or ended without being asked to."""
        for client in self._clients():
            if client.failed:
                raise PartageError(f"{client.name}: {client.failed}")
            if client.ended is None and not client.runs:
                raise PartageError(f"{client.name} ended unexpectedly")

    def records(self, kind: str) -> Iterable[Records]:
        """All records that were ``acknowledged`` or ``read``."""
        clients = [self.producer] if kind == "acknowledged" and self.producer else self.members
        for client in clients:
            for event in list(client.events):
                if event["kind"] == kind:
                    for partition, first, last in event["records"]:
                        yield event["at"], partition, first, last

    def _seen(self, kind: str) -> frozenset[str]:
        return frozenset(name for _, name, *_ in self.records(kind))
