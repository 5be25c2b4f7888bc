"""Explanations: every replica has a reason, and at the prices nothing would have been cheaper."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from partage.brokers.explain import explain
from partage.brokers.planning import plan
from partage.cluster import Cluster
from partage.errors import InputError
from partage.report.explanation import print_explanation
from tests.brokers.load.cases import a_cluster
from tests.bundled import grown, uneven_racks
from tests.matrices import cluster_of
from tests.profiles import examples

GROWN = grown()


@pytest.mark.parametrize("options", [{}, {"spread": "topic"}, {"remove_broker": [2]}])
def test_nothing_cheaper_at_the_prices(options: dict) -> None:
    made = plan(GROWN, **options)
    for name in made.before.names:
        for reason in explain(made, name).replicas:
            if reason.instead is not None:
                first = next((n for n in reason.instead.costs.values() if n), 0)
                assert first >= 0, (name, reason)


@given(data=st.data())
@examples(60)
def test_nothing_cheaper_in_random_clusters(data: st.DataObject) -> None:
    brokers = data.draw(st.integers(2, 6))
    rows = data.draw(st.integers(1, 8))
    cluster = Cluster.from_json(
        {
            "brokers": [{"id": b, "rack": "ab"[b % 2]} for b in range(brokers)],
            "partitions": [
                {
                    "topic": data.draw(st.sampled_from("tu")),
                    "partition": i,
                    "replicas": data.draw(
                        st.lists(st.integers(0, brokers - 1), min_size=1, max_size=3, unique=True)
                    ),
                }
                for i in range(rows)
            ],
        }
    )
    made = plan(cluster)
    for name in made.before.names:
        found = explain(made, name)
        assert {r.broker for r in found.replicas} == set(found.before) | set(found.after)
        for reason in found.replicas:
            assert (reason.fate == "goes") == (reason.broker not in found.after)
            assert (reason.fate == "comes") == (reason.broker not in found.before)
            if reason.instead is not None:
                assert reason.instead.broker not in found.after
                assert next((n for n in reason.instead.costs.values() if n), 0) >= 0


def test_the_rule_is_named() -> None:
    made = plan(GROWN, remove_broker=[2])
    gone = [r for n in made.before.names for r in explain(made, n).replicas if r.broker == 2]
    assert gone
    assert {(r.fate, r.why) for r in gone} == {("goes", "broker 2 is being emptied")}
    why = {r.why for n in made.before.names for r in explain(made, n).replicas}
    assert any(
        w.startswith("rack a had 2 replicas of the partition and may have 1: broker ") for w in why
    )
    assert explain(plan(GROWN, no_moves=True), "kafka-3").replicas[0].why == (
        "no data moves: only the order of replicas may change"
    )


def test_a_rack_with_no_more_than_its_rule_allows_is_no_reason() -> None:
    """Three replicas in two racks: two may be in one."""
    made = plan(cluster_of("1,2,4 " * 6, "1:a 2:a 3:b 4:b"))
    gone = [r for n in made.before.names for r in explain(made, n).replicas if r.fate == "goes"]
    assert gone
    assert not [r.why for r in gone if r.why.startswith("rack")]


def test_a_plan_by_load_shows_the_loads_of_the_brokers() -> None:
    made = plan(Cluster.from_json(a_cluster(5, brokers=6, partitions=20)), balance="load")
    name = made.before.names[int(made.changed[0])]
    found = explain(made, name)
    for reason in found.replicas:
        rows = made.figures["resources"]["out"]["brokers"]
        (row,) = (row for row in rows if row["broker"] == reason.broker)
        assert reason.loads["out"]["after"] == row["load"]
        assert reason.loads["out"]["band"] == row["band"]
        assert reason.instead is None
    out = io.StringIO()
    print_explanation(found, Console(file=out, width=100))
    assert "Loads of these brokers" in out.getvalue()
    assert explain(plan(GROWN), "kafka-0").replicas[0].loads == {}


def test_an_unknown_partition_is_bad_input() -> None:
    with pytest.raises(InputError, match="explain nope: not a partition of the cluster"):
        explain(plan(GROWN), "nope")


def test_in_a_notebook() -> None:
    found = explain(plan(uneven_racks()), "console-11")
    line = "console-11: [6, 5, 1] → [6, 7, 5]; broker 6 stays the leader"
    assert repr(found) == f"<Explanation of {line}>"
    text = found._repr_html_()
    assert "<td>6</td><td>c</td><td>stays</td>" in text
    assert text.count("<tr>") == 5
    assert "<td>broker 3: moves +2</td>" in text
    assert "<td>broker 1: as good</td>" in text
