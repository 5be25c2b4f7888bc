"""Waves that break a limit are found, even if everything that plan.json states of them is true."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import Cluster
from partage.brokers import solving
from partage.brokers.check import check
from partage.brokers.directory import fingerprint
from partage.brokers.plan import Plan
from partage.brokers.planning import plan, problem_of
from partage.brokers.solving import solve
from partage.brokers.strategies import Strategy
from tests.brokers.check.tampering import Files
from tests.bundled import uneven_racks
from tests.matrices import Lists, cluster_of, partitions

HELD = "waves keep the limits per broker, batch and disk, and their lower bound is correct"


def planned(
    before: Lists,
    after: Lists,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[int] | None = None,
    disks: dict[int, int] | None = None,
    **options: Any,
) -> Plan:
    """The plan of a strategy that answers ``after``."""
    ids = sorted({b for lists in (before, after) for row in lists for b in row})
    brokers = [{"id": b, "disk_bytes": (disks or {}).get(b)} for b in ids]
    cluster = Cluster.from_json({"brokers": brokers, "partitions": partitions(before, sizes)})
    width = max(map(len, after))
    answer = np.array([[ids.index(b) for b in row] + [-1] * (width - len(row)) for row in after])
    if [len(row) for row in before] != [len(row) for row in after]:
        options["replication_factor"] = [str(len(after[0]))]
    monkeypatch.setattr(solving, "strategy_named", lambda _: Strategy(lambda problem: answer))
    return solve(problem_of(cluster, strategy="generate", **options))


def reschedule(directory: Path, waves: list[list[int]]) -> None:
    """Reschedule the plan in the directory into these waves (partitions each); figures are true."""
    value = json.loads((directory / "plan.json").read_text())
    part = value["partitions"]
    throttle = int(value["options"].get("throttle", "0"))
    for file in (directory / "waves").iterdir():
        file.unlink()
    value["waves"] = []
    for number, rows in enumerate(waves, start=1):
        name = f"waves/{number:03d}.json"
        load = [Counter[int]() for _ in range(4)]
        for p in rows:
            size = part["size_bytes"][p] or 0
            for b in set(part["after"][p]) - set(part["before"][p]):
                for who, at in ((b, 0), (part["before"][p][0], 1)):
                    load[at][who] += 1
                    load[at + 2][who] += size
        brokers = sorted({*load[0], *load[1]})
        columns = [[c[b] for b in brokers] for c in load]
        sized = any(size is not None for size in part["size_bytes"])
        busiest = max([0, *columns[2], *columns[3]])
        value["waves"].append(
            {
                "file": name,
                "partitions": len(rows),
                "moves": sum(columns[0]),
                "bytes": sum(columns[2]) if sized else None,
                "seconds": -(-busiest // throttle) if throttle and sized else None,
                "brokers": brokers,
                "replicas_in": columns[0],
                "replicas_out": columns[1],
                "bytes_in": columns[2] if sized else None,
                "bytes_out": columns[3] if sized else None,
            }
        )
        lists = [{"topic": "t", "partition": p, "replicas": part["after"][p]} for p in rows]
        (directory / name).write_text(json.dumps({"version": 1, "partitions": lists}))
    after = value["figures"]["after"]
    after["waves"] = len(waves)
    for gaps in (value["gaps"], after["gaps"]):
        gaps.pop("waves", None)
        if len(waves) > after["waves_lower_bound"]:
            gaps["waves"] = round(len(waves) / after["waves_lower_bound"] - 1, 6)
    write(directory, value)


def write(directory: Path, value: dict[str, Any]) -> None:
    value["fingerprint"] = fingerprint(value)
    (directory / "plan.json").write_text(json.dumps(value))


def about_waves(directory: Path) -> list[str]:
    return [line for line in check(directory).defects if line.startswith("waves/")]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "plan"


# ---------------------------------------------------------------- limits


def test_another_schedule_within_the_limits_is_sound(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned([[1]] * 4, [[2]] * 4, monkeypatch, [10] * 4, throttle="10B")
    made.write(directory)
    assert check(directory).sound
    for waves in ([[0, 3], [1, 2]], [[2], [1], [0, 3]]):
        reschedule(directory, waves)
        assert check(directory).sound, check(directory).defects


@pytest.mark.parametrize(
    ("before", "after", "waves", "defect"),
    [
        (
            [[1], [2], [3]],
            [[4], [4], [4]],
            [[0, 1, 2]],
            "waves/001.json: broker 4 receives 3 replicas, at most 2 are allowed",
        ),
        (
            [[1], [1], [1]],
            [[4], [5], [6]],
            [[0, 1, 2]],
            "waves/001.json: broker 1 sends 3 replicas, at most 2 are allowed",
        ),
        (
            [[1], [1]],
            [[1, 4, 5, 6], [1, 2, 3, 7]],
            [[0, 1]],
            "waves/001.json: broker 1 sends 6 replicas, at most 2 are allowed",
        ),
    ],
)
def test_limits_per_broker(
    before: Lists,
    after: Lists,
    waves: list[list[int]],
    defect: str,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned(before, after, monkeypatch).write(directory)
    assert about_waves(directory) == []
    reschedule(directory, waves)
    assert about_waves(directory) == [defect]


def test_the_batch(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned([[1], [2]], [[3], [4]], monkeypatch, batch=1).write(directory)
    assert check(directory).sound
    reschedule(directory, [[0, 1]])
    assert about_waves(directory) == ["waves/001.json: has 2 partitions, at most 1 are allowed"]


def test_a_disk_that_overflows_on_the_way(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists, sizes, disks = ([[1], [2]], [[2], [3]]), [9, 7], {2: 10}
    planned(*lists, monkeypatch, sizes, disks).write(directory)
    assert check(directory).sound, check(directory).defects
    for waves in ([[0, 1]], [[0], [1]]):
        reschedule(directory, waves)
        assert about_waves(directory) == [
            "waves/001.json: broker 2 holds 7 bytes and receives 9, on a disk of 10"
        ]


def test_partitions_that_move_no_data_come_last_and_alone(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned([[1, 2], [3, 4]], [[2, 1], [3, 5]], monkeypatch).write(directory)
    assert check(directory).sound
    reschedule(directory, [[0], [1]])
    assert about_waves(directory) == [
        "waves/002.json: moves data after waves/001.json, which moves none and frees none"
    ]
    reschedule(directory, [[0, 1]])
    assert about_waves(directory) == [
        "waves/001.json: mixes partitions that move data with partitions that move none"
    ]


# ---------------------------------------------------------------- what plan.json says of them


@pytest.mark.parametrize("key", ["brokers", "replicas_in", "replicas_out", "bytes_in", "bytes_out"])
@pytest.mark.parametrize("change", [lambda old: old[:-1], lambda old: [old[0] + 1, *old[1:]]])
def test_the_load_is_counted_again(
    key: str, change: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned([[1], [2]], [[3], [4]], monkeypatch, [5, 6]).write(directory)
    value = json.loads((directory / "plan.json").read_text())
    value["waves"][0][key] = change(value["waves"][0][key])
    write(directory, value)
    assert about_waves(directory) == [
        f"waves/001.json: {key} in plan.json is not what the wave moves"
    ]


@pytest.mark.parametrize(
    ("throttle", "seconds"), [("10B", 2), ("7", 2), ("1.5kB/s", 1), ("0.001 KiB", 11), (None, None)]
)
def test_the_seconds_are_what_the_throttle_gives(
    throttle: str | None, seconds: int | None, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned([[1]], [[2]], monkeypatch, [11], throttle=throttle)
    assert [wave.seconds for wave in made.waves] == [seconds]
    made.write(directory)
    assert check(directory).sound
    value = json.loads((directory / "plan.json").read_text())
    value["waves"][0]["seconds"] = 77
    write(directory, value)
    assert about_waves(directory) == [
        "waves/001.json: seconds in plan.json is not what the wave moves"
    ]


@pytest.mark.parametrize("bound", [1, 3, None, "2"])
def test_the_bound_is_worked_out_again(
    bound: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned([[1]] * 4, [[2]] * 4, monkeypatch).write(directory)
    value = json.loads((directory / "plan.json").read_text())
    assert value["figures"]["after"]["waves_lower_bound"] == 2
    value["figures"]["after"]["waves_lower_bound"] = bound
    write(directory, value)
    assert (
        f"plan.json: figures.after.waves_lower_bound is {bound}, expected 2"
        in check(directory).defects
    )


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"concurrency": "2"}, {"batch": -1}, {"throttle": "fast"}]
)
def test_malformed_limits(
    options: dict[str, Any], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned([[1]], [[2]], monkeypatch).write(directory)
    value = json.loads((directory / "plan.json").read_text())
    value["options"] |= options
    write(directory, value)
    (defect,) = check(directory).defects
    assert f"options.{next(iter(options))}: " in defect


def test_every_bound_of_the_planner_is_the_checkers(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many partitions of several new replicas: two pieces of code, one bound."""
    random = np.random.default_rng(4)
    for concurrency in (1, 2, 3, 4, 5):
        before = [[int(random.integers(1, 4))] for _ in range(25)]
        after = [[*row, *(random.permutation(6)[: row[0] + 1] + 4).tolist()] for row in before]
        made = planned(before, after, monkeypatch, concurrency=concurrency)
        made.write(directory)
        assert HELD in check(directory).held
        assert made.schedule.bound <= len(made.waves)


def test_the_bundled_plan_is_sound(directory: Path) -> None:
    made = plan(uneven_racks(), throttle="50MB", batch=5)
    made.write(directory)
    # some partitions have two new replicas: met or nearly so
    assert made.schedule.bound <= len(made.waves) <= made.schedule.bound + 1
    assert check(directory).sound


def test_equal_partitions_may_change_waves(directory: Path) -> None:
    """Two partitions that weigh the same may change places: every figure still holds."""
    made = plan(cluster_of("1 " * 6, "1 2 3"), concurrency=1)
    made.write(directory)
    found = Files(directory)
    first, *others = found.plan["waves"]
    same = next(wave for wave in others if wave["brokers"] == first["brokers"])
    one, other = (found.values[wave["file"]]["partitions"] for wave in (first, same))
    one[0], other[0] = other[0], one[0]
    assert check(found.write()).sound
