"""The order of a plan's replica lists, compared with an oracle."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hypothesis import assume

from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import CannotError, InputError
from tests.oracles.naive_problem import BadProblemError, defects, read_problem
from tests.oracles.verify import assert_best_order, assert_true_figures, lists_of

_OF_ORDER = ("leader_racks", "demote_broker", "topics")
"""The options that a second run without moves needs, too."""


def check_order(cluster: dict[str, Any], options: dict[str, Any], oracle: ModuleType) -> Plan:
    """The plan, whose order is the best by the oracle and which a second run does not change; a job
    that has none is left out."""
    try:
        job = read_problem(cluster, options)
        planned = plan(Cluster.from_json(cluster), **options)
    except (BadProblemError, InputError, CannotError):
        assume(False)
    assert not defects(job, lists_of(planned))
    assert_best_order(job, planned, oracle)
    assert_true_figures(job, planned)
    kept = {name: options[name] for name in _OF_ORDER if name in options}
    again = plan(planned.after, no_moves=True, **kept)
    assert len(again.changed) == 0
    return planned
