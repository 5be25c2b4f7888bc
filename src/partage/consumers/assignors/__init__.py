"""The assignors by name. A new one is one file beside this and one line here.

An assignor takes a Group and a mode and returns [P] the position of the member that gets each
partition, ``NOBODY`` where none subscribes. It is a pure function of the group: what it remembers of
earlier rounds comes as the members' claims. One whose members speak the cooperative protocol is
registered with ``cooperative=True``; what must be given up first is withheld by ``consumers.assign``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.consumers.assignors.failover import failover
from partage.consumers.assignors.range import range_
from partage.consumers.assignors.roundrobin import roundrobin
from partage.consumers.assignors.sticky import sticky
from partage.errors import InputError
from partage.group import Group

Decide = Callable[[Group, str], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Assignor:
    """``decide(group, mode)`` gives the owner of each partition."""

    decide: Decide
    cooperative: bool = False


ASSIGNORS: dict[str, Assignor] = {
    "range": Assignor(range_),
    "roundrobin": Assignor(roundrobin),
    "sticky": Assignor(sticky),
    "cooperative-sticky": Assignor(sticky, cooperative=True),
    "failover": Assignor(failover),
}


def assignor_named(name: str) -> Assignor:
    """The assignor of that name; InputError names those that there are."""
    if name not in ASSIGNORS:
        raise InputError("--assignor", f"{name!r}: expected one of {', '.join(ASSIGNORS)}")
    return ASSIGNORS[name]
