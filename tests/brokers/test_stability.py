"""Strategy ``exact`` is stable: a second run changes nothing, nor does the order of the input
matter."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from tests.oracles.naive_problem import BadProblemError, read_problem
from tests.profiles import examples
from tests.strategies import jobs, options_of_second_run, shuffled

Case = tuple[dict[str, Any], dict[str, Any]]


@st.composite
def valid_jobs(draw: st.DrawFn, **limits: int) -> Case:
    case = draw(jobs(**limits))
    try:
        read_problem(*case)
    except BadProblemError:
        assume(False)
    return case


def assert_stable(cluster: dict[str, Any], options: dict[str, Any]) -> None:
    first = plan(Cluster.from_json(cluster), **options)
    assert first.figures["settled"] is True
    second = plan(first.after, **options_of_second_run(options))
    assert second.moves == 0
    assert second.after.replica_lists() == first.after.replica_lists()
    assert second.document()["changes"] is False


@examples(400)
@given(valid_jobs())
def test_a_second_run_changes_nothing(case: Case) -> None:
    assert_stable(*case)


@examples(150)
@given(valid_jobs(max_brokers=9, min_partitions=7, max_partitions=18))
def test_a_second_run_changes_nothing_on_larger_clusters(case: Case) -> None:
    assert_stable(*case)


@examples(250)
@given(st.data(), valid_jobs())
def test_the_order_of_the_input_does_not_matter(data: st.DataObject, case: Case) -> None:
    cluster, options = case
    other = data.draw(shuffled(cluster))
    one, two = (
        json.dumps(plan(Cluster.from_json(c), **options).document()) for c in (cluster, other)
    )
    assert one == two
