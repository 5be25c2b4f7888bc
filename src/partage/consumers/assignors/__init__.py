"""The assignors by name. A new one is one file beside this and one line here.

An assignor takes a Group and a mode and returns [P] the position of the member that gets each
partition, ``NOBODY`` where none subscribes; one that has more to tell returns an Assignment. It is
a pure function of the group: what it remembers of earlier rounds comes as the members' claims. One
that takes options by name lists them. One whose members speak the cooperative protocol is
registered with ``cooperative=True``; what must be given up first is withheld by
``consumers.assign``.
"""

from __future__ import annotations

from collections.abc import Callable
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
from partage.consumers.custom import PartitionAssignor, decide
from partage.errors import InputError
from partage.named import imported

Decide = Callable[..., npt.NDArray[np.int64] | Assignment]


@dataclass(frozen=True)
class Assignor:
    """``decide(group, mode, **options)`` gives the owner of each partition; ``options``: the names
    that it takes."""

    decide: Decide
    cooperative: bool = False
    options: tuple[str, ...] = ()


ASSIGNORS: dict[str, Assignor] = {
    "range": Assignor(range_),
    "roundrobin": Assignor(roundrobin),
    "sticky": Assignor(sticky),
    "cooperative-sticky": Assignor(sticky, cooperative=True),
    "failover": Assignor(failover),
    "weighted": Assignor(weighted, options=("max_skew",)),
    "lag": Assignor(lag),
    "streams": Assignor(streams, cooperative=True),
    "connect": Assignor(connect),
}


def find_assignor(name: str) -> Assignor:
    """The assignor of that name, or the ``PartitionAssignor`` that ``module:Class`` leads to, a new
    one each time. InputError names those that there are."""
    if name in ASSIGNORS:
        return ASSIGNORS[name]
    if ":" not in name:
        raise InputError(
            "--assignor", f"{name!r}: expected one of {', '.join(ASSIGNORS)}, or module:Class"
        )
    found = imported(name, "--assignor", PartitionAssignor)
    if not isinstance(found, PartitionAssignor):
        raise InputError("--assignor", f"{name!r}: is no subclass of PartitionAssignor")
    return _custom(found)


def register(assignor: PartitionAssignor) -> None:
    """Enter an assignor of one's own under its name. Raises InputError where the name is taken."""
    if assignor.name in ASSIGNORS:
        raise InputError("register", f"there is an assignor {assignor.name!r} already")
    ASSIGNORS[assignor.name] = _custom(assignor)


def _custom(assignor: PartitionAssignor) -> Assignor:
    return Assignor(lambda group, mode: decide(assignor, group), assignor.cooperative)
