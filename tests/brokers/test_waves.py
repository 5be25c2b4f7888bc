"""Waves: each changed partition once, no broker overloaded, what moves no data last."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partage import Cluster, InputError
from partage.brokers.plan import plan
from partage.brokers.waves import Wave, cut_into_waves
from strategies import clusters

Lists = list[list[int]]


def cluster_of(lists: Lists, sizes: list[int] | None = None, dead: tuple[int, ...] = ()) -> Cluster:
    rows = [
        {"topic": "t", "partition": p, "replicas": r}
        | ({} if sizes is None else {"size_bytes": sizes[p]})
        for p, r in enumerate(lists)
    ]
    brokers = [{"id": b, "alive": b not in dead} for b in range(8)]
    return Cluster.from_json({"brokers": brokers, "partitions": rows})


def waves(
    before: Lists,
    after: Lists,
    sizes: list[int] | None = None,
    concurrency: int = 1,
    throttle: int | None = None,
    dead: tuple[int, ...] = (),
) -> list[Wave]:
    one, other = cluster_of(before, sizes, dead), cluster_of(after, sizes, dead)
    return list(cut_into_waves(one, other, concurrency, throttle).waves)


def rows(found: list[Wave]) -> list[list[int]]:
    return [wave.rows.tolist() for wave in found]


def test_nothing_changes() -> None:
    assert waves([[1, 2], [3]], [[1, 2], [3]]) == []


def test_one_wave_where_nobody_meets() -> None:
    found = waves([[1], [2]], [[3], [4]])
    assert rows(found) == [[0, 1]]
    assert (found[0].moves, found[0].bytes, found[0].seconds) == (2, None, None)


def test_a_target_fetches_one_at_a_time() -> None:
    assert rows(waves([[1], [2], [3]], [[4], [4], [4]])) == [[0], [1], [2]]
    assert rows(waves([[1], [2], [3]], [[4], [4], [4]], concurrency=2)) == [[0, 1], [2]]
    assert rows(waves([[1], [2], [3]], [[4], [4], [4]], concurrency=9)) == [[0, 1, 2]]


def test_a_leader_sends_one_at_a_time() -> None:
    assert rows(waves([[1], [1], [1]], [[2], [3], [4]])) == [[0], [1], [2]]
    assert rows(waves([[1], [1], [1]], [[2], [3], [4]], concurrency=2)) == [[0, 1], [2]]


def test_a_partition_that_alone_asks_for_more_has_its_leader_to_itself() -> None:
    found = waves([[1], [1], [2]], [[1, 3, 4, 5], [6], [7]])
    assert rows(found) == [[0, 2], [1]]
    assert found[0].moves == 4


def test_a_dead_leader_sends_nothing_the_next_one_does() -> None:
    before, after = [[1, 2], [1, 3]], [[2, 4], [3, 5]]
    assert rows(waves(before, after, dead=(1,))) == [[0, 1]]
    before, after = [[1, 2], [0, 2]], [[2, 4], [2, 5]]
    assert rows(waves(before, after, dead=(1, 0))) == [[0], [1]]


def test_large_ones_first() -> None:
    assert rows(waves([[1], [2], [3]], [[4], [4], [4]], sizes=[1, 9, 5])) == [[1], [2], [0]]


def test_order_only_comes_last_all_together() -> None:
    before = [[1, 2], [3, 4], [5, 6], [1, 2]]
    after = [[2, 1], [3, 7], [6, 5], [1, 2]]
    found = waves(before, after, sizes=[100, 1, 100, 100], throttle=10)
    assert rows(found) == [[1], [0, 2]]
    assert [(w.moves, w.bytes, w.seconds) for w in found] == [(1, 1, 1), (0, 0, 0)]


def test_only_order_changes() -> None:
    found = waves([[1, 2]], [[2, 1]])
    assert [(w.rows.tolist(), w.moves, w.bytes, w.seconds) for w in found] == [([0], 0, None, None)]


def test_fewer_replicas_move_nothing() -> None:
    found = waves([[1, 2, 3]], [[1]], sizes=[7])
    assert [(w.rows.tolist(), w.moves, w.bytes) for w in found] == [([0], 0, 0)]


def test_bytes_and_seconds() -> None:
    # broker 1 sends 30 + 30 + 50, broker 5 fetches 50 + 7: the busiest side counts
    found = waves(
        [[1], [1], [2]],
        [[1, 3, 4], [5], [5]],
        sizes=[30, 50, 7],
        concurrency=3,
        throttle=25,
    )
    assert rows(found) == [[0, 1, 2]]
    assert (found[0].moves, found[0].bytes) == (4, 117)
    assert found[0].seconds == 5  # 110 bytes at 25 a second, begun seconds count


def test_without_a_throttle_or_sizes_there_is_no_time() -> None:
    assert waves([[1]], [[2]], sizes=[7])[0].seconds is None
    assert waves([[1]], [[2]], throttle=5)[0].seconds is None


def test_the_throttle_of_a_plan() -> None:
    lists = [{"topic": "t", "partition": p, "replicas": [1], "size_bytes": 10**9} for p in range(4)]
    cluster = Cluster.from_json({"brokers": [{"id": 1}, {"id": 2}], "partitions": lists})
    made = plan(cluster, throttle="50MB", concurrency=1)
    assert [(w.moves, w.seconds) for w in made.waves] == [(1, 20), (1, 20)]
    with pytest.raises(InputError):
        plan(cluster, concurrency=0)


@st.composite
def changes(draw: st.DrawFn) -> tuple[dict[str, Any], Lists, int]:
    """A cluster, other lists on it, a concurrency."""
    value = draw(clusters(max_partitions=12))
    ids = [b["id"] for b in value["brokers"]]
    rows_of = sorted(value["partitions"], key=lambda p: (p["topic"], p["partition"]))
    after = []
    for row in rows_of:
        if draw(st.integers(0, 3)) == 0:
            after.append(row["replicas"])
        else:
            count = draw(st.integers(1, len(ids)))
            after.append(draw(st.permutations(ids))[:count])
    return value, after, draw(st.integers(1, 4))


@settings(max_examples=300, deadline=None)
@given(changes())
def test_every_wave_keeps_the_limits(case: tuple[dict[str, Any], Lists, int]) -> None:
    value, lists, concurrency = case
    before = Cluster.from_json(value)
    position = {b: i for i, b in enumerate(before.broker_ids.tolist())}
    width = max(map(len, lists))
    after = before.with_replicas(
        np.array([[position[b] for b in r] + [-1] * (width - len(r)) for r in lists])
    )
    found = cut_into_waves(before, after, concurrency, 7).waves
    old = before.replica_lists()
    changed = [p for p, row in enumerate(old) if row != lists[p]]
    assert sorted(p for wave in found for p in wave.rows.tolist()) == changed
    live = {b.id for b in before.brokers if b.alive}
    last = [wave.moves > 0 for wave in found]
    assert last == sorted(last, reverse=True)  # moves first, then order only
    assert last.count(False) <= 1
    for wave in found:
        incoming: Counter[int] = Counter()
        outgoing: Counter[int] = Counter()
        alone: Counter[int] = Counter()
        assert wave.rows.tolist() == sorted(wave.rows.tolist())
        for p in wave.rows.tolist():
            new = set(lists[p]) - set(old[p])
            incoming.update(new)
            source = next((b for b in old[p] if b in live), None)
            if source is not None and new:
                outgoing[source] += len(new)
                alone[source] += 1
        assert wave.moves == sum(incoming.values())
        assert all(count <= concurrency for count in incoming.values())
        assert all(n <= concurrency or alone[b] == 1 for b, n in outgoing.items())
