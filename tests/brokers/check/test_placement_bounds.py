"""Tampering with budgets and their limits."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import CannotError, Cluster, InputError
from partage.brokers.options import PlanOptions
from partage.brokers.planning import plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies import STRATEGIES, Strategy
from partage.flow.packing import pack
from tests.brokers.check.plans import LIMITED, LazyPlans
from tests.brokers.check.tampering import (
    PLACEMENT,
    Files,
    Tamperings,
    Value,
    a_replica_on_another_broker,
    a_stage,
    add_stage_tamperings,
    another_list_before,
    asked,
    bent,
    changed_price,
    judged,
    not_here,
    two_partitions_exchanged,
)
from tests.bundled import uneven_racks
from tests.profiles import examples
from tests.strategies import jobs

TAMPERED = Tamperings()
for _tamper in (a_replica_on_another_broker, two_partitions_exchanged, another_list_before):
    TAMPERED.add(_tamper)
add_stage_tamperings(TAMPERED, "budget")


@TAMPERED.add
def weights_that_are_not_whole(f: Files) -> None:
    a_stage(f, "bytes", "budget")["prices"]["load_weights"][0] += 0.5


@TAMPERED.add
def counts_that_weigh_otherwise(f: Files) -> None:
    a_stage(f, "budget")["prices"]["load_weights"][0] += 1


@TAMPERED.add
def a_dearer_move(f: Files) -> None:
    prices = a_stage(f, "budget")["prices"]
    if "move_price" not in prices:
        not_here()
    prices["move_price"] += 5


@TAMPERED.add
def a_move_that_pays(f: Files) -> None:
    prices = a_stage(f, "budget")["prices"]
    if "move_price" not in prices:
        not_here()
    prices["move_price"] = -1


@TAMPERED.add
def another_limit_that_binds(f: Files) -> None:
    prices = a_stage(f, "budget")["prices"]
    names = ["tolerance", "max-moves", "max-bytes-moved"]
    prices["limit"] = names[names.index(prices["limit"]) - 1]


@TAMPERED.add
def a_limit_of_no_name(f: Files) -> None:
    a_stage(f, "budget")["prices"]["limit"] = "x"


@TAMPERED.add
def windows_around_other_counts(f: Files) -> None:
    changed_price(f, a_stage(f, "budget"), "fair", lambda fair: fair + 40)


def aimed_stages(f: Files) -> list[Value]:
    found = [s for s in f.plan["certificate"]["stages"] if "aim" in s["prices"]]
    return found or not_here()


@TAMPERED.add
def an_aim_at_other_loads(f: Files) -> None:
    for stage in aimed_stages(f):
        stage["prices"]["aim"][0] += 1
        stage["prices"]["aim"][1] -= 1


@TAMPERED.add
def an_aim_between_loads(f: Files) -> None:
    for stage in aimed_stages(f):
        stage["prices"]["aim"][0] += 0.5


@TAMPERED.add
def an_aim_without_a_64_bit_magnitude(f: Files) -> None:
    for stage in aimed_stages(f):
        stage["prices"]["aim"][0] = -(2**63)


@TAMPERED.add
def an_aim_of_one_stage(f: Files) -> None:
    del aimed_stages(f)[0]["prices"]["aim"]


@TAMPERED.add
def no_aim(f: Files) -> None:
    for stage in aimed_stages(f):
        del stage["prices"]["aim"]


@TAMPERED.add
def an_aim_too_long(f: Files) -> None:
    aimed_stages(f)[0]["prices"]["aim"].append(0)


@TAMPERED.add
def an_aim_that_no_limit_asks_for(f: Files) -> None:
    a_stage(f, "budget")
    for name in ("tolerance", "max_moves", "max_bytes_moved"):
        f.plan["options"].pop(name, None)
    f.seal()


@TAMPERED.add
def an_aim_where_everything_is_fair(f: Files) -> None:
    """Loads counted from an aim are as fair as one likes."""
    if "aim" in a_stage(f, "replicas")["prices"]:
        not_here()
    for name in PLACEMENT:
        stage = f.stage(name)
        stage["prices"]["aim"] = [1] * len(stage["prices"]["load_weights"])


@TAMPERED.add
def fewer_moves_allowed(f: Files) -> None:
    f.plan["options"][asked(f, "max_moves")] = f.after["moves"] - 1
    f.seal()


@TAMPERED.add
def fewer_bytes_allowed(f: Files) -> None:
    f.plan["options"][asked(f, "max_bytes_moved")] = f"{f.after['bytes_moved'] - 1}"
    f.seal()


@TAMPERED.add
def less_tolerance(f: Files) -> None:
    a_stage(f, "budget")
    f.plan["options"][asked(f, "tolerance")] = "1%"
    if a_stage(f, "budget")["prices"]["limit"] != "tolerance":
        not_here()
    f.seal()


@TAMPERED.add
def a_limit_that_is_no_size(f: Files) -> None:
    f.plan["options"][asked(f, "max_bytes_moved")] = "much"
    f.seal()


@TAMPERED.add
def a_limit_that_is_no_number(f: Files) -> None:
    f.plan["options"][asked(f, "max_moves")] = "many"
    f.seal()


@TAMPERED.add
def a_part_that_is_none(f: Files) -> None:
    if "max_moves" in f.plan["options"]:
        not_here()  # that is what binds
    f.plan["options"][asked(f, "relieve", "tolerance")] = "x%"
    f.seal()


for _key in (
    *("moves", "moves_lower_bound", "bytes_moved", "bytes_moved_lower_bound"),
    *("optimal", "bytes_max_over_mean", "gaps", "replicas_per_broker"),
):

    def _bent_figure(f: Files, key: str = _key) -> None:
        f.after[key] = bent(f.after[key]) if f.after[key] is not None else 1

    TAMPERED[f"figure {_key}"] = _bent_figure


@TAMPERED.add
def optimal_and_without_gaps(f: Files) -> None:
    if f.after["optimal"]:
        not_here()
    f.after["optimal"] = True
    f.plan["gaps"] = f.after["gaps"] = {}


@pytest.mark.sampled(8)
@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_limits_cannot_be_exceeded(limited_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, limited_plans)


@pytest.mark.parametrize("name", LIMITED)
def test_limited_plans_are_sound(limited_plans: LazyPlans, name: str) -> None:
    verdict = judged(limited_plans[name].directory)
    assert verdict.defects == []
    assert verdict.optimal is limited_plans[name].after["optimal"]


def test_the_limited_plans_are_of_every_kind(limited_plans: LazyPlans) -> None:
    kinds = [
        stage["prices"].get("limit", stage["stage"])
        for files_ in limited_plans.values()
        for stage in files_.plan["certificate"]["stages"]
        if stage["stage"] in ("budget", "bytes", "bytes moved")
    ]
    assert {"tolerance", "max-moves", "max-bytes-moved", "bytes", "bytes moved"} == set(kinds)
    assert limited_plans["relief"].after["bytes_moved"] > 0
    assert limited_plans["relief"].after["rack_violations"] == 1


def test_a_tolerance_of_other_windows_is_found_whatever_else_is_forged(tmp_path: Path) -> None:
    """A plan for 20 % cannot be called one for 1 %: its loads are outside. Nor can the fair counts
    be moved to where the loads are: no fair loads have such prices."""
    made = plan(uneven_racks(disks=False), tolerance="20%")
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    found.plan["options"]["tolerance"] = "1%"
    found.seal()
    assert any("outside the tolerance" in line for line in judged(found.write()).defects)
    held = made.after.replicas[made.after.replicas >= 0]
    load = np.bincount(held, minlength=len(made.after.brokers))
    prices = found.stage("budget")["prices"]
    assert found.stage("budget")["bound"] == found.stage("budget")["value"]
    # with these the bound of all windows is as before, for every load is the middle of its own
    prices["fair"] = pack(2 * load)
    defects = judged(found.write()).defects
    assert defects == ["plan.json: certificate: budget: no fair loads have these prices"]


def test_no_window_around_counts_that_the_racks_do_not_allow(tmp_path: Path) -> None:
    """60 or 61 replicas each would be fairer than 54 and 81, and their price proves no less."""
    made = plan(uneven_racks(disks=False), tolerance="40%")
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    found.stage("budget")["prices"]["fair"] = pack(np.full(8, 2 * 60 + 1))
    defects = judged(found.write()).defects
    assert "plan.json: certificate: budget: no fair loads have these prices" in defects


def test_a_plan_that_breaks_its_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plan that makes a move too many, true in all that it says, is refused."""

    def too_many(problem: Problem) -> Any:
        free = PlanOptions(**{**problem.options.given(), "max_moves": None})
        return STRATEGIES["generous"].decide(resolve(problem.cluster, free))

    generous = STRATEGIES["exact"]
    monkeypatch.setitem(STRATEGIES, "generous", generous)
    monkeypatch.setitem(STRATEGIES, "exact", Strategy(too_many, ordered=False))
    plan(uneven_racks(disks=False), max_moves=60).write(tmp_path / "plan")
    verdict = judged(tmp_path / "plan")
    assert any("173 moves, at most 60 are allowed" in line for line in verdict.defects)


@examples(150)
@given(job=jobs(no_moves=False), data=st.data())
def test_random_limited_plans_are_sound(job: tuple[Value, Value], data: st.DataObject) -> None:
    cluster, options = job
    options = {key: value for key, value in options.items() if key != "spread"}
    total = 0
    for entry in cluster["partitions"]:
        entry["size_bytes"] = data.draw(st.integers(0, 60))
        total += entry["size_bytes"] * len(entry["replicas"])
    for entry in cluster["brokers"]:
        if data.draw(st.booleans()):
            entry["disk_bytes"] = 1 + total * data.draw(st.integers(30, 300)) // 100
    kind = data.draw(st.sampled_from(("bytes", "relieve", "counts")))
    if kind == "bytes":
        options["balance"] = "bytes"
    if kind == "relieve":
        options["relieve"] = data.draw(st.sampled_from(("30%", "75 %", "99.5%", "100%")))
    elif data.draw(st.booleans()):
        options["tolerance"] = data.draw(st.sampled_from(("0%", "2%", "33.3333%", "100%")))
    if data.draw(st.booleans()):
        options["max_moves"] = data.draw(st.integers(0, 9))
    if data.draw(st.booleans()):
        options["max_bytes_moved"] = str(data.draw(st.integers(1, 1 + total)))
    try:
        made = plan(Cluster.from_json(cluster), **options)
    except (InputError, CannotError):
        return
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder) / "plan")
        verdict = judged(Path(folder) / "plan")
    # a bound that disks may beat is told in two ways, see there
    assert verdict.defects == []
    assert verdict.optimal is made.optimal
