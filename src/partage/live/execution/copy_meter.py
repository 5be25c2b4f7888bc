"""How many bytes of a wave are copied, and how fast.

Sizes are read from brokers that still have something to receive and from the leaders that they
fetch from, as often as a tenth of the time allows.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka import KafkaAdminClient

from partage.live.admin.replica_sizes import ReplicaSizes, read_sizes
from partage.live.admin.states import Key, PartitionState
from partage.live.execution import rate_control
from partage.live.execution.changes import Change
from partage.live.execution.cooldown import Cooldown
from partage.live.execution.write_rates import WriteRates, required_bandwidth

WINDOW_SECONDS = 10.0
"""Rates are averages over this time."""

UNREACHABLE_SECONDS = 60.0
"""How long a broker that did not report its sizes is not asked again: a request may take long."""

_TOLERANCE = 0.7
"""The minimum rate stays while the one computed now is at least this share of it."""


class CopyMeter:
    """The copying of one wave. ``rates``: write rates of partitions, where already known."""

    def __init__(
        self,
        admin: KafkaAdminClient,
        changes: Sequence[Change],
        rates: Mapping[Key, float],
        clock: Callable[[], float],
    ) -> None:
        self._admin, self._clock = admin, clock
        self._changes = [change for change in changes if change.copying]
        self._known_rates = dict(rates)
        self._growth = WriteRates()
        self._size = {
            (broker, change.key): (
                change.size_bytes if change.copies_all(broker) else change.copy_bytes
            )
            or 0
            for change in self._changes
            for broker in change.copying
        }
        self._copied: dict[tuple[int, Key], int] = {}
        self._samples: deque[tuple[float, int, dict[tuple[int, Key], int]]] = deque()
        self._leaders: dict[Key, int | None] = {}
        self._cooldown = Cooldown(clock)
        self._unreachable_until: dict[int, float] = {}
        self._minimum_rate = 0

    def drop(self, keys: Iterable[Key]) -> None:
        """Leave out what is not copied any more, with the bytes that it had: Kafka deletes them."""
        dropped = set(keys)
        self._changes = [change for change in self._changes if change.key not in dropped]
        self._copied = {at: size for at, size in self._copied.items() if at[1] not in dropped}

    def update(
        self,
        states: Mapping[Key, PartitionState],
        incomplete: Iterable[Change],
        alive: Iterable[int],
    ) -> None:
        """Take a sample, unless the last one is too recent."""
        if not self._cooldown.is_over:
            return
        began = self._clock()
        moving = {change.key for change in incomplete}
        self._leaders |= {key: state.leader for key, state in states.items()}
        receivers: dict[int, list[Key]] = defaultdict(list)
        senders: dict[int, list[Key]] = defaultdict(list)
        for change in self._changes:
            if change.key not in moving:
                continue
            for broker in change.adding:
                receivers[broker].append(change.key)
            leader = self._leaders.get(change.key)
            if leader is not None and leader not in change.adding:
                senders[leader].append(change.key)
        sizes = self._read_sizes({*receivers, *senders} & set(alive), receivers, senders)
        self._record(sizes, receivers, senders, moving)
        self._record_between_log_dirs(moving, set(alive))
        self._samples.append((self._clock(), self.done, dict(self._copied)))
        while self._samples[-1][0] - self._samples[0][0] > WINDOW_SECONDS:
            self._samples.popleft()
        self._cooldown.restart(began)

    def _record_between_log_dirs(self, moving: set[Key], alive: set[int]) -> None:
        """What copies between the log dirs of a broker have. One that is gone has become the
        replica, or has not begun."""
        keys: dict[int, list[Key]] = defaultdict(list)
        for change in self._changes:
            if change.key in moving:
                for broker in alive.intersection(change.between_log_dirs):
                    keys[broker].append(change.key)
        for broker, own in read_sizes(self._admin, keys, future=True).items():
            for key, size in own.items():
                self._copied[broker, key] = max(size, 0)

    def _record(
        self,
        sizes: ReplicaSizes,
        receivers: Mapping[int, list[Key]],
        senders: Mapping[int, list[Key]],
        moving: set[Key],
    ) -> None:
        sent = {
            broker: {key: own[key] for key in senders.get(broker, ()) if key in own}
            for broker, own in sizes.items()
        }
        self._growth.add_sample(self._clock(), sent)
        now = {key: size for own in sent.values() for key, size in own.items()}
        for change in self._changes:
            if change.key in now:
                for broker in filter(change.copies_all, change.copying):
                    self._size[broker, change.key] = now[change.key]
        for broker, own in sizes.items():
            for key in receivers.get(broker, ()):
                self._copied[broker, key] = max(own.get(key, 0), 0)
        for change in self._changes:
            if change.key not in moving:
                for broker in change.copying:
                    self._copied[broker, change.key] = self._size[broker, change.key]

    def _read_sizes(
        self,
        brokers: Iterable[int],
        receivers: Mapping[int, list[Key]],
        senders: Mapping[int, list[Key]],
    ) -> ReplicaSizes:
        found: ReplicaSizes = {}
        for broker in sorted(brokers):
            if self._clock() < self._unreachable_until.get(broker, float("-inf")):
                continue
            wanted = {*receivers.get(broker, ()), *senders.get(broker, ())}
            sizes = read_sizes(self._admin, {broker: wanted})
            found |= sizes
            if not sizes:
                self._unreachable_until[broker] = self._clock() + UNREACHABLE_SECONDS
        return found

    # ------------------------------------------------------------------ what it measured

    @property
    def total(self) -> int:
        """Bytes of all copies of the wave when they are complete."""
        return sum(
            self._size[broker, change.key] for change in self._changes for broker in change.copying
        )

    @property
    def done(self) -> int:
        """Bytes that the new replicas have."""
        return sum(min(size, self._size[at]) for at, size in self._copied.items())

    @property
    def rate(self) -> float | None:
        """Bytes per second that all new replicas receive together."""
        if len(self._samples) < 2:
            return None
        (first, before, _), (last, after, _) = self._samples[0], self._samples[-1]
        return (after - before) / (last - first) if last > first and after > before else None

    @property
    def eta_seconds(self) -> float | None:
        rate = self.rate
        return (self.total - self.done) / rate if rate else None

    def minimum_rate(self, changes: Sequence[Change]) -> int:
        """The lowest throttle rate at which these changes complete. It follows the producers with
        some slack, so that not every fluctuation changes the throttle."""
        sent, received = required_bandwidth(changes, self._rates(), self._leaders)
        rate = rate_control.minimum_rate(max((*sent.values(), *received.values()), default=0.0))
        if not _TOLERANCE * self._minimum_rate <= rate <= self._minimum_rate:
            first = not self._minimum_rate
            self._minimum_rate = rate if first else round(rate / math.sqrt(_TOLERANCE))
        return self._minimum_rate

    def copied(self, changes: Sequence[Change]) -> float | None:
        """Bytes per second of throttled partitions that the busiest broker sends or receives."""
        if len(self._samples) < 2:
            return None
        (first, _, before), (last, _, after) = self._samples[0], self._samples[-1]
        if last <= first:
            return None
        sent: dict[int, float] = defaultdict(float)
        received: dict[int, float] = defaultdict(float)
        rates = self._rates()
        for change in changes:
            leader = self._leaders.get(change.key)
            to_followers = rates.get(change.key, 0.0) * (len(change.origin) - 1)
            for broker in change.adding:
                at = broker, change.key
                rate = max(after.get(at, 0) - before.get(at, 0), 0) / (last - first)
                received[broker] += rate
                if leader is not None:
                    sent[leader] += rate
            if leader is not None:
                sent[leader] += to_followers
        return max((*sent.values(), *received.values()), default=None)

    def _rates(self) -> dict[Key, float]:
        """Write rates: those measured during the wave override those known before."""
        return self._known_rates | self._growth.rates()
