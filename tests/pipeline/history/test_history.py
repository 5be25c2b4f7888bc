"""Logs on Spark: the same as read directly, however the files are cut; and what is written."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from partage.consumers.history import Event, Rejected, events_of
from partage.consumers.history.replay import cases, scenario_of
from partage.consumers.history.shortening import shortened
from partage.consumers.simulation import simulate
from partage.errors import InputError
from partage.pipeline.history.tables import ORDER
from tests.consumers.history.history_logs import (
    files_of,
    histories,
    one_group,
    recorded,
    rotated,
    text_of,
)
from tests.pipeline.spark_configuration import configured
from tests.pipeline.test_plans import counts, plan_of

pytestmark = pytest.mark.spark

RECORDED = Path(__file__).parents[2] / "data" / "logs"
KIP_429 = Path(str(files("partage") / "data" / "groups" / "logs" / "kip-429"))
CASES = ("java-eager-whole", "librdkafka-cooperative-whole", "kafka-python-cooperative-put-out")
BAD = (
    "2026-01-01 10:00:00,000 INFO [Consumer clientId=c, groupId=bad] (Re-)joining group\n"
    "2026-01-01 10:00:01,000 INFO a line of the application, with a byte that is no UTF-8: \udcff\n"
    "2026-01-01 10:00:02,000 INFO [Consumer clientId=c, groupId=bad] "
    "Adding newly assigned partitions: nonsense \udcff\n"
)


@pytest.fixture(scope="module", name="logs")
def _logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of several groups: in folders, packed, rotated, with odd names, and with bad lines."""
    top = tmp_path_factory.mktemp("history") / "logs of [1]"
    for case in CASES:
        shutil.copytree(RECORDED / case, top / case, ignore=shutil.ignore_patterns("*.json"))
    shutil.copytree(KIP_429, top / "kip 429 é%")
    packed = top / CASES[0] / "a.log"
    packed.with_suffix(".log.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    whole = top / CASES[1] / "a.log"
    lines = text_of(whole)
    listed = next(at for at, line in enumerate(lines) if "|GRPASSIGNMENT|" in line)
    # Ten files within a list, several of them with equal times.
    for name, own in rotated("a.log", lines, [40, *range(listed, listed + 10)]).items():
        (top / CASES[1] / name).write_text("\n".join([*own, ""]), encoding="utf-8")
    oldest = top / CASES[1] / "a.log.11"
    oldest.with_suffix(".11.gz").write_bytes(gzip.compress(oldest.read_bytes()))
    oldest.unlink()
    (top / "bad.log").write_bytes(BAD.encode("utf-8", "surrogateescape"))
    return top


def directly(logs: Path) -> Iterator[Event | Rejected]:
    texts: dict[str, Sequence[str]] = {}
    for path in sorted(p for p in logs.rglob("*") if p.is_file()):
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
        texts[str(path)] = raw.decode("utf-8", "replace").splitlines()
    for log in files_of(texts):
        yield from events_of(log)


@pytest.fixture(scope="module", name="written")
def _written(spark: Any, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    from partage.pipeline.history import write_history

    out = tmp_path_factory.mktemp("out") / "history"
    return write_history(spark, [logs], out), out


def test_histories_are_those_read_directly(written: tuple[Any, Path], logs: Path) -> None:
    found, _ = written
    told = list(directly(logs))
    expected = histories(one for one in told if isinstance(one, Event))
    assert found.groups == {name: shortened(one) for name, one in expected.items()}
    assert [one.left_out for one in found.groups.values()] == [{}] * len(expected)
    assert sorted(found.groups) == sorted([*CASES, "cg_logi_kafka_test_1"])
    assert list(found.first_rejected) == [one for one in told if isinstance(one, Rejected)]
    assert (found.rejected, found.more_groups) == (1, 0)
    ((line, reason),) = [(one.line, one.reason) for one in found.first_rejected]
    assert (line, reason.partition(" is ")[2]) == (3, "not a topic and partition")


def test_a_rotated_log_is_read_as_one(written: tuple[Any, Path]) -> None:
    """As if it were one file, but for the file's name."""
    found = written[0].groups[CASES[1]]
    members = {one.id: one for one in one_group(recorded(CASES[1])).members}
    sources = {Path(one.source).name for one in found.members}
    assert sources == {"a.log.11.gz", "b.log", "c.log"}
    listed = [replace(one, source=members[one.id].source) for one in found.members]
    assert replace(found, members=tuple(listed)) == shortened(one_group(recorded(CASES[1])))


def test_every_assignor_and_protocol_is_replayed_as_simulate_does(
    written: tuple[Any, Path],
) -> None:
    found, _ = written
    for name in (CASES[0], "cg_logi_kafka_test_1"):
        scenario = scenario_of(found.groups[name])
        played = [
            (assignor, protocol)
            for assignor, by_protocol in found.replays[name].items()
            for protocol in by_protocol
        ]
        assert played == cases()
        for assignor, protocol in played:
            result = found.replays[name][assignor][protocol]
            alone = simulate(scenario, assignor, protocol)
            assert result == {
                "moved": alone.moved,
                "unowned_partition_seconds": round(alone.unowned, 3),
                "rounds": len([one for one in alone.rounds if one.assignment]),
            }, (name, assignor, protocol)


@pytest.mark.long
def test_nothing_depends_on_how_files_and_tasks_are_cut(
    spark: Any, written: tuple[Any, Path], logs: Path, tmp_path: Path
) -> None:
    from partage.pipeline.history import write_history

    found, out = written
    cuts = {"spark.sql.files.maxPartitionBytes": "20000", "spark.sql.shuffle.partitions": "7"}
    with configured(spark, cuts):
        again = write_history(spark, [logs], tmp_path / "history")
    assert again == found
    assert (tmp_path / "history/history.json").read_bytes() == (out / "history.json").read_bytes()
    for name, columns in ORDER.items():
        order = [(column, "ascending") for column in columns]
        cut, whole = (pq.read_table(top / name) for top in (tmp_path / "history", out))
        assert cut.num_rows > 0
        assert cut.sort_by(order) == whole.sort_by(order)
        for file in (tmp_path / "history" / name).iterdir():
            rows = pq.read_table(file)
            assert rows == rows.sort_by(order), "sorted within files"


@pytest.mark.long
def test_only_what_is_shown_comes_to_the_driver(
    spark: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four groups one is shown, by bytes or by name; the tables have all."""
    from partage.pipeline import history

    whole = history.read_history(spark, [logs])
    monkeypatch.setattr(history, "BYTES_SHOWN", 1)
    found = history.read_history(spark, [logs])
    unowned = {name: sum(one.unowned.values()) for name, one in whole.groups.items()}
    assert list(found.groups) == [max(sorted(unowned), key=unowned.__getitem__)]
    assert found.more_groups == 3
    assert found.replays == {name: whole.replays[name] for name in found.groups}
    assert found.to_json()["more_groups"] == 3
    named = history.write_history(spark, [logs], tmp_path / "out", group=CASES[0])
    assert list(named.groups) == [CASES[0]]
    listed = pq.read_table(tmp_path / "out" / "members")["group"].to_pylist()
    assert set(listed) == set(whole.groups)
    with pytest.raises(InputError, match="'none' is not in the logs: expected one of "):
        history.read_history(spark, [logs], group="none")


def test_plans(spark: Any, logs: Path) -> None:
    """Logs are read once, each group is put together in one task, and a table needs no more."""
    from partage.pipeline.history.groups import assembled, table_of
    from partage.pipeline.history.lines import parsed
    from partage.pipeline.history.replays import replayed

    rows = assembled(parsed(spark, [str(logs)], {}))
    plan = plan_of(table_of(rows, "ownership"))
    assert counts(plan) == [1, 2, 3], plan
    played = plan_of(replayed(rows.where("table = 'group'").select("name", "scenario"), 3))
    assert counts(played) == [1, 3, 4], played


def test_written_tables(written: tuple[Any, Path]) -> None:
    found, out = written
    value = json.loads((out / "history.json").read_text(encoding="utf-8"))
    assert value["format_version"] == 1
    assert value | found.to_json() == value
    tables = {
        folder.name: pq.read_table(folder) for folder in sorted(out.iterdir()) if folder.is_dir()
    }
    assert sorted(tables) == ["members", "ownership", "rejected", "replay", "rounds", "unowned"]
    members = [(row["group"], row["member"]) for row in tables["members"].to_pylist()]
    assert sorted(members) == sorted(
        (name, member.id) for name, one in found.groups.items() for member in one.members
    )
    assert tables["replay"].num_rows == len(found.groups) * len(cases())
    assert tables["rejected"]["reason"].to_pylist() == [one.reason for one in found.first_rejected]
    seed = [row for row in tables["unowned"].to_pylist() if row["topic"] == "kmo_community"]
    assert [(row["partition"], row["round"], row["seconds"]) for row in seed] == [(0, 3, 3.119)]
    rounds = [row for row in tables["rounds"].to_pylist() if row["group"] == seed[0]["group"]]
    assert [(row["generation"], row["added"], row["revoked"]) for row in rounds] == [
        (9, 3, 0),
        (10, 0, 1),
        (11, 1, 0),
    ]
    owners = [row for row in tables["ownership"].to_pylist() if row["topic"] == "kmo_community"]
    assert len(owners) == 4
    assert str(owners[0]["start"]) == "2021-06-08 20:17:50.288000+00:00"


def test_unreadable_input_is_one_line(spark: Any, logs: Path, tmp_path: Path) -> None:
    from partage.pipeline.history import read_history

    (tmp_path / "other.log").write_text("2026-01-01 10:00:00 nothing\n")
    (tmp_path / "worker.log").write_text(
        "2026-01-01 10:00:00,000 INFO [Worker clientId=w, groupId=c] (Re-)joining group\n"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    for paths, problem in (
        ([], "no logs given"),
        ([tmp_path / "none.log"], "no such file"),
        ([tmp_path / "other.log"], "no line about a consumer group"),
        ([empty], "holds no files"),
        ([logs / "bad.log"], "1 line rejected, the first"),
        (
            [tmp_path / "worker.log"],
            "has no readable rebalance: 1 line rejected, the first .*worker.log, line 1.: "
            "lines of Kafka Connect workers are not read$",
        ),
        ([logs, logs / "bad.log"], "was already given by another path"),
    ):
        with pytest.raises(InputError, match=problem):
            read_history(spark, paths)


def test_damaged_files_are_named_as_given_or_left_out(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partage.pipeline.history import read_history

    monkeypatch.chdir(tmp_path)
    folder = Path("logs of clients")
    folder.mkdir()
    shutil.copy(KIP_429 / "client-one.log", folder / "one.log")
    packed = gzip.compress((KIP_429 / "client-two.log").read_bytes())
    bad = folder / "two.log.gz"
    bad.write_bytes(packed[: len(packed) // 2])
    named = f"{re.escape(str(bad))}: cannot be read: .*; `skip_damaged` leaves it out$"
    with pytest.raises(InputError, match=f"^{named}"):
        read_history(spark, [folder])
    found = read_history(spark, [folder], skip_damaged=True)
    assert (found.to_json()["damaged"], found.to_json()["damaged_files"]) == (1, [str(bad)])
    (history,) = found.groups.values()
    assert {one.source for one in history.members} == {str(folder / "one.log"), None}
    with pytest.raises(InputError, match="no logs: all files are damaged"):
        read_history(spark, [bad], skip_damaged=True)
