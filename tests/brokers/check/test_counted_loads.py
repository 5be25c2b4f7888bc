"""Loads of plans by count: recounted, with the fair shares that racks and capacities give."""

from __future__ import annotations

from pathlib import Path

import pytest

import partage
from partage import Cluster
from partage.brokers.load.model import LoadModel
from partage.flow.packing import pack, unpack
from tests.brokers.check.tampering import Files, Tamperings, judged
from tests.brokers.load.cases import a_cluster

TAMPERED = Tamperings()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    directory = tmp_path_factory.mktemp("counted") / "plan"
    partage.plan(Cluster.from_json(a_cluster(3, brokers=6, partitions=20))).write(directory)
    return Files(directory)


def _fair(f: Files, name: str, by: int) -> None:
    fair = f.plan["certificate"]["fair"]
    fair[name] = pack(unpack(fair[name], 6) + by)


for _name in ("replicas", "leaders", "disk", "in", "out", "leader_in"):
    # of bytes and rates one unit is rounding
    TAMPERED[f"fair share of {_name}"] = lambda f, name=_name: _fair(  # type: ignore[misc]
        f, name, 1 if name in ("replicas", "leaders") else 10**14
    )
    for _key in ("min", "max", "fair", "bound"):
        TAMPERED[f"{_key} of {_name}"] = lambda f, name=_name, key=_key: f.after["resources"][  # type: ignore[misc]
            name
        ].update({key: f.after["resources"][name][key] + 1})


@TAMPERED.add
def a_band(f: Files) -> None:
    f.after["resources"]["disk"]["band"] = [0, 1]


@TAMPERED.add
def the_load_of_a_broker(f: Files) -> None:
    f.plan["figures"]["before"]["resources"]["out"]["brokers"][1]["load"] += 1


@TAMPERED.add
def no_resources(f: Files) -> None:
    del f.after["resources"]


@TAMPERED.add
def no_fair_shares(f: Files) -> None:
    del f.plan["certificate"]["fair"]


@TAMPERED.add
def no_rates_out(f: Files) -> None:
    del f.part["bytes_out_per_second"]


@TAMPERED.add
def another_rate(f: Files) -> None:
    f.part["bytes_in_per_second"][0] += 1


def test_the_plan_is_sound(files: Files) -> None:
    assert judged(files.directory).sound


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(name: str, files: Files) -> None:
    TAMPERED.assert_found(name, {"by count": files}, seal=True)


def test_loads_are_those_of_a_plan_that_balances_them(tmp_path: Path) -> None:
    """The same placement, counted for both objectives."""
    cluster = Cluster.from_json(a_cluster(3, brokers=6, partitions=20))
    balanced = partage.plan(cluster, balance="load", tolerance="15%")
    counted = partage.plan(balanced.after)
    before = counted.figures_before["resources"]
    for name, figures in balanced.figures["resources"].items():
        assert "band" not in before[name]
        assert {key: figures[key] for key in before[name] if key != "brokers"} == {
            key: value for key, value in before[name].items() if key != "brokers"
        }
        for one, other in zip(figures["brokers"], before[name]["brokers"], strict=True):
            assert one | {"band": None} == other
    counted.write(tmp_path / "plan")
    assert partage.Plan.read(tmp_path / "plan").figures["resources"] == counted.figures["resources"]


def test_racks_of_one_broker(tmp_path: Path) -> None:
    """Each takes a partition at most once, whatever its broker's capacity."""
    brokers = [
        {"id": n, "rack": rack, "capacity": capacity}
        for n, rack, capacity in ((0, "a", 3), (1, "b", 2), (2, "c", 1))
    ]
    lists = [[1, 0, 2], [1, 2, 0], [0], [0], [0, 2], [2, 1, 0], [1, 2, 0]]
    loads = {"size_bytes": 5, "bytes_in_per_second": 1.0, "bytes_out_per_second": 2.0}
    rows = [{"topic": "t", "partition": n, "replicas": r} | loads for n, r in enumerate(lists)]
    plan = partage.plan(Cluster.from_json({"brokers": brokers, "partitions": rows}))
    plan.write(tmp_path / "plan")
    assert partage.check(tmp_path / "plan").defects == []
    assert LoadModel.of(plan.problem).fair("replicas").tolist() == [7, 5, 4]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("disk", [1, 40_000])
def test_a_disk_that_no_plan_can_have(tmp_path: Path, disk: int) -> None:
    """The planner refuses disks as different as these."""
    value = a_cluster(3, brokers=6, partitions=20)
    for broker in value["brokers"]:
        broker["disk_bytes"] = 10**9
    partage.plan(Cluster.from_json(value), balance="load").write(tmp_path / "plan")
    files = Files(tmp_path / "plan")
    files.plan["brokers"][0]["disk_bytes"] = disk
    defects = partage.check(files.write()).defects
    assert "plan.json: brokers: disk_bytes differ by more than 20000" in defects
