"""Tampering with the limits and prices of plans that relieve loads."""

from __future__ import annotations

import numpy as np
import pytest

import partage
from partage import Cluster
from partage.brokers.check.load_bounds import load_bounds
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.flow.packing import pack, unpack
from tests.brokers.check.tampering import Files, Tamperings, judged, spoiled
from tests.brokers.load.test_plans import a_large_cluster

TAMPERED = Tamperings()
RELIEF = "in=115%,leaders=130%"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    directory = tmp_path_factory.mktemp("relief") / "plan"
    cluster = Cluster.from_json(a_large_cluster(3, partitions=120))
    partage.plan(cluster, relieve=RELIEF).write(directory)
    return Files(directory)


def _option(f: Files, relieve: str) -> None:
    f.plan["options"]["relieve"] = relieve
    f.seal()


for _relief in ("in=105%,leaders=130%", "in=115%", "80%", "in=0%", "cpu=80%", f"{RELIEF},in=115%"):
    TAMPERED[f"relieve {_relief}"] = lambda f, relief=_relief: _option(f, relief)  # type: ignore[misc]
for _name in ("replicas", "leaders", "disk", "in", "out", "leader_in"):
    for _end in ("low", "high", "fair"):
        TAMPERED[f"{_end} of {_name}"] = lambda f, name=_name, end=_end: f.stage("load")["prices"][  # type: ignore[misc]
            "bands"
        ][
            name
        ].update({end: pack(unpack(f.stage("load")["prices"]["bands"][name][end], 12) + 10**14)})
for _by in (-1, 1):
    TAMPERED[f"bound changed by {_by}"] = lambda f, by=_by: f.stage("bytes moved").update(  # type: ignore[misc]
        bound=f.stage("bytes moved")["bound"] + by
    )
for _name in ("in", "leaders"):
    TAMPERED[f"prices of {_name}"] = lambda f, name=_name: f.stage("bytes moved")["prices"][  # type: ignore[misc]
        "resources"
    ].update({name: spoiled(f.stage("bytes moved")["prices"]["resources"][name])})
    TAMPERED[f"huge prices of {_name}"] = lambda f, name=_name: f.stage("bytes moved")["prices"][  # type: ignore[misc]
        "resources"
    ].update({name: pack(np.full(12, 2**61))})


@TAMPERED.add
def no_prices_of_leaders(f: Files) -> None:
    del f.stage("bytes moved")["prices"]["resources"]["leaders"]


@TAMPERED.add
def no_scale(f: Files) -> None:
    f.stage("bytes moved")["prices"]["scale"] = 0


@TAMPERED.add
def an_exact_failure_stage(f: Files) -> None:
    f.stage("failure")["exact"] = True


@TAMPERED.add
def a_gap_less(f: Files) -> None:
    f.plan["gaps"] = {"failure": 0.1}


@TAMPERED.add
def nothing_is_relieved(f: Files) -> None:
    f.part["after"] = f.part["before"]


def test_the_plan_is_sound(files: Files) -> None:
    assert judged(files.directory).sound


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(name: str, files: Files) -> None:
    TAMPERED.assert_found(name, {"relief": files})


def test_a_broker_above_the_limit_is_named(files: Files) -> None:
    try:
        files.part["after"] = files.part["before"]
        found = Recount()
        load_bounds(PlanColumns(files.plan, files.directory), found)
    finally:
        files.restore()
    above = [defect for defect in found.defects if "stays above the limit of relieve" in defect]
    assert {"in", "leaders"} == {defect.split(": ")[2].split()[0] for defect in above}
