"""Puts replicas into the log dirs that a plan names (KIP-113).

A reassignment names brokers, not log dirs. Those are named to each broker itself, with
AlterReplicaLogDirs. Before the reassignment the broker has no replica yet: it answers that this is
not available, and remembers the log dir for when it creates the replica. Kafka's tool sends the
request afterwards, again and again for ten seconds, by when the copying may have begun elsewhere.

A broker that restarts in between has forgotten the log dir. So the log dirs of a wave are compared
with the plan until they agree, and where a replica is in another one the same request moves it. The
broker copies it beside the old one, as a *future* replica, and changes over when it has caught up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka import errors as kafka_errors

from partage.live.admin.connection import describe_error
from partage.live.admin.states import Key
from partage.live.execution.changes import Change
from partage.live.execution.retrying_admin import RetryingAdmin

_OFFLINE = kafka_errors.KafkaStorageError
"""The log dir is offline; or the partition, or another log dir of the broker."""


class Placed(NamedTuple):
    """Where a replica is: its log dir, and the one that it is being copied to."""

    path: str | None = None
    future: str | None = None


class Unsettled(NamedTuple):
    """``where`` a replica is, which is not its log dir; whether it is being copied there."""

    where: str
    copying: bool


class LogDirs:
    """The log dirs of one run's changes."""

    def __init__(self, admin: RetryingAdmin) -> None:
        self._admin = admin
        self._settled: set[tuple[Key, int]] = set()

    def request(self, changes: Iterable[Change], alive: Iterable[int]) -> dict[Key, str]:
        """Name the log dirs of changes to their brokers. Returns the partitions that a broker
        refused, with the reason; ``misplaced`` asks those again that do not answer now."""
        return self._alter({change.key: change.placing for change in changes}, alive)

    def back(self, changes: Iterable[Change], alive: Iterable[int]) -> None:
        """End moves between the log dirs of a broker where they began."""
        moved: dict[Key, dict[int, str]] = {}
        for change in changes:
            origin = dict(change.origin_dirs)
            moved[change.key] = {b: origin[b] for b in change.placing if b in origin}
        self._alter(moved, alive)

    def misplaced(
        self, changes: Iterable[Change], alive: Iterable[int]
    ) -> tuple[list[Change], dict[Key, str]]:
        """Changes with a replica that is not in its log dir yet, of which those that are not on
        their way are requested; and the partitions that a broker refused, with the reason."""
        wanted = [
            (change, broker, path)
            for change in changes
            for broker, path in change.placing.items()
            if (change.key, broker) not in self._settled
        ]
        alive = set(alive)
        where = self._described(((change.key, broker) for change, broker, _ in wanted), alive)
        left: dict[Key, Change] = {}
        again: dict[Key, dict[int, str]] = defaultdict(dict)
        for change, broker, path in wanted:
            placed = where.get((change.key, broker), Placed())
            if placed == (path, None):
                self._settled.add((change.key, broker))
                continue
            left[change.key] = change
            if placed.future != path:
                again[change.key][broker] = path
        refused = self._alter(again, alive)
        return [change for key, change in left.items() if key not in refused], refused

    def unsettled(self, changes: Iterable[Change], alive: Iterable[int]) -> dict[Key, Unsettled]:
        """Partitions with a replica that is not in its log dir, with where it is instead; asks for
        nothing."""
        changes, alive = list(changes), set(alive)
        keys = ((change.key, broker) for change in changes for broker in change.placing)
        where = self._described(keys, alive)
        return {
            change.key: Unsettled(
                f"on broker {broker} in log dir {found.path or 'unknown'}, not {path}",
                found.future == path,
            )
            for change in changes
            for broker, path in change.placing.items()
            if (found := where.get((change.key, broker), Placed())) != (path, None)
        }

    def _alter(
        self, wanted: Mapping[Key, Mapping[int, str]], alive: Iterable[int]
    ) -> dict[Key, str]:
        refused: dict[Key, str] = {}
        by_broker: dict[int, dict[Key, str]] = defaultdict(dict)
        for key, own in wanted.items():
            for broker, path in own.items():
                by_broker[broker][key] = path
        for broker in sorted(by_broker.keys() & set(alive)):
            paths = by_broker[broker]
            failed = self._admin.alter_log_dirs(broker, paths)
            offline = [k for k, e in failed.items() if issubclass(e, _OFFLINE)]
            refused |= self._offline(broker, {key: paths[key] for key in offline})
            for key, error in failed.items():
                if issubclass(error, kafka_errors.LogDirNotFoundError):
                    refused[key] = f"log dir {paths[key]} of broker {broker} is not there"
                elif not issubclass(error, kafka_errors.RetriableError):
                    refused[key] = f"broker {broker}: {describe_error(error)}"
        return refused

    def _offline(self, broker: int, paths: Mapping[Key, str]) -> dict[Key, str]:
        """Why a broker refused these: the log dir is offline, or another one is, so that it moves
        nothing between the others."""
        offline = self._admin.offline_log_dirs(broker, paths) if paths else []
        return {
            key: f"broker {broker} moves nothing between its log dirs while {offline[0]} is offline"
            if offline and path not in offline
            else f"log dir {path} of broker {broker} is offline"
            for key, path in paths.items()
        }

    def _described(
        self, replicas: Iterable[tuple[Key, int]], alive: set[int]
    ) -> dict[tuple[Key, int], Placed]:
        by_broker: dict[int, list[Key]] = defaultdict(list)
        for key, broker in replicas:
            if broker in alive:
                by_broker[broker].append(key)
        found: dict[tuple[Key, int], Placed] = {}
        for broker, keys in sorted(by_broker.items()):
            for key, path, is_future in self._admin.log_dirs(broker, keys):
                at = key, broker
                now = found.get(at, Placed())
                found[at] = Placed(now.path, path) if is_future else Placed(path, now.future)
        return found
