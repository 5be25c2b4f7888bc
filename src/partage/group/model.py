"""A consumer group as columns: topics, members, subscriptions, claims.

Members come in the order of their ids, topics in the order of their names; a partition is a
position in the list of all partitions, topic by topic. Members that subscribe to the same topics
form a *class*, which determines the partitions a member may get.

A member *claims* the partitions that it reports as owned. A claim is valid if the partition exists,
the member subscribes to its topic, and no other claim to it has the same or a higher generation;
two claims of the same, highest generation are *contested*, and both are void (KAFKA-14639). Claims
to unknown partitions are ignored with a warning, as Kafka's clients do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from partage.arrays import Bools, Ints, is_whole
from partage.errors import InputError, shown
from partage.files import path_instead_of
from partage.frames import Columns, arrow_table, data_frame, html_table
from partage.group.member import Member
from partage.group.owned import OwnedPartitions
from partage.units import listed, plural

if TYPE_CHECKING:
    from partage.group.formats import GroupColumns


NO_MEMBER = -1
MAX_PARTITIONS = 50_000_000
MAX_WEIGHT = 2**50
BYTE_RATE = 1000
"""Seconds to which weights refer that are rates in bytes."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_FIELDS: tuple[tuple[Callable[[object], bool], str, tuple[str, ...]], ...] = (
    (is_whole, "a whole number", ("generation", "priority", "left_at_ms")),
    (_is_text, "text", ("rack", "instance_id")),
)
"""What fields of a member accept, also in words, and these fields."""


@dataclass(frozen=True, eq=False, repr=False)
class Group:
    """Topics with their partition counts, and members. The constructor validates them and raises
    InputError.

    - ``topics``: partitions by name; ``members`` in any order, ids and instance ids are unique
    - ``racks``: by topic, for each partition the racks of its replicas
    - ``weights``: by topic, a whole number from 0 per partition (lag, bytes)
    - ``byte_rates``: the weights are bytes per 1,000 seconds
    - ``weight_warnings``: what ``with_weights`` found missing or ignored
    - ``streams``, ``connect``: further settings for these assignors (see
      ``consumers.streams.config`` and ``consumers.assignors.connect``)
    - ``where``: named in errors
    """

    topics: Mapping[str, int]
    members: Sequence[Member]
    racks: Mapping[str, Sequence[Sequence[str]]] | None = None
    weights: Mapping[str, Sequence[int] | Ints] | None = None
    streams: Mapping[str, Any] | None = None
    connect: Mapping[str, Any] | None = None
    where: str = "group"
    byte_rates: bool = False
    weight_warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_topics()
        ordered = self._checked_members()
        names = tuple(sorted(self.topics))
        object.__setattr__(self, "topics", {name: int(self.topics[name]) for name in names})
        object.__setattr__(self, "members", ordered)
        for name in ("racks", "weights"):
            self._check_columns(name)

    def _check_topics(self) -> None:
        if not isinstance(self.topics, Mapping):
            raise InputError(self.where, "topics: expected numbers of partitions by name")
        for topic, count in self.topics.items():
            if type(topic) is not str or not topic:
                raise InputError(
                    self.where, f"topics: {shown(topic)}: expected the name of a topic"
                )
            if not is_whole(count) or count < 0:
                raise InputError(
                    self.where, f"topics.{topic}: {count!r}: expected a number of partitions"
                )
        if sum(self.topics.values()) > MAX_PARTITIONS:
            raise InputError(self.where, f"topics: more than {MAX_PARTITIONS} partitions")

    def _checked_members(self) -> tuple[Member, ...]:
        """The members by id."""
        if not self.members:
            raise InputError(self.where, "members: a group needs at least one")
        for member in self.members:
            self._check_member(member)
        ordered = tuple(sorted(self.members, key=lambda member: member.id))
        for one, other in pairwise(ordered):
            if one.id == other.id:
                raise InputError(self.where, f"members: {one.id!r} is listed twice")
        static: dict[str, str] = {}
        for member in ordered:
            if not member.instance_id:
                continue
            if (other_id := static.setdefault(member.instance_id, member.id)) != member.id:
                raise InputError(
                    self.where,
                    f"members: {other_id!r} and {member.id!r} have the instance id "
                    f"{member.instance_id!r}: Kafka fences one of them, expected different ones",
                )
        return ordered

    def _check_member(self, member: Member) -> None:
        """Of the types that a caller may have mistaken: those of a file are checked already."""
        if not isinstance(member, Member):
            raise InputError(
                self.where,
                f"members: expected each as a Member, got {type(member).__name__}: Group.from_json "
                "reads dicts",
            )
        if type(member.id) is not str:
            raise InputError(self.where, f"members: id {shown(member.id)}: expected a text")
        if isinstance(member.topics, str) or not isinstance(member.topics, (Sequence, np.ndarray)):
            kind = "a text" if isinstance(member.topics, str) else type(member.topics).__name__
            problem = f"topics of {shown(member.id)}: expected a list, got {kind}"
            raise InputError(self.where, problem)
        for accepts, expected, names in _FIELDS:
            for name in names:
                value = getattr(member, name)
                if value is not None and not accepts(value):
                    problem = f"{name} of {shown(member.id)}: {shown(value)}: expected {expected}"
                    raise InputError(self.where, problem)

    def _check_columns(self, name: str) -> None:
        columns = getattr(self, name)
        for topic, values in (columns or {}).items():
            if topic not in self.topics:
                raise InputError(self.where, f"{name}: topic {topic!r} is not listed")
            if len(values) != self.topics[topic]:
                raise InputError(
                    self.where,
                    f"{name}.{topic}: {plural(len(values), 'entry', 'entries')} for "
                    f"{plural(self.topics[topic], 'partition')}",
                )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Group:
        """A GROUP.json file, plain or gzip. Raises InputError."""
        from partage.group import formats

        return cls._from_columns(formats.read_group_file(path), os.fspath(path))

    @classmethod
    def of(cls, given: Group | str | os.PathLike[str]) -> Group:
        """A Group as it is, or that of a file, as ``read`` has it. Raises InputError."""
        return given if isinstance(given, Group) else cls.read(path_instead_of(cls, given))

    @classmethod
    def from_json(cls, value: Any, where: str = "group") -> Group:
        """The parsed value of such a file. Raises InputError that names the place."""
        from partage.group import formats

        return cls._from_columns(formats.parse_group_json(value, where), where)

    @classmethod
    def _from_columns(cls, columns: GroupColumns, where: str) -> Group:
        return cls(
            columns.topics,
            columns.members,
            racks=columns.racks,
            weights=columns.weights,
            streams=columns.streams,
            connect=columns.connect,
            where=where,
        )

    def with_weights(
        self,
        weights: Mapping[str, Mapping[int, int]],
        *,
        byte_rates: bool = False,
        where: str = "weights",
    ) -> Group:
        """The same group with these weights by topic and partition; ``where`` names their source.

        Partitions without a weight count as 0 and, unless they are rates, weights of partitions
        outside of the group are ignored: both with a warning. Raises InputError if no partition of
        the group has a weight, or if one is out of range.
        """
        known = {
            (topic, number): weight
            for topic, of_topic in weights.items()
            for number, weight in of_topic.items()
        }
        for (topic, number), weight in known.items():
            if not 0 <= weight <= MAX_WEIGHT:
                expected = f"expected a whole number from 0 to {MAX_WEIGHT}"
                raise InputError(where, f"{topic}-{number}: {weight}: {expected}")
        columns = {
            topic: [known.get((topic, number), 0) for number in range(count)]
            for topic, count in self.topics.items()
        }
        others = [
            f"{topic}-{number}"
            for topic, number in sorted(known)
            if not 0 <= number < self.topics.get(topic, 0)
        ]
        if self.partitions and len(others) == len(known):
            raise InputError(
                where,
                f"covers no partition of the group: has {listed(others, 3) or 'none'}, expected "
                f"partitions of {listed(self.names, 3)}",
            )
        missing = [name for name in self._subscribed() if name not in known]
        found = _without_weight(where, missing)
        if others and not byte_rates:
            count = plural(len(others), "partition that is", "partitions that are")
            found += (f"{where}: {count} not in the group, ignored: {listed(others, 3)}",)
        return replace(self, weights=columns, byte_rates=byte_rates, weight_warnings=found)

    def _subscribed(self, without: Container[str] = ()) -> Iterator[tuple[str, int]]:
        """(topic, number) of the partitions that a member subscribes to, but for some topics."""
        for topic, subscribed in zip(self.names, self.is_subscribed.tolist(), strict=True):
            if subscribed and topic not in without:
                for number in range(self.topics[topic]):
                    yield topic, number

    # -- topics and partitions

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Topics, ascending."""
        return tuple(self.topics)

    @cached_property
    def offset(self) -> Ints:
        """[T + 1] first partition of each topic."""
        counts = np.fromiter(self.topics.values(), dtype=np.int64, count=len(self.topics))
        return np.concatenate(([0], np.cumsum(counts)))

    @property
    def partitions(self) -> int:
        """P, the number of partitions of all topics."""
        return int(self.offset[-1])

    @cached_property
    def topic(self) -> Ints:
        """[P] topic of each partition."""
        return np.repeat(np.arange(len(self.topics)), np.diff(self.offset))

    def named(self, partition: int) -> tuple[str, int]:
        """(topic, number) of a position."""
        at = int(np.searchsorted(self.offset, partition, side="right")) - 1
        return self.names[at], partition - int(self.offset[at])

    # -- members and subscriptions

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def position(self, topic: str) -> int | None:
        """Position of a topic by name, None where it is not listed."""
        return self._position.get(topic)

    @cached_property
    def _classes(self) -> tuple[Ints, tuple[Ints, ...]]:
        seen: dict[tuple[str, ...], int] = {}
        merged: dict[tuple[int, ...], int] = {}
        of = np.empty(len(self.members), dtype=np.int64)
        for at, member in enumerate(self.members):
            if at and member.topics == self.members[at - 1].topics:
                of[at] = of[at - 1]
                continue
            key = tuple(member.topics)
            if key not in seen:
                listed = {self._position[name] for name in key if name in self._position}
                seen[key] = merged.setdefault(tuple(sorted(listed)), len(merged))
            of[at] = seen[key]
        return of, tuple(np.array(topics, dtype=np.int64) for topics in merged)

    @property
    def class_of(self) -> Ints:
        """[M] class of each member."""
        return self._classes[0]

    @property
    def class_topics(self) -> tuple[Ints, ...]:
        """[C] topics of each class, ascending positions."""
        return self._classes[1]

    @cached_property
    def subscribes(self) -> Bools:
        """[C, T] whether the members of a class subscribe to a topic."""
        table = np.zeros((len(self.class_topics), len(self.topics)), dtype=np.bool_)
        for kind, topics in enumerate(self.class_topics):
            table[kind, topics] = True
        return table

    @cached_property
    def is_subscribed(self) -> Bools:
        """[T] whether any member subscribes to a topic."""
        return np.asarray(self.subscribes.any(axis=0))

    @cached_property
    def generation(self) -> Ints:
        """[M] generation of each member's claims."""
        return np.array([member.generation for member in self.members], dtype=np.int64)

    # -- claims

    @cached_property
    def _claims(self) -> tuple[Ints, Ints, int, int]:
        """(member, partition) of every valid or contested claim; the number of claims to partitions
        that do not exist, and to topics that the member does not subscribe to."""
        at, topic, number = self._claimed()
        counts = np.append(np.diff(self.offset), 0)  # the last entry is for unlisted topics
        exists = (number >= 0) & (number < counts[topic])
        at, topic, number = at[exists], topic[exists], number[exists]
        subscribed = self.subscribes[self.class_of[at], topic]
        code = at * max(self.partitions, 1) + self.offset[topic] + number
        # sorted and without repetitions: np.unique hashes, which takes longer than this sort
        code = np.sort(code[subscribed], kind="stable")
        code = code[np.append(True, code[1:] != code[:-1])] if len(code) else code
        member_of, partition = np.divmod(code, max(self.partitions, 1))
        return member_of, partition, int((~exists).sum()), int((~subscribed).sum())

    def _claimed(self) -> tuple[Ints, Ints, Ints]:
        """(member, topic, number) of all claims; -1 for topics that are not listed."""
        names: list[str] = []
        sizes: list[int] = []  # numbers that follow a name
        columns: list[Any] = []
        named = np.zeros(len(self.members), dtype=np.int64)
        in_columns: dict[int, OwnedPartitions] = {}
        for at, member in enumerate(self.members):
            owned = member.owned
            if isinstance(owned, OwnedPartitions):
                in_columns[at] = owned
            elif isinstance(owned, Mapping):
                names.extend(owned)
                sizes.extend(map(len, owned.values()))
                columns.extend(filter(len, owned.values()))
            elif owned:
                topics, numbers = zip(*owned, strict=True)
                names.extend(topics)
                sizes.extend([1] * len(topics))
                columns.append(numbers)
            named[at] = len(names)
        found = [self._claimed_in_columns(in_columns)]
        if columns:
            number = np.concatenate(columns)
            if number.dtype.kind not in "iu":
                raise InputError(self.where, "owned: expected whole numbers as partitions")
            topic = self._positions(names)
            member_of = np.repeat(np.arange(len(named)), np.diff(named, prepend=0))
            found.append(
                (np.repeat(member_of, sizes), np.repeat(topic, sizes), number.astype(np.int64))
            )
        at_, topics_, numbers_ = zip(*found, strict=True)
        return np.concatenate(at_), np.concatenate(topics_), np.concatenate(numbers_)

    def _claimed_in_columns(
        self, members: Mapping[int, OwnedPartitions]
    ) -> tuple[Ints, Ints, Ints]:
        """The same of these members."""
        names: tuple[str, ...] = ()
        position = empty = np.zeros(0, dtype=np.int64)
        topics, numbers = [empty], [empty]
        for owned in members.values():
            if owned.names is not names:
                names, position = owned.names, self._positions(owned.names)
            topics.append(position[owned.topic])
            numbers.append(owned.number)
        member = np.repeat(np.array([-1, *members]), list(map(len, numbers)))
        return member, np.concatenate(topics), np.concatenate(numbers)

    def _positions(self, names: Sequence[str]) -> Ints:
        """Positions of topics by name, -1 where one is not listed."""
        position = self._position.get
        return np.array([position(name, -1) for name in names], dtype=np.int64)

    @property
    def claims(self) -> tuple[Ints, Ints]:
        """(member, partition) of every claim to what exists and is subscribed to."""
        return self._claims[0], self._claims[1]

    @cached_property
    def _owners(self) -> tuple[Ints, Bools]:
        member, partition = self.claims
        owner = np.full(self.partitions, NO_MEMBER, dtype=np.int64)
        contested = np.zeros(self.partitions, dtype=np.bool_)
        owner[partition] = member
        often = (np.bincount(partition, minlength=self.partitions) > 1)[partition]
        if often.any():
            member, partition = member[often], partition[often]
            generation = self.generation[member]
            order = np.lexsort((generation, partition))
            sorted_partition, sorted_generation = partition[order], generation[order]
            last = np.concatenate((sorted_partition[1:] != sorted_partition[:-1], [True]))
            at = np.flatnonzero(last)
            # of two claims or more, the one before the last is of the same partition
            same = sorted_generation[at - 1] == sorted_generation[at]
            owner[sorted_partition[at]] = np.where(same, NO_MEMBER, member[order][at])
            contested[sorted_partition[at]] = same
        return owner, contested

    @property
    def owner(self) -> Ints:
        """[P] the member whose claim is valid, or ``NO_MEMBER``."""
        return self._owners[0]

    @property
    def contested(self) -> Bools:
        """[P] claimed by several members of the same, highest generation."""
        return self._owners[1]

    # -- racks and weights

    @cached_property
    def rack_names(self) -> tuple[str, ...]:
        """Racks that some member or partition names, ascending."""
        named = {member.rack for member in self.members if member.rack}
        for of_topic in (self.racks or {}).values():
            named.update(*of_topic)
        return tuple(sorted(named))

    @cached_property
    def member_rack(self) -> Ints:
        """[M] rack of each member, -1 unknown."""
        at = {name: i for i, name in enumerate(self.rack_names)}
        return np.array([at[m.rack] if m.rack else NO_MEMBER for m in self.members], dtype=np.int64)

    @property
    def has_racks(self) -> bool:
        """Whether racks of some member and of some partition are known."""
        return bool(self.racks) and bool((self.member_rack >= 0).any())

    @cached_property
    def in_rack(self) -> Bools:
        """[P, racks] whether the partition has a replica in the rack."""
        at = {name: i for i, name in enumerate(self.rack_names)}
        table = np.zeros((self.partitions, len(self.rack_names)), dtype=np.bool_)
        for topic, of_topic in (self.racks or {}).items():
            start = int(self.offset[self._position[topic]])
            for number, racks in enumerate(of_topic):
                table[start + number, [at[rack] for rack in racks]] = True
        return table

    @cached_property
    def weight(self) -> Ints:
        """[P] weights, 0 where a topic has none; all 1 where the group has none."""
        if self.weights is None:
            return np.ones(self.partitions, dtype=np.int64)
        column = np.zeros(self.partitions, dtype=np.int64)
        for topic, values in self.weights.items():
            at = self._position[topic]
            numbers = np.asarray(values)
            if numbers.size and (
                numbers.dtype.kind not in "iu"
                or int(numbers.min()) < 0
                or int(numbers.max()) > MAX_WEIGHT
            ):
                raise InputError(
                    self.where, f"weights.{topic}: expected whole numbers from 0 to {MAX_WEIGHT}"
                )
            column[self.offset[at] : self.offset[at + 1]] = numbers
        return column

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about what was ignored, one sentence each."""
        found: list[str] = list(self.weight_warnings)
        if self.weights is not None:
            found += _without_weight("weights", list(self._subscribed(without=self.weights)))
        absent = sorted(
            {t for member in self.members for t in set(member.topics) if t not in self._position}
        )
        if absent:
            found.append(
                f"subscriptions to topics that are not listed are ignored: {listed(absent, 3)}"
            )
        _, _, unknown, unsubscribed = self._claims
        if unknown:
            claims = plural(unknown, "claim to a partition", "claims to partitions")
            found.append(f"{claims} outside of the topics: ignored")
        if unsubscribed:
            claims = plural(unsubscribed, "claim to a topic", "claims to topics")
            found.append(f"{claims} without a subscription: ignored")
        contested = int(self.contested.sum())
        if contested:
            topic, number = self.named(int(self.contested.argmax()))
            claimed = plural(contested, "partition is", "partitions are")
            found.append(
                f"{claimed} claimed by several members of one generation ({topic}-{number}): "
                "all these claims are void"
            )
        return tuple(found)

    # -- in a notebook

    def __repr__(self) -> str:
        return f"<Group of {self._summary()}>"

    def _repr_html_(self) -> str:
        rows = [
            [member.id, _listed(member.topics), f"{member.owned_count:,}"]
            for member in self.members
        ]
        return html_table(self._summary(), ("member", "topics", "owned"), rows)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per partition: ``topic``, ``partition``, ``owner`` (the
        member whose claim is valid, or None), ``contested`` (claimed by several members of one
        generation), ``weight`` (1 if the group has no weights). Raises PartageError where pandas is
        not installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> Columns:
        # NO_MEMBER is -1: the last entry
        ids = np.array([*(member.id for member in self.members), None], dtype=object)
        return {
            "topic": np.array(self.names, dtype=object)[self.topic].tolist(),
            "partition": (np.arange(self.partitions) - self.offset[self.topic]).tolist(),
            "owner": ids[self.owner].tolist(),
            "contested": self.contested.tolist(),
            "weight": self.weight.tolist(),
        }

    def _summary(self) -> str:
        owned = int((self.owner != NO_MEMBER).sum())
        return (
            f"{plural(len(self.members), 'member')}, {plural(len(self.topics), 'topic')}, "
            f"{plural(self.partitions, 'partition')} ({owned:,} owned)"
        )


def _without_weight(where: str, missing: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """The warning about partitions that have no weight, if there are any."""
    if not missing:
        return ()
    names = listed([f"{topic}-{number}" for topic, number in missing[:3]], 3, len(missing))
    count = plural(len(missing), "partition")
    return (f"{where}: {count} without a weight, counted as 0: {names}",)


def _listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
