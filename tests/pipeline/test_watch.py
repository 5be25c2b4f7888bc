"""Streams into windows: against plain counting, killed anywhere, from folders and from a Kafka."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from partage.cluster import Cluster
from partage.errors import InputError, PartageError
from partage.period import Period
from partage.pipeline.profile import profile_tables
from partage.pipeline.sources.kafka import CONNECTOR
from partage.pipeline.watch import ClusterFile, Rules, Settings, check, stream, watch
from partage.pipeline.watch import batches as batches_room
from partage.pipeline.watch import store as store_room
from partage.pipeline.watch import windows as windows_room
from partage.pipeline.watch.batches import Batches
from partage.pipeline.watch.fairness import fairness
from partage.profile import Profile
from tests.matrices import cluster_json

NOON = 1_790_000_040  # a whole minute, in seconds since 1970
WINDOW, LATE = 60, 90
RULES = Rules(window=WINDOW, allowed_lateness=LATE, over=600, alert_above=1.5, moves=False)

Record = dict[str, Any]
Window = tuple[str, int, int]


def record(seconds: int, partition: int = 0, size: int = 100, topic: str = "t") -> Record:
    """A record of the second ``seconds`` after noon."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": seconds,
        "timestamp": (NOON + seconds) * 1000,
        "key": None,
        "value_bytes": size,
    }


class Plain:
    """What a watch has to find, record by record: no table, no Arrow."""

    def __init__(self, window: int = WINDOW, late: int = LATE) -> None:
        self.window, self.lateness = window, late
        self.watermark = 0
        self.late = 0
        self.open: dict[Window, list[int]] = {}
        self.closed: dict[Window, list[int]] = {}

    def batch(self, records: Iterable[Record]) -> None:
        latest = self.watermark
        for one in records:
            second = one["timestamp"] // 1000
            start = second - second % self.window
            latest = max(latest, second - self.lateness)
            if start + self.window <= self.watermark:
                self.late += 1
                continue
            sums = self.open.setdefault((one["topic"], one["partition"], start), [0, 0])
            sums[0] += 1
            sums[1] += one["value_bytes"] + len(one["key"] or "")
        self.watermark = latest
        for place in [p for p in self.open if p[2] + self.window <= latest]:
            assert place not in self.closed, "a window closes once"
            self.closed[place] = self.open.pop(place)


def counted(records: Iterable[Record], window: int = WINDOW) -> dict[Window, list[int]]:
    """The windows of a plain count over all records."""
    sums: dict[Window, list[int]] = {}
    for one in records:
        second = one["timestamp"] // 1000
        place = (one["topic"], one["partition"], second - second % window)
        found = sums.setdefault(place, [0, 0])
        found[0] += 1
        found[1] += one["value_bytes"] + len(one["key"] or "")
    return sums


def as_windows(table: pa.Table) -> dict[Window, list[int]]:
    rows = [
        ((r["topic"], r["partition"], int(r["window_start"].timestamp())), r["records"], r["bytes"])
        for r in table.to_pylist()
    ]
    assert max(Counter(place for place, _, _ in rows).values(), default=1) == 1, "doubled"
    return {place: [records, size] for place, records, size in rows}


def written(out: Path) -> dict[Window, list[int]]:
    """The windows on disk, as any reader of Parquet sees the folder."""
    files = sorted((out / "windows").glob("*.parquet"))
    return as_windows(pa.concat_tables([pq.ParquetFile(file).read() for file in files]))


def summed(records: Sequence[Record]) -> pa.Table:
    """Records as Spark hands their sums over."""
    groups: dict[Window, list[Record]] = {}
    for one in records:
        start = one["timestamp"] // 1000 // WINDOW * WINDOW
        groups.setdefault((one["topic"], one["partition"], start), []).append(one)

    def at(seconds: float) -> datetime:
        return datetime.fromtimestamp(seconds, UTC)

    rows = [
        {
            "topic": topic,
            "partition": partition,
            "window_start": at(start),
            "records": len(own),
            "bytes": sum(one["value_bytes"] + len(one["key"] or "") for one in own),
            "null_keys": sum(one["key"] is None for one in own),
            "first": at(min(one["timestamp"] for one in own) / 1000),
            "last": at(max(one["timestamp"] for one in own) / 1000),
        }
        for (topic, partition, start), own in groups.items()
    ]
    return pa.Table.from_pylist(rows, schema=windows_room.SCHEMA)


def drawn(rng: random.Random, batches: int, each: int = 12) -> list[list[Record]]:
    """Batches of records that go forward in time, not all of them in order; they are in step with
    the windows, so that bounds are met exactly."""
    found = []
    for batch in range(batches):
        ahead = batch * rng.choice([20, 60, 200])
        found.append(
            [
                record(
                    max(0, ahead + 10 * rng.randrange(-30, 12)), rng.randrange(3), rng.randrange(9)
                )
                for _ in range(rng.randrange(each))
            ]
        )
    return found


@pytest.fixture
def cluster_file(tmp_path: Path) -> Path:
    """Partitions 0 and 1 of t are led by broker 1, partition 2 by broker 2."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster_json("1,2 1,2 2,1", "1 2")), encoding="utf-8")
    return path


# ---------------------------------------------------------------------- windows, without Spark


def test_windows_and_watermarks_are_those_of_a_plain_count() -> None:
    rng = random.Random(71)
    lates = 0
    for _ in range(60):
        plain, watermark, late = Plain(), 0, 0
        open_ = windows_room.SCHEMA.empty_table()
        closed: dict[Window, list[int]] = {}
        every = drawn(rng, rng.randrange(1, 8))
        for batch in every:
            plain.batch(batch)
            step = windows_room.advance(
                open_, summed(batch), watermark, window=WINDOW, lateness=LATE
            )
            open_, watermark, late = step.open, step.watermark, late + step.late
            closed |= as_windows(step.closed)
            assert watermark == plain.watermark * 1_000_000
        assert (closed, as_windows(open_), late) == (plain.closed, plain.open, plain.late)
        in_windows = sum(n for n, _ in [*closed.values(), *plain.open.values()])
        assert in_windows + late == sum(map(len, every)), "nothing is lost"
        lates += late
    assert lates > 30


class Fed(Batches):
    """Batches whose sums come from a test instead of Spark."""

    def _sums(self, frame: Any) -> Any:
        records, bad = frame
        rows = pa.table(
            {"source": ["s"] * bad, "row": ["x"] * bad, "reason": ["r"] * bad},
            schema=store_room.SCHEMAS["rejected"],
        )
        return summed(records), batches_room._Rejected(bad, rows)


class Killed(BaseException):
    """The process ends here."""


def fed(out: Path, cluster: Path, feed: list[Any], events: list[Any]) -> None:
    """Go on through a feed from wherever the directory is, as Spark does: each batch is noted in
    ``offsets`` before and in ``commits`` after it, and what was only handed out comes again."""
    offsets, commits = (out / "checkpoint" / name for name in ("offsets", "commits"))
    with store_room.opened(str(out), Settings("feed", WINDOW)) as store:
        for folder in (offsets, commits):
            folder.mkdir(parents=True, exist_ok=True)
        taker = Fed(None, None, store, ClusterFile(cluster), RULES, events.append, None)  # type: ignore[arg-type]
        begin = max((int(file.name) for file in offsets.iterdir()), default=0)
        for number in range(begin, len(feed)):
            (offsets / str(number)).touch()
            if not (commits / str(number)).exists():
                taker(feed[number], number)
                (out / "done").touch()
                (out / "done").replace(commits / str(number))


def tables(out: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file()
        for parts in [file.relative_to(out).parts]
        if "checkpoint" not in parts
        and file.name != "done"
        and not any(part.startswith(".") for part in parts)
    }


def test_killed_at_any_write_it_ends_with_the_same_files(
    tmp_path: Path, cluster_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends before the n-th rename, for every n, and another one goes on."""
    rng = random.Random(18)
    feed = [(batch, rng.choice([0, 0, 2])) for batch in drawn(rng, 6, each=30)]
    plain = Plain()
    for batch, _ in feed:
        plain.batch(batch)
    fed(tmp_path / "whole", cluster_file, feed, told := [])
    whole = tables(tmp_path / "whole")
    assert written(tmp_path / "whole") == plain.closed
    said = [event["event"] for event in told]
    assert {"alert", "fair"} < set(said)
    assert ["alert", "closed", "closed"] in [said[n : n + 3] for n in range(len(said))]
    assert any(name.endswith("plan.json") for name in whole)

    replace = Path.replace
    for kill_at in range(100):
        left = kill_at

        def dying(self: Path, target: Path) -> Path:
            nonlocal left
            left -= 1
            if left == -1:
                raise Killed
            return replace(self, target)

        out, events = tmp_path / f"killed-{kill_at}", []
        with store_room.opened(str(out), Settings("feed", WINDOW)):
            pass
        monkeypatch.setattr(Path, "replace", dying)
        try:
            fed(out, cluster_file, feed, events)
        except Killed:
            monkeypatch.setattr(Path, "replace", replace)
            for place, sums in written(out).items():
                assert plain.closed[place] == sums, "readable at any moment, nothing doubled"
            fed(out, cluster_file, feed, events)
        else:
            monkeypatch.setattr(Path, "replace", replace)
            break
        assert tables(out) == whole
        # said again where the kill was between the word and the commit, but never unsaid
        alerts = [event["at"] for event in events if event["event"] == "alert"]
        assert sorted(set(alerts)) == sorted(e["at"] for e in told if e["event"] == "alert")
    assert kill_at > 15, "there were so many places to end at"


# ---------------------------------------------------------------------- the directory


def test_a_directory_is_one_watchs_alone(tmp_path: Path) -> None:
    out = tmp_path / "watch"
    settings = Settings("/records", 60)
    with store_room.opened(str(out), settings) as store:
        assert store.state() == store_room.State()
        with (
            pytest.raises(PartageError, match="another partage watch is using this directory"),
            store_room.opened(str(out), settings),
        ):
            pass
    with store_room.opened(str(out), settings):
        pass  # the first has let it go
    profile = Profile.read(out)
    assert profile.totals["records"] == 0
    assert profile.hot_keys() == []


def test_a_directory_goes_on_only_as_it_began(tmp_path: Path) -> None:
    out = str(tmp_path / "watch")
    with store_room.opened(out, Settings("/records", 60)):
        pass
    check(out, Settings("/records", 60))
    with pytest.raises(InputError, match="started with records /records, not /others: name"):
        check(out, Settings("/others", 60))
    with pytest.raises(
        InputError, match="started with --window 60, not 30: name another directory"
    ):
        check(out, Settings("/records", 30))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(InputError, match=r"did not write \(no watch.json of its own\)"):
        check(str(tmp_path / "mine"), Settings("/records", 60))


def test_a_state_without_its_checkpoint_is_refused(tmp_path: Path, cluster_file: Path) -> None:
    feed = [(batch, 0) for batch in drawn(random.Random(1), 3)]
    fed(tmp_path / "watch", cluster_file, feed, [])
    checkpoint = tmp_path / "watch" / "checkpoint"
    checkpoint.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="do not match, name another directory"):
        fed(tmp_path / "watch", cluster_file, feed, [])
    shutil.rmtree(checkpoint)
    (tmp_path / "elsewhere").rename(checkpoint)
    (tmp_path / "watch" / "state.parquet").unlink()
    with pytest.raises(
        InputError, match=r"state.parquet is of batch -1, but checkpoint/ of batch 2"
    ):
        fed(tmp_path / "watch", cluster_file, feed, [])


def test_a_file_holds_an_hour_or_sixty_windows(tmp_path: Path) -> None:
    for window, span in ((60, 3600), (1, 3600), (3600, 60 * 3600)):
        seconds = range(0, 130 * 3600, 1800)
        with store_room.opened(str(tmp_path / str(window)), Settings("r", window)) as store:
            for part in (seconds[:7], seconds[7:]):
                store.add_windows(pa.concat_tables([summed([record(second)]) for second in part]))
            names = {file.stem for file in (store.path / "windows").glob("2*.parquet")}
            begins = {(NOON + second) // span * span for second in seconds}
            assert names == {
                datetime.fromtimestamp(begin, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
                for begin in begins
            }
            assert set(written(store.path)) == {("t", 0, NOON + second) for second in seconds}
            begin, end = ((NOON + hour * 3600) * 10**6 for hour in (1, 90))
            assert store.windows_between(begin, end).num_rows == 89 * 2


def test_only_the_latest_rejected_rows_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_room, "REJECTED_KEPT", 5)
    schema = store_room.SCHEMAS["rejected"]
    with store_room.opened(str(tmp_path / "watch"), Settings("/records", 60)) as store:
        for batch in range(3):
            rows = [{"source": "s", "row": f"{batch}-{i}", "reason": "r"} for i in range(2)]
            for _ in range(2):  # as after a kill
                store.add_rejected(batch, pa.Table.from_pylist(rows, schema=schema))
        kept = pq.ParquetFile(store.path / "rejected" / "part-00000.parquet").read()
        assert kept["row"].to_pylist() == ["0-1", "1-0", "1-1", "2-0", "2-1"]


# ---------------------------------------------------------------------- fairness


def test_the_busiest_broker_over_the_mean_of_the_live_ones() -> None:
    import numpy as np

    value = cluster_json("1,2 1,3 2,3 4,2 4", "1 2 3 4!")
    cluster = Cluster.from_json(value)
    found = fairness(cluster, np.array([5.0, 7.0, 2.0, 4.0, 99.0]))
    # broker 4 is dead: 2 leads t-3 in its stead, and nobody leads t-4
    assert found is not None
    assert (found.broker, found.rate, found.mean, found.value) == (1, 12.0, 6.0, 2.0)
    assert found.heaviest == (("t-1", 7.0), ("t-0", 5.0))
    assert fairness(cluster, np.zeros(5)) is None


def test_a_cluster_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster_json("1,2", "1 2")))
    file = ClusterFile(path)
    assert file.now()[0].replica_lists() == [[1, 2]]
    path.write_text(json.dumps(cluster_json("2,1 1,2", "1 2")))
    assert file.now()[0].replica_lists() == [[2, 1], [1, 2]]
    path.write_text("nonsense")
    cluster, problem = file.now()
    assert cluster.replica_lists() == [[2, 1], [1, 2]]
    assert problem is not None
    assert "neither JSON nor" in problem
    assert problem.endswith("the cluster as read before is used")
    assert file.now() == (cluster, None), "said once"


# ---------------------------------------------------------------------- on Spark


def put(folder: Path, name: str, records: Sequence[Record], *others: str) -> None:
    """Add a file to a folder as one should: moved in when it is whole."""
    new = folder / f".{name}"
    if name.endswith(".parquet"):
        schema = pa.schema(
            [("topic", pa.string()), ("key", pa.string())]
            + [(n, pa.int64()) for n in ("partition", "offset", "timestamp", "value_bytes")]
        )
        pq.write_table(pa.Table.from_pylist(list(records), schema=schema), new)
    elif name.endswith(".csv"):
        with new.open("w", newline="") as file:
            columns = sorted(record(0), reverse=len(records) % 2 == 0)
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(records)
            file.writelines(f"{line}\n" for line in others)
    else:
        lines = [*map(json.dumps, records), *others]
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    new.replace(folder / name)


@pytest.mark.spark
def test_a_growing_folder_with_late_and_bad_rows(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out = tmp_path / "records [1]", tmp_path / "watch"
    folder.mkdir()
    rng = random.Random(3)
    plain = Plain()
    batches = [
        [record(rng.randrange(0, 400), rng.randrange(3), rng.randrange(500)) for _ in range(40)],
        [record(rng.randrange(200, 700), rng.randrange(3)) for _ in range(13)],  # some too late
        [record(rng.randrange(900, 1000), rng.randrange(2)) for _ in range(20)],
    ]
    (folder / "deeper").mkdir()
    (folder / "empty.csv").touch()
    (folder / "README.txt").touch()
    for number, batch in enumerate(batches):
        if number == 1:
            put(folder / "deeper", "one.csv", batch[:10], "t,x,y")  # two headers
            put(folder, "two.csv", batch[10:13])
        else:
            put(folder, f"{number}, a b.jsonl", batch[:13], *["nonsense"] * number)
            put(folder / "deeper", f"{number}.parquet", batch[13:])
        plain.batch(batch)
        state = watch(
            spark,
            stream(str(folder)),
            str(out),
            ClusterFile(cluster_file),
            RULES,
            once=True,
            emit=lambda event: None,
        )
        assert written(out) == plain.closed
        assert as_windows(state.open) == plain.open
        assert state.late == plain.late
    assert plain.late > 0
    assert (state.rejected, state.batch) == (3, 2)
    assert state.records + state.open_records + state.late == sum(map(len, batches))
    rejected = pq.ParquetFile(out / "rejected" / "part-00000.parquet").read().to_pylist()
    assert Counter(row["reason"] for row in rejected) == {
        "line is not one JSON object": 2,
        "line does not have the header's 6 fields": 1,
    }
    assert {Path(unquote(row["source"])) for row in rejected} == {
        folder / "2, a b.jsonl",
        folder / "deeper" / "one.csv",
    }

    # the profile: the last 600 seconds of closed windows
    end = max(start for _, _, start in plain.closed) + WINDOW
    begin = max(end - RULES.over, min(start for _, _, start in plain.closed))
    rates: Counter[int] = Counter()
    for (_, partition, start), (_, size) in plain.closed.items():
        if start >= begin:
            rates[partition] += size
    profile = Profile.read(out)
    assert dict(zip(profile.partition.tolist(), profile.bytes.tolist(), strict=True)) == rates
    assert profile.bytes_per_second.tolist() == [
        rates[partition] / (end - begin) for partition in profile.partition.tolist()
    ]
    part = Period((end - 120) * 1000, end * 1000)
    sizes = [size for (_, _, start), (_, size) in plain.closed.items() if start >= end - 120]
    assert profile.over(part).bytes_per_second.sum() == pytest.approx(sum(sizes) / 120)
    about = json.loads((out / "profile.json").read_text())["watch"]
    assert (about["late"], about["rejected"]) == (plain.late, 3)


SERVICE = [sys.executable, "-m", "partage", "watch"]
QUICK = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java that starts in half the time, for runs that do not last."""


@pytest.mark.spark
def test_killed_while_files_come_nothing_is_lost_or_doubled(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out = tmp_path / "records", tmp_path / "watch"
    folder.mkdir()
    rng = random.Random(11)
    added: list[Record] = []

    def grow() -> None:
        at = len(added) * 2
        own = [record(at + rng.randrange(60), rng.randrange(3), rng.randrange(9)) for _ in range(9)]
        put(folder, f"{len(added):06}.jsonl", own)
        added.extend(own)

    def committed() -> int:
        state = out / "state.parquet"
        return state.stat().st_mtime_ns if state.exists() else 0

    options = [str(folder), "-o", str(out), "--cluster", str(cluster_file), "--every", "1"]
    for _ in range(3):
        before = committed()
        with (tmp_path / "told").open("w") as told:
            process = subprocess.Popen(
                [*SERVICE, *options, "--master", "local[2]"], stdout=told, stderr=told, env=QUICK
            )
        try:
            limit = time.monotonic() + 200
            while committed() == before:
                grow()
                assert process.poll() is None, (tmp_path / "told").read_text()
                assert time.monotonic() < limit, "no batch was taken"
                time.sleep(1)
            for _ in range(rng.randrange(1, 12)):
                grow()
                time.sleep(rng.random() / 5)
        finally:
            process.kill()
            process.wait()
    added.append(record(len(added) * 2 + 10_000))  # closes all before it
    put(folder, "last.jsonl", added[-1:])
    for _ in range(2):  # what was handed out but not done, then the rest; then nothing
        state = watch(
            spark,
            stream(str(folder)),
            str(out),
            ClusterFile(cluster_file),
            Rules(window=WINDOW, allowed_lateness=60, over=600, alert_above=9, moves=False),
            once=True,
            emit=lambda event: None,
        )
    assert (state.late, state.open_records) == (0, 1)
    assert written(out) == counted(added[:-1])
    whole = profile_tables(spark, [str(folder)], window=WINDOW)["windows"]
    assert written(out) | as_windows(state.open) == as_windows(whole)


@pytest.mark.spark
def test_a_stream_with_an_error_stops_before_the_batch_counts(
    spark: Any, tmp_path: Path, cluster_file: Path
) -> None:
    folder, out = tmp_path / "records", tmp_path / "watch"
    folder.mkdir()

    def run() -> Any:
        return watch(
            spark,
            stream(str(folder)),
            str(out),
            ClusterFile(cluster_file),
            RULES,
            once=True,
            emit=lambda event: None,
        )

    put(folder, "1.csv", [record(0)])
    (folder / "2.csv").write_text("topic,partition\nt,0\n")
    with pytest.raises(InputError, match=r"2.csv: columns missing: offset, timestamp, key"):
        run()
    assert written(out) == {}
    put(folder, "2.csv", [record(1)])
    assert run().open_records == 2


@pytest.mark.kafka
@pytest.mark.spark
def test_a_real_kafka_watched_while_records_come(
    spark: Any,
    kafka: Any,
    connector: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster_file: Path,
) -> None:
    pytest.importorskip("kafka")
    monkeypatch.setenv(CONNECTOR, str(connector))
    from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic

    servers = str(kafka.bootstrap_servers)
    admin = KafkaAdminClient(bootstrap_servers=servers)
    # these records are older than Kafka keeps any by default
    admin.create_topics([NewTopic("watched", 3, 1, topic_configs={"retention.ms": "-1"})])
    producer = KafkaProducer(bootstrap_servers=servers)
    sent: list[Record] = []

    def produce(begin: int, count: int) -> None:
        for second in range(begin, begin + count):
            one = record(second, second % 3, second % 50, topic="watched")
            sent.append(one)
            producer.send(
                "watched",
                b"x" * one["value_bytes"],
                partition=one["partition"],
                timestamp_ms=one["timestamp"],
            )
        producer.flush()

    events: list[Any] = []

    def go_on(**how: Any) -> Any:
        return watch(
            spark,
            stream(f"kafka://{servers}/watched"),
            str(tmp_path / "watch"),
            ClusterFile(cluster_file),
            RULES,
            emit=events.append,
            **how,
        )

    produce(0, 100)
    stop = threading.Event()
    thread = threading.Thread(target=go_on, kwargs={"every": 1, "stop": stop})
    thread.start()
    limit = time.monotonic() + 60
    while not any(event["event"] == "closed" for event in events):
        assert thread.is_alive()
        assert time.monotonic() < limit
        produce(len(sent), 50)
        time.sleep(0.3)
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    produce(len(sent), 200)  # nobody watches
    produce(len(sent) + 1000, 1)
    state = go_on(once=True)
    assert (state.late, state.rejected, state.open_records) == (0, 0, 1)
    assert written(tmp_path / "watch") == counted(sent[:-1])
    assert [event["event"] for event in events if event["event"] != "closed"] == [
        "trouble",
        "stopped",
        "trouble",
        "stopped",
    ]  # partitions of watched are not in the cluster file

    # what retention deletes unread is told, and no batch goes on without it
    produce(len(sent), 30)
    end = {TopicPartition("watched", partition): -1 for partition in range(3)}
    admin.delete_records(end)
    admin.close()
    produce(len(sent), 30)
    with pytest.raises(PartageError, match="next records cannot be read: a broker"):
        go_on(once=True)
    assert written(tmp_path / "watch") == counted(sent[: len(sent) - 61])


def test_spark_connect_is_refused(tmp_path: Path, cluster_file: Path) -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(PartageError, match="with Spark Connect each batch is processed on the"):
        watch(
            remote,
            stream(str(tmp_path)),
            str(tmp_path / "watch"),
            ClusterFile(cluster_file),
            RULES,
            emit=lambda event: None,
        )
    assert not (tmp_path / "watch").exists()


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("none", "none: does not exist: expected a folder to which files are added"),
        ("file.csv", "file.csv: is a file: expected a folder to which files are added"),
        ("kafka://h:1", "expected kafka://HOST:PORT/TOPIC"),
        ("kafka://h:1/t?to=3", "to: a watch has no end: leave it out"),
    ],
)
def test_streams_that_are_none(
    named: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.csv").touch()
    with pytest.raises(InputError, match=None) as raised:
        stream(named)
    assert problem in str(raised.value)


def test_a_stream_is_known_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    assert stream("a").identity == stream(os.fspath(tmp_path / "a")).identity
    assert stream("kafka://h:1/t,s").identity == stream("kafka://g:2,h:3/s,t?from=7").identity
    assert stream("kafka://h:1/t").identity != stream("kafka://h:1/s").identity
