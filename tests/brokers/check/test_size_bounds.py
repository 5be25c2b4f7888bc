"""Tampering with bands of bytes and with relieved disks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.flow.packing import pack
from tests.brokers.check.forgery import planned
from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    a_stage,
    add_stage_tamperings,
    asked,
    changed_price,
    first_changed,
    judged,
    not_here,
)
from tests.matrices import cluster_of

BALANCED = PlanOptions(balance="bytes")

TAMPERED = Tamperings()
add_stage_tamperings(TAMPERED, "bytes")
add_stage_tamperings(TAMPERED, "bytes moved")


def held_after(f: Files, place: int) -> int:
    """The bytes on a broker, by its place in the list."""
    broker = f.plan["brokers"][place]["id"]
    rows = zip(f.part["size_bytes"], f.part["after"], strict=True)
    return sum(size for size, row in rows if broker in row)


@TAMPERED.add
def a_band_above_what_the_broker_holds(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "low", lambda low: low + 10**15)


@TAMPERED.add
def a_band_below_what_the_broker_holds(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "high", lambda high: np.minimum(high, 1))


@TAMPERED.add
def a_band_of_the_wrong_length(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "low", lambda low: low[:-1])


@TAMPERED.add
def prices_whose_sum_would_wrap(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "brokers", lambda price: price + 2**61)


@TAMPERED.add
def prices_without_a_64_bit_magnitude(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "brokers", lambda p: np.full_like(p, -(2**63)))


@TAMPERED.add
def bytes_of_brokers_that_weigh_otherwise(f: Files) -> None:
    a_stage(f, "bytes")["prices"]["load_weights"][0] += 1


@TAMPERED.add
def confined_to_nobody(f: Files) -> None:
    a_stage(f, "bytes")["prices"]["confined"] = []


@TAMPERED.add
def confined_to_strangers(f: Files) -> None:
    a_stage(f, "bytes")["prices"]["confined"] = [4711]


@TAMPERED.add
def less_of_a_disk_allowed(f: Files) -> None:
    f.plan["options"][asked(f, "relieve")] = "70%"
    f.seal()


@TAMPERED.add
def a_smaller_disk(f: Files) -> None:
    if "=" in f.plan["options"][asked(f, "relieve")]:
        not_here()  # relief of loads other than disks
    f.plan["brokers"][0]["disk_bytes"] -= 40
    f.seal()


@TAMPERED.add
def a_band_that_is_narrower_than_relief_asks_for(f: Files) -> None:
    """A broker that could take no more would make every move look needed."""
    asked(f, "relieve")
    stage = a_stage(f, "bytes moved")
    changed_price(f, stage, "high", lambda high: np.append(high[:-1], held_after(f, -1)))


@TAMPERED.add
def a_band_that_relief_does_not_ask_for(f: Files) -> None:
    asked(f, "relieve")
    changed_price(f, a_stage(f, "bytes moved"), "low", lambda low: np.append(low[:-1], 1))


@TAMPERED.add
def bytes_called_replicas(f: Files) -> None:
    del f.plan["options"][asked(f, "balance")]
    f.seal()


@TAMPERED.add
def relief_denied(f: Files) -> None:
    del f.plan["options"][asked(f, "relieve")]
    f.seal()


@TAMPERED.add
def a_size_forged(f: Files) -> None:
    f.part["size_bytes"][first_changed(f)] += 10**9


@pytest.mark.sampled(8)
@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_limits_cannot_be_exceeded(limited_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, limited_plans)


def test_bands_around_other_bytes(tmp_path: Path) -> None:
    """Every broker holds its fair share; a band that is moved up makes a useless move look
    needed."""
    cluster = cluster_of("1/10 " * 10 + "2/10 " * 10, "1 2")
    problem = resolve(cluster, PlanOptions(balance="bytes", tolerance="20%"))
    lists = cluster.replicas.copy()
    lists[-1] = 0
    planned(problem, lists).write(tmp_path / "plan")
    files = Files(tmp_path / "plan")
    assert not judged(tmp_path / "plan").optimal
    prices = files.stage("bytes moved")["prices"]
    prices |= {"low": pack(np.array([110, 50])), "high": pack(np.array([150, 90]))}
    files.stage("bytes moved")["bound"] = 10
    files.after.update(bytes_moved_lower_bound=10, optimal=True)
    defects = judged(files.write()).defects
    said = "plan.json: certificate: bytes moved: the band of broker {} is not what is asked for"
    assert {said.format(1), said.format(2)} <= set(defects)


@pytest.mark.parametrize("end", ["low", "high"])
def test_bands_beyond_64_bits(tmp_path: Path, end: str) -> None:
    """Ends that differ by 2**63 have no 64-bit distance; a useless move would look needed."""
    cluster = cluster_of("1/10 " * 10 + "2/10 " * 10, "1 2")
    problem = resolve(cluster, PlanOptions(balance="bytes", tolerance="10%"))
    lists = cluster.replicas.copy()
    lists[-1] = 0
    planned(problem, lists).write(tmp_path / "plan")
    files = Files(tmp_path / "plan")
    prices = files.stage("bytes moved")["prices"]
    prices["brokers"] = pack(np.array([1, 0]))
    for wrapped in (110, 90, 0, 1, -1):
        prices[end] = pack(np.array([wrapped - 2**63 if wrapped > 0 else wrapped + 2**63 - 1] * 2))
        files.stage("bytes moved")["bound"] = 10
        files.after.update(bytes_moved_lower_bound=10, optimal=True)
        defects = judged(files.write()).defects
        said = "plan.json: certificate: bytes moved: the band of broker {} is not what is asked for"
        assert {said.format(1), said.format(2)} <= set(defects)


def test_an_empty_broker_is_not_in_its_band(tmp_path: Path) -> None:
    """The fullest of sixty brokers is within 2 % of the bound, whether or not one is empty."""
    rows = " ".join(f"{b}/100" for b in range(2, 61))
    problem = resolve(cluster_of(rows, " ".join(map(str, range(1, 61)))), BALANCED)
    made = planned(problem, problem.cluster.replicas)
    made.write(tmp_path / "plan")
    assert judged(tmp_path / "plan").defects == []
    assert made.optimal is judged(tmp_path / "plan").optimal is False


def test_a_set_that_only_breaks_the_rack_rule_must_stay_where_disks_are_relieved(
    tmp_path: Path,
) -> None:
    """On broker 3 it would force the other partition away, and the bound would count that."""
    cluster = cluster_of("1,2/80 3/40", "1:a/200 2:a/200 3:b/200 4:b/200")
    problem = resolve(cluster, PlanOptions(relieve="40%"))
    planned(problem, np.array([[0, 2], [3, -1]])).write(tmp_path / "plan")
    assert (
        "plan.json: t-0: moves, although it only breaks the rack rule"
        in judged(tmp_path / "plan").defects
    )
