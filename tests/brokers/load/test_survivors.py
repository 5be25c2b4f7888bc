"""The order of followers, by what survivors carry after a failure."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partage
from partage import Cluster
from partage.brokers import load, search_clock
from partage.brokers.leaders import Led
from partage.brokers.load import survivors
from partage.brokers.plan import Plan
from partage.brokers.problem import Problem
from tests.brokers.load.test_plans import a_large_cluster, is_sound
from tests.oracles.relief_mip import adds

Json = dict[str, Any]
MOVED = ("out", "leader_in")
RACKED = pytest.mark.parametrize("racked", [True, False], ids=["racks", "no racks"])


def a_case(seed: int, brokers: int, partitions: int, *, racked: bool) -> Json:
    """No broker is new."""
    cluster = a_large_cluster(seed, brokers=brokers + 2, partitions=partitions)
    del cluster["brokers"][brokers:]
    if not racked:
        for broker in cluster["brokers"]:
            del broker["rack"]
    return cluster


def planned(cluster: Json, **options: Any) -> Plan:
    return partage.plan(Cluster.from_json(cluster), balance="load", tolerance="10%", **options)


def without_the_search(cluster: Json) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "relieve_survivors", lambda _problem, led: led)
        return planned(cluster)


@pytest.fixture(scope="module", params=[True, False], ids=["racks", "no racks"])
def plans(request: pytest.FixtureRequest) -> tuple[Plan, Plan]:
    """Without the search, and with it."""
    cluster = a_case(4, 9, 240, racked=request.param)
    return without_the_search(cluster), planned(cluster)


def worst(plan: Plan) -> float:
    resources = plan.figures["resources"]
    return max(resources[name]["after_failure"]["max"] / resources[name]["fair"] for name in MOVED)


def test_survivors_carry_less(plans: tuple[Plan, Plan], tmp_path: Path) -> None:
    before, after = plans
    assert worst(after) < worst(before)
    assert after.settled
    assert is_sound(after, tmp_path)


def test_nothing_that_counts_more_changes(plans: tuple[Plan, Plan]) -> None:
    before, after = plans
    lists = [plan.after.replicas for plan in plans]
    assert (np.sort(lists[0]) == np.sort(lists[1])).all()
    assert (lists[0][:, 0] == lists[1][:, 0]).all()
    for key in ("leaders_after_failure", "moves", "leader_changes"):
        assert after.figures[key] == before.figures[key]
    racks = [plan.figures["leaders_after_rack_failure"] for plan in plans]
    if racks[0] is None:
        assert racks[1] is None
    else:
        assert racks[1]["max"] <= racks[0]["max"]


def test_a_second_run_changes_nothing(plans: tuple[Plan, Plan]) -> None:
    again = partage.plan(plans[1].after, balance="load", tolerance="10%")
    assert len(again.changed) == 0


def test_one_rack_is_no_rack() -> None:
    """No broker survives its failure."""
    cluster = a_case(4, 6, 90, racked=False)
    plan = planned(cluster)
    for broker in cluster["brokers"]:
        broker["rack"] = "a"
    assert planned(cluster).after.replica_lists() == plan.after.replica_lists()


class Naive:
    """What survivors of equal brokers lead and carry, counted from the lists."""

    def __init__(self, cluster: Json, lists: list[list[int]]) -> None:
        parts = sorted(cluster["partitions"], key=lambda part: (part["topic"], part["partition"]))
        brokers = range(len(cluster["brokers"]))
        self.rack = [broker.get("rack") for broker in cluster["brokers"]]
        self.lists = lists
        self.adds = [tuple(adds(part, name) for name in MOVED) for part in parts]
        led = Counter(row[0] for row in lists)
        self.count = {(b, f): led[f] for b in brokers for f in brokers if b != f}
        self.of_rack = {(self.rack[b], f): led[f] for b in brokers for f in brokers}
        self.load = {
            (b, f): [
                sum(one[k] for one, row in zip(self.adds, lists, strict=True) if row[0] == f)
                for k in range(2)
            ]
            for b, f in self.count
        }
        for one, row in zip(self.adds, lists, strict=True):
            outside = [f for f in row if self.rack[f] != self.rack[row[0]]]
            self.count[row[0], row[1]] += 1
            self.of_rack[self.rack[row[0]], (outside or row)[0]] += 1
            self.load[row[0], row[1]] = [
                x + y for x, y in zip(self.load[row[0], row[1]], one, strict=True)
            ]
        self.fair = [Fraction(sum(part), len(brokers)) for part in zip(*self.adds, strict=True)]

    def share(self, leader: int, survivor: int, more: tuple[int, ...] = (0, 0)) -> Fraction:
        """The larger share of a survivor, if it took over more."""
        return max(
            (now + new) / fair
            for now, new, fair in zip(self.load[leader, survivor], more, self.fair, strict=True)
        )

    def better(self) -> Iterator[list[tuple[int, int]]]:
        """The chains of up to three lists, as (row, new first follower), that lower the worst."""
        leader, x = max(self.load, key=lambda pair: self.share(*pair))
        may = [
            (row, taker)
            for row, brokers in enumerate(self.lists)
            for taker in brokers[2:]
            if brokers[0] == leader and self._apart(leader, brokers[1], taker)
        ]
        for length in (1, 2, 3):
            for chain in itertools.permutations(may, length):
                if self._keeps_counts(leader, x, list(chain)):
                    more = self._more(list(chain))
                    after = max(self.share(leader, f, load) for f, load in more.items())
                    if after < self.share(leader, x) - Fraction(1, 10**6):
                        yield list(chain)

    def _apart(self, leader: int, *others: int) -> bool:
        return self.rack[leader] is None or self.rack[leader] not in [self.rack[f] for f in others]

    def _keeps_counts(self, leader: int, x: int, chain: list[tuple[int, int]]) -> bool:
        givers = [self.lists[row][1] for row, _ in chain]
        last = chain[-1][1]
        if [x, *(taker for _, taker in chain[:-1])] != givers or len(set(givers)) < len(chain):
            return False
        if last == x:
            return True
        level = self.of_rack[self.rack[leader], last]
        worse = self.rack[leader] is not None and level >= max(self.of_rack.values())
        alike = self.count[leader, x] == self.count[leader, last] + 1
        return alike and not worse and last not in givers

    def _more(self, chain: list[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for row, taker in chain:
            for f, sign in ((self.lists[row][1], -1), (taker, 1)):
                now = found.get(f, (0, 0))
                found[f] = tuple(x + sign * y for x, y in zip(now, self.adds[row], strict=True))
        return found


@RACKED
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_the_end_no_chain_is_better(seed: int, racked: bool) -> None:
    cluster = a_case(seed, 6 if racked else 5, 72, racked=racked)
    before, after = without_the_search(cluster), planned(cluster)
    assert not list(Naive(cluster, after.after.replica_lists()).better())
    helps = any(True for _ in Naive(cluster, before.after.replica_lists()).better())
    assert helps == (worst(after) < worst(before))


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_it_ends_at_the_time_limit(asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock that the test sets passes the limit after it was asked so many times."""
    cluster = a_case(5, 9, 240, racked=True)
    before, after = without_the_search(cluster), planned(cluster)
    relieve, best, searched = load.relieve_survivors, survivors._Chains.best, []

    def late(problem: Problem, led: Led) -> Led:
        assert problem.clock.end is not None
        ticks = itertools.count(problem.clock.end - asked)
        monkeypatch.setattr(search_clock, "monotonic", lambda: next(ticks))
        return relieve(problem, led)

    def counted(self: Any, limit: float) -> list[int]:
        searched.append(limit)
        return best(self, limit)

    monkeypatch.setattr(load, "relieve_survivors", late)
    monkeypatch.setattr(survivors._Chains, "best", counted)
    plan = planned(cluster, time_limit="24h")
    assert len(searched) == asked
    assert any("ended at its limit of 86400s" in line for line in plan.warnings)
    assert not plan.settled
    assert worst(after) < worst(plan) <= worst(before)
    assert (plan.after.replicas == before.after.replicas).all() == (asked == 0)


@RACKED
def test_many_partitions_take_few_pairs(racked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of four of the 222 partitions that each broker leads are too many to try all."""
    counts = {"steps": 0, "pairs": 0}
    best, shares = survivors._Chains.best, survivors._Chains._shares

    def steps(self: Any, limit: float) -> list[int]:
        counts["steps"] += 1
        return best(self, limit)

    def pairs(self: Any, slot: int, at: Any, to: Any) -> Any:
        counts["pairs"] += len(at) * len(to)
        return shares(self, slot, at, to)

    monkeypatch.setattr(survivors._Chains, "best", steps)
    monkeypatch.setattr(survivors._Chains, "_shares", pairs)
    cluster = a_case(1, 9, 2000, racked=racked)
    plan = planned(cluster)
    assert plan.settled
    assert 10 < counts["steps"] < 60
    assert counts["pairs"] < 60_000


def test_some_exchanges_of_many_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = a_case(4, 9, 240, racked=False)
    before = without_the_search(cluster)
    monkeypatch.setattr(survivors, "_MOST", 2)
    plan = planned(cluster)
    assert worst(plan) < worst(before)
    assert plan.settled
