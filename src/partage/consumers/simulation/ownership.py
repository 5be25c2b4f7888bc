"""Who owns which partition from when to when, as the members hold them.

- A partition is *unowned* while a running member subscribes to its topic and no member holds it.
- A partition has *moved* when a member other than its last holder gets it. A static member that
  returns as another process is the same member.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from partage.consumers.protocol import Partition
from partage.consumers.record_flow import OwnershipSpan

_NOTHING: frozenset[Partition] = frozenset()


class Ownership:
    """The owners of partitions over time.

    - ``instances``: by member, its static id; ``now``: the time in seconds
    - ``twice``: gets a sentence where two members own a partition at once
    - ``spans``: those that have ended; ``unowned``: partition-seconds without an owner until the
      last call of ``count_unowned``
    - ``moved``: how often a partition moved to another member
    - ``changes``: how often a member got or gave up a partition
    """

    def __init__(
        self, instances: Mapping[str, str | None], now: Callable[[], float], twice: list[str]
    ) -> None:
        self._instances, self._now, self._twice = instances, now, twice
        self.spans: list[OwnershipSpan] = []
        self.unowned = 0.0
        self.moved = 0
        self.changes = 0
        self._held: dict[str, frozenset[Partition]] = {}
        self._holders: dict[Partition, list[str]] = {}
        self._start: dict[Partition, float] = {}
        self._last: dict[Partition, str] = {}
        # running members by topic that one subscribes to, and the partitions of these topics
        self._subscribers: Counter[str] = Counter()
        self._subscribed = 0
        self._since = 0.0

    @property
    def without_owner(self) -> int:
        """Partitions that a running member subscribes to and no member holds."""
        return self._subscribed - len(self._holders)

    def owners(self) -> dict[Partition, str]:
        """The member that owns each partition now."""
        return {partition: holders[0] for partition, holders in self._holders.items()}

    def count_unowned(self) -> None:
        """Add the time since the last call; before anything changes."""
        self.unowned += self.without_owner * (self._now() - self._since)
        self._since = self._now()

    def add_subscriber(self, wanted: Iterable[str], change: int, topics: Mapping[str, int]) -> None:
        """A member that subscribes to these topics has started (1) or ended (-1). ``topics``: their
        partitions."""
        for topic in set(wanted):
            before = self._subscribers[topic]
            self._subscribers[topic] += change
            started = bool(before + change) - bool(before)
            self._subscribed += started * topics.get(topic, 0)

    def replace_subscribers(
        self, wanted: Iterable[Iterable[str]], topics: Mapping[str, int]
    ) -> None:
        """Topics have changed: what each running member subscribes to now."""
        self._subscribers = Counter(topic for one in wanted for topic in set(one))
        self._subscribed = sum(topics.get(topic, 0) for topic in self._subscribers)

    def update(self, held: Mapping[str, frozenset[Partition]]) -> None:
        """Compare what these members hold with what they held before."""
        gone: list[tuple[Partition, str]] = []
        come: list[tuple[Partition, str]] = []
        for member, now in held.items():
            before = self._held.get(member, _NOTHING)
            if now is not before:
                self._held[member] = now
                gone += [(partition, member) for partition in sorted(before - now)]
                come += [(partition, member) for partition in sorted(now - before)]
        self.changes += len(gone) + len(come)
        for partition, member in gone:
            self._release(partition, member)
        for partition, member in come:
            self._take(partition, member)

    def end(self) -> None:
        """End all spans."""
        for partition, holders in self._holders.items():
            self._end_span(partition, holders[0])
        self.spans.sort(key=lambda span: (span.partition, span.start))

    def _release(self, partition: Partition, member: str) -> None:
        holders = self._holders[partition]
        if holders[0] == member:
            self._end_span(partition, member)
            self._start[partition] = self._now()
        holders.remove(member)
        if not holders:
            del self._holders[partition]

    def _take(self, partition: Partition, member: str) -> None:
        holders = self._holders.setdefault(partition, [])
        holders.append(member)
        if len(holders) > 1:
            topic, number = partition
            self._twice.append(
                f"at {self._now():g} s {topic}-{number} is owned by {' and '.join(holders)}"
            )
            return
        self._start[partition] = self._now()
        self._count_move(partition, member)

    def _count_move(self, partition: Partition, member: str) -> None:
        last = self._last.get(partition)
        self._last[partition] = member
        if last is None or last == member:
            return
        one, other = self._instances[last], self._instances[member]
        self.moved += one is None or one != other

    def _end_span(self, partition: Partition, member: str) -> None:
        start, now = self._start[partition], self._now()
        if now > start:
            self.spans.append(OwnershipSpan(partition, member, start, now))
