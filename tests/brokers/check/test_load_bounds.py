"""Tampering with the bands, prices and figures of plans that balance every load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import partage
from partage import Cluster
from partage.flow.packing import pack, unpack
from tests.brokers.check.tampering import Files, Tamperings, judged, spoiled
from tests.brokers.load.cases import a_cluster

TAMPERED = Tamperings()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    directory = tmp_path_factory.mktemp("load") / "plan"
    cluster = Cluster.from_json(a_cluster(3, brokers=6, partitions=20))
    partage.plan(cluster, balance="load", tolerance="15%").write(directory)
    return Files(directory)


def _band(f: Files, name: str, end: str, by: int) -> None:
    bands = f.stage("load")["prices"]["bands"][name]
    bands[end] = pack(unpack(bands[end], 6) + by)


for _name in ("replicas", "leaders", "disk", "in", "out", "leader_in"):
    for _end in ("low", "high", "fair"):
        # of bytes and rates one unit is rounding
        TAMPERED[f"{_end} of {_name}"] = lambda f, name=_name, end=_end: _band(  # type: ignore[misc]
            f, name, end, 1 if name in ("replicas", "leaders") else 10**14
        )
    for _key in ("min", "max", "fair", "bound"):
        TAMPERED[f"figure {_key} of {_name}"] = lambda f, name=_name, key=_key: f.after[  # type: ignore[misc]
            "resources"
        ][name].update({key: f.after["resources"][name][key] + 1})


def _tamper_with_survivor(f: Files, key: str) -> None:
    f.after["resources"]["out"]["after_failure"][key] += 1


def _tamper_with_broker(f: Files, key: str, value: object) -> None:
    f.after["resources"]["disk"]["brokers"][2][key] = value


for _key in ("max", "bound"):
    TAMPERED[f"{_key} after a failure"] = lambda f, key=_key: _tamper_with_survivor(f, key)  # type: ignore[misc]
for _key, _value in {
    "load": 1,
    "fair": 1,
    "band": None,
    "headroom": 0.5,
    "hottest": "t-0",
}.items():
    TAMPERED[f"{_key} of a broker"] = lambda f, key=_key, value=_value: _tamper_with_broker(  # type: ignore[misc]
        f, key, value
    )


@TAMPERED.add
def a_resource_less(f: Files) -> None:
    del f.after["resources"]["out"]


@TAMPERED.add
def no_resources(f: Files) -> None:
    del f.after["resources"]


@TAMPERED.add
def a_lower_excess(f: Files) -> None:
    f.stage("load")["value"] -= 1


@TAMPERED.add
def a_higher_bound_on_the_excess(f: Files) -> None:
    f.stage("load")["bound"] += 1


@TAMPERED.add
def other_rates(f: Files) -> None:
    f.part["bytes_in_per_second"][0] *= 7


@TAMPERED.add
def no_rates(f: Files) -> None:
    del f.part["bytes_out_per_second"]


@TAMPERED.add
def another_tolerance(f: Files) -> None:
    f.plan["options"]["tolerance"] = "16%"
    f.seal()


@TAMPERED.add
def a_tolerance_of_something_else(f: Files) -> None:
    f.plan["options"]["tolerance"] = "cpu=15%"
    f.seal()


for _stage in ("bytes moved", "moves"):
    for _by in (-1, 1):
        TAMPERED[f"bound of {_stage} changed by {_by}"] = lambda f, stage=_stage, by=_by: (  # type: ignore[misc]
            f.stage(stage).update(bound=f.stage(stage)["bound"] + by)
        )
    TAMPERED[f"random prices of {_stage}"] = lambda f, stage=_stage: f.stage(stage)["prices"][  # type: ignore[misc]
        "resources"
    ].update(disk=spoiled(f.stage(stage)["prices"]["resources"]["disk"]))
    TAMPERED[f"huge prices of {_stage}"] = lambda f, stage=_stage: f.stage(stage)["prices"][  # type: ignore[misc]
        "resources"
    ].update(disk=pack(np.full(6, 2**61)))
    TAMPERED[f"scale of {_stage}"] = lambda f, stage=_stage: f.stage(stage)["prices"].update(  # type: ignore[misc]
        scale=0
    )


def test_the_plan_is_sound(files: Files) -> None:
    assert judged(files.directory).sound


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(name: str, files: Files) -> None:
    TAMPERED.assert_found(name, {"by load": files})


def test_two_replicas_exchanged_are_found(files: Files, tmp_path: Path) -> None:
    rows = files.part["after"]
    try:
        rows[0], rows[-1] = rows[-1], rows[0]
        assert not judged(files.write()).sound
    finally:
        files.restore()
