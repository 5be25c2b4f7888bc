"""A producer and a consumer group at work on a cluster, while something is done to it.

Each client is a process of its own (``traffic_client.py``), in a session of its own, so that no
Ctrl-C of ours reaches it. It ends when its standard input does: by ``Traffic``'s end, and also when
whoever started it is killed. What the clients tell is collected here; ``tally.py`` counts it.
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
from partage.errors import PartageError

PROGRAM = ("-m", "partage.demo.traffic_client")
"""For Python: the client."""

_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.05


class Client:
    """A process with one client. ``events``: what it told, in its order."""

    def __init__(
        self, name: str, said: Mapping[str, Any], program: Sequence[str] = PROGRAM
    ) -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []
        self.ended: float | None = None
        """When it was told to end, or was killed; seconds since 1970."""
        self._process = subprocess.Popen(
            [sys.executable, *program, json.dumps(said)],
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
            with suppress(ValueError):  # the last one of a process that was killed
                self.events.append(json.loads(line))

    @property
    def failed(self) -> str | None:
        """The first thing that went wrong, if any."""
        return next((one["error"] for one in list(self.events) if one["kind"] == "failed"), None)

    @property
    def joined(self) -> float | None:
        """When a member began to join: it has started and knows the topics; seconds since 1970."""
        return next((one["at"] for one in list(self.events) if one["kind"] == "joins"), None)

    @property
    def held(self) -> frozenset[str]:
        """The partitions that a member has, as ``topic-3``."""
        held: frozenset[str] = frozenset()
        for event in list(self.events) if self.ended is None else ():
            if event["kind"] == "assigned":
                held |= frozenset(event["partitions"])
            elif event["kind"] in ("revoked", "lost"):
                held -= frozenset(event["partitions"])
        return held

    def tell_to_end(self) -> None:
        """Let it end in good order; ``wait`` waits for that."""
        if self.ended is None:
            self.ended = time.time()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """End it as a machine that is switched off."""
        if self.ended is None:
            self.ended = time.time()
        self._process.kill()
        self.wait()

    def wait(self, patience: float = _PATIENCE_SECONDS) -> None:
        """Until it has ended; one that does not in time is killed."""
        try:
            self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=patience)

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._process.poll() is None


class Traffic:
    """The clients of one group and its producer: ``with Traffic(...) as traffic`` ends them all.

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
        clients = [*self.members, *([self.producer] if self.producer else [])]
        for client in clients:
            if kind is None:
                client.tell_to_end()
        for client in clients:
            if kind is None:
                client.wait()
            else:  # nothing of it is wanted any more
                client.kill()

    @property
    def partitions(self) -> frozenset[str]:
        """All of the topics', as ``topic-3``."""
        return frozenset(
            f"{topic}-{n}" for topic, count in self.topics.items() for n in range(count)
        )

    def produce(self, *, every: float, value_bytes: int = 100) -> Client:
        """Start the producer: into each partition a record every ``every`` seconds. Returns when
        one of each is acknowledged and, where there are members, read."""
        said = {
            "role": "producer",
            "servers": self.servers,
            "topics": self.topics,
            "every": every,
            "value_bytes": value_bytes,
        }
        self.producer = Client("producer", said)
        self.until(lambda: self._seen("acknowledged") == self.partitions)
        if self.members:
            self.until(lambda: self._seen("read") == self.partitions)
        return self.producer

    def join(
        self,
        name: str,
        assignor: str,
        options: Mapping[str, Any] | None = None,
        program: Sequence[str] = PROGRAM,
        **settings: Any,
    ) -> Client:
        """One more member; does not wait for it. ``assignor``: a class of ``partage.live``, made
        with ``options``; ``settings`` are of kafka-python's consumer. Another ``program`` for
        Python may be the member, if it understands the same and tells the same."""
        said = {
            "role": "member",
            "servers": self.servers,
            "topics": self.topics,
            "group": self.group,
            "name": name,
            "assignor": assignor,
            "options": dict(options or {}),
            "settings": settings,
        }
        self.members.append(Client(name, said, program))
        return self.members[-1]

    def settled(self, still: float = 1.0) -> None:
        """Wait until each partition has one owner, and that stays so for a while (seconds)."""
        since: list[float] = []

        def done() -> bool:
            shares = [member.held for member in self.members]
            whole = frozenset().union(*shares) == self.partitions
            if not whole or sum(map(len, shares)) != len(self.partitions):
                since.clear()
            elif not since:
                since.append(time.monotonic())
            return bool(since) and time.monotonic() - since[0] >= still

        self.until(done)

    def until(self, done: Callable[[], bool], patience: float = _PATIENCE_SECONDS) -> None:
        """Wait for something that the clients tell. Raises PartageError where one of them fails, or
        it takes too long."""
        deadline = time.monotonic() + patience
        while not done():
            self.check()
            if time.monotonic() > deadline:
                raise PartageError(f"group {self.group}: the clients are not ready in time")
            time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Raise PartageError where a client has failed or ended by itself."""
        for client in (*self.members, *([self.producer] if self.producer else [])):
            if client.failed:
                raise PartageError(f"{client.name}: {client.failed}")
            if client.ended is None and not client.runs:
                raise PartageError(f"{client.name} has ended by itself")

    def events(self, kind: str) -> Iterable[tuple[float, str, int, int]]:
        """All that was ``acknowledged`` or ``read``: when, partition, first and last number."""
        clients = [self.producer] if kind == "acknowledged" and self.producer else self.members
        for client in clients:
            for event in list(client.events):
                if event["kind"] == kind:
                    for partition, first, last in event["records"]:
                        yield event["at"], partition, first, last

    def _seen(self, kind: str) -> frozenset[str]:
        return frozenset(name for _, name, *_ in self.events(kind))
