"""The strategies by name. To add one, write one module here and add one line below.

A strategy takes a Problem and returns replica lists [P, R] of broker positions, preferred leader
first, padded with -1. If it has no answer, it raises CannotError with the reason. A strategy that
leaves the order of the lists to ``brokers.leaders`` is registered with ``ordered=False``. ``given``
is not in the table, because users do not select it: ``reassignment`` implies it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.brokers.options import GIVEN
from partage.brokers.problem import Problem
from partage.brokers.strategies.bin_packing import bin_packing
from partage.brokers.strategies.exact import exact
from partage.brokers.strategies.generate import generate
from partage.brokers.strategies.given import given
from partage.brokers.strategies.greedy import greedy
from partage.brokers.strategies.leader_flow import leader_flow
from partage.brokers.strategies.mip import mip
from partage.brokers.strategies.permutation import permutation
from partage.brokers.strategies.rack_greedy import rack_greedy
from partage.brokers.strategies.three_flows import three_flows
from partage.errors import InputError, shown


@dataclass(frozen=True)
class Strategy:
    """``decide`` returns the replica lists or, if not ``ordered``, the replica sets."""

    decide: Callable[[Problem], npt.NDArray[np.int64]]
    ordered: bool = True


STRATEGIES: dict[str, Strategy] = {
    "exact": Strategy(exact, ordered=False),
    "generate": Strategy(generate),
    "leader-flow": Strategy(leader_flow),
    "greedy": Strategy(greedy),
    "rack-greedy": Strategy(rack_greedy),
    "bin-packing": Strategy(bin_packing),
    "permutation": Strategy(permutation),
    "mip": Strategy(mip),
    "three-flows": Strategy(three_flows),
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name. Raises InputError, which lists the known ones."""
    if name == GIVEN:
        return Strategy(given)
    if name not in STRATEGIES:
        raise InputError(f"strategy {shown(name)}", f"expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
