"""The assignors by name. A new one is one file in this folder and one line in ``ASSIGNORS`` or, if
it is the broker's, ``BROKER_ASSIGNORS``.

An assignor is a pure function of a Group: what it remembers of earlier rounds are the members'
claims. It returns [P] the position of the member that gets each partition, ``NO_MEMBER`` where no
member subscribes to the topic, or an Assignment where it has more to report. The registry also
states

- ``cooperative``: whether its members use the cooperative protocol; ``consumers.assign`` then
  withholds what must be revoked first
- ``modes``: the values of its ``mode`` argument, the default first; most assignors have none
- ``options``: the names of its other arguments
- ``by_weight``: whether it decides by the group's weights
- ``broker``: whether the broker runs it, in its group coordinator
- ``create``: for a custom assignor, of which every member has an instance; ``label`` names it in
  messages

Kafka's class names are names, too, with or without their packages (``KAFKA_CLASSES``,
``BROKER_CLASSES``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from inspect import isabstract

from partage.arrays import Ints
from partage.consumers.assignment import Assignment
from partage.consumers.assignors.connect import connect
from partage.consumers.assignors.failover import failover
from partage.consumers.assignors.lag import lag
from partage.consumers.assignors.range import broker_range, range_
from partage.consumers.assignors.roundrobin import roundrobin
from partage.consumers.assignors.share import share
from partage.consumers.assignors.sticky import sticky
from partage.consumers.assignors.streams import streams
from partage.consumers.assignors.uniform import uniform
from partage.consumers.assignors.weighted import weighted
from partage.consumers.custom import PartitionAssignor, run_custom_assignor
from partage.consumers.racks_first import OPTIONS
from partage.errors import InputError, shown
from partage.group import Group
from partage.named import load_attribute

MODES = ("optimal", "java", "java-3.7.0")
"""The exact or best known assignment, or that of the Java class of the same name: of today, or as
it was up to that version."""

Decide = Callable[..., Ints | Assignment]


@dataclass(frozen=True)
class Assignor:
    """A registered assignor; see the head of this file."""

    decide: Decide
    cooperative: bool = False
    modes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    by_weight: bool = False
    broker: bool = False
    create: Callable[[], PartitionAssignor] | None = None
    label: str = ""

    def mode(self, asked: str | None) -> str | None:
        """The mode that it uses: the one asked for if it has it; None if it has no modes."""
        if not self.modes:
            return None
        return asked if asked in self.modes else self.modes[0]


ASSIGNORS: dict[str, Assignor] = {
    "range": Assignor(range_),
    "roundrobin": Assignor(roundrobin),
    "sticky": Assignor(sticky, modes=MODES, options=OPTIONS),
    "cooperative-sticky": Assignor(sticky, cooperative=True, modes=MODES, options=OPTIONS),
    "failover": Assignor(failover),
    "weighted": Assignor(weighted, modes=MODES[:2], options=("max_skew",), by_weight=True),
    "lag": Assignor(lag, by_weight=True),
    "streams": Assignor(streams, cooperative=True),
    "connect": Assignor(connect),
}
"""Those that clients run."""

BROKER_ASSIGNORS: dict[str, Assignor] = {
    "uniform": Assignor(uniform, modes=("java", "optimal"), options=OPTIONS, broker=True),
    "range": Assignor(broker_range, broker=True),
    "share": Assignor(share, broker=True),
}
"""Those that the broker runs: for consumer groups by the names of ``group.remote.assignor``
(KIP-848), and for share groups (KIP-932)."""


KAFKA_CLASSES = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    "org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor": "streams",
    "org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor": (
        "streams"
    ),
    "org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor": "connect",
    "com.github.grantneale.kafka.LagBasedPartitionAssignor": "lag",
}
"""Names by Java class, of ``ASSIGNORS``."""

BROKER_CLASSES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
    "org.apache.kafka.coordinator.group.assignor.SimpleAssignor": "share",
}
"""Names by Java class, of ``BROKER_ASSIGNORS``."""

_OF_JAVA = {
    "partage": "uniform",
    "partage.assignor.PartageAssignor": "uniform",
    "partage.assignor.CooperativeAssignor": "cooperative-sticky",
    "partage.assignor.EagerAssignor": "sticky",
}
"""What decides as partage's assignors for Java do, with mode optimal."""

# RangeAssignor without its package is the client's
_BY_CLASS = {
    path.rpartition(".")[2]: name
    for path, name in (*BROKER_CLASSES.items(), *KAFKA_CLASSES.items())
} | (BROKER_CLASSES | KAFKA_CLASSES)


def assignor_name(name: str) -> str:
    """The name of the assignor of a Java class, with or without its package; any other name as it
    is."""
    return _BY_CLASS.get(name, name)


def find_assignor(name: str, protocol: str = "classic") -> Assignor:
    """The assignor of that name, of that Java class, or the ``PartitionAssignor`` at
    ``module:Class``. Of a name that clients and the broker have, it is the broker's where
    ``protocol`` is ``consumer``. Raises InputError, which lists the registered names."""
    if not isinstance(name, str):
        raise InputError(f"assignor {shown(name)}", "expected the name of an assignor as text")
    among = BROKER_ASSIGNORS if name in BROKER_CLASSES or protocol == "consumer" else ASSIGNORS
    name = assignor_name(name)
    refuse_own(name)
    if name in among:
        return among[name]
    if among is BROKER_ASSIGNORS:
        known = ", ".join(BROKER_ASSIGNORS)
        problem = f"the broker has no such assignor (protocol consumer): expected one of {known}"
        raise InputError(f"assignor {shown(name)}", problem)
    if name in BROKER_ASSIGNORS:
        return BROKER_ASSIGNORS[name]
    if ":" not in name:
        known = ", ".join({**ASSIGNORS, **BROKER_ASSIGNORS})
        raise InputError(f"assignor {shown(name)}", f"expected one of {known}, or module:Class")
    found = load_attribute(name, "assignor")
    is_class = isinstance(found, type) and issubclass(found, PartitionAssignor)
    if not is_class and not isinstance(found, PartitionAssignor):
        raise InputError(f"assignor {shown(name)}", "is not a subclass of PartitionAssignor")
    if is_class and isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise InputError(f"assignor {shown(name)}", f"does not define {missing}")
    if not isinstance(getattr(found, "name", None), str):
        raise InputError(f"assignor {shown(name)}", "has no name: expected a text")
    return _custom(found if is_class else partial(deepcopy, found), found.cooperative, name)


def refuse_own(name: str) -> None:
    """Raise InputError for one of partage's assignors for Java, with the name of what decides as
    it does."""
    if name in _OF_JAVA:
        problem = f"decides as {_OF_JAVA[name]} does with `mode` optimal: give these"
        raise InputError(f"assignor {shown(name)}", problem)


def check_mode(mode: str | None, assignors: Mapping[str, Assignor]) -> None:
    """Raise InputError for an unknown mode, and for one that none of the assignors has. None, which
    is the default of each, and ``optimal`` are always accepted."""
    if mode is None:
        return
    if mode not in MODES:
        raise InputError(f"mode {shown(mode)}", f"expected one of {', '.join(MODES)}")
    if mode == MODES[0] or any(mode in one.modes for one in assignors.values()):
        return
    names = ", ".join(assignors)
    theirs = {known for one in assignors.values() for known in one.modes}
    if theirs:
        expected = f"{names} does not have it: expected {' or '.join(sorted(theirs))}"
    else:
        expected = f"{names} has no modes: expected {MODES[0]}"
    known = {**BROKER_ASSIGNORS, **ASSIGNORS}
    others = ", ".join(name for name, one in known.items() if mode in one.modes)
    raise InputError(f"mode {shown(mode)}", f"{expected}, or an assignor with it: {others}")


def register(assignor: PartitionAssignor) -> None:
    """Add a custom assignor under its name. Raises InputError where the name is taken."""
    if assignor.name in ASSIGNORS:
        raise InputError("register", f"an assignor {assignor.name!r} already exists")
    ASSIGNORS[assignor.name] = _custom(
        partial(deepcopy, assignor), assignor.cooperative, assignor.name
    )


def _custom(create: Callable[[], PartitionAssignor], cooperative: bool, label: str) -> Assignor:
    def decide(group: Group) -> Ints:
        return run_custom_assignor(create(), group)

    return Assignor(decide, cooperative, create=create, label=label)
