"""Values of options that name brokers and topics: made out of words, or of numbers and tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from partage.cluster.broker import MAX_REPLICAS
from partage.errors import shown
from partage.printable import is_printable
from partage.units import MAX_COUNT, Percent, count_of


def broker_id(given: str | int) -> int:
    """``3`` or ``"3"``."""
    try:
        return count_of(given, least=0)
    except ValueError:
        raise ValueError(f"expected a broker id from 0 to {MAX_COUNT}") from None


class BrokerSet(tuple[int, ...]):
    """Brokers, by id, ascending."""

    __slots__ = ()

    @classmethod
    def of(cls, given: Any) -> Self:
        """``"1,2,3"`` or a sequence of ids."""
        words = given.split(",") if isinstance(given, str) else given
        if not isinstance(words, Sequence) or not words:
            raise ValueError("expected broker ids separated by commas, for instance 1,2,3")
        found = cls(sorted(map(broker_id, words)))
        if len(set(found)) < len(found):
            raise ValueError("a broker is given twice")
        return found

    def __str__(self) -> str:
        return ",".join(map(str, self))


class NewBroker(NamedTuple):
    """A broker to add; ``rack``: None where brokers have no racks."""

    id: int
    rack: str | None = None

    @classmethod
    def of(cls, given: Any) -> Self:
        """``"9:c"``, ``9`` or ``(9, "c")``."""
        identity, rack = given, None
        if isinstance(given, str):
            identity, colon, rack = given.partition(":")
            if colon and not rack:
                raise ValueError("expected the rack after the colon")
        elif isinstance(given, tuple) and len(given) == 2:
            identity, rack = given
        if not is_printable(rack or ""):
            raise ValueError("expected a rack: printable text")
        return cls(broker_id(identity), rack or None)

    def __str__(self) -> str:
        return str(self.id) if self.rack is None else f"{self.id}:{self.rack}"


class Replacement(NamedTuple):
    """A broker to empty and the one that takes its place."""

    old: int
    new: int

    @classmethod
    def of(cls, given: Any) -> Self:
        """``"3=9"`` or ``(3, 9)``."""
        if isinstance(given, tuple) and len(given) == 2:
            old, new = given
        elif isinstance(given, str) and given.count("=") == 1:
            old, new = given.split("=")
        else:
            raise ValueError("expected OLD=NEW, for instance 3=9")
        return cls(broker_id(old), broker_id(new))

    def __str__(self) -> str:
        return f"{self.old}={self.new}"


class LogDirOfBroker(NamedTuple):
    """A log dir to empty."""

    broker: int
    path: str

    @classmethod
    def of(cls, given: Any) -> Self:
        """``"3:/data2"`` or ``(3, "/data2")``."""
        if isinstance(given, tuple) and len(given) == 2:
            broker, path = given
        elif isinstance(given, str) and ":" in given:
            broker, _, path = given.partition(":")
        else:
            raise ValueError("expected ID:PATH, for instance 3:/data2")
        if not isinstance(path, str) or not path or not is_printable(path):
            raise ValueError("expected the path of a log dir after the broker id")
        return cls(broker_id(broker), path)

    def __str__(self) -> str:
        return f"{self.broker}:{self.path}"


OF_LEADERS = ("leaders", "out", "leader_in")
"""The resources that a partition's leader uses; the others are used by each replica."""

RESOURCES = ("replicas", "leaders", "disk", "in", "out", "leader_in")
"""What ``balance`` load balances and ``relieve`` limits, in the order in which it is shown."""

LOAD_TOLERANCE = Percent(5, 100)
"""The tolerance of resources for which none is given."""


class Percentages(tuple[tuple[str, Percent], ...]):
    """A percentage for some resources each: ``replicas=2%,out=10%``, in the order of RESOURCES."""

    __slots__ = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Raises ValueError for a resource that does not exist, and for a wrong percentage."""
        for name in given:
            if name not in RESOURCES:
                raise ValueError(f"{shown(name)} is not a resource: {', '.join(RESOURCES)}")
        return cls((name, Percent.of(given[name])) for name in RESOURCES if name in given)

    def __str__(self) -> str:
        return ",".join(f"{name}={share}" for name, share in self)


def percentages_of(given: Any) -> Percent | Percentages:
    """``"2%"`` or ``0.02``, ``"replicas=2%,out=10%"`` or a mapping for some resources."""
    if isinstance(given, Percentages):
        return given
    if isinstance(given, Mapping):
        if not given:
            raise ValueError("names no resource")
        return Percentages.of(given)
    if not isinstance(given, str) or "=" not in given:
        return Percent.of(given)
    named: dict[str, str] = {}
    for part in given.split(","):
        name, _, share = part.partition("=")
        if name.strip() in named:
            raise ValueError(f"{shown(name.strip())} is given twice")
        named[name.strip()] = share
    return Percentages.of(named)


def relief_of(given: Any) -> Percent | Percentages:
    """``"80%"``, ``0.8`` or ``"disk=80%"`` for disks alone, ``"out=80%,in=90%"`` or a mapping for
    other resources."""
    found = percentages_of(given)
    if isinstance(found, Percentages) and [name for name, _ in found] == ["disk"]:
        found = found[0][1]
    for name, share in [("disk", found)] if isinstance(found, Percent) else found:
        if name == "disk" and not 0 < share <= 1:
            of = "disk " if isinstance(found, Percentages) else ""
            raise ValueError(f"{of}must be above 0% and at most 100%")
        if not share:
            raise ValueError(f"{name} must be above 0%")
    return found


class ReplicationFactor(NamedTuple):
    """How many replicas the partitions of a topic have; ``topic`` None: all topics that have no
    factor of their own."""

    topic: str | None
    factor: int

    @classmethod
    def of(cls, given: Any) -> Self:
        """``3``, ``"3"``, ``"topic=3"`` or ``("topic", 3)``."""
        topic, factor = None, given
        if isinstance(given, str) and "=" in given:
            topic, _, factor = given.rpartition("=")
        elif isinstance(given, tuple) and len(given) == 2:
            topic, factor = given
        try:
            number = count_of(factor)
        except ValueError:
            raise ValueError("expected 3 or topic=3, a whole number from 1") from None
        if number > MAX_REPLICAS:
            raise ValueError(f"must not be above {MAX_REPLICAS}")
        return cls(topic, number)

    def __str__(self) -> str:
        return str(self.factor) if self.topic is None else f"{self.topic}={self.factor}"


class LeaderRacks(NamedTuple):
    """The racks that the leaders of a topic's partitions must be in; ``topic`` None: of all topics
    that have no racks of their own."""

    topic: str | None
    racks: tuple[str, ...]

    @classmethod
    def of(cls, given: Any) -> Self:
        """``"topic=a,b"``, ``"a,b"`` or ``("topic", ("a", "b"))``."""
        topic, racks = None, given
        if isinstance(given, str) and "=" in given:
            topic, _, racks = given.partition("=")
        elif isinstance(given, tuple) and len(given) == 2:
            topic, racks = given
        names = racks.split(",") if isinstance(racks, str) else racks
        if not isinstance(names, Sequence) or not names or not all(map(_is_rack, names)):
            raise ValueError("expected racks, or a topic and racks: topic=a,b")
        if len(set(names)) < len(names):
            raise ValueError("a rack is given twice")
        return cls(topic, tuple(names))

    def __str__(self) -> str:
        racks = ",".join(self.racks)
        return racks if self.topic is None else f"{self.topic}={racks}"


def _is_rack(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and "," not in name and is_printable(name)
