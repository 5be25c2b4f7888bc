"""The assignors by name. A new one is one file in this folder and one line in ``ASSIGNORS``.

An assignor is a pure function of a Group: what it remembers of earlier rounds are the members'
claims. It returns [P] the position of the member that gets each partition, ``NO_MEMBER`` where no
member subscribes to the topic, or an Assignment where it has more to report. The registry also
states

- ``cooperative``: whether its members use the cooperative protocol; ``consumers.assign`` then
  withholds what must be revoked first
- ``modes``: the values of its ``mode`` argument, the default first; most assignors have none
- ``options``: the names of its other arguments
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.consumers.assignment import Assignment
from partage.consumers.assignors.connect import connect
from partage.consumers.assignors.failover import failover
from partage.consumers.assignors.lag import lag
from partage.consumers.assignors.range import range_
from partage.consumers.assignors.roundrobin import roundrobin
from partage.consumers.assignors.sticky import sticky
from partage.consumers.assignors.streams import streams
from partage.consumers.assignors.weighted import weighted
from partage.consumers.custom import PartitionAssignor, run_custom_assignor
from partage.errors import InputError, shown
from partage.named import load_object

MODES = ("optimal", "java")
"""The exact or best known assignment, or that of the Java class of the same name."""

Decide = Callable[..., npt.NDArray[np.int64] | Assignment]


@dataclass(frozen=True)
class Assignor:
    """A registered assignor; see the head of this file."""

    decide: Decide
    cooperative: bool = False
    modes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


ASSIGNORS: dict[str, Assignor] = {
    "range": Assignor(range_),
    "roundrobin": Assignor(roundrobin),
    "sticky": Assignor(sticky, modes=MODES),
    "cooperative-sticky": Assignor(sticky, cooperative=True, modes=MODES),
    "failover": Assignor(failover),
    "weighted": Assignor(weighted, modes=MODES, options=("max_skew",)),
    "lag": Assignor(lag),
    "streams": Assignor(streams, cooperative=True),
    "connect": Assignor(connect),
}


def find_assignor(name: str) -> Assignor:
    """The assignor of that name, or a new instance of the ``PartitionAssignor`` at
    ``module:Class``. Raises InputError, which lists the registered names."""
    if name in ASSIGNORS:
        return ASSIGNORS[name]
    if ":" not in name:
        raise InputError(
            f"assignor {shown(name)}", f"expected one of {', '.join(ASSIGNORS)}, or module:Class"
        )
    found = load_object(name, "assignor", PartitionAssignor)
    if not isinstance(found, PartitionAssignor):
        raise InputError(f"assignor {shown(name)}", "is not a subclass of PartitionAssignor")
    return _custom(found)


def check_mode(mode: str, assignors: Mapping[str, Assignor]) -> None:
    """Raise InputError for an unknown mode, and for one that none of the assignors has. The default
    is always accepted."""
    if mode not in MODES:
        raise InputError(f"mode {shown(mode)}", f"expected one of {', '.join(MODES)}")
    if mode != MODES[0] and not any(mode in one.modes for one in assignors.values()):
        with_modes = ", ".join(name for name, one in ASSIGNORS.items() if one.modes)
        raise InputError(
            f"mode {shown(mode)}",
            f"{', '.join(assignors)} has no modes: expected {MODES[0]}, "
            f"or an assignor with modes: {with_modes}",
        )


def register(assignor: PartitionAssignor) -> None:
    """Add a custom assignor under its name. Raises InputError where the name is taken."""
    if assignor.name in ASSIGNORS:
        raise InputError("register", f"an assignor {assignor.name!r} already exists")
    ASSIGNORS[assignor.name] = _custom(assignor)


def _custom(assignor: PartitionAssignor) -> Assignor:
    return Assignor(lambda group: run_custom_assignor(assignor, group), assignor.cooperative)
