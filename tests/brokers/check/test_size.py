"""size.json: the number of brokers is derived again, and forged numbers are refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from partage.brokers.check import check
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.schema import MalformedError
from partage.brokers.check.size import check_size
from partage.brokers.posing import posed
from partage.brokers.sizing import ClusterSize, Requirement, fewest_brokers
from partage.brokers.solving import solve
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.units import Percent
from tests.profiles import seeds

Path_ = tuple[Any, ...]


def cluster_of(chance: random.Random, racks: int, partitions: int, log_dirs: int = 0) -> Cluster:
    """Brokers in ``racks`` (0: without), with all capacities; some stand out. With ``log_dirs``,
    what is in them is known."""
    count = max(3, racks * chance.randint(1, 3))
    brokers = [
        {
            "id": b,
            "rack": "abcd"[b % racks] if racks else None,
            "disk_bytes": 1000 * chance.choice([1, 1, 1, 2]),
            "network_in_bytes_per_second": 800,
            "network_out_bytes_per_second": chance.choice([1500, 1500, 900]),
            "alive": b != 1 or chance.random() < 0.8,
        }
        for b in range(count)
    ]
    for one in brokers if log_dirs else ():
        disk = one["disk_bytes"] // log_dirs
        one["log_dirs"] = [{"path": f"/d{k}", "disk_bytes": disk} for k in range(log_dirs)]
    rows = []
    for p in range(partitions):
        factor = chance.choice([1, 2, 2, 3])
        rows.append(
            {
                "topic": "t",
                "partition": p,
                "replicas": chance.sample(range(count), factor),
                "size_bytes": chance.randint(1, 300),
                "bytes_in_per_second": chance.randint(0, 60),
                "bytes_out_per_second": chance.randint(0, 120),
            }
            | ({"log_dirs": [f"/d{p % log_dirs}"] * factor} if log_dirs else {})
        )
    return Cluster.from_json({"brokers": brokers, "partitions": rows})


def written(found: ClusterSize, directory: Path) -> Path:
    made = solve(posed(found.cluster, found.plan_options()))
    made.write(directory, found.files())
    return directory


@pytest.fixture(
    scope="module",
    params=["rack", *(pytest.param(one, marks=pytest.mark.long) for one in ("broker", "none"))],
)
def sized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = cluster_of(random.Random(4), 3, 14, log_dirs=2)
    found = fewest_brokers(cluster, Requirement(Percent.of("20%"), request.param))
    return written(found, tmp_path_factory.mktemp("sized") / "plan")


@pytest.mark.parametrize("log_dirs", [0, 2])
@pytest.mark.parametrize("seed", seeds(8))
def test_what_the_search_finds_is_sound(seed: int, log_dirs: int, tmp_path: Path) -> None:
    """Both derive the same bounds and figures, each with its own code."""
    chance = random.Random(seed)
    cluster = cluster_of(chance, chance.choice([0, 2, 3, 4]), chance.randint(2, 12), log_dirs)
    survive = "broker" if not cluster.rack_names else chance.choice(["broker", "rack", "none"])
    asked = Requirement(Percent.of(chance.choice(["0%", "20%", "33.3%"])), survive)
    try:
        found = fewest_brokers(cluster, asked)
    except CannotError:
        pytest.skip("no number of brokers suffices")
    result = check(written(found, tmp_path / "plan"))
    assert result.defects == []
    assert any("size.json" in line for line in result.held)
    fewest = [line for line in result.not_proven if line.startswith("size.json brokers:")]
    assert len(fewest) == (not found.proven)
    added = bool(found.found.options.add_broker)
    unknown = [line for line in result.not_proven if "log dirs that the plan does not" in line]
    assert len(unknown) == (log_dirs > 0 and added)


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The places of all leaves."""
    if isinstance(value, (dict, list)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in inner:
            yield from leaves(one, (*path, key))
    else:
        yield path


def others(value: Any) -> list[Any]:
    """Other values of the same kind, and of another."""
    if isinstance(value, bool):
        return [not value, 1, None]
    if isinstance(value, int):
        return [value - 1, value + 1, float(value), str(value), None]
    if isinstance(value, float):
        return [value * 0.9, value * 1.1, None]
    return ["disk" if value != "disk" else "in", "total" if value != "total" else "racks", 7]


def size_defects(plan: PlanColumns) -> list[str]:
    try:
        return check_size(plan)
    except MalformedError as error:
        return [str(error)]


def test_every_forged_leaf_is_refused(sized: Path, tmp_path: Path) -> None:
    path = sized / "size.json"
    text = path.read_text()
    value = json.loads(text)
    plan = PlanColumns(json.loads((sized / "plan.json").read_text()), sized)
    assert size_defects(plan) == []
    forged = 0
    try:
        for place in leaves(value):
            at = value
            for key in place[:-1]:
                at = at[key]
            for other in others(at[place[-1]]):
                if other == at[place[-1]] and type(other) is type(at[place[-1]]):
                    continue
                forgery = copy.deepcopy(value)
                inside = forgery
                for key in place[:-1]:
                    inside = inside[key]
                inside[place[-1]] = other
                path.write_text(json.dumps(forgery))
                assert size_defects(plan), (place, other)
                forged += 1
    finally:
        path.write_text(text)
    assert forged > 80


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda v: v["bounds"].pop(), "bounds is"),
        (lambda v: v["bounds"].reverse(), "bounds is"),
        (lambda v: v.pop("resources"), "resources: is missing"),
        (lambda v: v.update(more=1), "more: unknown key"),
        (lambda v: v.update(headroom="60%"), "does not keep 60% of its capacity for"),
        (
            lambda v: v.update(survive="broker" if v["survive"] == "none" else "none"),
            "bounds is",
        ),
        (lambda v: v.update(resources={"cpu": {}}), "cpu: unknown key"),
    ],
)
def test_refused(sized: Path, change: Any, problem: str) -> None:
    path = sized / "size.json"
    text = path.read_text()
    value = json.loads(text)
    change(value)
    path.write_text(json.dumps(value))
    try:
        assert any(problem in line for line in check(sized).defects)
    finally:
        path.write_text(text)


def test_a_forged_placement_is_refused(sized: Path) -> None:
    """A leader with all its copies elsewhere: loads are counted from the lists."""
    path = sized / "plan.json"
    text = path.read_text()
    value = json.loads(text)
    row = max(value["partitions"]["after"], key=len)
    row.reverse()
    path.write_text(json.dumps(value))
    try:
        defects = check(sized).defects
        assert any(line.startswith("size.json: resources is") for line in defects)
    finally:
        path.write_text(text)


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (
            lambda v: v["partitions"].update(
                replication_factor=[2**31 - 1] * 6, size_bytes=[0] * 6
            ),
            "size.json: a partition has more replicas than there are brokers",
        ),
        (
            lambda v: [b.update(disk_bytes=2**41 if b["id"] == 0 else 10) for b in v["brokers"]],
            "size.json: no number of brokers can hold the loads",
        ),
    ],
)
def test_numbers_that_would_take_forever(
    forge: Callable[[Any], None], problem: str, tmp_path: Path
) -> None:
    rows = [
        {"topic": "t", "partition": p, "replicas": [p % 3, (p + 1) % 3], "size_bytes": 2**39}
        for p in range(6)
    ]
    brokers = [{"id": b, "disk_bytes": 2**43} for b in range(3)]
    found = fewest_brokers(
        Cluster.from_json({"brokers": brokers, "partitions": rows}),
        Requirement(Percent.of("20%"), "broker"),
    )
    path = written(found, tmp_path / "plan") / "plan.json"
    value = json.loads(path.read_text())
    forge(value)
    path.write_text(json.dumps(value))
    assert problem in check(tmp_path / "plan").defects


def test_a_log_dir_without_its_headroom_is_refused(sized: Path) -> None:
    """All replicas of a broker in its first log dir."""
    path = sized / "plan.json"
    text = path.read_text()
    value = json.loads(text)
    columns = value["partitions"]["log_dirs_after"]
    assert {k for row in columns for k in row} >= {0, 1}
    value["partitions"]["log_dirs_after"] = [[min(k, 0) for k in row] for row in columns]
    path.write_text(json.dumps(value))
    try:
        defects = check(sized).defects
        assert any("the plan does not keep 20% of a log dir free" in line for line in defects)
        assert any(line.startswith("size.json: resources is") for line in defects)
    finally:
        path.write_text(text)


def test_neither_imports_the_other() -> None:
    """The search and the check share no code but the readers and the kernel's types."""
    root = Path(__file__).parents[3] / "src/partage/brokers"
    source = (root / "check/size.py").read_text()
    assert "sizing" not in source
    assert "bin_packing" not in source
