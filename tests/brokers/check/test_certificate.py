"""Tampering with the certificate, and plans that are worse than their certificate could prove."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage.brokers.check import CheckResult
from partage.brokers.leaders import lead
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.brokers.problem import Problem
from partage.brokers.strategies import STRATEGIES, Strategy
from partage.flow.packing import pack
from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    Value,
    drop_stage,
    empty_prices,
    judged,
    longer,
    lower_both,
    lower_bound,
    not_here,
    packed_keys,
    raise_bound,
    spoiled,
    with_bound,
)
from tests.bundled import uneven_racks
from tests.matrices import cluster_of

TAMPERED = Tamperings()

_PLACEMENT = ("replicas", "moves", "topic spread")

_STAGES = ("replicas", "moves", "topic spread", "leaders", "leader rate", "failure")
_STAGES += ("failure balance", "joint failure balance", "zone bytes")


def in_stage(name: str, what: str, change: Callable[[Files, Value], None]) -> None:
    def forge(f: Files) -> None:
        found = [s for s in f.plan["certificate"]["stages"] if s["stage"] == name]
        if not found:
            not_here()
        change(f, found[0])

    TAMPERED[f"{name}: {what}"] = forge


def forged_prices(change: Callable[[str], Any]) -> Callable[[Files, Value], None]:
    def forge(f: Files, stage: Value) -> None:
        if not packed_keys(stage):
            not_here()
        if change is spoiled and stage["stage"] not in _PLACEMENT:
            longer(f.part["after"])  # without a choice any price will do
        for key in packed_keys(stage):
            stage["prices"][key] = change(stage["prices"][key])

    return forge


for _stage in _STAGES:
    in_stage(_stage, "value forged", lambda f, s: s.update(value=s["value"] - 1))
    in_stage(_stage, "value raised", lambda f, s: s.update(value=s["value"] + 1))
    in_stage(_stage, "value as text", lambda f, s: s.update(value=str(s["value"])))
    in_stage(_stage, "bound raised", raise_bound)
    in_stage(_stage, "bound lowered", lower_bound)
    in_stage(_stage, "bound as text", lambda f, s: s.update(bound=str(s["bound"])))
    in_stage(_stage, "bound beyond 64 bits", lambda f, s: s.update(bound=2**70))
    in_stage(_stage, "value and bound forged", lower_both)
    in_stage(_stage, "exact denied", lambda f, s: s.update(exact=not s["exact"]))
    in_stage(_stage, "renamed", lambda f, s: s.update(stage="another"))
    in_stage(_stage, "prices that are none", empty_prices)
    if _stage != "leader rate":  # its proof is a set of brokers
        in_stage(_stage, "random prices", forged_prices(spoiled))
        in_stage(_stage, "prices cut short", forged_prices(lambda text: text[:-5]))
        in_stage(
            _stage, "prices of another count", forged_prices(lambda text: pack(np.arange(999)))
        )
        in_stage(_stage, "prices that are no base64", forged_prices(lambda text: "é*"))
        in_stage(_stage, "prices that are no text", forged_prices(lambda text: [1, 2]))
        in_stage(_stage, "prices that are not packed", forged_prices(lambda text: "AAAA"))
    if "failure balance" not in _stage:  # only the exact order has them
        in_stage(_stage, "dropped", drop_stage)
    in_stage(_stage, "twice", lambda f, s: f.plan["certificate"]["stages"].append(s))

for _stage in ("replicas", "moves", "topic spread"):
    for _weights in ({"load": 0, "moves": 0, "spread": 0}, {"load": 1, "moves": 1, "spread": 1}):
        in_stage(
            _stage, f"weights {_weights}", lambda f, s, w=_weights: s["prices"].update(weights=w)
        )
    for _what, _by in (("uneven", lambda n: 1 if n else 2), ("huge", lambda n: 2**62 + n)):
        in_stage(
            _stage,
            f"load weights {_what}",
            lambda f, s, by=_by: s["prices"].update(
                load_weights=[by(i) * w for i, w in enumerate(s["prices"]["load_weights"])]
            ),
        )
    in_stage(_stage, "too few load weights", lambda f, s: s["prices"]["load_weights"].pop())
    in_stage(_stage, "negative weights", lambda f, s: s["prices"]["weights"].update(moves=-1))


def changed_cases(change: Callable[[list[Value]], None]) -> Callable[[Files, Value], None]:
    def forge(f: Files, stage: Value) -> None:
        change(stage["prices"].get("cases") or not_here())

    return forge


for _stage in ("failure", "joint failure balance"):
    in_stage(_stage, "a case less", changed_cases(lambda cases: cases.pop()))
    in_stage(_stage, "a case more", changed_cases(lambda cases: cases.append(cases[-1])))
    in_stage(_stage, "another broker", changed_cases(lambda cases: cases[0].update(broker=999)))
    in_stage(
        _stage, "prices of no case", changed_cases(lambda cases: cases[-1].update(scale=10**9))
    )

in_stage("leader rate", "confined to nobody", lambda f, s: s["prices"].update(confined=[]))
in_stage("leader rate", "confined to strangers", lambda f, s: s["prices"].update(confined=[999]))
in_stage(
    "leader rate",
    "confined to one",
    lambda f, s: s["prices"].update(confined=s["prices"]["confined"][:1]),
)


@pytest.mark.sampled(3)
@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(sound_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, sound_plans)


def worse_plan(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Any], None], disks: bool) -> Plan:
    """A plan that calls itself exact, made worse before anything was counted: all of its files,
    figures and values agree."""
    exact = STRATEGIES["exact"]

    def spoiled_exact(problem: Problem) -> Any:
        replicas = lead(problem, exact.decide(problem)).replicas.copy()
        spoil(replicas)
        return replicas

    monkeypatch.setitem(STRATEGIES, "exact", Strategy(spoiled_exact))
    return plan(uneven_racks(disks))


def a_useless_move(replicas: Any) -> None:
    """One replica more than needed moves: two partitions of brokers 1 and 4, both in rack a,
    exchange them."""
    one, other = 0, 3
    for p in range(len(replicas)):
        for q in range(len(replicas)):
            if (
                one in replicas[p]
                and other not in replicas[p]
                and other in replicas[q]
                and one not in replicas[q]
            ):
                replicas[p][replicas[p] == one] = other
                replicas[q][replicas[q] == other] = one
                return


def uneven_replicas(replicas: Any) -> None:
    for row in replicas:
        if 0 in row and 3 not in row:
            row[row == 0] = 3
            return


def uneven_leaders(replicas: Any) -> None:
    """Broker 0 leads nothing."""
    for row in replicas:
        if row[0] == 0:
            row[[0, 1]] = row[[1, 0]]


def worse_followers(replicas: Any) -> None:
    for row in replicas[:40]:
        row[[1, 2]] = row[[2, 1]]


WORSE = {
    "a useless move": (a_useless_move, "moves"),
    "uneven replicas": (uneven_replicas, "replicas"),
    "uneven leaders": (uneven_leaders, "leaders"),
    "worse followers": (worse_followers, "failure"),
}


@pytest.mark.parametrize("name", WORSE)
def test_a_worse_plan_cannot_be_called_exact(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    spoil, stage = WORSE[name]
    worse_plan(monkeypatch, spoil, disks=False).write(tmp_path / "plan")
    verdict = judged(tmp_path / "plan")
    assert any(f"certificate: {stage} is" in line for line in verdict.defects)


@pytest.mark.parametrize("name", WORSE)
def test_a_worse_plan_cannot_call_itself_optimal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    spoil, stage = WORSE[name]
    made = worse_plan(monkeypatch, spoil, disks=True)
    assert made.optimal is False
    made.write(tmp_path / "honest")
    honest = Files(tmp_path / "honest")
    # disks may keep a plan from the best, and it says itself that it is not: no defect
    verdict = judged(tmp_path / "honest")
    assert verdict.defects == []
    assert verdict.optimal is False
    assert honest.after["optimal"] is False
    value, bound = honest.stage(stage)["value"], honest.stage(stage)["bound"]
    assert value > bound

    def forged(changed: Callable[[Files], None]) -> CheckResult:
        honest.after["optimal"] = True
        honest.plan["gaps"] = honest.after["gaps"] = {}
        changed(honest)
        verdict = judged(honest.write())
        honest.restore()
        return verdict

    def set_bound(f: Files) -> None:
        f.stage(stage)["bound"] = value
        with_bound(f, f.stage(stage))

    def set_value(f: Files) -> None:
        f.stage(stage)["value"] = bound

    def set_huge_prices(f: Files) -> None:
        """Sums beyond 64 bits can come out as anything."""
        set_bound(f)
        prices = f.stage(stage)["prices"]
        for key in packed_keys(f.stage(stage)):
            count = len(zlib.decompress(base64.b64decode(prices[key]))) // 8
            prices[key] = pack(np.full(count, 2**62, dtype=np.int64))

    for lie in (lambda f: None, set_bound, set_value, set_huge_prices):
        assert not forged(lie).sound, lie


def test_prices_whose_sum_wraps_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In 64 bits the price C for every broker gives the bound (1 - E) * I * C + E * I**2 for E
    brokers and I partitions, modulo 2**64: some C makes it whatever a forger wants."""
    cluster = cluster_of("0,1,2,3 0,1,2,3 0,1,2,3 1,0,2,3 2,0,1,3", "0 1 2 3")
    as_it_is = Strategy(lambda problem: problem.cluster.replicas.copy())
    monkeypatch.setitem(STRATEGIES, "exact", as_it_is)
    made = plan(cluster, no_moves=True)
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    stage = found.stage("leaders")
    brokers, items = 4, 5
    assert (stage["value"], stage["bound"]) == (11, 7)
    price = (stage["value"] - brokers * items**2) * pow((1 - brokers) * items, -1, 2**64) % 2**64
    price -= 2**64 * (price >= 2**63)
    stage["prices"]["brokers"] = pack(np.full(brokers, price, dtype=np.int64))
    stage["bound"] = stage["value"]
    found.plan["gaps"].pop("leaders")
    found.after["gaps"].pop("leaders")
    found.after["optimal"] = True
    verdict = judged(found.write())
    assert any("prices too large to be summed" in line for line in verdict.defects)


def test_load_weights_not_in_proportion(tmp_path: Path) -> None:
    """Brokers of equal capacity weigh the same: with 8 and 9 another share would be the fairest."""
    plan(cluster_of("1 " * 9 + "2 " * 8, "1 2")).write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    for name in ("replicas", "moves", "topic spread"):
        found.stage(name)["prices"]["load_weights"] = [8, 9]
    verdict = judged(found.write())
    assert any("load_weights" in line for line in verdict.defects)
