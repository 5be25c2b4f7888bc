"""Groups of real consumers, each a process, and the events that they report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import partage

HERE = Path(__file__).parent
TIMEOUT = 60.0
"""Seconds that a test waits for a group to become stable; a machine may be slow."""

Partition = tuple[str, int]


class Member:
    """A process with one consumer. ``held``: the partitions that its events add up to."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.name = spec["name"]
        self.events: list[dict[str, Any]] = []
        self.ended_at: float | None = None
        path = os.pathsep.join(map(str, [Path(partage.__file__).parents[1], HERE, HERE.parents[2]]))
        self._errors = open(spec["errors"], "wb") if "errors" in spec else subprocess.DEVNULL  # noqa: SIM115, PTH123
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "member.py"), json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            event["partitions"] = frozenset(map(tuple, event["partitions"]))
            self.events.append(event)

    @property
    def held(self) -> frozenset[Partition]:
        if self.ended_at is not None:
            return frozenset()
        return held_after(self.events)

    @property
    def failed(self) -> str | None:
        return next((e["error"] for e in self.events if e["kind"] == "failed"), None)

    def calls(self, kind: str, since: float = 0.0) -> list[frozenset[Partition]]:
        """The partitions of each event of a kind that names any."""
        return [
            e["partitions"]
            for e in list(self.events)
            if e["kind"] == kind and e["at"] >= since and e["partitions"]
        ]

    def leave(self) -> None:
        """Close the consumer and end."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._finish()

    def crash(self) -> None:
        """Kill the process, like a machine that is switched off."""
        self._process.kill()
        self._finish()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _finish(self) -> None:
        try:
            self._process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            if self.ended_at is None:
                self.ended_at = time.time()
        self._reader.join(timeout=TIMEOUT)


def held_after(events: Iterable[Mapping[str, Any]]) -> frozenset[Partition]:
    """The partitions that a member holds after its callbacks. Some clients report all that is
    assigned, some only what is new: both add up."""
    held: frozenset[Partition] = frozenset()
    for event in list(events):
        if event["kind"] == "assigned":
            held |= event["partitions"]
        elif event["kind"] in ("revoked", "lost"):
            held -= event["partitions"]
    return held


class Consumers:
    """The members of one group, ended with the block."""

    def __init__(
        self, bootstrap: str, group: str, topics: Mapping[str, int], errors: Path | None = None
    ) -> None:
        self.bootstrap, self.group, self.topics = bootstrap, group, topics
        self.members: list[Member] = []
        self._errors = errors

    def __enter__(self) -> Consumers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self.members:
            if member.ended_at is None:
                member.crash()

    @property
    def partitions(self) -> frozenset[Partition]:
        return frozenset((t, n) for t, count in self.topics.items() for n in range(count))

    def join(
        self,
        name: str,
        assignors: Sequence[Any],
        client: str = "kafka-python",
        topics: Sequence[str] | None = None,
        **config: Any,
    ) -> Member:
        """One more member."""
        spec = {
            "client": client,
            "bootstrap": self.bootstrap,
            "group": self.group,
            "name": name,
            "topics": sorted(self.topics if topics is None else topics),
            "assignors": assignors,
            "config": config,
        }
        if self._errors is not None:
            spec["errors"] = str(self._errors / f"{name}-{len(self.members)}.log")
        self.members.append(Member(spec))
        return self.members[-1]

    @property
    def alive(self) -> list[Member]:
        return [member for member in self.members if member.ended_at is None]

    def shares(self) -> dict[str, frozenset[Partition]]:
        return {member.name: member.held for member in self.alive}

    def settle(
        self, *sizes: int, still: float = 1.0, timeout: float = TIMEOUT
    ) -> dict[str, frozenset[Partition]]:
        """Wait until every partition has one owner (and the members hold ``sizes`` partitions, in
        any order), unchanged for ``still`` seconds. Returns the partitions by member;
        AssertionError with all events after ``timeout`` seconds."""

        def done() -> bool:
            shares = [member.held for member in self.alive]
            whole = frozenset().union(*shares) == self.partitions
            once = sum(map(len, shares)) == len(self.partitions)
            return whole and once and (not sizes or sorted(map(len, shares)) == sorted(sizes))

        assert wait(done, still, timeout), f"not settled on {sizes}:\n{self.story()}"
        return self.shares()

    def story(self) -> str:
        """The events of every member except reads; in seconds since the first event."""
        events = [(m, e) for m in self.members for e in list(m.events) if e["kind"] != "read"]
        start = min((event["at"] for _, event in events), default=0.0)
        lines = [
            (e["at"], f"{m.name} {e['kind']} {sorted(e['partitions'])} {e.get('error', '')}")
            for m, e in events
        ]
        lines += [(m.ended_at, f"{m.name} ended") for m in self.members if m.ended_at is not None]
        return "\n".join(f"{at - start:7.2f} {line}" for at, line in sorted(lines))

    def two_owners(self) -> list[tuple[Partition, str, str]]:
        """Partitions that two members held at the same time, by their callbacks."""
        changes: list[tuple[float, int, str, frozenset[Partition], bool]] = []
        for member in self.members:
            held: frozenset[Partition] = frozenset()
            for event in list(member.events):
                if event["kind"] == "assigned":
                    changes.append((event["at"], 1, member.name, event["partitions"] - held, True))
                    held |= event["partitions"]
                elif event["kind"] in ("revoked", "lost"):
                    changes.append((event["at"], 0, member.name, event["partitions"], False))
                    held -= event["partitions"]
            if member.ended_at is not None:
                changes.append((member.ended_at, 0, member.name, held, False))
        owner: dict[Partition, str] = {}
        found = []
        for _, _, name, partitions, gained in sorted(changes, key=lambda change: change[:2]):
            for partition in partitions:
                if gained and partition in owner:
                    found.append((partition, owner[partition], name))
                elif gained:
                    owner[partition] = name
                elif owner.get(partition) == name:
                    del owner[partition]
        return found


def wait(done: Callable[[], bool], still: float = 0.0, timeout: float = TIMEOUT) -> bool:
    """Whether a condition becomes true within ``timeout`` seconds and stays so for ``still``
    seconds."""
    deadline, since = time.monotonic() + timeout, None
    while time.monotonic() < deadline:
        if not done():
            since = None
        elif since is None:
            since = time.monotonic()
        if since is not None and time.monotonic() - since >= still:
            return True
        time.sleep(0.05)
    return False
