"""Strategy ``exact`` plans nothing on its own output, and does not care how input is ordered."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from tests.oracles.naive_problem import BadProblemError, read_problem
from tests.profiles import examples
from tests.strategies import jobs, shuffled

Case = tuple[dict[str, Any], dict[str, Any]]


@st.composite
def doable(draw: st.DrawFn, **limits: int) -> Case:
    case = draw(jobs(**limits))
    try:
        read_problem(*case)
    except BadProblemError:
        assume(False)
    return case


def afterwards(options: dict[str, Any]) -> dict[str, Any]:
    """The same wishes once they are fulfilled: what was added is there, what was removed must
    stay empty."""
    again = {k: v for k, v in options.items() if k not in ("add_broker", "replace_broker")}
    old = [int(text.split("=")[0]) for text in options.get("replace_broker", ())]
    gone = sorted({*options.get("remove_broker", ()), *old})
    return again | ({"remove_broker": gone} if gone else {})


def assert_settled(cluster: dict[str, Any], options: dict[str, Any]) -> None:
    first = plan(Cluster.from_json(cluster), **options)
    assert first.figures["settled"] is True
    second = plan(first.after, **afterwards(options))
    assert second.moves == 0
    assert second.after.replica_lists() == first.after.replica_lists()
    assert second.document()["changes"] is False


@examples(400)
@given(doable())
def test_second_run_plans_nothing(case: Case) -> None:
    assert_settled(*case)


@examples(150)
@given(doable(max_brokers=9, min_partitions=7, max_partitions=18))
def test_second_run_plans_nothing_on_larger_clusters(case: Case) -> None:
    assert_settled(*case)


@examples(250)
@given(st.data(), doable())
def test_the_order_of_the_input_does_not_matter(data: st.DataObject, case: Case) -> None:
    cluster, options = case
    other = data.draw(shuffled(cluster))
    one, two = (
        json.dumps(plan(Cluster.from_json(c), **options).document()) for c in (cluster, other)
    )
    assert one == two
