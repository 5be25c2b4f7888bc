"""Replicas that change their log dir, compared with every choice on small brokers."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from partage import CannotError, Cluster, InputError, check
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from tests.brokers.placement.changes import Change, of_plan

Place = tuple[int, int]
"""A broker, and the position of one of its log dirs."""


def a_cluster(rng: random.Random, room: float) -> Cluster:
    """Two brokers with every partition, most of it in their first log dir."""
    count = rng.randint(2, 3)
    sizes = [1000 * rng.choice([1, 2, 3, 5, 8, 13, 40]) for _ in range(rng.randint(3, 6))]
    used: Counter[Place] = Counter()
    rows = []
    for number, size in enumerate(sizes):
        at = [min(rng.randrange(count), rng.randrange(count)) for _ in (1, 2)]
        used.update({(1, at[0]): size, (2, at[1]): size})
        paths = [f"/d{n}" for n in at]
        order = [1, 2] if number % 2 else [2, 1]
        rows.append(
            {
                "topic": "t",
                "partition": number,
                "replicas": order,
                "size_bytes": size,
                "log_dirs": paths if number % 2 else paths[::-1],
            }
        )
    brokers = [
        {
            "id": broker,
            "log_dirs": [
                {
                    "path": f"/d{n}",
                    "disk_bytes": max(used[broker, n], 1) + rng.randint(0, int(sum(sizes) * room)),
                }
                for n in range(count)
            ],
        }
        for broker in (1, 2)
    ]
    return Cluster.from_json({"brokers": brokers, "partitions": rows})


def placed(cluster: Cluster) -> dict[tuple[int, int], int]:
    """Log dir by (row, broker id)."""
    assert cluster.log_dirs is not None
    ids = cluster.broker_ids.tolist()
    return {
        (row, ids[broker]): int(cluster.log_dirs[row, column])
        for row in range(cluster.partitions)
        for column, broker in enumerate(cluster.replicas[row].tolist())
        if broker >= 0
    }


def bytes_in(cluster: Cluster, where: dict[tuple[int, int], int]) -> Counter[Place]:
    found: Counter[Place] = Counter()
    for (row, broker), log_dir in where.items():
        found[broker, log_dir] += int(cluster.size_bytes[row])
    return found


def disks(cluster: Cluster) -> dict[Place, int]:
    return {
        (broker.id, n): one.disk_bytes or 0
        for broker in cluster.brokers
        for n, one in enumerate(broker.log_dirs)
    }


def ways(cluster: Cluster, broker: int, closed: set[Place]) -> Iterator[dict[tuple[int, int], int]]:
    """Every choice of log dirs for the replicas of a broker that fits on its disks."""
    disk = disks(cluster)
    rows = [row for row, held in placed(cluster) if held == broker]
    open_dirs = [n for b, n in disk if b == broker and (b, n) not in closed]
    for way in product(open_dirs, repeat=len(rows)):
        where = {(row, broker): log_dir for row, log_dir in zip(rows, way, strict=True)}
        if all(size <= disk[at] for at, size in bytes_in(cluster, where).items()):
            yield where


def moved_bytes(cluster: Cluster, where: dict[tuple[int, int], int]) -> int:
    was = placed(cluster)
    return sum(int(cluster.size_bytes[at[0]]) for at, new in where.items() if was[at] != new)


def no_overfull_moment(made: Plan) -> None:
    """In each wave, a log dir holds what it held and what comes in the wave."""
    now, target, disk = placed(made.before), placed(made.after), disks(made.before)
    for wave in made.waves:
        rows = set(wave.rows.tolist())
        coming = {at: new for at, new in target.items() if at[0] in rows and now[at] != new}
        used = bytes_in(made.before, now) + bytes_in(made.before, coming)
        assert all(used[at] <= disk[at] for at in bytes_in(made.before, coming))
        now |= coming
    assert now == target


def sound(made: Plan, folder: Path) -> None:
    made.write(folder)
    assert check(folder).defects == []
    again = Plan.read(folder)
    assert again.after.to_json() == made.after.to_json()
    assert again.figures == made.figures | {"seconds": 0.0}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_evened_with_the_fewest_bytes(seed: int, tmp_path: Path) -> None:
    """No choice with loads as near to even moves fewer bytes, none is below the bounds, and where
    one is within the tolerance, the plan is."""
    rng = random.Random(seed)
    cluster = a_cluster(rng, room=rng.choice([0.7, 2.0]))
    tolerance = rng.choice([Fraction(5, 100), Fraction(3, 10)])
    try:
        made = plan(cluster, no_moves=True, balance_disks=True, tolerance=tolerance)
    except CannotError as error:  # only while replicas move
        if "while old copies are still there" in str(error):
            return
        raise
    fewest, fullest = 0, []
    where, disk = placed(made.after), disks(cluster)
    for broker in (1, 2):
        own = {at: n for at, n in where.items() if at[1] == broker}
        load = bytes_in(cluster, own)
        dirs = [at for at in disk if at[0] == broker]
        level = Fraction(sum(load.values()), sum(disk[at] for at in dirs))

        def away(used: Counter[Place], dirs: list[Place] = dirs, level: Fraction = level) -> float:
            """The largest distance from the fair share, as a part of it, without rounding."""
            return max(
                float(max(abs(used[at] - level * disk[at]) - Fraction(1, 2), 0))
                / max(float(level * disk[at]), 1.0)
                for at in dirs
            )

        reached = max(away(load), float(tolerance))
        choices = list(ways(cluster, broker, set()))
        assert min(max(away(bytes_in(cluster, way)), float(tolerance)) for way in choices) == (
            pytest.approx(reached, rel=1e-2)
        )
        as_even = [w for w in choices if away(bytes_in(cluster, w)) <= reached + 1e-9]
        least = min(moved_bytes(cluster, way) for way in as_even)
        assert moved_bytes(cluster, own) == least
        fewest += least
        fullest.append(
            min(
                max(Fraction(bytes_in(cluster, way)[at], disk[at]) for at in dirs)
                for way in choices
            )
        )
    found = made.figures["log_dirs"]
    assert found["bytes_moved_lower_bound"] <= fewest == found["bytes_moved"]
    assert made.fullness is not None
    assert made.fullness.bound <= max(fullest) <= made.fullness.fullest
    no_overfull_moment(made)
    assert made.settled
    sound(made, tmp_path / "plan")
    assert len(plan(made.after, no_moves=True, balance_disks=True, tolerance=tolerance).waves) == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_emptied(seed: int, tmp_path: Path) -> None:
    """Where some choice fits, the log dir is emptied with the fewest bytes."""
    rng = random.Random(seed)
    cluster = a_cluster(rng, room=rng.choice([0.3, 1.0]))
    removed = (1, 0)
    choices = list(ways(cluster, 1, {removed}))
    try:
        made = plan(cluster, no_moves=True, remove_log_dir="1:/d0")
    except CannotError as error:
        fits = "while old copies are still there" in str(error)
        assert bool(choices) is fits
        return
    where = placed(made.after)
    assert removed not in bytes_in(cluster, where)
    least = min(moved_bytes(cluster, way) for way in choices)
    found = made.figures["log_dirs"]
    assert found["bytes_moved_lower_bound"] <= least == found["bytes_moved"]
    assert {at: n for at, n in where.items() if at[1] == 2} == {
        at: n for at, n in placed(cluster).items() if at[1] == 2
    }
    no_overfull_moment(made)
    sound(made, tmp_path / "plan")


def three_dirs(**more: dict[str, Any]) -> dict[str, Any]:
    """A broker with ten partitions of 10 bytes in /a, and two other log dirs; one without any."""
    dirs = [{"path": p, "disk_bytes": 100} | more.get(p[1:], {}) for p in ("/a", "/b", "/c")]
    return {
        "brokers": [{"id": 1, "log_dirs": dirs}, {"id": 2}],
        "partitions": [
            {"topic": "t", "partition": n, "replicas": [1, 2], "size_bytes": 10, "log_dirs": paths}
            for n, paths in enumerate([["/a", "any"]] * 10)
        ],
    }


def paths_of(made: Plan) -> Counter[str]:
    rows = zip(made.after.replica_lists(), range(made.after.partitions), strict=True)
    return Counter(made.after.log_dir_paths(row)[own.index(1)] for own, row in rows if 1 in own)


def test_cordoned_and_offline_log_dirs_are_left_alone(tmp_path: Path) -> None:
    open_ones = plan(Cluster.from_json(three_dirs()), balance_disks=True)
    assert sorted(paths_of(open_ones).values()) == [3, 3, 4]
    cordoned = plan(Cluster.from_json(three_dirs(b={"cordoned": True})), balance_disks=True)
    assert paths_of(cordoned) == {"/a": 5, "/c": 5}
    assert cordoned.figures["log_dirs"]["bytes_moved"] == 50
    offline = plan(Cluster.from_json(three_dirs(c={"offline": "failed"})), balance_disks=True)
    assert paths_of(offline) == {"/a": 10}
    assert offline.warnings == (
        "the log dirs of broker 1 are not balanced: Kafka moves nothing between them while /c is "
        "offline",
    )
    kept = plan(Cluster.from_json(three_dirs(a={"cordoned": True})), balance_disks=True)
    assert paths_of(kept) == {"/a": 10}
    emptied = plan(Cluster.from_json(three_dirs(a={"cordoned": True})), remove_log_dir=(1, "/a"))
    assert paths_of(emptied) == {"/b": 5, "/c": 5}
    for number, made in enumerate((open_ones, cordoned, offline, kept, emptied)):
        sound(made, tmp_path / str(number))


def test_a_partition_that_also_changes_brokers(tmp_path: Path) -> None:
    """Its replica leaves the log dir in the wave of the reassignment."""
    value = three_dirs()
    value["brokers"].append({"id": 3})
    made = plan(Cluster.from_json(value), remove_log_dir="1:/a")
    assert made.moves == 6
    assert paths_of(made).keys() <= {"/b", "/c"}
    assert made.waves[0].moves
    assert made.waves[0].log_dir_moves
    assert sum(wave.log_dir_moves for wave in made.waves) == made.figures["log_dirs"]["moves"]
    sound(made, tmp_path / "plan")


def test_waves_keep_the_concurrency_and_the_throttle(tmp_path: Path) -> None:
    cluster = Cluster.from_json(three_dirs(b={"disk_bytes": 400}))
    options: dict[str, Any] = {"no_moves": True, "concurrency": 3, "throttle": 10}
    made = plan(cluster, remove_log_dir="1:/a", **options)
    for wave in made.waves:
        assert wave.seconds == wave.log_dir_bytes // 10
    assert len(made.waves) == made.schedule.bound
    sound(made, tmp_path / "plan")


def test_seconds_are_exact_for_any_size(tmp_path: Path) -> None:
    """Sums of floats are not, from 2 ** 53 bytes on."""
    value = three_dirs(b={"disk_bytes": 2**59}, c={"disk_bytes": 2**59})
    del value["brokers"][0]["log_dirs"][0]["disk_bytes"], value["partitions"][2:]
    for number, size in enumerate((2**54 + 1, 2**54 + 2)):
        value["partitions"][number]["size_bytes"] = size
    cluster = Cluster.from_json(value)
    made = plan(cluster, no_moves=True, remove_log_dir="1:/a", concurrency=2, throttle=1)
    assert [wave.seconds for wave in made.waves] == [2**55 + 3]
    sound(made, tmp_path / "plan")
    assert Plan.read(tmp_path / "plan").waves[0].seconds == 2**55 + 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"remove_log_dir": "9:/a"}, "remove_log_dir 9:/a: broker 9 is not in the cluster"),
        ({"remove_log_dir": "1:/x"}, "remove_log_dir 1:/x: broker 1 has /a, /b, /c"),
        ({"remove_log_dir": ["1:/a", "1:/a"]}, "remove_log_dir 1:/a: is given twice"),
        ({"remove_log_dir": "2:/a"}, "remove_log_dir 2:/a: the log dirs of broker 2 are not known"),
        ({"remove_log_dir": "/a"}, "expected ID:PATH, for instance 3:/data2"),
        ({"remove_log_dir": "1:"}, "expected the path of a log dir after the broker id"),
        (
            {"remove_log_dir": "1:/c"},
            "remove_log_dir 1:/c: is offline: nothing can be copied out of it",
        ),
        (
            {"remove_log_dir": "1:/b"},
            "remove_log_dir 1:/b: Kafka moves nothing between the log dirs of broker 1 while /c is "
            "offline: repair it and restart the broker first",
        ),
        (
            {"remove_log_dir": "1:/a", "topics": "u"},
            "topics: leaves out t-0, which has a replica in 1:/a",
        ),
    ],
)
def test_refused(options: dict[str, Any], problem: str) -> None:
    offline = options["remove_log_dir"] in ("1:/b", "1:/c")
    value = three_dirs(**{"c": {"offline": "failed"}} if offline else {})
    value["partitions"].append({"topic": "u", "partition": 0, "replicas": [2]})
    with pytest.raises(InputError) as raised:
        plan(Cluster.from_json(value), **options)
    assert str(raised.value).endswith(problem)


def test_nothing_to_balance() -> None:
    one = {"brokers": [{"id": 1}], "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}
    with pytest.raises(InputError, match="no broker is known to have several log dirs"):
        plan(Cluster.from_json(one), balance_disks=True)
    value = three_dirs()
    for row in value["partitions"]:
        del row["size_bytes"]
    with pytest.raises(InputError, match="the size of no partition is known"):
        plan(Cluster.from_json(value), balance_disks=True)
    assert paths_of(plan(Cluster.from_json(value), remove_log_dir="1:/a"))["/a"] == 0


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            {"b": {"disk_bytes": 30}, "c": {"disk_bytes": 50}},
            "broker 1: /b, /c must hold 100 bytes, 20 more than fit: add disk, or move replicas to "
            "other brokers first",
        ),
        (
            {"b": {"cordoned": True}, "c": {"cordoned": True}},
            "broker 1: no other log dir can take t-0, all are cordoned or to be emptied: "
            "uncordon one, or use --remove-broker 1",
        ),
        (
            {"b": {"disk_bytes": 55}, "c": {"disk_bytes": 48}},
            "broker 1: /b, /c have no space for t-0 (10 bytes) and the rest (proven): add disk, or "
            "move replicas to other brokers first",
        ),
        (
            {p: {"disk_bytes": 9} for p in ("b", "c")},
            "broker 1: /b, /c must hold 100 bytes, 82 more than fit: add disk, or move replicas to "
            "other brokers first",
        ),
    ],
)
def test_what_does_not_fit(more: dict[str, Any], problem: str) -> None:
    with pytest.raises(CannotError) as raised:
        plan(Cluster.from_json(three_dirs(**more)), remove_log_dir="1:/a")
    assert str(raised.value) == problem


def _log_dir_stage(value: dict[str, Any]) -> dict[str, Any]:
    (stage,) = [one for one in value["certificate"]["stages"] if one["stage"] == "log dirs"]
    found: dict[str, Any] = stage
    return found


@pytest.mark.parametrize(
    ("file", "change", "defect"),
    [
        ("plan.json", lambda v: _log_dir_stage(v).update(bound=999), "its prices prove"),
        ("plan.json", lambda v: _log_dir_stage(v).update(value=1), "value of log dirs is 1"),
        (
            "plan.json",
            lambda v: _log_dir_stage(v)["prices"]["log_dirs"][0].update(
                low=_log_dir_stage(v)["prices"]["log_dirs"][0]["high"]
            ),
            "the band of",
        ),
        (
            "plan.json",
            lambda v: _log_dir_stage(v)["prices"]["log_dirs"].append({"broker": 9} | _NO_PRICES),
            "log dirs must name brokers",
        ),
        ("plan.json", of_plan("figures", "after", "log_dirs", "moves", to=1), "log_dirs is"),
        ("plan.json", of_plan("waves", 0, "log_dir_bytes", to=1), "log_dir_bytes in plan.json"),
        ("plan.json", of_plan("figures", "after", "waves_lower_bound", to=1), "lower_bound is 1"),
        ("plan.json", of_plan("options", "balance_disks", to=False), "stages are"),
        ("plan.json", of_plan("options", "concurrency", to=1), "replicas, at most 1 are allowed"),
        ("plan.json", of_plan("options", "remove_log_dir", to=["1:/x"]), "has no log dir /x"),
        ("plan.json", of_plan("options", "remove_log_dir", to=["1:/a"]), "which must be empty"),
        (
            "plan.json",
            of_plan("brokers", 0, "log_dirs", 1, "cordoned", to=True),
            "/b is cordoned or offline",
        ),
        (
            "plan.json",
            of_plan("brokers", 0, "log_dirs", 2, "offline", to="failed"),
            "its log dir changes, although another one of the broker is offline",
        ),
        (
            "plan.json",
            of_plan("brokers", 0, "log_dirs", 1, "disk_bytes", to=25),
            "bytes in log dir /b with a disk of 25",
        ),
        ("waves/001.json", lambda v: v["partitions"].pop(), "waves: t-"),
        ("rollback.json", lambda v: v["partitions"][0].pop("log_dirs"), "is None, expected"),
    ],
)
def test_check_finds_what_is_wrong(file: str, change: Change, defect: str, tmp_path: Path) -> None:
    made = plan(Cluster.from_json(three_dirs()), no_moves=True, balance_disks=True)
    made.write(tmp_path / "plan")
    path = tmp_path / "plan" / file
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    defects = check(tmp_path / "plan").defects
    assert any(defect in one for one in defects), defects


_NO_PRICES = {"prices": "", "low": "", "high": ""}
