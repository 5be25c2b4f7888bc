"""A profile that grows equals one of all records at once, whenever a run dies."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.measured_loads import Profile
from partage.measured_loads.max_rejected import MaxRejected
from partage.period import Period
from partage.pipeline import append_profile, profile_tables, write_profile

pytestmark = pytest.mark.spark

NOON = 1_790_000_040
TABLES = ("windows", "partitions", "keys", "rejected")

Record = dict[str, Any]


def drawn(rng: random.Random, count: int) -> list[Record]:
    """Records of few keys, so that ranks change as the profile grows."""
    return [
        {
            "topic": rng.choice(("a", "b")),
            "partition": rng.randrange(3),
            "offset": number,
            "timestamp": (NOON + rng.randrange(9000)) * 1000,
            "key": rng.choice((None, "", "k1", "k2", "k3", "é")),
            "value_bytes": rng.randrange(300),
        }
        for number in range(count)
    ]


def put(folder: Path, name: str, records: Sequence[Record], *others: str) -> None:
    """Add a file as one should: moved in when it is whole."""
    hidden = folder / f".{name}"
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(list(records)), hidden)
    else:
        lines = [*map(json.dumps, records), *others]
        hidden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    hidden.rename(folder / name)


def rows(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())


def read(table: Path) -> pa.Table:
    return pa.concat_tables([pq.ParquetFile(file).read() for file in table.glob("*.parquet")])


def assert_measured_once(out: Path, whole: dict[str, pa.Table]) -> None:
    for name in TABLES:
        assert rows(read(out / name)) == rows(whole[name]), name


def content(out: Path) -> dict[str, bytes]:
    return {str(f.relative_to(out)): f.read_bytes() for f in out.rglob("*") if f.is_file()}


def kill_when(written: str, records: str, out: Path) -> None:
    """Append to a profile, and kill -9 the run once it has written what the pattern matches."""
    command = [sys.executable, "-m", "partage", "profile", records, "--append", "-o", str(out)]
    quick = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    folder = out.parent
    with (folder / "told").open("w") as told:
        process = subprocess.Popen(
            [*command, "--json", "--master", "local[2]"], stdout=told, stderr=told, env=quick
        )
    try:
        while not any(folder.glob(f".partage-*/{written}")):
            assert process.poll() is None, (folder / "told").read_text()
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    for scratch in folder.glob(".partage-*"):
        scratch.rename(folder / f"left-{written[:7].replace('/', '-')}-{scratch.name}")


@pytest.mark.long
def test_two_runs_equal_one(spark: Any, tmp_path: Path) -> None:
    folder, out, rng = tmp_path / "records", tmp_path / "profile", random.Random(5)
    folder.mkdir()
    for name in ("1.parquet", "2.parquet"):
        put(folder, name, drawn(rng, 40))
        grown = append_profile(spark, [str(folder)], out)
    assert (grown["new_files"], grown["totals"]["records"]) == (1, 80)
    assert_measured_once(out, profile_tables(spark, [str(folder)]))


@pytest.mark.long
def test_killed_while_it_writes_it_counts_nothing_twice(spark: Any, tmp_path: Path) -> None:
    folder, out, rng = tmp_path / "records", tmp_path / "profile", random.Random(7)
    folder.mkdir()
    put(folder, "0.jsonl", drawn(rng, 50))
    first = append_profile(spark, [str(folder)], out)
    put(folder, "1.jsonl", drawn(rng, 40))
    put(folder, "2.parquet", drawn(rng, 40))
    for written in ("new/windows/*.parquet", "new/rejected/*.parquet"):
        kill_when(written, str(folder), out)
        assert Profile.read(out).totals == first["totals"], "as it was"
    grown = append_profile(spark, [str(folder)], out)
    assert (grown["new_files"], grown["totals"]["records"]) == (2, 130)
    assert_measured_once(out, profile_tables(spark, [str(folder)]))


def test_records_outside_the_period_are_not_called_rejected(spark: Any, tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", drawn(random.Random(5), 3), "nonsense")
    later = Period(NOON * 1000 + 10**9, None)
    with pytest.raises(InputError, match=r"no records: none from 20\d\d-"):
        append_profile(spark, [str(tmp_path / "1.jsonl")], tmp_path / "out", period=later)


@pytest.mark.long
def test_it_grows_by_what_is_new(spark: Any, tmp_path: Path) -> None:
    folder, out, rng = tmp_path / "records", tmp_path / "profile", random.Random(5)
    (folder / "deeper").mkdir(parents=True)
    how = {"window": 600, "top": 2, "period": Period(None, (NOON + 8000) * 1000)}

    def append(**more: Any) -> dict[str, Any]:
        return append_profile(spark, [str(folder)], out, **how, **more)

    put(folder, "1.jsonl", drawn(rng, 60), "nonsense")
    put(folder, "README.txt", [])
    first = append()
    assert (first["new_files"], first["totals"]["rejected"]) == (1, 1)
    put(folder / "deeper", "2.parquet", drawn(rng, 50))
    put(folder, "3.jsonl", drawn(rng, 20), "nonsense", "more")
    with pytest.raises(PartageError, match=r"`max_rejected` 1: 2 rejected of 72 rows"):
        append(max_rejected=MaxRejected.of("1"))  # of the new ones only
    assert Profile.read(out).totals == first["totals"], "as it was"
    grown = append(max_rejected=MaxRejected.of("2"))
    assert (grown["new_files"], grown["totals"]["rejected"]) == (2, 3)
    assert sum(one["rows"] for one in grown["rejected"]) == 3
    once = write_profile(spark, [str(folder)], tmp_path / "once", **how)
    assert_measured_once(out, {name: read(tmp_path / "once" / name) for name in TABLES})
    for name in ("totals", "outside", "in_seconds", "window_seconds", "from", "to"):
        assert grown[name] == once[name]
    assert Profile.read(out).totals == once["totals"]

    before = content(out)
    assert append() == grown | {"new_files": 0}
    assert content(out) == before
    (folder / "1.jsonl").unlink()  # deleted, as by retention: its records stay counted
    put(folder, "4.jsonl", [], "nonsense")
    last = append()
    assert last["totals"] == grown["totals"] | {"rejected": 4}

    put(folder, "3.jsonl", drawn(rng, 21))
    with pytest.raises(InputError, match=r"3\.jsonl: has changed since it was measured"):
        append()
    with pytest.raises(InputError, match="was measured with `window` 600, not 60"):
        append_profile(spark, [str(folder)], out, **how | {"window": 60})
    with pytest.raises(InputError, match="once: was not written with `append`: measure again"):
        append_profile(spark, [str(folder)], tmp_path / "once", **how)
    with pytest.raises(InputError, match="table t: The table or view 't' cannot be found"):
        append_profile(spark, ["table:t?key=x"], tmp_path / "other")
    with pytest.raises(InputError, match="`append`: needs `read_offsets` for Kafka"):
        append_profile(spark, ["kafka://h:1/t"], tmp_path / "other")
    assert append(overwrite=True)["new_files"] == 3
