"""Strategy ``exact``, stages 4 to 7, against oracles that know only the specification."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hypothesis import assume, given

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import BadProblemError, defects, read_problem
from tests.oracles.verify import assert_best_order, assert_true_figures, lists_of
from tests.profiles import examples
from tests.strategies import jobs


def check(cluster: dict[str, Any], options: dict[str, Any], oracle: ModuleType) -> None:
    try:
        job = read_problem(cluster, options)
    except BadProblemError:
        assume(False)
    planned = plan(Cluster.from_json(cluster), **options)
    assert not defects(job, lists_of(planned))
    assert_best_order(job, planned, oracle)
    assert_true_figures(job, planned)


@examples(800)
@given(jobs(no_moves=True))
def test_small_orders(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case, brute_force)


@examples(600)
@given(jobs(min_partitions=4))
def test_orders_after_moves(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case, brute_force)


@examples(200)
@given(jobs(max_brokers=9, min_partitions=7, max_partitions=18, no_moves=True))
def test_larger_orders(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case, mip)


@examples(150)
@given(jobs(max_brokers=9, min_partitions=7, max_partitions=18))
def test_larger_orders_after_moves(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case, mip)
