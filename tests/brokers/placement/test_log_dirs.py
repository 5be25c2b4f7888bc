"""The log dirs of new replicas, compared with every choice on small brokers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from partage import CannotError, Cluster, check
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from tests.brokers.placement.changes import Change, of_plan


def a_cluster(rng: random.Random, room: float = 3.0) -> Cluster:
    """Two brokers with everything, one with nothing: it gets a third, in log dirs of its own."""
    sizes = [rng.choice([1, 2, 3, 5, 8, 13, 40]) for _ in range(rng.randint(3, 12))]
    disk = max(int(sum(sizes) * room / 3), 1)
    brokers = [
        {
            "id": broker,
            "log_dirs": [
                {"path": f"/d{n}", "disk_bytes": rng.randint(disk, 2 * disk)}
                for n in range(rng.randint(2, 3))
            ],
        }
        for broker in (1, 2, 3)
    ]
    rows = [
        {
            "topic": "t",
            "partition": number,
            "replicas": [(held := 1 + number % 2)],
            "size_bytes": size,
            "log_dirs": [rng.choice(brokers[held - 1]["log_dirs"])["path"]],  # type: ignore[index]
        }
        for number, size in enumerate(sizes)
    ]
    return Cluster.from_json({"brokers": brokers, "partitions": rows})


def moments(made: Plan, choice: dict[tuple[int, int], int]) -> Iterator[dict[tuple[int, int], int]]:
    """Bytes by (broker, log dir) in each wave, where new replicas are in the ``choice``."""
    before, after = made.before, made.after
    size = before.size_bytes.tolist()
    lists = list(zip(before.replica_lists(), after.replica_lists(), strict=True))
    assert before.log_dirs is not None
    at = {
        (row, broker): int(before.log_dirs[row, column])
        for row, (old, _) in enumerate(lists)
        for column, broker in enumerate(old)
    } | choice
    there = {(row, broker) for row, (old, _) in enumerate(lists) for broker in old}
    for wave in made.waves:
        for row in wave.rows.tolist():
            there |= {(row, broker) for broker in lists[row][1]}
        used: dict[tuple[int, int], int] = {}
        for row, broker in there:
            place = broker, at[row, broker]
            used[place] = used.get(place, 0) + size[row]
        yield used
        for row in wave.rows.tolist():
            there -= {(row, broker) for broker in set(lists[row][0]) - set(lists[row][1])}
    used = {}
    for row, broker in there:
        used[broker, at[row, broker]] = used.get((broker, at[row, broker]), 0) + size[row]
    yield used


def disks(cluster: Cluster) -> dict[tuple[int, int], int]:
    return {
        (broker.id, n): one.disk_bytes or 0
        for broker in cluster.brokers
        for n, one in enumerate(broker.log_dirs)
    }


def new_of(made: Plan) -> list[tuple[int, int]]:
    lists = zip(made.before.replica_lists(), made.after.replica_lists(), strict=True)
    return [(row, b) for row, (old, new) in enumerate(lists) for b in set(new) - set(old)]


@pytest.mark.parametrize("seed", range(60))
def test_no_choice_is_below_the_bound(seed: int, tmp_path: Path) -> None:
    """Every choice that fits in every wave is at least as full as the bound; the plan's is one of
    them, and where the plan refuses although one fits, it does not claim a proof."""
    cluster = a_cluster(random.Random(seed))
    made = plan(cluster)
    disk = disks(cluster)
    new = new_of(made)
    receivers = {broker for _, broker in new}
    ways = [range(len(cluster.brokers[broker - 1].log_dirs)) for _, broker in new]
    found = []
    for way in product(*ways):
        *during, last = moments(made, dict(zip(new, way, strict=True)))
        if all(used[at] <= disk[at] for used in (*during, last) for at in used):
            found.append(
                max(Fraction(last.get(at, 0), disk[at]) for at in disk if at[0] in receivers)
            )
    assert made.fullness is not None
    assert made.fullness.bound <= min(found) <= made.fullness.fullest
    assert made.fullness.fullest in found
    assert made.fullness.fullest <= 2 * made.fullness.bound
    made.write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []
    again = Plan.read(tmp_path / "plan")
    assert again.files().keys() == made.files().keys()
    assert again.after.to_json() == made.after.to_json()


def with_dirs(**open_ones: Any) -> dict[str, Any]:
    """Broker 2 is empty, and gets half of four partitions of 10 bytes."""
    return {
        "brokers": [
            {"id": 1, "log_dirs": [{"path": "/a"}, {"path": "/b"}]},
            {"id": 2, "log_dirs": [{"path": p} | more for p, more in open_ones.items()]},
        ],
        "partitions": [
            {
                "topic": "t",
                "partition": n,
                "replicas": [1],
                "size_bytes": 10,
                "log_dirs": [f"/{'ab'[n % 2]}"],
            }
            for n in range(4)
        ],
    }


def chosen(value: dict[str, Any]) -> list[str]:
    made = plan(Cluster.from_json(value))
    rows = [row for row, old in enumerate(made.before.replica_lists()) if old != [2]]
    return sorted(
        path
        for row in rows
        for broker, path in zip(
            made.after.replica_lists()[row], made.after.log_dir_paths(row), strict=True
        )
        if broker == 2
    )


def test_cordoned_and_offline_ones_get_nothing() -> None:
    assert chosen(with_dirs(x={}, y={"cordoned": True}, z={"offline": "error"})) == ["x", "x"]
    assert chosen(with_dirs(x={}, y={})) == ["x", "y"]
    assert chosen(with_dirs(x={"disk_bytes": 5}, y={"disk_bytes": 50})) == ["y", "y"]


@pytest.mark.parametrize(
    ("dirs", "problem"),
    [
        (
            {"x": {"cordoned": True}, "y": {"offline": "error"}},
            "broker 2: no log dir can take t-0, all are cordoned or offline: uncordon one, or "
            "empty the broker with --remove-broker 2",
        ),
        (
            {"x": {"disk_bytes": 9}, "y": {"disk_bytes": 15}},
            "broker 2: no log dir was found with space for t-3 (10 bytes): x has most, 9 bytes "
            "free while old copies are still there: add disk or brokers",
        ),
    ],
)
def test_where_nothing_can_go(dirs: dict[str, Any], problem: str) -> None:
    with pytest.raises(CannotError) as raised:
        plan(Cluster.from_json(with_dirs(**dirs)))
    assert str(raised.value) == problem


def test_one_log_dir_that_takes_nothing() -> None:
    with pytest.raises(CannotError, match="broker 2: no log dir can take"):
        plan(Cluster.from_json(with_dirs(x={"cordoned": True})))


def test_unknown_contents_leave_the_choice_to_the_broker(tmp_path: Path) -> None:
    value = with_dirs(x={}, y={})
    value["partitions"].append({"topic": "u", "partition": 0, "replicas": [2], "size_bytes": 1})
    made = plan(Cluster.from_json(value))
    assert made.fullness is None
    assert all(
        "log_dirs" not in e for e in json.loads(made.files()["reassignment.json"])["partitions"]
    )
    made.write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []


def test_kafkas_files_name_them(tmp_path: Path) -> None:
    """The reassignment names those of new replicas, the rollback those of dropped ones."""
    made = plan(Cluster.from_json(with_dirs(x={}, y={})))
    files = {name: json.loads(text) for name, text in made.files().items()}
    forward = files["reassignment.json"]["partitions"]
    assert sorted(entry["log_dirs"] for entry in forward) == [["x"], ["y"]]
    paths = {n: ["/a", "/b"][n % 2] for n in range(4)}
    for entry in files["rollback.json"]["partitions"]:
        assert entry["log_dirs"] == [paths[entry["partition"]]]
    assert files["waves/001.json"]["partitions"][0] in forward


@pytest.mark.parametrize(
    ("file", "change", "defect"),
    [
        ("plan.json", of_plan("figures", "after", "log_dirs", "bound", to=0.5), "log_dirs is"),
        ("plan.json", of_plan("figures", "after", "log_dirs", to=None), "log_dirs is None"),
        ("plan.json", of_plan("partitions", "log_dirs_after", 0, to=[7]), "its brokers' log dirs"),
        ("plan.json", of_plan("partitions", "log_dirs_after", 1, to=[0]), "its log dir changes"),
        ("plan.json", of_plan("partitions", "log_dirs_after", 0, to=[2]), "is cordoned or offline"),
        ("plan.json", of_plan("brokers", 1, "log_dirs", 0, "disk_bytes", to=9), "10 bytes in log"),
        ("plan.json", lambda v: v["partitions"].pop("log_dirs_after"), "log_dirs of both"),
        (
            "reassignment.json",
            of_plan("partitions", 0, "log_dirs", to=["z"]),
            "reassignment.json: log_dirs of t-0 is ['z'], expected",
        ),
        ("waves/001.json", lambda v: v["partitions"][0].pop("log_dirs"), "is None, expected"),
        (
            "rollback.json",
            of_plan("partitions", 0, "log_dirs", to=["any"]),
            "rollback.json: log_dirs of t-0 is ['any'], expected",
        ),
    ],
)
def test_check_finds_what_is_wrong(file: str, change: Change, defect: str, tmp_path: Path) -> None:
    value = with_dirs(
        x={"disk_bytes": 100}, y={"disk_bytes": 100}, z={"cordoned": True, "disk_bytes": 100}
    )
    made = plan(Cluster.from_json(value))
    assert made.after.replica_lists() == [[2], [1], [1], [2]]
    made.write(tmp_path / "plan")
    path = tmp_path / "plan" / file
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    assert any(defect in one for one in check(tmp_path / "plan").defects)
