"""When clients learn of new and deleted topics and new partitions, with the classic protocol.

A client refreshes its metadata when it starts, and ``metadata.max.age.ms`` after each time. Then

- a member with a regular expression subscribes to the topics that match now, and joins again if
  they are others; it also refreshes before each join
- the member that leads joins again if a topic of the group has more partitions than when it
  assigned, or was deleted. Other members do not look.

A client that fetches from a deleted topic refreshes its metadata at once, except librdkafka.

Not modelled: before it joins again, Kafka's own client with ``enable.auto.commit`` retries to
commit the offsets of the deleted partitions, up to ``max.poll.interval.ms``. With librdkafka every
member joins again, not only the leader.

A leader whose group names a topic that does not exist asks for it until it does, at most every
second; here it learns of it at once. It refreshes before it assigns topics that it does not know.

Source: Kafka's ConsumerCoordinator and ConsumerMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from partage.consumers.scenario import ScenarioMember

_TOLERANCE = 1e-6
"""Seconds."""

Counts = Mapping[str, int]
"""Partition counts by topic."""


@dataclass
class TopicMetadata:
    """``topics`` that exist, and what each client knows of them."""

    topics: Counts
    max_age: float
    _refreshed: dict[str, float] = field(default_factory=dict)
    _known: dict[str, Counts] = field(default_factory=dict)
    _assigned: dict[str, Counts] = field(default_factory=dict)

    def refresh(self, member: ScenarioMember, now: float) -> tuple[str, ...]:
        """A client refreshes its metadata. Returns the topics that it subscribes to."""
        self._known[member.id], self._refreshed[member.id] = self.topics, now
        topics = member.subscription(self.topics)
        # a static member that returns may lead without assigning
        self._assigned.setdefault(member.id, {one: self.topics.get(one, 0) for one in topics})
        return topics

    def next_refresh(self, client: str, now: float) -> float:
        """When a client refreshes its metadata next."""
        return now + self.max_age - (now - self._refreshed[client]) % self.max_age

    def is_due(self, client: str, now: float) -> bool:
        """Whether a client refreshes its metadata now: it may have joined since the refresh was
        planned."""
        age = (now - self._refreshed[client]) % self.max_age
        return min(age, self.max_age - age) < _TOLERANCE

    def is_current(self, client: str) -> bool:
        """Whether a client knows everything."""
        return self._known[client] is self.topics

    def to_assign(self, client: str, topics: Iterable[str]) -> Counts:
        """What a leader knows when it assigns these topics of its group."""
        known = self._known[client]
        if any(topic in self.topics and topic not in known for topic in topics):
            known = self._known[client] = self.topics
        self._assigned[client] = {topic: known.get(topic, 0) for topic in topics}
        return known

    def must_assign_again(self, client: str) -> bool:
        """Whether a leader knows of other partitions than those it assigned."""
        known = self._known[client]
        return any(known.get(topic, 0) != n for topic, n in self._assigned[client].items())
