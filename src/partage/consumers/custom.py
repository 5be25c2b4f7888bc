"""Custom assignors: the four methods of Kafka's ConsumerPartitionAssignor, and configuration.

A subclass of ``PartitionAssignor`` defines its ``name``, what a member puts into its
``subscription`` besides the topics, how the leader ``assign``s, and what a member does
``on_assignment``. It is created without arguments.

Every member has its own instance, which first receives the consumer's configuration
(``configure``), as Kafka does with a Configurable class: in a client
(``partage.live.CustomAssignor``), and in ``partage assign`` and ``simulate`` (``MemberAssignor``),
where the configuration is the member's ``config``.

``register`` adds an assignor to the registry; ``--assignor module:Class`` imports one. The result
is checked: each partition goes to one member, which exists and subscribes to the topic. Whatever a
call raises, or returns wrong, is an error of one line that names the call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from traceback import extract_tb
from typing import Any, ClassVar, TypeVar

import numpy as np

from partage.arrays import Ints
from partage.errors import PartageError, shown
from partage.group import Group, Member
from partage.group.member import NO_GENERATION
from partage.group.model import NO_MEMBER

Partition = tuple[str, int]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Subscription:
    """What a member sends when it joins. Its assignor fills in ``topics`` and ``user_data``."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned: Sequence[Partition] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    instance_id: str | None = None


class PartitionAssignor(ABC):
    """Base class of a custom assignor.

    - ``name``: unique; all members of a group must have an assignor of the same name
    - ``cooperative``: whether its members use the cooperative protocol (KIP-429)
    """

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    def configure(self, config: Mapping[str, Any]) -> None:
        """Read the assignor's settings from the consumer's configuration."""
        return

    def subscription(self, topics: Sequence[str]) -> Subscription:
        """What this member sends to the leader."""
        return Subscription(tuple(topics))

    @abstractmethod
    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, Subscription]
    ) -> Mapping[str, Iterable[Partition]]:
        """Partitions by member id. ``partitions``: partition counts of the topics that at least one
        member subscribes to; ``members``: subscriptions by member id."""

    def on_assignment(self, partitions: Sequence[Partition], generation: int) -> None:
        """Called on a member that has received its partitions."""
        return


class MemberAssignor:
    """A member's instance of a custom assignor, ``label`` in messages. Its calls raise PartageError
    for whatever the instance raises or returns wrong."""

    def __init__(
        self,
        create: Callable[[], PartitionAssignor],
        label: str,
        member: str,
        config: Mapping[str, Any],
    ) -> None:
        self._label, self._member = label, member
        self._assignor = self._called("__init__", create)
        self._called("configure", lambda: self._assignor.configure(config))

    def subscription(self, topics: Sequence[str], user_data: bytes | None = None) -> Subscription:
        """What the member sends; ``user_data``, where given, instead of the assignor's."""
        found = self._called("subscription", lambda: self._assignor.subscription(topics))
        if not isinstance(found, Subscription):
            raise self._wrong("subscription", f"returned {shown(found)}, not a Subscription")
        if not isinstance(found.user_data, bytes | None):
            problem = f"returned user_data {shown(found.user_data)}, not bytes or None"
            raise self._wrong("subscription", problem)
        of = found.topics
        if isinstance(of, str) or not all(isinstance(topic, str) for topic in of):
            raise self._wrong("subscription", f"returned topics {shown(of)}, not texts")
        return found if user_data is None else replace(found, user_data=user_data)

    def assign(self, group: Group) -> Ints:
        """[P] the member of each partition, when this member leads."""
        arguments = _arguments(group)
        found = self._called("assign", lambda: self._assignor.assign(*arguments))
        return self._called("assign", lambda: _owners(found, group), trusted=True)

    def on_assignment(self, partitions: Sequence[Partition], generation: int) -> None:
        """The member has received its partitions."""
        call = self._assignor.on_assignment
        self._called("on_assignment", lambda: call(list(partitions), generation))

    def _called(self, name: str, call: Callable[[], Value], trusted: bool = False) -> Value:
        try:
            return call()
        except PartageError as error:
            if not trusted:
                raise self._wrong(name, f"PartageError: {error}") from None
            raise self._wrong(name, str(error)) from None
        except (Exception, SystemExit) as error:
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise self._wrong(name, f"{problem}{_place(error)}") from None

    def _wrong(self, call: str, problem: str) -> PartageError:
        return PartageError(f"{self._label}: {call}() of member {self._member!r}: {problem}")


def _place(error: BaseException) -> str:
    """The file and line of the user's code that raised an error."""
    ours = Path(__file__).parent.parent
    frames = [f for f in extract_tb(error.__traceback__) if ours not in Path(f.filename).parents]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def run_custom_assignor(assignor: PartitionAssignor, group: Group) -> Ints:
    """[P] the member of each partition. Raises PartageError for a result that is not a valid
    assignment of this group."""
    try:
        return _owners(assignor.assign(*_arguments(group)), group)
    except PartageError as error:
        raise PartageError(f"{assignor.name}: assign(): {error}") from None


def _arguments(group: Group) -> tuple[dict[str, int], dict[str, Subscription]]:
    """What ``PartitionAssignor.assign`` receives."""
    is_subscribed: list[bool] = np.asarray(group.subscribes.any(axis=0)).tolist()
    counts = {
        topic: count
        for (topic, count), subscribed in zip(group.topics.items(), is_subscribed, strict=True)
        if subscribed
    }
    return counts, {member.id: _subscription(member) for member in group.members}


def _owners(result: Any, group: Group) -> Ints:
    """[P] the member of each partition in the result of ``PartitionAssignor.assign``."""
    if not isinstance(result, Mapping):
        raise PartageError(f"returned {shown(result)}, not partitions by member id")
    position = {member.id: at for at, member in enumerate(group.members)}
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    for member_id, partitions in result.items():
        member = position.get(member_id) if isinstance(member_id, str) else None
        if member is None:
            raise PartageError(f"returned partitions for {member_id!r}, which is not a member")
        if isinstance(partitions, str) or not isinstance(partitions, Iterable):
            raise PartageError(
                f"returned {shown(partitions)} for {member_id!r}, not pairs of topic and partition"
            )
        for pair in partitions:
            row = _row(group, member, pair)
            if owner[row] != NO_MEMBER:
                raise PartageError(f"returned {pair[0]}-{pair[1]} twice")
            owner[row] = member
    return owner


def _row(group: Group, member: int, pair: Any) -> int:
    """Position of a partition that the member may have; PartageError otherwise."""
    try:
        topic, number = pair
        number = index(number)
        place = group.position(topic)
    except (TypeError, ValueError):
        raise PartageError(
            f"returned {shown(pair)} for {group.members[member].id!r}, "
            "not a pair of topic and partition"
        ) from None
    if place is None or not 0 <= number < group.topics[topic]:
        raise PartageError(f"returned {topic}-{number}, which does not exist")
    if not group.subscribes[group.class_of[member], place]:
        raise PartageError(
            f"returned {topic}-{number} for {group.members[member].id!r}, "
            "which does not subscribe to it"
        )
    return int(group.offset[place]) + number


def _subscription(member: Member) -> Subscription:
    owned = member.owned
    if isinstance(owned, Mapping):
        owned = [(topic, int(number)) for topic, numbers in owned.items() for number in numbers]
    return Subscription(
        topics=tuple(member.topics),
        user_data=member.user_data,
        owned=tuple(owned),
        generation=member.generation,
        rack=member.rack,
        instance_id=member.instance_id,
    )
