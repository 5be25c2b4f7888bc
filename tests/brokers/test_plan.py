"""A plan as an object, and as tables."""

from __future__ import annotations

import json
from collections import Counter

import partage
from tests.bundled import grown, uneven_racks


def test_moves_are_the_new_replicas() -> None:
    plan = partage.plan(grown(), replication_factor={"console": 4}, remove_broker=3)
    moves = plan.to_pandas()
    assert list(moves.columns) == ["topic", "partition", "from", "to", "bytes", "wave"]
    assert len(moves) == plan.moves
    before = {(p["topic"], p["partition"]): p for p in plan.before.to_json()["partitions"]}
    after = {(p["topic"], p["partition"]): p for p in plan.after.to_json()["partitions"]}
    gained: Counter[tuple[str, int]] = Counter()
    for row in moves.itertuples(index=False, name=None):
        topic, partition, source, target, size, wave = row
        key = (topic, partition)
        assert target in after[key]["replicas"]
        assert target not in before[key]["replicas"]
        assert size == before[key]["size_bytes"]
        assert 1 <= wave <= len(plan.waves)
        if source == source and source is not None:
            assert source in before[key]["replicas"]
            assert source not in after[key]["replicas"]
        gained[key] += 1
    for key, entry in after.items():
        assert gained[key] == len(set(entry["replicas"]) - set(before[key]["replicas"]))
    assert plan.to_arrow().to_pylist() == moves.astype(object).where(moves.notna(), None).to_dict(
        "records"
    )


def test_brokers_and_waves_are_those_of_the_figures() -> None:
    plan = partage.plan(grown())
    brokers = plan.to_pandas("brokers")
    assert brokers["broker"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    lists = plan.after.to_json()["partitions"]
    for broker, replicas, leaders in zip(
        brokers["broker"], brokers["replicas_after"], brokers["leaders_after"], strict=True
    ):
        assert replicas == sum(broker in p["replicas"] for p in lists)
        assert leaders == sum(broker == p["replicas"][0] for p in lists)
    waves = plan.to_pandas("waves")
    assert waves["wave"].tolist() == list(range(1, len(plan.waves) + 1))
    assert waves["moves"].sum() == plan.moves
    assert waves["bytes"].sum() == plan.bytes_moved


def test_it_shows_itself_in_a_line_and_as_a_table() -> None:
    plan = partage.plan(grown())
    assert repr(plan) == (
        "<Plan of 200 moves (the proven minimum) in 28 waves: 54 replicas per broker>"
    )
    html = plan._repr_html_()
    assert html.count("<tr>") == 10
    assert "200 moves" in html
    assert repr(partage.plan(uneven_racks())) == (
        "<Plan of 173 moves (the proven minimum) in 34 waves: 54 to 81 replicas per broker>"
    )


def test_deleted_replicas_are_counted_where_there_are_any() -> None:
    """Two partitions lose a replica: one on a dead broker, one that moves another, too."""
    brokers = [{"id": b, "alive": b != 4} for b in (1, 2, 3, 4, 5)]
    rows = [
        {"topic": topic, "partition": 0, "replicas": replicas, "size_bytes": 10}
        for topic, replicas in (("dead", [1, 2, 4]), ("moved", [4, 1, 2]), ("raised", [3]))
    ]
    lists = {"dead": [1, 2], "moved": [1, 5], "raised": [3, 5]}
    given = {
        "version": 1,
        "partitions": [{"topic": t, "partition": 0, "replicas": r} for t, r in lists.items()],
    }
    cluster = partage.Cluster.from_json({"brokers": brokers, "partitions": rows})
    plan = partage.plan(cluster, reassignment=given)
    assert (plan.moves, plan.replicas_deleted) == (2, 2)
    assert plan.figures["replicas_deleted"] == 2
    assert plan.figures["partitions_with_fewer_replicas"] == 2
    assert repr(plan).startswith("<Plan of 2 moves (not proven minimal) and 2 replicas deleted in ")
    by_wave = [wave["replicas_deleted"] for wave in plan.document()["waves"]]
    assert len(by_wave) == len(plan.waves)
    assert sum(by_wave) == 2


def test_a_plan_that_deletes_nothing_does_not_mention_it() -> None:
    """A dead broker's replicas are replaced."""
    value = uneven_racks().to_json()
    value["brokers"][0]["alive"] = False
    plan = partage.plan(partage.Cluster.from_json(value))
    assert plan.moves
    assert plan.replicas_deleted == 0
    text = json.dumps(plan.document())
    assert "deleted" not in text
    assert "fewer_replicas" not in text
    assert "deleted" not in repr(plan)
