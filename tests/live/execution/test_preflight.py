"""Every reason not to begin, on clusters made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.errors import InputError, PartageError
from partage.live.admin.states import BrokerState, LogDir, PartitionState, Snapshot, Throttles
from partage.live.execution.job import Job, Standing
from partage.live.execution.journal import Journal
from partage.live.execution.preflight import preflight

MB = 10**6


def snapshot() -> Snapshot:
    """Brokers 1 and 2 have everything, 3 is empty."""
    disk = (LogDir("/data", 100 * MB, 20 * MB, cordoned=False),)
    brokers = tuple(BrokerState(b, None, "h", 9, alive=True, log_dirs=disk) for b in (1, 2, 3))
    partitions = tuple(
        PartitionState("t", number, (1, 2), 1, (1, 2), sizes={1: 10 * MB, 2: 9 * MB})
        for number in range(3)
    )
    return Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, partitions, Throttles())


@pytest.fixture
def job(tmp_path: Path) -> Job:
    partage.plan(snapshot().cluster(), concurrency=1).write(tmp_path / "plan")
    return Job.read(tmp_path / "plan")


def refusals(job: Job, now: Snapshot, throttle: int | None = None, ours: bool = False) -> list[str]:
    return preflight(job, now, throttle=throttle, ours=job.changes if ours else ()).refusals


def with_partition(now: Snapshot, number: int, **changed: object) -> Snapshot:
    rows = list(now.partitions)
    rows[number] = replace(rows[number], **changed)  # type: ignore[arg-type]
    return replace(now, partitions=tuple(rows))


def with_broker(now: Snapshot, number: int, **changed: object) -> Snapshot:
    rows = [replace(b, **changed) if b.id == number else b for b in now.brokers]  # type: ignore[arg-type]
    return replace(now, brokers=tuple(rows))


def test_the_plan_is_what_the_directory_says(job: Job) -> None:
    assert job.cluster_id == "id"
    assert sorted(key for wave in job.waves for key in wave) == sorted(job.changes)
    assert sum(len(change.adding) for change in job.changes.values()) == 2
    assert all(change.adding == (3,) for change in job.changes.values() if change.adding)
    assert refusals(job, snapshot()) == []
    back = job.back()
    assert back.waves == tuple(reversed(job.waves))
    assert all(back.changes[key].goal == job.changes[key].origin for key in job.changes)


def test_another_cluster(job: Job) -> None:
    other = replace(snapshot(), cluster_id="other")
    assert refusals(job, other) == ["the plan is of cluster id, this is other"]


def test_a_cluster_that_has_changed(job: Job) -> None:
    elsewhere = tuple(reversed(job.changes["t", 0].goal))
    (said,) = refusals(job, with_partition(snapshot(), 0, replicas=elsewhere))
    listed = ",".join(map(str, elsewhere))
    assert said.startswith(f"the cluster is not the plan's: t-0 is on {listed}, not 1,2")
    gone = replace(snapshot(), partitions=snapshot().partitions[1:])
    (said,) = refusals(job, gone)
    assert "t-0 is not there" in said
    begun = preflight(job, gone, throttle=None, ours=[("t", 1)])
    assert begun.refusals == []
    assert begun.remarks == ["deleted since the plan was begun: t-0 is not there"]
    new = PartitionState("new", 0, (1,), 1, (1,))
    verdict = preflight(
        job, replace(snapshot(), partitions=(new, *snapshot().partitions)), throttle=None
    )
    assert verdict.refusals == []
    assert verdict.remarks == ["topics that the plan does not know: new"]


def test_what_was_done_already_is_no_difference(job: Job) -> None:
    key, change = next((k, c) for k, c in job.changes.items() if c.adding)
    done = with_partition(snapshot(), key[1], replicas=change.goal, isr=tuple(sorted(change.goal)))
    assert refusals(job, done) == []
    assert job.standings(done.partitions)[key] is Standing.DONE


def test_reassignments_of_others(job: Job) -> None:
    foreign = with_partition(snapshot(), 1, replicas=(3, 1), adding=(3,), removing=(2,))
    (key,) = (key for key in job.changes if key[1] == 1) if ("t", 1) in job.changes else (None,)
    assert any("others are reassigning t-1" in said for said in refusals(job, foreign))
    if key is not None:  # our own, on its way back
        assert not any("others" in said for said in refusals(job, foreign, ours=True))


def test_targets_that_cannot_take_anything(job: Job) -> None:
    assert refusals(job, with_broker(snapshot(), 3, alive=False)) == [
        "broker 3 is to get replicas and does not answer"
    ]
    cordoned = (LogDir("/data", 100 * MB, 20 * MB, cordoned=True),)
    assert refusals(job, with_broker(snapshot(), 3, log_dirs=cordoned)) == [
        "broker 3 is to get replicas and is cordoned"
    ]
    without = replace(snapshot(), brokers=snapshot().brokers[:2])
    assert refusals(job, without) == ["broker 3 is not in the cluster"]


def test_what_will_be_planned_anew_may_be_dead(job: Job) -> None:
    dead = with_broker(snapshot(), 3, alive=False)
    verdict = preflight(job, dead, throttle=None, replanned=True)
    assert verdict.refusals == []
    assert verdict.remarks == ["broker 3 is to get replicas and does not answer"]


def test_partitions_that_were_added(job: Job) -> None:
    more = PartitionState("t", 3, (1, 2), 1, (1, 2))
    now = replace(snapshot(), partitions=(*snapshot().partitions, more))
    verdict = preflight(job, now, throttle=None)
    assert verdict.refusals == []
    assert verdict.remarks == ["partitions that the plan does not know: t-3"]


def test_disks(job: Job) -> None:
    tight = (LogDir("/data", 100 * MB, 20 * MB - 1, cordoned=False),)
    (said,) = refusals(job, with_broker(snapshot(), 3, log_dirs=tight))
    assert said == "wave 2 would overfill the disks of broker 3 by 1 bytes"
    unknown = (LogDir("/data", None, None, cordoned=False),)
    assert refusals(job, with_broker(snapshot(), 3, log_dirs=unknown)) == []


def test_a_throttle_below_what_comes_in(job: Job) -> None:
    rates = {key: replace(change, bytes_per_second=500.0) for key, change in job.changes.items()}
    busy = replace(job, changes=rates)
    # its leader sends 500 to the new replica, and 500 to the follower that is in sync
    assert refusals(busy, snapshot(), throttle=1001) == []
    (said,) = refusals(busy, snapshot(), throttle=1000)
    assert said == (
        "the throttle of 1,000 bytes per second is too low: in wave 1 broker 1 sends 1,000 of what "
        "comes in meanwhile"
    )


def test_a_plan_that_was_begun_is_not_replaced(job: Job) -> None:
    plan = partage.plan(snapshot().cluster())
    plan.write(job.directory)
    with Journal.open(job.directory) as journal:
        journal.write("begun")
    with pytest.raises(InputError, match=r"was carried out, and its journal\.jsonl is what"):
        plan.write(job.directory)
    assert (Path(job.directory) / "journal.jsonl").exists()


def test_a_line_that_was_cut_short_is_not_believed(job: Job) -> None:
    with Journal.open(job.directory) as journal:
        journal.write("submitted", partitions=[["t", 0]])
        with pytest.raises(PartageError, match="another partage is carrying it out"):
            Journal.open(job.directory)
    path = Path(job.directory) / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"event":"submitted","partitions":[["t"')
    with Journal.open(job.directory) as journal:
        assert journal.submitted == {("t", 0)}
        journal.write("wave done", wave=1)
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == [
        "submitted",
        "wave done",
    ]


def test_a_plan_that_was_changed_by_hand(job: Job) -> None:
    path = Path(job.directory) / "plan.json"
    path.write_text(path.read_text().replace('"rack":null', '"rack":"a"', 1))
    with pytest.raises(InputError, match="was changed since it was planned"):
        Job.read(job.directory)


def test_goals_that_were_planned_anew_are_laid_over_the_plan(job: Job) -> None:
    keys = sorted(key for key, change in job.changes.items() if change.adding)
    for number, lists in ((1, ((2, 3), (3, 2))), (2, ((1, 2), (3, 2)))):
        entries = [
            {"topic": topic, "partition": partition, "replicas": list(replicas), "wave": 1}
            for (topic, partition), replicas in zip(keys, lists, strict=True)
        ]
        value = {"version": 1, "without": [9], "partitions": entries}
        (Path(job.directory) / f"replan-{number}.json").write_text(json.dumps(value))
    again = Job.read(job.directory)
    assert keys[0] not in again.changes  # it stays where it was
    assert again.changes[keys[1]].goal == (3, 2)
    assert again.changes[keys[1]].origin == job.changes[keys[1]].origin
    assert again.waves[-1] == (keys[1],)
    assert sorted(key for wave in again.waves for key in wave) == sorted(again.changes)
    assert again.back().changes[keys[1]].goal == job.changes[keys[1]].origin
    (Path(job.directory) / "replan-2.json").write_text('{"partitions": [{}]}')
    with pytest.raises(InputError, match=r"replan-2\.json: is not what a run wrote"):
        Job.read(job.directory)


def test_what_is_no_plan(tmp_path: Path, job: Job) -> None:
    with pytest.raises(InputError, match=r"plan\.json: no such file"):
        Job.read(tmp_path)
    wave = Path(job.directory) / "waves" / "001.json"
    wave.write_text('{"version": 1, "partitions": []}')
    with pytest.raises(InputError, match="the waves are not the plan"):
        Job.read(job.directory)
