"""A group whose members change from the classic to the consumer protocol, or back (KIP-848).

*Upgrade.* The first member that joins a classic group with the consumer protocol turns it into a
consumer group. Its epoch is the generation, its target what the leader assigned last; a member that
waits for the answer to a join or a sync must join again. The members of the classic protocol stay
in it (``mixed_group``) until they are restarted. A static member that returns does not raise the
epoch: if the group was about to rebalance, that waits for the next change, as in Kafka.

*Downgrade.* When its last member of the consumer protocol has left, or was removed, the group is a
classic one again, and its members begin a rebalance. A static member that returns with the classic
protocol as the last one causes one only where the target is not up to date.

Where user data are in the assignment, they would be lost, so the group stays as it is: librdkafka
puts those of its cooperative-sticky assignor there. The member that joins, and any of the consumer
protocol that sends a heartbeat to a classic group, gets GROUP_ID_NOT_FOUND and stops.

An empty group is replaced by a new one of the protocol of the member that joins; its numbers
continue here, while Kafka begins again.

That is Kafka's default, ``group.consumer.migration.policy=bidirectional``.

Source: KIP-848, and convertToConsumerGroup and convertToClassicGroup of Kafka 4.3's
GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from partage.consumers.protocol.consumer import SimulatedConsumer
from partage.consumers.protocol.coordinator import Coordinator, MemberIds, State
from partage.consumers.protocol.messages import (
    JOIN_EPOCH,
    Answer,
    ConsumerHeartbeat,
    ConsumerHeartbeatAnswer,
    Error,
    Join,
    Request,
)
from partage.consumers.protocol.mixed_group import MixedGroupCoordinator
from partage.consumers.protocol.network import GroupMember

MakeMixed = Callable[[int, MemberIds, Mapping[str, int]], MixedGroupCoordinator]
"""(epoch, ids, partition counts) → the coordinator of a consumer group."""


class MigratingCoordinator:
    """The coordinator of a group with members of both protocols; its methods are those of
    ``Coordinator``.

    - ``generation``: the last one before the first member joins
    - ``mixed``: makes the coordinator of a consumer group
    """

    def __init__(
        self, generation: int, initial_delay: float, topics: Mapping[str, int], mixed: MakeMixed
    ) -> None:
        self.initial_delay, self.topics = initial_delay, topics
        self.removed: list[tuple[float, str, str]] = []
        self._mixed, self._ids = mixed, MemberIds()
        self._group: Coordinator | MixedGroupCoordinator = self._classic(generation)

    @property
    def generation(self) -> int:
        """The generation, or the epoch of the target assignment."""
        return self._group.generation

    @property
    def state(self) -> State:
        return self._group.state

    @property
    def members(self) -> Mapping[str, GroupMember]:
        return self._group.members

    @property
    def assignor(self) -> str:
        return self._group.assignor

    @property
    def leader(self) -> str | None:
        return self._group.leader

    @property
    def deadline(self) -> float:
        """When the next time-out is due, in seconds; infinity for never."""
        return self._group.deadline

    def counts(self, consumer: SimulatedConsumer) -> bool:
        """Whether the group accepts the process as the owner of what it holds."""
        return self._group.counts(consumer)

    def settled(self, running: Sequence[SimulatedConsumer]) -> bool:
        """Whether exactly these processes are members, and have what they should have."""
        return self._group.settled(running)

    def topics_changed(self, topics: Mapping[str, int], changed: str, created: bool) -> None:
        """A topic was ``created``, has more partitions, or was deleted: a consumer group assigns
        again."""
        self.topics = topics
        if isinstance(self._group, MixedGroupCoordinator):
            self._group.topics_changed(topics, changed, created)

    def handle(self, now: float, request: Request) -> list[Answer]:
        """Process a request. Returns the answers to its sender and to other members."""
        answers: list[Answer] = []
        if isinstance(request, ConsumerHeartbeat) and isinstance(self._group, Coordinator):
            if request.epoch != JOIN_EPOCH or (self._group.members and self._group.user_data):
                return [ConsumerHeartbeatAnswer(request, Error.GROUP_ID_NOT_FOUND)]
            answers = self._upgrade(now, self._group)
        mixed = isinstance(self._group, MixedGroupCoordinator)
        if isinstance(request, Join) and mixed and not self._group.members:
            self._group = self._classic(self._group.generation)
        answers += self._group.handle(now, request)
        return answers + self._downgrade(now, rebalance=not isinstance(request, Join))

    def tick(self, now: float) -> list[Answer]:
        """Process the time-outs that are due."""
        return self._group.tick(now) + self._downgrade(now, rebalance=True)

    # -- conversion

    def _classic(self, generation: int) -> Coordinator:
        made = Coordinator(generation, initial_delay=self.initial_delay, ids=self._ids)
        made.removed = self.removed
        return made

    def _upgrade(self, now: float, former: Coordinator) -> list[Answer]:
        answers = former.interrupt()
        group = self._mixed(former.generation, self._ids, self.topics)
        group.removed = self.removed
        group.adopt(now, list(former.members.values()))
        self._group = group
        return answers

    def _downgrade(self, now: float, rebalance: bool) -> list[Answer]:
        """Turn a consumer group that has members of the classic protocol only into a classic
        one."""
        group = self._group
        if not isinstance(group, MixedGroupCoordinator):
            return []
        members = group.classic
        if not members or len(members) < len(group.members):
            return []
        self._group = self._classic(group.group_epoch)
        return self._group.adopt(now, members, rebalance or group.stale)
