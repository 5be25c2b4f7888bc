"""The next best brokers, against ``partage plan --explain``."""

from __future__ import annotations

import pytest

import partage
from partage.brokers.explain import explain
from partage.report.view import view
from partage.report.view.next_best import next_best
from tests import bundled

OPTIONS = [
    {},
    {"spread": "topic"},
    {"remove_broker": [2]},
    {"replication_factor": ["2"]},
    {"topics": "k.*"},
    {"max_moves": 50},
    {"tolerance": "10%"},
    {"strategy": "generate"},
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_next_best_is_the_same_as_in_explain(options):
    """The same broker from the certificate. Its price for topic spread can be higher than that of
    the planner's network, where several prices are optimal."""
    made = partage.plan(bundled.grown(), **options)
    counted = view(made.document())
    found = next_best(counted)
    names = made.before.names
    new = [
        (name, place)
        for name, old, now in zip(
            names, made.before.replica_lists(), made.after.replica_lists(), strict=True
        )
        for place in now
        if place not in old
    ]
    assert len(new) == len(found.broker) == made.moves
    reasons = {name: explain(made, name).replicas for name in {name for name, _ in new}}
    for at, (name, place) in enumerate(new):
        explained = next(r.instead for r in reasons[name] if r.broker == place)
        if explained is None:
            assert found.broker[at] == -1
            continue
        first = next(((c, n) for c, n in explained.costs.items() if n), None)
        found_cost = None if found.cost[at] < 0 else (found.costs[found.cost[at]], found.amount[at])
        if found_cost != first:
            assert found_cost[0] == "spread"
            assert found_cost[1] > explained.costs["spread"]
        else:
            assert counted.brokers[found.broker[at]].id == explained.broker


@pytest.mark.parametrize("options", [{"no_moves": True}, {"balance": "bytes"}])
def test_no_next_best_without_prices_of_replicas(options):
    assert next_best(view(partage.plan(bundled.grown(), **options).document())) is None
