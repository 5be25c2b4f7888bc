"""One partition's change of replicas, and how far the cluster is with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from partage.live.admin.states import PartitionIdentity, PartitionState


class MoveStatus(Enum):
    """Where a partition is on its way from its origin to its target."""

    WAITING = "waiting"
    MOVING = "moving"
    DONE = "done"
    GONE = "gone"
    """The topic or the partition no longer exists; perhaps another topic has its name now."""
    ELSEWHERE = "elsewhere"
    """On other replicas than origin and target, or being reassigned by someone else."""


RECREATED = "its topic was deleted and created again"


def why_gone(state: PartitionState | None) -> str:
    """Of a change that is ``GONE``; ``state``: the partition that has its name now."""
    return "it no longer exists" if state is None else RECREATED


@dataclass(frozen=True)
class Change(PartitionIdentity):
    """A partition's replicas before (``origin``) and after (``target``): broker ids, preferred
    leader first. ``size_bytes`` of one replica, the measured ``bytes_per_second`` written to the
    partition, and the ``topic_id`` are None where unknown. ``copy_bytes``: what a new replica
    copies, None where that is all. ``origin_dirs``, ``target_dirs``: the log dirs by broker, where
    the plan knows them."""

    origin: tuple[int, ...]
    target: tuple[int, ...]
    size_bytes: int | None = None
    bytes_per_second: float | None = None
    topic_id: str | None = None
    origin_dirs: tuple[tuple[int, str], ...] = ()
    target_dirs: tuple[tuple[int, str], ...] = ()
    copy_bytes: int | None = None

    @property
    def placing(self) -> dict[int, str]:
        """The log dirs, by broker, of new replicas and of those that change it."""
        return dict(one for one in self.target_dirs if one not in self.origin_dirs)

    @property
    def between_log_dirs(self) -> dict[int, str]:
        """The log dirs, by broker, of replicas that stay on their broker and change it."""
        return {broker: path for broker, path in self.placing.items() if broker in self.origin}

    @property
    def reassigns(self) -> bool:
        """Whether the list of brokers changes."""
        return self.origin != self.target

    @property
    def only_log_dirs(self) -> bool:
        """Whether replicas change their log dirs, and none its broker."""
        return bool(self.between_log_dirs) and sorted(self.origin) == sorted(self.target)

    @property
    def needs(self) -> frozenset[int]:
        """Brokers without which the change cannot complete."""
        if self.only_log_dirs:
            return frozenset(self.between_log_dirs)
        return frozenset(self.target)

    @property
    def copying(self) -> tuple[int, ...]:
        """Brokers that copy a replica: from another broker, or between their log dirs."""
        return (*self.adding, *self.between_log_dirs)

    @property
    def adding(self) -> tuple[int, ...]:
        """Brokers that have to fetch a new replica."""
        return tuple(broker for broker in self.target if broker not in self.origin)

    def copies_all(self, broker: int) -> bool:
        """Whether a copy on this broker has all bytes of the replica copied."""
        return self.copy_bytes is None or broker in self.origin

    @property
    def bytes_to_fetch(self) -> int | None:
        """What a new replica copies from another broker; None where unknown."""
        return self.size_bytes if self.copy_bytes is None else self.copy_bytes

    @property
    def bytes_to_copy(self) -> int | None:
        """What all its copies take together; None where unknown."""
        fetched, size = self.bytes_to_fetch, self.size_bytes
        if fetched is None or size is None:
            return None if self.copying else 0
        return len(self.adding) * fetched + len(self.between_log_dirs) * size

    def status(self, state: PartitionState | None) -> MoveStatus:
        """How far the change is; ``state`` is None for a partition that no longer exists.

        The replicas may be in another order than ``origin``: when Kafka cancels a reassignment, it
        removes the new replicas and leaves the others in the order of the target.
        """
        if state is None or state.is_other_topic(self.topic_id):
            return MoveStatus.GONE
        if state.adding or state.removing:
            moves = state.replicas == self.target
            return MoveStatus.MOVING if moves else MoveStatus.ELSEWHERE
        if state.replicas == self.target:
            return MoveStatus.DONE
        reordered = sorted(state.replicas) in (sorted(self.origin), sorted(self.target))
        return MoveStatus.WAITING if reordered else MoveStatus.ELSEWHERE

    def is_complete(self, state: PartitionState | None) -> bool:
        """Whether the partition is on its target with all new replicas in sync."""
        done = state is not None and self.status(state) is MoveStatus.DONE
        return done and state is not None and set(self.adding) <= set(state.isr)

    def must_be_cancelled_first(self, state: PartitionState) -> bool:
        """Whether the partition is being reassigned from ``target`` to ``origin``, as when a
        rollback begins in the middle of a move, or is stuck in such a reassignment."""
        being_reassigned = bool(state.adding or state.removing)
        stuck = bool(set(state.adding) & set(state.removing))
        return stuck or (being_reassigned and state.replicas == self.origin)

    def is_left(self, state: PartitionState) -> bool:
        """Whether a run leaves the partition where it is: someone else has moved it."""
        elsewhere = self.status(state) is MoveStatus.ELSEWHERE
        return elsewhere and not self.must_be_cancelled_first(state)

    def reversed(self) -> Change:
        """From target to origin."""
        return replace(
            self,
            origin=self.target,
            target=self.origin,
            origin_dirs=self.target_dirs,
            target_dirs=self.origin_dirs,
        )


def received_bytes(changes: Iterable[Change]) -> Counter[int]:
    """Bytes that each broker has to receive; a replica of unknown size counts as none."""
    found: Counter[int] = Counter()
    for change in changes:
        for broker in change.adding:
            found[broker] += change.bytes_to_fetch or 0
    return found
