"""Counts of replica lists, against cases counted by hand and against plain loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from partage.report.view import View, view
from tests.report import plan_documents as documents


@pytest.fixture
def small() -> View:
    return view(documents.small(sizes=[100, 200, 300, 50]))


def test_copies_go_from_the_current_leader_to_the_target(small):
    #  target   1  2  3  4        source
    assert small.move_replicas.tolist() == [
        [0, 0, 1, 0],  # 1
        [0, 0, 1, 0],  # 2, second in its list, behind the dead broker 4
        [0, 0, 0, 0],  # 3
        [0, 0, 0, 0],  # 4
        [0, 0, 1, 0],  # no live source
    ]
    assert small.move_bytes[:, 2].tolist() == [100, 300, 0, 0, 50]
    assert small.move_bytes.sum() == 450


def test_a_failed_brokers_leaders_go_to_the_next_live_replica(small):
    # after: a-0 [1, 3], a-1 [2, 1], b-0 [2, 3], b-1 [3]
    assert small.takeover.tolist() == [
        [0, 0, 1, 0],  # 1 fails: a-0 to 3
        [1, 0, 1, 0],  # 2 fails: a-1 to 1, b-0 to 3
        [0, 0, 0, 0],  # 3 fails: b-1 has no other replica
        [0, 0, 0, 0],
    ]
    assert small.lost.tolist() == [0, 0, 1, 0]
    # leaders after: 1, 2, 1; with 1 gone 2 leads 2 and 3 leads 2; with 2 gone both lead 2
    assert small.worst_after.tolist() == [2, 2, 2, -1]
    # before, 4 is dead already: 1 gone: 2 leads 2; 2 gone: 1 leads 2; 3 gone: 1 each
    assert small.worst_before.tolist() == [2, 2, 1, -1]


def test_a_failed_racks_leaders_go_outside_it(small):
    # rack x is 1 and 3: a-0 [1, 3] and b-1 [3] have no other; rack y: a-1 to 1, b-0 to 3
    assert small.rack.tolist() == [0, 1, 0, 1]
    assert small.rack_takeover.tolist() == [[0, 0, 0, 0], [1, 0, 1, 0]]
    assert small.rack_lost.tolist() == [2, 0]
    assert small.rack_worst_after.tolist() == [2, 2]  # 2 leads its own; 1 and 3 lead two each
    assert small.rack_worst_before.tolist() == [2, 2]  # 2 takes a-0, or 1 takes a-1


def test_a_dead_second_replica_is_skipped():
    rows = [("t", 0, [1, 4, 2], [1, 4, 2])]
    counted = view(documents.document(documents.SMALL_FLEET, rows))
    assert counted.takeover[0].tolist() == [0, 1, 0, 0]


def test_topics_on_brokers(small):
    assert small.topic_before.tolist() == [[2, 2, 0, 0], [0, 1, 0, 2]]
    assert small.topic_after.tolist() == [[2, 1, 1, 0], [0, 1, 2, 0]]


@pytest.mark.parametrize("seed", range(5))
def test_random_plans_agree_with_plain_loops(seed):
    document = documents.random_plan(12, 300, 10, seed=seed, waves=3)
    counted = view(document)
    after = document["partitions"]["after"]
    ids = [b["id"] for b in document["brokers"]]
    replicas = Counter(b for row in after for b in row)
    assert counted.loads[0].after.tolist() == [replicas[b] for b in ids]
    for f, failed in enumerate(ids):
        expected = documents.after_failure(after, ids, failed)
        own = counted.loads[1].after
        for s, survivor in enumerate(ids):
            if s != f:
                assert own[s] + counted.takeover[f, s] == expected[survivor]
        assert counted.worst_after[f] == max(expected.values())
    figures = document["figures"]["after"]
    assert counted.move_replicas.sum() == figures["moves"] == counted.row_moves.sum()
    assert counted.move_bytes.sum() == figures["bytes_moved"]
    assert counted.worst_after.max() == figures["leaders_after_failure"]["max"]
    assert np.array_equal(counted.topic_after.sum(axis=0), counted.loads[0].after)


@pytest.mark.parametrize("seed", range(3))
def test_rack_failures_agree_with_plain_loops(seed):
    document = documents.random_plan(12, 300, 10, seed=seed, waves=3)
    counted = view(document)
    rack = {b["id"]: b["rack"] for b in document["brokers"]}
    ids = list(rack)
    for k, name in enumerate("abc"):
        leads, lost = Counter[int](), 0
        for row in document["partitions"]["after"]:
            successors = [b for b in row if rack[b] != name]
            if rack[row[0]] != name:
                leads[row[0]] += 1
            elif successors:
                leads[successors[0]] += 1
            else:
                lost += 1
        own = counted.loads[1].after
        for s, survivor in enumerate(ids):
            if rack[survivor] != name:
                assert own[s] + counted.rack_takeover[k, s] == leads[survivor]
        assert counted.rack_worst_after[k] == max(leads.values())
        assert counted.rack_lost[k] == lost
