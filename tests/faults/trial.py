"""One trial: topics, a plan for them, constant traffic, a fault, and what must hold in the end.

Everything is drawn from the seed: placement, earlier configuration, the options of the plan and of
the executor. The observer reads the original state, the plan's own reassignment file has the
target; nothing of the executor takes part in judging it.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from kafka import TopicPartition

import partage
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take_snapshot
from tests.faults.executor import Executor
from tests.faults.observer import Key, Observer, Seen
from tests.faults.proxied import CONTROLLER, Proxied
from tests.faults.traffic import Traffic
from tests.on_disk import At

MIN_INSYNC = 2
NOTICE_SECONDS = 30.0
"""A dead broker must be reported within this time."""

RECORD = 10_000
RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_THROTTLES = {"topic": LISTS, "broker": RATES}

_SETTLE_SECONDS = 20.0
_ATTEMPTS = 8


@dataclass
class Figures:
    """The figures of trials: ``counts`` are added up, ``longest`` are maxima in seconds."""

    counts: Counter[str] = field(default_factory=Counter)
    longest: dict[str, float] = field(default_factory=dict)

    def add(self, other: Figures) -> None:
        self.counts += other.counts
        for name, seconds in other.longest.items():
            self.at_most(name, seconds)

    def at_most(self, name: str, seconds: float) -> None:
        self.longest[name] = max(self.longest.get(name, 0.0), seconds)


class Trial:
    """A trial on a healthy cluster, which it leaves healthy. ``short``: with little data."""

    def __init__(self, cluster: Proxied, seed: int, folder: Path, short: bool = False) -> None:
        self.cluster, self.seed, self.rng = cluster, seed, random.Random(seed)
        self.figures = Figures()
        self.steps: list[str] = []
        self._began = time.monotonic()
        self._folder, self._plan = folder, folder / "plan"
        self._short = short
        self._records = 40 if short else self.rng.choice([40, 80, 120])
        self._observer = Observer(cluster.bootstrap_servers)
        self._faults: list[tuple[float, float]] = []
        """When the trial had a broker down or cut off: beginning and end."""

        self._deleted: set[str] = set()
        self._away: list[Path] = []
        """Log dirs that the trial has taken away."""

        self._elsewhere: set[Key] = set()
        """Partitions that another tool moved: Kafka chose their log dirs."""

        self._command = "apply"
        self._executors: list[Executor] = []

    def run(self, fault: Callable[[Trial], None]) -> Figures:
        """Run the trial. Raises AssertionError for what does not hold."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        topics = self._create()
        traffic = self._traffic = Traffic(
            self.cluster.bootstrap_servers, f"{self.seed}", {t: len(p) for t, p in topics.items()}
        )
        try:
            traffic.fill(self._records, RECORD)
            self._configure(topics)
            self._observer.watch(topics)
            self._make_plan()
            traffic.start()
            fault(self)
            traffic.stop()
            self._observer.stop()
            self._judge()
        finally:
            for executor in self._executors:
                executor.kill()
            traffic.stop()
            self._observer.stop()
            self._clean_up(topics)
        return self.figures

    # ------------------------------------------------------------------ before

    def _create(self) -> dict[str, list[list[int]]]:
        """Two topics, unevenly placed, mostly in the first log dir of each broker."""
        brokers, rng = self.cluster.ids, self.rng
        preferred = rng.sample(brokers, 3)
        made = {
            f"s{self.seed}-{name}": [
                rng.sample(preferred if rng.random() < 0.8 else brokers, 3)
                for _ in range(self.some(2, 4))
            ]
            for name in ("a", "b")
        }
        paths: dict[int, list[str]] = {broker: [] for broker in brokers}
        for broker, log_dir in self.cluster.log_dirs():
            paths[broker].append(str(log_dir))
        self.cluster.await_brokers()
        with self._observer.admin() as admin:
            # a broker remembers the log dir of a replica that it does not have yet
            for broker, own in paths.items():
                admin.alter_replica_log_dirs(
                    {
                        (topic, number, broker): own[0] if rng.random() < 0.7 else rng.choice(own)
                        for topic, lists in made.items()
                        for number, replicas in enumerate(lists)
                        if broker in replicas
                    }
                )
            admin.create_topics(
                {
                    topic: {
                        "assignments": dict(enumerate(lists)),
                        "configs": {"min.insync.replicas": str(MIN_INSYNC)},
                    }
                    for topic, lists in made.items()
                }
            )
        return made

    def _configure(self, topics: dict[str, Any]) -> None:
        """Set configurations that others own, throttles among them."""
        for topic in topics:
            settings: dict[str, str | None] = {"retention.ms": "86400000"}
            if self.rng.random() < 0.5:
                theirs = self.rng.choice(["*", f"0:{self.rng.choice(self.cluster.ids)}"])
                settings[self.rng.choice(LISTS)] = theirs
            self._observer.configure("topic", topic, settings)
        for broker in self.cluster.ids:
            if self.rng.random() < 0.3:
                rate = str(self.rng.randint(10**7, 10**9))
                self._observer.configure("broker", str(broker), {self.rng.choice(RATES): rate})
        time.sleep(0.5)  # brokers learn of it a moment later
        self._configured = self._observer.configured(topics, self.cluster.ids)

    def _make_plan(self) -> None:
        """A plan with options drawn until one changes something, and how it is to be executed."""
        rng = self.rng
        with Connection.of(self.cluster.bootstrap_servers).admin() as admin:
            cluster = take_snapshot(admin, groups=False).cluster()
        while True:
            options: dict[str, Any] = {"concurrency": 3 if self._short else rng.randint(1, 3)}
            kind = rng.choice(["balance", "topic", "remove", "more", "batch", "disks", "log dir"])
            if kind == "topic":
                options["spread"] = "topic"
            elif kind == "remove":
                options["remove_broker"] = [rng.choice(self.cluster.ids)]
            elif kind == "more":
                options["replication_factor"] = [f"s{self.seed}-a=4"]
            elif kind == "batch":
                options["batch"] = rng.randint(1, 3)
            elif kind == "disks":
                options["no_moves"] = True
            elif kind == "log dir":
                chosen = rng.choice([one for one in cluster.brokers if one.log_dirs])
                options["remove_log_dir"] = f"{chosen.id}:{rng.choice(chosen.log_dirs).path}"
            if kind == "disks" or rng.random() < 0.5:
                options["balance_disks"] = True
            plan = partage.plan(cluster, **options)
            if len(plan.changed) >= 2:
                break
        plan.write(self._plan)
        rate = self._records * RECORD // (3 if self._short else rng.choice([1, 2]))
        self._rate, self._slow = rate, self._records * RECORD // (6 if self._short else 4)
        what = f"{plan.moves} moves, {len(plan.changed)} partitions"
        self.log(f"plan: {options}, {what} at {rate:,} bytes per second")
        reassignment = _lists(self._plan / "reassignment.json")
        self._before = {one.key: one.replicas for one in self._observer.look()}
        self._dirs = {at: path for at, (path,) in self.cluster.on_disk().now.items()}
        self._named = _log_dirs(self._plan / "reassignment.json")
        inside = [at for at, path in self._named.items() if self._dirs.get(at, path) != path]
        self.figures.counts["replicas to move between log dirs"] += len(inside)
        self._after = {**self._before, **reassignment}
        self._changed = sorted(reassignment)
        self._floor = {
            key: min(len(self._before[key]), len(self._after[key])) for key in self._before
        }

    # ------------------------------------------------------------------ what a fault can do

    def log(self, what: str) -> None:
        """Record a step, to print if the trial fails."""
        self.steps.append(f"{time.monotonic() - self._began:5.1f} s  {what}")

    def some(self, least: int, most: int) -> int:
        """A random number; the least in a short trial."""
        return least if self._short else self.rng.randint(least, most)

    def begin(
        self,
        command: str = "apply",
        *options: str,
        slow: bool = False,
        plan: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Executor:
        """Start the executor; ``slow``: with a throttle at which no move ends soon; ``plan``: in
        another directory."""
        self.figures.counts["commands"] += 1
        self._command = command
        rate = ("--throttle", f"{self._slow if slow else self._rate}B")
        executor = Executor(
            command,
            plan or self._plan,
            self.cluster.bootstrap_servers,
            [*rate, *options],
            environment or {},
        )
        self._executors.append(executor)
        return executor

    def moving(self, executor: Executor) -> bool:
        """Wait until bytes are copied; returns whether it still runs."""
        while executor.runs and not any(
            line.get("moving") and line["bytes_done"] for _, line in list(executor.output)
        ):
            executor.reach_step(0)
            time.sleep(0.02)
        return executor.runs

    def kill(self, executor: Executor) -> bool:
        """kill -9 at a step of its journal, or a moment later; False if it ended before."""
        step, later = self.rng.randint(1, 8), self.rng.choice([0.0, 0.0, self.rng.random()])
        if executor.reach_step(step):
            time.sleep(later)
        if not executor.runs:
            return False
        self.log(f"{later:.2f} s after step {step}:")
        return self.kill_now(executor)

    def kill_now(self, executor: Executor) -> bool:
        """kill -9; False if it ended before."""
        if not executor.runs:
            return False
        executor.kill()
        self.log(f"{executor.command} killed")
        self.figures.counts["executor killed"] += 1
        return True

    def end(self, executor: Executor) -> None:
        """Wait until it ends by itself."""
        if executor.wait() >= 0:
            self.log(str(executor))
            self.count(executor)

    def interrupt(self, executor: Executor) -> None:
        executor.signal(signal.SIGINT)
        self.figures.counts["interrupts"] += 1

    def finish(
        self, command: str = "apply", *, environment: Mapping[str, str] | None = None
    ) -> None:
        """Repeat the command until the plan is done."""
        for _ in range(_ATTEMPTS):
            executor = self.begin(command, environment=environment)
            code = executor.wait()
            self.count(executor)
            self.log(str(executor))
            self.figures.counts["resumes"] += 1
            deleted = {name.rpartition("-")[0] for name in executor.outcome.get("problems", {})}
            if code == 0 or (deleted and deleted <= self._deleted):
                return
            time.sleep(1.0)
        raise AssertionError(f"the plan is never done: {executor}")

    def count(self, executor: Executor) -> None:
        """Count what a command that has ended reported."""
        problems = executor.outcome.get("problems", {}).values()
        self.figures.counts["moves cancelled"] += sum("does not answer" in why for why in problems)
        self.figures.counts["throttles set again"] += (
            executor.reported("removed the throttle") is not None
        )

    def busy_broker(self) -> int:
        """A broker in the target of a partition that is being reassigned, or that copies one
        between its log dirs."""
        reassigned = {b for key in self._reassigning() for b in self._after[key]}
        busy = reassigned | {at.broker for at in self.cluster.on_disk().future}
        return self.rng.choice(
            sorted(busy or {b for key in self._changed for b in self._after[key]})
        )

    def _reassigning(self) -> list[Key]:
        return [key for one in self._observer.reassigning() if (key := tuple(one)) in self._after]

    def _blocked(self, broker: int) -> list[Any]:
        """What is moving, and cannot complete without this broker."""
        copied = [at for at in self.cluster.on_disk().future if at.broker == broker]
        return [*copied, *(key for key in self._reassigning() if broker in self._after[key])]

    def broker_down(self, broker: int, how: str) -> float:
        """``killed``, ``restarted`` (stopped in order), ``stopped`` (it hangs), ``stopped by a full
        disk``, ``cut off``, or ``cut off from the executor``; returns when."""
        controls = " (the active controller)" * (self._observer.active_controller() == broker)
        at = time.monotonic()
        if how == "killed":
            self.cluster.kill_broker(broker)
        elif how == "stopped":
            self.cluster.signal_broker(broker, signal.SIGSTOP)
        elif how == "stopped by a full disk":
            self.cluster.fill_disk(broker)
            while self.cluster.is_up(broker):
                assert time.monotonic() < at + 60.0, "it goes on without writing"
                time.sleep(0.1)
        elif how == "restarted":
            self.cluster.stop_broker(broker)
        elif how == "cut off":
            self.cluster.proxies.cut(broker, lambda client: client != "observer")
        else:
            self.cluster.proxies.cut(broker, lambda client: client.startswith("partage"))
        self.log(f"broker {broker}{controls} {how}")
        self.figures.counts[f"brokers {how}"] += 1
        return at

    def log_dir_down(self) -> Callable[[], None]:
        """Take away a log dir that receives, but not the one with the broker's metadata; returns a
        function that puts it back, and restarts the broker."""
        future = self.cluster.on_disk().future.items()
        busy = {(at.broker, path) for at, paths in future for path in paths}
        reassigned = {b for key in self._reassigning() for b in self._after[key]}
        choices = [
            (broker, str(log_dir))
            for broker, log_dir in self.cluster.log_dirs()
            if log_dir.name != "data"
        ]
        at = time.monotonic()
        likely = [one for one in choices if one in busy or one[0] in reassigned] or choices
        broker, log_dir = self.rng.choice(likely)
        Path(log_dir).rename(f"{log_dir}.away")
        self._away.append(Path(log_dir))
        self.log(f"log dir {log_dir} of broker {broker} is gone")
        self.figures.counts["log dirs that failed"] += 1

        def up() -> None:
            self.cluster.kill_broker(broker)
            self._put_back()
            self.broker_up(broker, "killed", at)

        return up

    def _put_back(self) -> None:
        while self._away:
            log_dir = self._away.pop()
            Path(f"{log_dir}.away").rename(log_dir)

    def broker_up(self, broker: int, how: str, since: float) -> None:
        """Bring it back, and wait until every partition has enough replicas in sync."""
        if how in ("killed", "restarted", "stopped by a full disk"):
            self.cluster.start_broker(broker)
        elif how == "stopped":
            self.cluster.signal_broker(broker, signal.SIGCONT)
        else:
            self.cluster.proxies.restore(broker)
        self.log(f"broker {broker} is back after {time.monotonic() - since:.1f} s")
        if how != "cut off from the executor":
            self._await_in_sync(since)

    def await_report(self, executor: Executor, broker: int, since: float) -> None:
        """Wait until the executor reports that this broker does not answer, or ends without it."""
        words = f"broker {broker}"
        while executor.runs and executor.reported(words) is None:
            late = time.monotonic() - since > NOTICE_SECONDS
            if late:
                blocked = self._blocked(broker)
                assert not blocked, f"broker {broker} is not reported, of {blocked}: {executor}"
                return
            time.sleep(0.05)
        executor.read_all()
        at = executor.reported(words)
        if at is not None:
            self.figures.at_most("noticing a dead broker", at - since)
            self.figures.counts["dead brokers noticed"] += 1
            self.log(f"broker {broker} reported after {at - since:.1f} s")

    def controller_down(self) -> Callable[[], None]:
        """Kill the active controller; returns a function that brings it back."""
        active, at = self._observer.active_controller(), time.monotonic()
        self.figures.counts["controllers killed"] += 1
        if active != CONTROLLER:
            self.broker_down(active, "killed")
            return lambda: self.broker_up(active, "killed", at)
        self.log("controller killed")
        self.cluster.kill_controller()

        def up() -> None:
            self.cluster.start_controller()
            self._faults.append((at, time.monotonic() + 1.0))

        return up

    def remove_throttles(self) -> None:
        """Reset throttles to those from before the plan, as tools do that take the executor's for
        leftovers."""
        for (kind, name), own in self._configured.items():
            if name not in self._deleted:
                settings = {throttle: own.get(throttle) for throttle in _THROTTLES[kind]}
                self._observer.configure(kind, name, settings)
        self.log("throttles removed")
        self.figures.counts["throttles removed"] += 1

    def delete_topic(self) -> None:
        topic = self.rng.choice(sorted({topic for topic, _ in self._before}))
        self._traffic.forget(topic)
        self._observer.forget(topic)
        self._deleted.add(topic)
        with self._observer.admin() as admin:
            admin.delete_topics([topic])
        self.log(f"topic {topic} deleted")
        self.figures.counts["topics deleted"] += 1

    def create_topic_again(self) -> None:
        """Delete a topic and create it with the same name, other replicas and other throttles."""
        self.delete_topic()
        (topic,) = self._deleted
        lists = [self.rng.sample(self.cluster.ids, 3) for key in self._before if key[0] == topic]
        theirs = {self.rng.choice(LISTS): "*"}
        deadline = time.monotonic() + 30.0
        with self._observer.admin() as admin:
            while topic in admin.list_topics():
                assert time.monotonic() < deadline, f"{topic} is never deleted"
                time.sleep(0.1)
            admin.create_topics({topic: {"assignments": dict(enumerate(lists)), "configs": theirs}})
        self._again = topic, lists, theirs
        self.log(f"topic {topic} created again on {lists}")
        self.figures.counts["topics created again"] += 1

    def judge_created_again(self) -> None:
        """Check that the new topic has its own replicas and throttles, and is not reassigned."""
        topic, lists, theirs = self._again
        with self._observer.admin() as admin:
            (described,) = admin.describe_topics([topic])
        found = {one["partition_index"]: one["replica_nodes"] for one in described["partitions"]}
        assert found == dict(enumerate(lists)), f"{topic} was moved: {found}, not {lists}"
        configured = self._observer.configured([topic], [])["topic", topic]
        assert configured == theirs, f"settings of {topic} differ: {configured}, not {theirs}"
        assert topic not in {key[0] for key in map(tuple, self._observer.reassigning())}

    def copy_of_plan(self) -> Path:
        """The plan in another directory, as on another machine."""
        return Path(shutil.copytree(self._plan, self._folder / "copy"))

    def require_more_in_sync(self) -> None:
        """Raise min.insync.replicas to 3, as many as the partitions have."""
        for topic in sorted({topic for topic, _ in self._before}):
            self._configured["topic", topic]["min.insync.replicas"] = "3"
            self._observer.configure("topic", topic, {"min.insync.replicas": "3"})
        self.log("min.insync.replicas raised to 3")
        self.figures.counts["min.insync.replicas raised"] += 1

    def add_partitions(self) -> None:
        """Add two partitions to a topic, which are not in the plan."""
        topic = self.rng.choice(sorted({topic for topic, _ in self._before}))
        count = sum(key[0] == topic for key in self._before)
        with self._observer.admin() as admin:
            admin.create_partitions({topic: count + 2})
        self.log(f"two partitions added to {topic}")
        self.figures.counts["partitions added"] += 2

    def another_place(self) -> tuple[Key, tuple[int, ...], tuple[int, ...]]:
        """A partition, its original brokers, and three brokers outside the plan for it."""
        three = [key for key, lists in self._before.items() if len(lists) == 3]
        key = self.rng.choice([one for one in three if len(self._after[one]) == 3])
        known = {frozenset(self._before[key]), frozenset(self._after[key])}
        places = [p for p in combinations(self.cluster.ids, 3) if frozenset(p) not in known]
        return key, self._before[key], self.rng.choice(places)

    def reassign(self, key: Key, lists: tuple[int, ...]) -> None:
        """Move a partition, as another tool would; returns when no reassignment is in progress."""
        self._await_no_reassignments()
        with self._observer.admin() as admin:
            admin.alter_partition_reassignments({TopicPartition(*key): list(lists)})
        self._await_no_reassignments()
        self._elsewhere.add(key)
        self.log(f"another tool moved {key[0]}-{key[1]} to {lists}")
        self.figures.counts["moved by another tool"] += 1

    def _await_no_reassignments(self) -> None:
        deadline = time.monotonic() + 60.0
        while moving := self._observer.reassigning():
            assert time.monotonic() < deadline, f"still reassigning: {moving}"
            time.sleep(0.3)

    def _await_in_sync(self, since: float) -> None:
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            time.sleep(0.2)
            now = [one for one in self._observer.now.values() if one.key[0] not in self._deleted]
            if now and all(len(one.isr) >= MIN_INSYNC and one.leader >= 0 for one in now):
                self._faults.append((since, time.monotonic()))
                return
        raise AssertionError("partitions stay out of sync")

    # ------------------------------------------------------------------ after

    def _judge(self) -> None:
        """Check what must hold in the end, and must have held all the time."""
        wanted = self._after if self._command == "apply" else self._before
        wanted = {key: lists for key, lists in wanted.items() if key[0] not in self._deleted}
        self._judge_state(wanted)
        self._judge_log_dirs(wanted)
        self.judge_settings()
        self._judge_history(wanted)
        self._judge_records()

    def _judge_state(self, wanted: dict[Key, tuple[int, ...]]) -> None:
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            now = {one.key: one for one in self._observer.look() if one.key in wanted}
            wrong = {
                key: (now.get(key), lists)
                for key, lists in wanted.items()
                if not _in_place(now.get(key), lists, led=key in self._changed)
            }
            if not wrong and now.keys() == wanted.keys():
                break
            assert time.monotonic() < deadline, f"not on their target: {wrong}"
            time.sleep(0.2)
        moving = self._observer.reassigning()
        assert not moving, f"still reassigning: {moving}"

    def _judge_log_dirs(self, wanted: dict[Key, tuple[int, ...]]) -> None:
        """Check that every replica is in the log dir that the plan names or, where it names none or
        was rolled back, in the one where it was, and that no copy is left."""
        named = self._named if self._command == "apply" else {}
        expected = {
            at: path
            for key, lists in wanted.items()
            for broker in lists
            if (path := named.get(at := At(*key, broker), self._dirs.get(at)))
            and key not in self._elsewhere
        }
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            found = self.cluster.on_disk()
            wrong = {at: (found.now[at], p) for at, p in expected.items() if found.now[at] != [p]}
            left = {
                at: paths for at, paths in found.future.items() if at.topic not in self._deleted
            }
            if not wrong and not left:
                break
            assert time.monotonic() < deadline, f"in other log dirs: {wrong}; copies: {left}"
            time.sleep(0.2)
        self.figures.counts["replicas in their log dirs"] += len(expected)

    def judge_settings(self) -> None:
        """Check that the configuration is exactly the one from before."""
        kept = {key: own for key, own in self._configured.items() if key[1] not in self._deleted}
        topics = [name for kind, name in kept if kind == "topic"]
        deadline = time.monotonic() + _SETTLE_SECONDS / 4
        while (after := self._observer.configured(topics, self.cluster.ids)) != kept:
            assert time.monotonic() < deadline, f"settings differ: {after}, not {kept}"
            time.sleep(0.2)
        self.figures.counts["settings as before"] += sum(len(own) for own in kept.values())

    def _judge_history(self, wanted: dict[Key, tuple[int, ...]]) -> None:
        leaderless: dict[Key, float] = {}
        self.figures.counts["observations"] += len(self._observer.seen)
        for one in self._observer.seen:
            floor = self._floor.get(one.key, len(one.replicas))
            assert len(one.replicas) >= floor, f"fewer replicas than before and after: {one}"
            expected = any(began <= one.at <= ended for began, ended in self._faults)
            assert expected or len(one.isr) >= MIN_INSYNC, f"too few in sync: {one}"
            assert expected or one.leader >= 0, f"no leader: {one}"
            if one.leader >= 0:
                leaderless.pop(one.key, None)
            else:
                since = leaderless.setdefault(one.key, one.at)
                self.figures.at_most("a partition without a leader", one.at - since)

    def _judge_records(self) -> None:
        traffic = self._traffic
        assert not traffic.failed, f"not accepted: {traffic.failed[:3]}"
        found = traffic.read_back()
        for name, record in (("acknowledged", traffic.acknowledged), ("seen", traffic.consumed)):
            lost = [place for place, digest in record.items() if found.get(place) != digest]
            assert not lost, f"{len(lost)} records were {name} and are lost: {sorted(lost)[:5]}"
        there = {(topic, partition, digest) for (topic, partition, _), digest in found.items()}
        lost = traffic.somewhere - there
        assert not lost, (
            f"{len(lost)} records were acknowledged and are on no partition: {sorted(lost)[:5]}"
        )
        acknowledged = traffic.acknowledged.keys()
        self.figures.counts["records acknowledged"] += len(acknowledged) + len(traffic.somewhere)
        self.figures.counts["read back"] += len(found.keys() & acknowledged)
        self.figures.counts["read back"] += len(there & traffic.somewhere)
        self.figures.counts["read meanwhile"] += len(traffic.consumed)
        for wait in traffic.waits.values():
            self.figures.at_most("between two acknowledgements of a partition", wait)

    def _clean_up(self, topics: Sequence[str] | dict[str, Any]) -> None:
        """Leave the cluster as it was: all brokers, no topics, no configuration."""
        for broker in {one for one, log_dir in self.cluster.log_dirs() if log_dir in self._away}:
            self.cluster.kill_broker(broker)
        self._put_back()
        for broker in self.cluster.ids:
            self.cluster.proxies.restore(broker)
            if self.cluster.is_up(broker):
                self.cluster.signal_broker(broker, signal.SIGCONT)
        if not self.cluster.is_up(CONTROLLER):
            self.cluster.start_controller()
        for broker in self.cluster.ids:
            if not self.cluster.is_up(broker):
                self.cluster.start_broker(broker)
            self._observer.configure("broker", str(broker), dict.fromkeys(RATES))
        with self._observer.admin() as admin:
            left = sorted(set(topics) & set(admin.list_topics()))
            admin.delete_topics(left)
            while set(left) & set(admin.list_topics()):
                time.sleep(0.1)


def _in_place(now: Seen | None, lists: tuple[int, ...], *, led: bool) -> bool:
    return (
        now is not None
        and now.replicas == lists
        and sorted(now.isr) == sorted(lists)
        and (now.leader == lists[0] or not led)
    )


def _lists(path: Path) -> dict[Key, tuple[int, ...]]:
    """The replicas in a reassignment JSON."""
    entries = json.loads(path.read_text())["partitions"]
    return {(one["topic"], one["partition"]): tuple(one["replicas"]) for one in entries}


def _log_dirs(path: Path) -> dict[At, str]:
    """The log dirs that a reassignment JSON names."""
    return {
        At(one["topic"], one["partition"], broker): log_dir
        for one in json.loads(path.read_text())["partitions"]
        for broker, log_dir in zip(one["replicas"], one.get("log_dirs", ()), strict=False)
        if log_dir != "any"
    }
