"""The fewest brokers whose log dirs hold the replicas, compared with all ways to put them there."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from partage.brokers.sizing import ClusterSize, Requirement, fewest_brokers
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.profiles import seeds

Json = dict[str, Any]


def jbod(
    brokers: int, log_dirs: list[int], sizes: list[int], factor: int = 2, known: bool = True
) -> Json:
    """Every broker has ``log_dirs`` of these bytes; ``known``: which of them a replica is in."""
    kept = [0] * brokers
    parts = []
    for p, size in enumerate(sizes):
        replicas = [(p + i) % brokers for i in range(factor)]
        part = {"topic": "t", "partition": p, "replicas": replicas, "size_bytes": size}
        if known:
            part["log_dirs"] = [f"/d{kept[b] % len(log_dirs)}" for b in replicas]
        for b in replicas:
            kept[b] += 1
        parts.append(part)
    own = [{"path": f"/d{k}", "disk_bytes": disk} for k, disk in enumerate(log_dirs)]
    return {
        "brokers": [{"id": b, "log_dirs": own} for b in range(brokers)],
        "partitions": parts,
    }


def sized(value: Json, headroom: str = "0", survive: str = "none") -> ClusterSize:
    return fewest_brokers(Cluster.from_json(value), Requirement(Fraction(headroom), survive))


def packs(limits: list[int], sizes: list[int], factor: int, brokers: int) -> bool:
    """Whether some placement on so many brokers fits into their log dirs."""
    free = [list(limits) for _ in range(brokers)]
    replicas = [(p, size) for p, size in enumerate(sizes) for _ in range(factor)]

    def put(at: int, holders: dict[int, set[int]]) -> bool:
        if at == len(replicas):
            return True
        p, size = replicas[at]
        tried = set()
        for b in range(brokers):
            state = tuple(sorted(free[b]))
            if b in holders[p] or (state, len(holders[p])) in tried:
                continue
            if len(holders[p]) == 0:
                tried.add((state, 0))  # brokers in the same state are alike for a first replica
            for k, space in enumerate(free[b]):
                if size <= space and free[b].index(space) == k:
                    free[b][k] -= size
                    holders[p].add(b)
                    if put(at + 1, holders):
                        return True
                    holders[p].discard(b)
                    free[b][k] += size
        return False

    return put(0, {p: set() for p in range(len(sizes))})


@pytest.mark.parametrize("seed", seeds(60))
def test_against_all_ways(seed: int) -> None:
    """The bound is never above the fewest, a number found never below; a proven one is it."""
    chance = random.Random(seed)
    log_dirs = [10 * chance.randint(4, 9) for _ in range(chance.randint(2, 3))]
    factor = chance.randint(1, 2)
    sizes = [chance.randint(10, 50) for _ in range(chance.randint(2, 4))]
    value = jbod(chance.randint(2, 4), log_dirs, sizes, factor, known=chance.random() < 0.7)
    headroom = chance.choice(["0", "1/5"])
    limits = [int(disk * (1 - Fraction(headroom))) for disk in log_dirs]
    if max(sizes) > max(limits):
        with pytest.raises(CannotError, match="no number of brokers suffices"):
            sized(value, headroom)
        return
    found = sized(value, headroom)
    fewest = next(n for n in range(1, 20) if packs(limits, sizes, factor, n))
    assert found.bound.brokers <= fewest <= found.brokers
    assert not found.proven or found.brokers == fewest
    after = found.plan().after
    for b, broker in enumerate(after.brokers):
        for k in range(len(broker.log_dirs)) if after.log_dirs is not None else ():
            inside = (after.replicas == b) & (after.log_dirs == k)
            assert after.size_bytes[inside.any(axis=1)].sum() <= limits[k]


def test_a_log_dir_holds_one_replica() -> None:
    """Three brokers have the bytes, but nine log dirs for twelve replicas; the plan can be made."""
    found = sized(jbod(6, [400] * 3, [250] * 6), "1/10", "broker")
    assert (found.brokers, found.proven) == (4, True)
    assert (found.bound.resource, found.bound.rule) == ("log_dir", "large partitions")
    assert found.bound_of("disk").brokers == 3
    assert found.to_json()["resources"]["log_dir"]["max"] == 0.625
    assert found.to_json()["loads"][0]["log_dir"] == {
        "load": 250.0,
        "after_failure": 250.0,
        "capacity": 400,
    }
    assert found.plan().after.log_dirs is not None


def test_the_headroom_is_free_in_every_log_dir() -> None:
    """Three replicas of 100 leave less than a tenth of 333: two in each log dir, on eight
    brokers of three log dirs, or seven with more disk."""
    sizes = [100] * 24
    assert sized(jbod(6, [333] * 3, sizes), "1/10", "broker").brokers == 8
    assert sized(jbod(6, [334] * 3, sizes), "1/10", "broker").brokers == 6


@pytest.mark.parametrize("known", [True, False])
def test_a_replica_larger_than_every_log_dir(known: bool) -> None:
    problem = (
        r"^t-0 alone takes 500 bytes of disk, a log dir may use 360: no number of brokers suffices$"
    )
    with pytest.raises(CannotError, match=problem):
        sized(jbod(6, [400] * 3, [500] * 3, known=known), "1/10")


def test_new_brokers_have_the_log_dirs_of_most() -> None:
    """Log dirs of new brokers are not listed: how full they get is that of one way to fill them."""
    found = sized(jbod(2, [100, 100], [60] * 6, factor=1), "0")
    assert (found.today, found.brokers, found.proven) == (2, 3, True)
    use = found.usage.uses[-1]
    assert (use.load, use.capacity, use.chosen) == ([60] * 3, [100] * 3, [True, True, False])


def test_replicas_change_their_log_dir_where_they_do_not_fit_otherwise() -> None:
    value = jbod(2, [100, 100], [40, 40], factor=2)
    for part in value["partitions"]:
        part["log_dirs"] = ["/d0", "/d0"]
    found = sized(value, "1/2")
    assert found.brokers == 2
    assert found.found.options.given() == {"balance": "load", "balance_disks": True}
    assert not found.now.fits
    assert sized(value, "1/5").found.options.given() == {"balance": "load"}


def test_a_log_dir_that_takes_no_replicas_needs_no_headroom() -> None:
    value = jbod(2, [100, 100, 100], [90, 10], factor=2)
    for part, path in zip(value["partitions"], ["/d0", "/d1"], strict=True):
        part["log_dirs"] = [path, path]
    for broker in value["brokers"]:
        first, *rest = broker["log_dirs"]
        broker["log_dirs"] = [{**first, "cordoned": True}, *rest]
    found = sized(value, "1/5")
    assert (found.brokers, found.now.fits) == (2, True)
    assert found.usage.uses[-1].load == [10, 10]
