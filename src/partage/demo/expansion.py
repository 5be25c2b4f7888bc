"""Expand a real cluster while it works, and measure it: the run behind ``partage demo --live``.

A sandbox starts with three brokers in two racks, topics with data, a producer that waits for all
in-sync replicas, and a consumer group whose members are processes. The run adds two brokers, plans
the replica moves, applies the plan under a throttle and verifies it. The clients record every
acknowledged and received record, so that lost records and pauses become visible.

The results are files in one folder: the two snapshots, the plan with its journal, and ``live.json``
with all figures, which the page is drawn from. Its times are seconds since the producer started.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka.admin import NewTopic

import partage
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.demo import figures
from partage.demo.delivery import count_delivery
from partage.demo.status import Status
from partage.demo.traffic import Traffic
from partage.errors import PartageError
from partage.files import to_json
from partage.java import find_java
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take_snapshot
from partage.live.admin.states import Snapshot
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.executor import Executor
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.preflight import preflight
from partage.live.execution.progress import ProgressUpdate
from partage.live.execution.verify import verify
from partage.live.sandbox import Sandbox
from partage.live.sandbox.jars import kafka_jars
from partage.outputs import write_file
from partage.units import plural

FORMAT_VERSION = 1
MARKER = "live.json"
PLAN, BEFORE, AFTER = "plan", "before.json", "after.json"

ASSIGNOR = "CooperativeStickyAssignor"

_RACKS = ("a", "b")
_ADDED_RACKS = ("b", "a")
_REPLICATION_FACTOR = 3

_PRODUCER_TOOL = "org.apache.kafka.tools.ProducerPerformance"
_RECORD_BYTES = 10_000

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """The size of a run: existing data, the rate of the traffic, the limits of the moves.

    - ``topics``: partition counts by name; ``fill_bytes``: approximate bytes of each partition
    - ``every``: seconds between two records of a partition, each of ``value_bytes``
    - ``throttle``: bytes per second of each broker; ``concurrency``: as for ``partage plan``
    - ``quiet``: seconds of traffic before the first change and after the last one
    """

    topics: Mapping[str, int] = field(
        default_factory=lambda: {"clicks": 12, "orders": 8, "payments": 4}
    )
    members: int = 3
    fill_bytes: int = 4_000_000
    every: float = 0.1
    value_bytes: int = 1000
    throttle: int = 5_000_000
    concurrency: int = 4
    quiet: float = 5.0


@dataclass
class _Timeline:
    """Seconds since the traffic started, and the steps of the run."""

    start: float = 0.0
    steps: list[dict[str, Any]] = field(default_factory=list)

    def now(self) -> float:
        return round(time.time() - self.start, 3)

    def add(self, what: str, since: float, until: float | None = None) -> None:
        self.steps.append(
            {"what": what, "from": since, "to": self.now() if until is None else until}
        )


def expand(
    folder: Path,
    size: Size | None = None,
    progress: Progress = lambda _: None,
    status: Status | None = None,
) -> dict[str, Any]:
    """Run the demonstration, write its files into the existing ``folder``, and return the content
    of ``live.json``. Each step is reported to ``progress`` and is in ``status``.

    Raises PartageError if Java is missing, a client fails, or the plan cannot be applied. All
    processes are ended in any case, also on KeyboardInterrupt.
    """
    size, status, began = size or Size(), status or Status(), time.monotonic()

    def step(text: str) -> None:
        status.step = text
        progress(text)

    topics = dict(sorted(size.topics.items()))
    with tempfile.TemporaryDirectory(prefix="partage-") as home:
        step(f"starting a Kafka of 3 brokers in {home}")
        with Sandbox.start(
            Path(home) / "sandbox", brokers=3, racks=_RACKS, progress=step
        ) as sandbox:
            connection = Connection.of(sandbox.bootstrap_servers)
            _create(connection, topics)
            step("writing data")
            _fill(sandbox, topics, size.fill_bytes)
            with Traffic(sandbox.bootstrap_servers, "demo", topics) as traffic:
                status.traffic = traffic
                results = _under_traffic(folder, size, sandbox, traffic, step, status)
            status.traffic = None
            step("stopping Kafka")
    results["seconds"] = round(time.monotonic() - began, 1)
    write_file(folder / MARKER, to_json(results, indent=1), new=True)
    return results


def _create(connection: Connection, topics: Mapping[str, int]) -> None:
    config = {"min.insync.replicas": str(_REPLICATION_FACTOR - 1)}
    with connection.admin() as admin:
        admin.create_topics(
            [
                NewTopic(name, count, _REPLICATION_FACTOR, topic_configs=config)
                for name, count in topics.items()
            ]
        )


def _fill(sandbox: Sandbox, topics: Mapping[str, int], partition_bytes: int) -> None:
    """Write data to each topic with Kafka's own tool: kafka-python's checksums take a minute."""
    java, jars = find_java("Kafka") / "bin" / "java", kafka_jars(sandbox.kafka)
    tool = [str(java), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", _PRODUCER_TOOL]
    for topic, count in topics.items():
        records = max(count * partition_bytes // _RECORD_BYTES, 1)
        options = f"--topic {topic} --num-records {records} --record-size {_RECORD_BYTES}"
        settings = f"bootstrap.servers={sandbox.bootstrap_servers} acks=all"
        command = [*tool, *f"{options} --throughput -1 --producer-props {settings}".split()]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            raise PartageError(f"{topic} cannot be filled: {ended.stderr.strip()[-300:]}")


def _under_traffic(
    folder: Path,
    size: Size,
    sandbox: Sandbox,
    traffic: Traffic,
    progress: Progress,
    status: Status,
) -> dict[str, Any]:
    """Start the traffic, expand the cluster meanwhile, and collect the results."""
    progress(f"starting a group of {size.members} members")
    for number in range(size.members):
        traffic.join(f"member-{number + 1}", ASSIGNOR)
    traffic.wait_until_stable()
    traffic.produce(every=size.every, value_bytes=size.value_bytes)
    timeline = _Timeline(time.time())
    progress("traffic before the first change")
    _wait(traffic, size.quiet)
    quiet_until = timeline.now()

    with Connection.of(sandbox.bootstrap_servers).admin() as admin:
        before = take_snapshot(admin, progress=progress)
    write_file(folder / BEFORE, to_json(before.to_json(), indent=1), new=True)
    for rack in _ADDED_RACKS:
        since = timeline.now()
        progress("adding a broker")
        timeline.add(f"broker {sandbox.add_broker(rack)} starts", since)
        traffic.check()
    since = timeline.now()
    with Connection.of(sandbox.bootstrap_servers).admin() as admin:
        progress("planning")
        expanded = take_snapshot(admin, groups=False)
        made = _plan(folder, size, expanded)
        status.to_copy = made.bytes_moved or 0
        timeline.add("snapshot and plan", since)
        applied = _apply(folder, size, admin, expanded, timeline, progress, status)
        verified = verify(ExecutionPlan.read(folder / PLAN), admin)
        progress("verifying")
        _wait(traffic, size.quiet)
        after = take_snapshot(admin)
    write_file(folder / AFTER, to_json(after.to_json(), indent=1), new=True)
    until = timeline.now()
    progress("reading the remaining records")
    _read_all(traffic)
    return {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "kafka": sandbox.kafka,
        "throttle": size.throttle,
        **figures.of_plan(made, expanded, after, added=len(_ADDED_RACKS)),
        **applied,
        "steps": timeline.steps,
        "verified": {
            "state": verified["state"],
            "lists_as_planned": figures.replica_lists(after) == figures.planned_lists(made),
            "throttles_put_back": after.throttles == expanded.throttles == before.throttles,
        },
        "members": size.members,
        "assignor": ASSIGNOR,
        "every": size.every,
        **figures.of_traffic(traffic, timeline.start, quiet_until, until),
    }


def _plan(folder: Path, size: Size, expanded: Snapshot) -> Plan:
    made = plan(expanded.cluster(), throttle=str(size.throttle), concurrency=size.concurrency)
    made.write(folder / PLAN)
    return made


def _apply(
    folder: Path,
    size: Size,
    admin: Any,
    expanded: Snapshot,
    timeline: _Timeline,
    progress: Progress,
    status: Status,
) -> dict[str, Any]:
    """Apply the plan as ``partage apply`` does; returns the bytes copied over time, and the times
    of each wave."""
    execution_plan = ExecutionPlan.read(folder / PLAN)
    copied: list[tuple[float, int]] = []
    ends: dict[int, float] = {}
    bytes_of = [0] * (len(execution_plan.waves) + 1)

    def watch(state: ProgressUpdate) -> None:
        if state.note:
            return
        moment = timeline.now()
        ends[state.wave] = moment
        bytes_of[state.wave] = state.bytes_done if state.moving else state.bytes_total
        status.copied = sum(bytes_of)
        copied.append((moment, status.copied))
        progress(f"wave {state.wave} of {state.waves}, {plural(state.moving, 'partition')}")

    checked = preflight(execution_plan, expanded, throttle=size.throttle)
    if checked.errors:
        raise PartageError(checked.errors[0])
    began = timeline.now()
    with Journal.open(execution_plan.directory) as journal:
        outcome = Executor(
            execution_plan, admin, journal, throttle=size.throttle, progress=watch
        ).run()
    _check_done(outcome)
    ended = timeline.now()
    waves, since = [], began
    for number, wave in enumerate(execution_plan.waves, 1):
        until = ends[number]
        waves.append(
            {
                "partitions": len(wave),
                "moves": sum(len(execution_plan.changes[key].adding) for key in wave),
                "bytes": bytes_of[number],
                "from": since,
                "to": until,
            }
        )
        timeline.add(f"wave {number}", since, until)
        since = until
    return {
        "apply": {
            "from": began,
            "to": ended,
            "seconds": round(ended - began, 1),
            "bytes_copied": sum(bytes_of),
        },
        "waves": waves,
        "copied": [[at, done] for at, done in copied],
    }


def _check_done(outcome: Outcome) -> None:
    if outcome.state != "done":
        where, problem = next(iter(outcome.problems.items()), ("the plan", "was not applied"))
        raise PartageError(f"{where}: {problem}")


def _wait(traffic: Traffic, seconds: float) -> None:
    time.sleep(seconds)
    traffic.check()


def _read_all(traffic: Traffic) -> None:
    """Stop the producer, and wait until the group has read all of its records."""
    assert traffic.producer is not None
    traffic.producer.stop()
    traffic.producer.wait()
    sent = list(traffic.records("acknowledged"))
    traffic.wait_until(lambda: count_delivery(sent, traffic.records("read")).missing == 0)
