"""``copy_bytes``: a move copies less than a replica has on disk. Costs follow what is copied, disks
what is held; the fewest bytes are compared with every placement of small clusters."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import pytest

import partage
from partage.brokers.check import check
from partage.brokers.directory import fingerprint
from partage.brokers.plan import Plan
from partage.cluster import Cluster
from partage.errors import CannotError, InputError
from partage.flow.packing import unpack

Json = dict[str, Any]


def row(partition: int, replicas: list[int], size: int | None, copied: int | None = None) -> Json:
    found: Json = {"topic": "t", "partition": partition, "replicas": replicas}
    found |= {} if size is None else {"size_bytes": size}
    return found | ({} if copied is None else {"copy_bytes": copied})


def of(rows: list[Json], brokers: int = 2, **settings: Any) -> Json:
    return {"brokers": [{"id": b} | settings for b in range(1, brokers + 1)], "partitions": rows}


def read(rows: list[Json], brokers: int = 2, **settings: Any) -> Cluster:
    return Cluster.from_json(of(rows, brokers, **settings))


# ---------------------------------------------------------------- the file


def test_files_have_it_again() -> None:
    rows = [row(0, [1], 900, 70), row(1, [1], 800), row(2, [2], None)]
    cluster = read(rows)
    assert cluster.copied.tolist() == [70, 800, 0]
    assert cluster.to_json()["partitions"] == rows
    assert Cluster.from_json(cluster.to_json()).copied.tolist() == [70, 800, 0]
    assert read(rows[1:]).copy_bytes is None
    assert "copy_bytes" not in json.dumps(read(rows[1:]).to_json())


@pytest.mark.parametrize(
    ("size", "copied", "problem"),
    [
        (9, 10, "t-0: copy_bytes 10 more than size_bytes 9"),
        (None, 10, "t-0: copy_bytes 10 without size_bytes"),
        (9, -1, "partitions[0].copy_bytes: expected a whole number of bytes"),
        (9, 1.5, "partitions[0].copy_bytes: expected a whole number of bytes"),
    ],
)
def test_mistakes_in_files(size: int | None, copied: Any, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read([row(0, [1], size, copied)])
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_a_misspelled_key_is_named() -> None:
    with pytest.raises(InputError, match="did you mean copy_bytes"):
        read([row(0, [1], 9) | {"copy_byte": 3}])


def test_other_sizes_limit_it() -> None:
    cluster = read([row(0, [1], 900, 70), row(1, [1], 800)])
    assert cluster.with_sizes_of({("t", 0): 50}, "sizes").copied.tolist() == [50, 800]
    assert cluster.with_sizes_of({("t", 1): 50}, "sizes").copied.tolist() == [70, 50]


# ---------------------------------------------------------------- figures


def expanded(directory: Path, **options: Any) -> Plan:
    """Two of four partitions move to a new broker."""
    rows = [row(p, [1], 1000, 10 * (p + 1)) for p in range(4)]
    made = partage.plan(read(rows, 1), add_broker=["2"], **options)
    made.write(directory)
    assert check(directory).sound
    return made


def test_bytes_and_times_are_of_what_is_copied(tmp_path: Path) -> None:
    made = expanded(tmp_path / "plan", throttle="10B", concurrency=1)
    moved = [one["partition"] for one in made.to_pandas().to_dict("records")]
    total = sum(10 * (p + 1) for p in moved)
    assert len(moved) == 2
    assert made.bytes_moved == total == made.figures["bytes_moved"]
    assert sum(wave.bytes or 0 for wave in made.waves) == total
    assert [wave.seconds for wave in made.waves] == [(p + 1) for p in moved]
    assert made.to_pandas()["bytes"].tolist() == [10 * (p + 1) for p in moved]
    # brokers hold the whole of it
    assert made.figures["bytes_max_over_mean"] == 1.0
    again = Plan.read(tmp_path / "plan")
    assert again.bytes_moved == total
    assert again.before.copied.tolist() == [10, 20, 30, 40]
    assert again.document() == made.document()


def test_disks_count_what_replicas_grow_to() -> None:
    rows = [row(p, [1], 1000, 1) for p in range(4)]
    cluster = of(rows)
    cluster["brokers"][1]["disk_bytes"] = 1999
    made = partage.plan(Cluster.from_json(cluster))
    assert made.figures["replicas_per_broker"] == [1, 3]
    cluster["brokers"][1]["disk_bytes"] = 2000
    assert partage.plan(Cluster.from_json(cluster)).figures["replicas_per_broker"] == [2, 2]


def test_waves_leave_space_for_what_replicas_grow_to() -> None:
    """Two brokers exchange their partitions: the disk holds one more at a time."""
    cluster = of([row(0, [1], 10, 1), row(1, [1], 10, 1), row(2, [2], 10, 1), row(3, [2], 10, 1)])
    for broker in cluster["brokers"]:
        broker["disk_bytes"] = 30
    lists = {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": p, "replicas": [2 if p < 2 else 1]} for p in range(4)
        ],
    }
    made = partage.plan(Cluster.from_json(cluster), reassignment=lists, concurrency=4)
    assert len(made.waves) == 2
    assert [wave.bytes for wave in made.waves] == [2, 2]


def test_a_limit_on_bytes_is_on_what_is_copied() -> None:
    rows = [row(0, [1], 10, 10), row(1, [1], 900, 2), row(2, [1], 20, 20), row(3, [1], 800, 1)]
    made = partage.plan(read(rows), max_bytes_moved="3")
    assert made.figures["replicas_per_broker"] == [2, 2]
    assert made.bytes_moved == 3
    rows = [{k: v for k, v in one.items() if k != "copy_bytes"} for one in rows]
    assert partage.plan(read(rows), max_bytes_moved="3").moves == 0


def test_the_reason_of_a_plan_is_one_line() -> None:
    value = of([row(0, [1], 1000, 10), row(1, [1], 1000)])
    value["tiered_topics"] = {"t": {}}
    (sentence,) = partage.plan(Cluster.from_json(value)).document()["loads"]
    assert sentence == (
        "sizes of 1 topic with remote storage (t): what is on brokers, and a move copies; of 1 "
        "partition it copies only what is not uploaded yet (copy_bytes; snapshots estimate it from "
        "offsets)"
    )


@pytest.mark.parametrize("change", [-1, 1, 2000])
def test_the_checker_counts_what_is_copied(tmp_path: Path, change: int) -> None:
    expanded(tmp_path / "plan")
    file = tmp_path / "plan" / "plan.json"
    value = json.loads(file.read_text())
    lists = value["partitions"]
    pairs = zip(lists["before"], lists["after"], strict=True)
    moved = next(p for p, (old, new) in enumerate(pairs) if old != new)
    value["partitions"]["copy_bytes"][moved] += change
    value["fingerprint"] = fingerprint(value)
    file.write_text(json.dumps(value))
    found = check(tmp_path / "plan")
    assert not found.sound
    expected = "copy_bytes" if change == 2000 else "bytes_moved"
    assert any(expected in line for line in found.defects)


# ---------------------------------------------------------------- the fewest bytes


def random_rows(rng: random.Random, brokers: int) -> list[Json]:
    ids = range(1, brokers + 1)
    found = []
    for p in range(rng.randint(3, 6)):
        size = rng.randint(1, 30)
        copied = rng.choice((None, 0, 1, size, rng.randint(0, size)))
        found.append(row(p, rng.sample(ids, rng.randint(1, 2)), size, copied))
    return found


def every_placement(rows: list[Json], brokers: int) -> Iterator[tuple[list[int], int]]:
    """The bytes held by each broker and the bytes copied, of every placement."""
    ids = range(1, brokers + 1)
    ways = [list(itertools.combinations(ids, len(one["replicas"]))) for one in rows]
    for sets in itertools.product(*ways):
        held, copied = [0] * brokers, 0
        for one, chosen in zip(rows, sets, strict=True):
            for broker in chosen:
                held[broker - 1] += one["size_bytes"]
                if broker not in one["replicas"]:
                    copied += one.get("copy_bytes", one["size_bytes"])
        yield held, copied


def copied_by(made: Plan, rows: list[Json]) -> int:
    after = made.after.replica_lists()
    return sum(
        one.get("copy_bytes", one["size_bytes"]) * len(set(new) - set(one["replicas"]))
        for one, new in zip(rows, after, strict=True)
    )


@pytest.mark.long
def test_relieving_a_disk_copies_the_fewest_bytes(tmp_path: Path) -> None:
    rng = random.Random(5)
    cases = fewest = 0
    refused: list[tuple[bool, bool]] = []
    for number in range(250):
        brokers = rng.randint(2, 4)
        rows = random_rows(rng, brokers)
        ids = range(1, brokers + 1)
        disk = max(sum(one["size_bytes"] for one in rows if b in one["replicas"]) for b in ids)
        part = rng.choice((60, 70, 80, 90))
        most = floor(Fraction(part, 100) * disk)
        every = [n for held, n in every_placement(rows, brokers) if max(held) <= most]
        try:
            made = partage.plan(read(rows, brokers, disk_bytes=disk), relieve=f"{part}%")
        except CannotError as error:
            refused.append((bool(every), "while old copies are still there" in str(error)))
            continue
        stage = next(one for one in made.stages if one.name == "bytes moved")
        assert stage.value == made.bytes_moved == copied_by(made, rows)
        assert stage.bound <= min(every) <= stage.value
        made.write(tmp_path / str(number))
        assert check(tmp_path / str(number)).sound
        cases += min(every) > 0
        fewest += min(every) > 0 and stage.value == min(every)
    assert all(short or not possible for possible, short in refused)
    assert cases > 40
    assert fewest >= 0.9 * cases, (fewest, cases)


@pytest.mark.long
def test_even_bytes_are_reached_by_the_fewest_bytes(tmp_path: Path) -> None:
    rng = random.Random(6)
    cases = fewest = better = 0
    for number in range(250):
        brokers = rng.randint(2, 4)
        rows = random_rows(rng, brokers)
        made = partage.plan(read(rows, brokers), balance="bytes", tolerance="25%")
        stage = next(one for one in made.stages if one.name == "bytes moved")
        low, high = (unpack(stage.prices[key], brokers).tolist() for key in ("low", "high"))
        best = min(
            n
            for held, n in every_placement(rows, brokers)
            if all(a <= x <= b for a, x, b in zip(low, held, high, strict=True))
        )
        assert stage.value == made.bytes_moved == copied_by(made, rows)
        assert stage.bound <= best <= stage.value
        made.write(tmp_path / str(number))
        assert check(tmp_path / str(number)).sound
        plain = [{k: v for k, v in one.items() if k != "copy_bytes"} for one in rows]
        other = partage.plan(read(plain, brokers), balance="bytes", tolerance="25%")
        better += copied_by(made, rows) < copied_by(other, rows)
        cases += 1
        fewest += best == stage.value
    assert fewest >= 0.85 * cases, (fewest, cases)
    assert better > 10, better


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"relieve": "in=130%"}])
def test_loads_balanced_count_what_is_copied(tmp_path: Path, options: Json) -> None:
    rng = random.Random(7)
    cases = 0
    for number in range(40):
        brokers = rng.randint(3, 4)
        rows = random_rows(rng, brokers)
        for one in rows:
            one["bytes_in_per_second"] = rng.randint(1, 100)
            one["bytes_out_per_second"] = rng.randint(1, 100)
        try:
            made = partage.plan(
                read(rows, brokers), **(options or {"balance": "load", "tolerance": "40%"})
            )
        except CannotError:
            continue
        stage = next(one for one in made.stages if one.name == "bytes moved")
        assert stage.bound <= stage.value == made.bytes_moved == copied_by(made, rows)
        made.write(tmp_path / str(number))
        assert check(tmp_path / str(number)).sound
        cases += made.moves > 0
    assert cases > 5
