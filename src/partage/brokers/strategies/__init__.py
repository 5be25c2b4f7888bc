"""The strategies by name. To add one, write one module here and add one line below.

A strategy takes a Problem and returns replica lists [P, R] of broker positions, preferred leader
first, padded with -1. If it has no answer, it raises CannotError with the reason. A strategy that
leaves the order of the lists to ``brokers.leaders`` is registered with ``ordered=False``. ``given``
is not in the table, because users do not select it: ``reassignment`` implies it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from partage.brokers.options import GIVEN
from partage.errors import InputError, shown

if TYPE_CHECKING:
    from partage.arrays import Ints
    from partage.brokers.problem import Problem

Decide: TypeAlias = "Callable[[Problem], Ints]"


class Strategy(NamedTuple):
    """``decide`` returns the replica lists or, if not ``ordered``, the replica sets."""

    decide: Decide
    ordered: bool = True


def imported(name: str) -> Decide:
    """The function that has the same name as its module here, imported when it is called: help
    and shell completion need only the names of strategies."""

    def decide(problem: Problem) -> Ints:
        function: Decide = getattr(import_module(f"{__name__}.{name}"), name)
        return function(problem)

    return decide


STRATEGIES: dict[str, Strategy] = {
    "exact": Strategy(imported("exact"), ordered=False),
    "generate": Strategy(imported("generate")),
    "leader-flow": Strategy(imported("leader_flow")),
    "greedy": Strategy(imported("greedy")),
    "rack-greedy": Strategy(imported("rack_greedy")),
    "bin-packing": Strategy(imported("bin_packing")),
    "permutation": Strategy(imported("permutation")),
    "mip": Strategy(imported("mip")),
    "three-flows": Strategy(imported("three_flows")),
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name. Raises InputError, which lists the known ones."""
    if name == GIVEN:
        return Strategy(imported("given"))
    if name not in STRATEGIES:
        raise InputError(f"strategy {shown(name)}", f"expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
