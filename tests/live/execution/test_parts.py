"""The parts of a run on their own: waves cut anew, answers in part, sizes, absences, wishes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("kafka")

from kafka import TopicPartition
from kafka import errors as kafka_errors

from partage.brokers.plan import plan
from partage.cluster import Broker, Cluster
from partage.errors import CannotError, InputError
from partage.files import parse_json, to_json
from partage.live.admin.states import BrokerState, Key, LogDir, PartitionState, Snapshot, Throttles
from partage.live.execution import asking as asks
from partage.live.execution import throttling
from partage.live.execution.absences import Absences
from partage.live.execution.asking import Asking
from partage.live.execution.course import Course
from partage.live.execution.health import behind
from partage.live.execution.job import Change, Job
from partage.live.execution.measuring import Growth, measured, needs
from partage.live.execution.recutting import recut
from partage.live.execution.replanning import plan_without
from partage.live.execution.watching import Meter, Sparing
from partage.live.execution.wishes import WISHES, Wishes, forget, wish, wished

MB = 10**6


class Clock:
    """Moves when somebody sleeps."""

    def __init__(self) -> None:
        self.moment = 0.0

    def __call__(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += seconds


def cluster(
    lists: dict[Key, tuple[int, ...]], dead: tuple[int, ...] = (), free: int | None = None
) -> Snapshot:
    """Brokers 1 to 6 and these partitions, 10 MB each, all in sync but for what is dead."""
    disk = (LogDir("/data", None, free, cordoned=False),)
    brokers = tuple(
        BrokerState(b, None, "h", 9, alive=b not in dead, log_dirs=disk) for b in range(1, 7)
    )
    states = []
    for (topic, number), replicas in sorted(lists.items()):
        isr = tuple(sorted(b for b in replicas if b not in dead))
        leader = next((b for b in replicas if b not in dead), None)
        sizes = dict.fromkeys(isr, 10 * MB)
        states.append(PartitionState(topic, number, replicas, leader, isr, sizes=sizes))
    return Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, tuple(states), Throttles())


def job_of(changes: list[Change], directory: str = "plan", **more: Any) -> Job:
    keyed = {change.key: change for change in changes}
    lists = {change.key: change.origin for change in changes}
    return Job(directory, "id", keyed, (tuple(keyed),), lists, **more)


lists_of_brokers = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)


@settings(deadline=None)
@given(
    st.lists(st.tuples(lists_of_brokers, lists_of_brokers, st.booleans()), min_size=1, max_size=25),
    st.integers(1, 4),
)
def test_waves_cut_anew_keep_the_limit_and_leave_nothing_out(
    moves: list[tuple[tuple[int, ...], tuple[int, ...], bool]], concurrency: int
) -> None:
    changes = [Change("t", n, a, b) for n, (a, b, _) in enumerate(moves) if a != b]
    if not changes:
        return
    done = {("t", n) for n, (_, _, done) in enumerate(moves) if done}
    now = cluster({c.key: c.goal if c.key in done else c.origin for c in changes})
    cut = recut(job_of(changes), now, concurrency)
    left = sorted(c.key for c in changes if c.key not in done)
    assert sorted(key for wave in cut.waves for key in wave) == left
    assert cut.concurrency == concurrency
    for wave in cut.waves:
        copied = [c for key in wave if (c := cut.changes[key]).adding]
        received = Counter(b for c in copied for b in c.adding)
        assert max(received.values(), default=0) <= concurrency
        sent = Counter(c.origin[0] for c in copied for _ in c.adding)
        for broker, count in sent.items():
            alone = sum(c.origin[0] == broker for c in copied) == 1
            assert count <= concurrency or alone


def test_waves_cut_anew_mind_the_disks() -> None:
    changes = [Change("t", n, (1,), (2,)) for n in range(3)]
    lists = {change.key: change.origin for change in changes}
    assert len(recut(job_of(changes), cluster(lists, free=40 * MB), 3).waves) == 1
    with pytest.raises(CannotError, match="broker 2: its disk"):
        recut(job_of(changes), cluster(lists, free=20 * MB), 3)


def test_a_plan_of_a_broker_that_is_gone_is_cut_too() -> None:
    changes = [Change("t", 0, (1, 2), (9, 1)), Change("t", 1, (1, 2), (2, 1))]
    now = cluster({change.key: change.origin for change in changes})
    cut = recut(job_of(changes), now, 1)
    assert sorted(key for wave in cut.waves for key in wave) == [("t", 0), ("t", 1)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"replicas": [4, 4, 4]},
            r"replicas: \[4, 4, 4\], expected a list of different broker ids",
        ),
        ({"replicas": []}, r"replicas: \[\], expected a list of different broker ids"),
        ({"replicas": [3.0, 1]}, r"replicas: \[3.0, 1\], expected a list of different broker ids"),
        ({"replicas": "31"}, "replicas: '31', expected a list of different broker ids"),
        ({"partition": True}, "partition: True, expected a whole number from 0"),
        ({"wave": None}, "wave: None, expected a whole number from 0"),
        ({"log_dirs": ["any"]}, "log_dirs: unknown key"),
        ({"partition": 1}, "the plan does not change t-1"),
    ],
    ids=str,
)
def test_what_no_run_wrote_is_not_carried_out(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """t-0 goes from 1, 2 to 2, 3; t-1 stays."""
    before = plan(
        Cluster.build(
            [Broker(b) for b in (1, 2, 3)], ["t", "t"], [0, 1], [[1, 2], [3, 1]], [-1, -1]
        ),
        reassignment={
            "version": 1,
            "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 3]}],
        },
    )
    before.write(tmp_path / "plan")
    entry = {"topic": "t", "partition": 0, "replicas": [3, 1], "wave": 1}
    path = tmp_path / "plan" / "replan-1.json"
    path.write_text(to_json({"version": 1, "without": [], "partitions": [entry]}))
    assert Job.read(tmp_path / "plan").changes["t", 0].goal == (3, 1)
    path.write_text(to_json({"version": 1, "without": [], "partitions": [entry | change]}))
    with pytest.raises(InputError, match=rf"replan-1\.json: is not what a run wrote \(.*{said}"):
        Job.read(tmp_path / "plan")


def test_what_of_a_wave_is_to_be_done() -> None:
    """Not what is done, what is gone, or what others have moved; these are refused, and say why."""
    changes = [Change("t", n, (1,), (2,)) for n in range(4)]
    course = Course(job_of(changes))
    now = cluster({("t", 0): (1,), ("t", 1): (2,), ("t", 2): (5,)})
    states = {one.key: one for one in now.partitions}
    keys = course.begin_next()
    assert (course.number, course.waves, course.later) == (1, 1, [])
    assert course.open(keys, states) == [changes[0]]
    assert course.refused == {("t", 2): "others moved it to [5]", ("t", 3): "it is gone"}
    course.refused[changes[0].key] = "no"
    assert course.open(keys, states) == []


def test_what_of_a_wave_is_to_be_waited_for() -> None:
    changes = [Change("t", n, (1,), (2,)) for n in range(4)]
    course = Course(job_of(changes))
    course.refused["t", 3] = "no"
    now = cluster({("t", 0): (1,), ("t", 1): (2,), ("t", 3): (1,)})
    assert course.under_way(changes, {one.key: one for one in now.partitions}) == [changes[0]]
    assert course.refused == {("t", 2): "it is gone", ("t", 3): "no"}


def test_only_waves_that_have_not_begun_are_cut_anew() -> None:
    changes = [Change("t", n, (1,), (2,)) for n in range(5)]
    job = job_of(changes)
    course = Course(replace(job, waves=tuple((change.key,) for change in changes)))
    assert course.begin_next() == (("t", 0),)
    course.refused["t", 4] = "no"
    lists = {change.key: change.origin for change in changes}
    with pytest.raises(CannotError, match="broker 2: its disk"):
        course.cut_anew(cluster(lists, free=20 * MB), 3)
    assert (course.concurrency, course.waves) == (3, 5)
    assert course.cut_anew(cluster(lists), 2) == 2
    assert course.waves == 3
    left = [key for wave in course.later for key in wave]
    assert sorted(left) == [("t", 1), ("t", 2), ("t", 3)]


def answering(answers: list[dict[Key, Any]], asked: list[list[Key]]) -> Any:
    """An admin client that gives these answers, one after the other."""

    def alter(wanted: dict[TopicPartition, Any]) -> dict[TopicPartition, Any]:
        asked.append([(at.topic, at.partition) for at in wanted])
        given = answers.pop(0)
        if isinstance(given, BaseException):
            raise given
        return {at: given.get((at.topic, at.partition)) for at in wanted}

    return SimpleNamespace(alter_partition_reassignments=alter)


def test_what_only_has_to_wait_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks, "REQUEST", 3)
    asked: list[list[Key]] = []
    passing, lasting = kafka_errors.NotControllerError, kafka_errors.UnknownTopicOrPartitionError
    answers: list[Any] = [
        kafka_errors.NodeNotReadyError(),
        {("t", 0): passing, ("t", 1): lasting},
        {("t", 0): passing},
        {},
        {("t", 3): kafka_errors.NoReassignmentInProgressError},
    ]
    clock = Clock()
    one = Asking(answering(answers, asked), 1.0, clock, clock.sleep)
    refused = one.reassign({("t", n): (1, 2) for n in range(4)})
    assert refused == {("t", 1): "unknown topic or partition"}
    assert [len(keys) for keys in asked] == [3, 3, 1, 1, 1]
    assert asked[2] == [("t", 0)]
    assert clock.moment == 3.0


def test_it_does_not_wait_for_ever() -> None:
    clock = Clock()

    def never(_: Any) -> Any:
        return {TopicPartition("t", 0): kafka_errors.NotControllerError}

    one = Asking(SimpleNamespace(alter_partition_reassignments=never), 1.0, clock, clock.sleep)
    assert one.reassign({("t", 0): (1,)}) == {("t", 0): "not controller"}
    assert clock.moment <= asks.PATIENCE_SECONDS + 1

    def raises() -> None:
        raise kafka_errors.NodeNotReadyError

    with pytest.raises(kafka_errors.NodeNotReadyError):
        one.patiently(raises)


def test_who_is_dead_and_who_is_only_away() -> None:
    clock = Clock()
    absences = Absences(clock)
    assert absences.look({1, 2}, [1, 2], 10.0) == (set(), set())
    clock.sleep(9.0)
    assert absences.look({1, 2}, [1], 10.0) == (set(), {2})
    clock.sleep(0.5)
    assert absences.look({1, 2}, [1], 10.0) == (set(), {2})
    clock.sleep(0.5)
    assert absences.look({1, 2}, [1], 10.0) == ({2}, set())
    assert absences.look({1}, [1], 10.0) == (set(), set())
    assert absences.look({1, 2}, [1, 2], 10.0) == (set(), set())
    clock.sleep(60.0)  # a round that took long: once missed is not dead
    assert absences.look({1, 2}, [1], 10.0) == (set(), {2})
    assert absences.look({1, 2}, [1], 10.0) == ({2}, set())


def test_growth_is_what_was_written_not_what_was_deleted() -> None:
    growth, key = Growth(), ("t", 0)
    growth.look(0.0, {1: {key: 100}})
    assert growth.rates() == {}
    growth.look(2.0, {1: {key: 300}})
    assert growth.rates() == {key: 100.0}
    growth.look(4.0, {1: {key: 50}})
    assert growth.rates() == {key: 100.0}
    growth.look(600.0, {1: {key: 50}})
    assert growth.rates()[key] < 0.01  # what was long ago counts no more


def test_needs_are_of_both_sides() -> None:
    changes = [
        Change("t", 0, (1, 2), (3, 2)),
        Change("t", 1, (2, 1), (2, 3)),
        Change("t", 2, (1,), (1,)),
    ]
    rates = {("t", 0): 10.0, ("t", 1): 5.0, ("t", 2): 99.0}
    sends, fetches = needs(changes, rates, {("t", 0): 2, ("t", 1): None})
    assert sends == {2: 10.0 * 2 + 5.0 * 2}
    assert fetches == {3: 15.0}


class Disks:
    """An admin client that tells sizes of replicas, and how often it was asked."""

    def __init__(self, sizes: dict[int, dict[Key, int]], silent: tuple[int, ...] = ()) -> None:
        self.sizes, self.silent = sizes, silent
        self.asked: list[int] = []

    def describe_log_dirs(self, partitions: dict[str, list[int]], brokers: list[int]) -> Any:
        (broker,) = brokers
        self.asked.append(broker)
        if broker in self.silent:
            raise kafka_errors.KafkaTimeoutError
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": n, "partition_size": size, "is_future_key": False}
                    for n in numbers
                    if (size := self.sizes.get(broker, {}).get((topic, n))) is not None
                ],
            }
            for topic, numbers in partitions.items()
        ]
        return [{"broker": broker, "log_dirs": [{"topics": topics}]}]


def test_only_brokers_with_something_to_receive_are_read() -> None:
    first, second = Change("t", 0, (1,), (3,)), Change("t", 1, (2,), (4,))
    now = {
        ("t", 0): PartitionState("t", 0, (3,), 1, (1,), adding=(3,), removing=(1,)),
        ("t", 1): PartitionState("t", 1, (4,), 2, (2,), adding=(4,), removing=(2,)),
    }
    clock = Clock()
    disks = Disks({1: {("t", 0): 100}, 2: {("t", 1): 50}, 3: {("t", 0): 10}}, silent=(4,))
    meter = Meter(disks, [first, second], {}, clock)
    meter.look(now, [first, second], [1, 2, 3, 4])
    assert disks.asked == [1, 2, 3, 4]
    assert (meter.done, meter.total) == (10, 150)
    clock.sleep(1.0)
    disks.sizes[3]["t", 0] = 60
    meter.look(now, [first, second], [1, 2, 3, 4])
    assert disks.asked == [1, 2, 3, 4, 1, 2, 3]  # one that did not answer is left alone
    assert meter.rate == 50.0
    assert meter.eta_seconds == pytest.approx(90 / 50)
    assert meter.copied([first, second]) == 50.0
    clock.sleep(1.0)
    meter.look(now, [second], [1, 2, 3, 4])
    assert disks.asked[7:] == [2]  # of what has arrived nobody is asked
    assert (meter.done, meter.total) == (100, 150)


def test_what_costs_is_not_done_too_often() -> None:
    clock = Clock()
    sparing = Sparing(clock)
    assert sparing.due
    clock.sleep(2.0)
    sparing.did(0.0)
    assert not sparing.due
    clock.sleep(17.9)
    assert not sparing.due
    clock.sleep(0.1)
    assert sparing.due


def test_the_plan_knows_or_it_is_measured() -> None:
    disks = Disks({1: {("t", 0): 0, ("t", 1): 0}})
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        disks.sizes[1]["t", 0] += round(500 * seconds)

    known = Change("t", 1, (1,), (2,), bytes_per_second=7.0)
    job = job_of([Change("t", 0, (1,), (2,)), known, Change("t", 2, (1, 2), (2, 1))])
    states = cluster({c.key: c.origin for c in job.changes.values()}).partitions
    found = measured(job, disks, states, clock=clock, sleep=sleep)  # type: ignore[arg-type]
    assert found.changes["t", 0].bytes_per_second == pytest.approx(500)
    assert found.changes["t", 1] is known
    assert set(disks.asked) == {1}
    assert measured(job_of([known]), disks, states) == job_of([known])  # type: ignore[arg-type]


def test_who_is_behind() -> None:
    new = PartitionState("t", 0, (1, 3), 1, (1, 2), adding=(3,), removing=(2,))
    lags = replace(new, isr=(1,))
    assert behind([new]) == []
    assert behind([lags]) == [lags]
    assert behind([lags], excused=[2]) == []
    assert behind([lags], excused=[1, 3]) == [lags]


def test_a_list_that_kafka_could_not_read_becomes_every_replica() -> None:
    change = [Change("t", n, (1, 2), (2, 3)) for n in range(4000)]
    senders, receivers = throttling._lists(change)
    assert throttling._joined(None, senders["t"]) == "*"
    assert throttling._joined("9:9", receivers["t"]).startswith("9:9,0:3,")
    assert throttling._joined("*", receivers["t"]) == "*"


def test_wishes(tmp_path: Path) -> None:
    where = str(tmp_path)
    assert wished(where) == Wishes()
    wish(where, Wishes(throttle=5))
    wish(where, Wishes(concurrency=3))
    assert wished(where) == Wishes(5, 3)
    wish(where, Wishes(throttle="auto"))
    assert wished(where) == Wishes("auto", 3)
    forget(where)
    assert wished(where) == Wishes()
    (tmp_path / WISHES).write_text("[]")
    with pytest.raises(InputError, match="is no wish"):
        wished(where)


@pytest.mark.parametrize(
    "asked",
    [
        {"throttle": "fast"},
        {"throttle": 0},
        {"throttle": True},
        {"throttle": 1.5},
        {"throttle": "5"},
        {"concurrency": "auto"},
        {"concurrency": 0},
        {"concurrency": True},
    ],
    ids=str,
)
def test_a_wish_that_is_none(tmp_path: Path, asked: dict[str, Any]) -> None:
    (tmp_path / WISHES).write_text(to_json(asked))
    where, ((name, value),) = str(tmp_path), asked.items()
    with pytest.raises(InputError, match=rf"is no wish \({name}: {value!r}\)"):
        wished(where)


def planned(
    tmp_path: Path, changes: list[Change], dead: tuple[int, ...], **more: Any
) -> Callable[[set[Key]], tuple[dict[Key, tuple[int, ...]], int]]:
    """Plans some changes anew without what is dead; gives the lists and how many move."""
    job = job_of(changes, str(tmp_path), **more)
    now = cluster({c.key: c.origin for c in changes}, dead)

    def plan(hit: set[Key]) -> tuple[dict[Key, tuple[int, ...]], int]:
        path, moves = plan_without(job, now, dead, hit, 2)
        entries = parse_json(path.read_text(), str(path))["partitions"]
        return {(e["topic"], e["partition"]): tuple(e["replicas"]) for e in entries}, moves

    return plan


def test_the_rest_of_the_plan_is_kept_and_counts(tmp_path: Path) -> None:
    changes = [
        Change("t", 0, (1, 2), (1, 3)),
        Change("t", 1, (1, 2), (4, 5)),
        Change("t", 2, (2, 1), (6, 3)),
    ]
    lists, _ = planned(tmp_path, changes, (3,))({("t", 0), ("t", 2)})
    assert set(lists) == {("t", 0), ("t", 2)}
    load = Counter(b for replicas in (*lists.values(), (4, 5)) for b in replicas)
    assert 3 not in load
    assert max(load.values()) == 2  # six replicas on five brokers
    assert min(load[b] for b in (1, 2, 4, 5, 6)) == 1


def test_brokers_that_are_to_be_empty_stay_so(tmp_path: Path) -> None:
    changes = [Change("t", n, (1,), (3,)) for n in range(4)]
    lists, moves = planned(tmp_path, changes, (3,), excluded=(1,))({c.key for c in changes})
    assert moves == 4
    assert Counter(lists.values()) == {(2,): 1, (4,): 1, (5,): 1, (6,): 1}


def test_what_cannot_be_planned_anew(tmp_path: Path) -> None:
    with pytest.raises(CannotError, match="t-0 has no live replica"):
        planned(tmp_path, [Change("t", 0, (3,), (3, 1))], (3,))({("t", 0)})
    wide = [Change("t", 0, (1,), (1, 2, 3, 4, 5, 6))]
    with pytest.raises(CannotError, match="t-0 needs 6 live brokers, 5 are"):
        planned(tmp_path, wide, (3,))({("t", 0)})
