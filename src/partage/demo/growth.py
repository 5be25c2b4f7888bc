"""A real cluster grows while it works: what ``partage demo --live`` shows, measured.

A sandbox of three brokers in two racks, topics with data, a producer that waits for all in-sync
replicas and a consumer group whose members are processes. Two brokers are added, what is to move is
planned and carried out under a throttle, and compared with the plan. Meanwhile every record that is
acknowledged or read is noted by the clients, so that a gap anywhere would be seen.

Nothing is left of it but the files in its folder: the two snapshots, the plan with its journal, and
``live.json`` with all figures, from which the page is drawn. Times in it are seconds since the
producer began its even pace.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka.admin import NewTopic

import partage
from partage.brokers.plan import Plan, plan
from partage.demo.tally import Told, accounts, each_second, longest, pauses
from partage.demo.traffic import Traffic
from partage.errors import PartageError
from partage.files import to_json, write_text
from partage.java import find_java
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take
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

FORMAT_VERSION = 1
MARKER = "live.json"
PLAN, BEFORE, AFTER = "plan", "before.json", "after.json"

ASSIGNOR = "CooperativeStickyAssignor"

_RACKS = ("a", "b")
_ADDED_RACKS = ("b", "a")
_COPIES = 3

_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
_RECORD_BYTES = 10_000

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """How much there is: the data to begin with, the pace of the traffic, the limits of the move.

    - ``topics``: partition counts by name; ``fill_bytes``: of each partition, more or less
    - ``every``: seconds from one record of a partition to the next, of ``value_bytes``
    - ``throttle``: bytes per second of each broker; ``concurrency``: as ``partage plan`` takes it
    - ``quiet``: seconds of traffic before the first and after the last change
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
class _Clock:
    """Seconds since the traffic began, and what happened when."""

    start: float = 0.0
    steps: list[dict[str, Any]] = field(default_factory=list)

    def now(self) -> float:
        return round(time.time() - self.start, 3)

    def step(self, what: str, since: float) -> None:
        self.steps.append({"what": what, "from": since, "to": self.now()})


def grow(folder: Path, size: Size | None = None, tell: Tell = lambda _: None) -> dict[str, Any]:
    """Do it all, write the files into ``folder``, which is there; gives what ``live.json`` says.

    Raises PartageError where Java is missing, a client fails, or the plan is not carried out. What
    was started is ended on every way out, also by KeyboardInterrupt.
    """
    size, began = size or Size(), time.monotonic()
    topics = dict(sorted(size.topics.items()))
    with tempfile.TemporaryDirectory(prefix="partage-") as home:
        tell(f"starting a Kafka of 3 brokers in {home}")
        with Sandbox.start(
            Path(home) / "sandbox", brokers=3, racks=_RACKS, progress=tell
        ) as sandbox:
            connection = Connection.of(sandbox.bootstrap_servers)
            _create(connection, topics)
            tell("data to begin with")
            _fill(sandbox, topics, size.fill_bytes)
            with Traffic(sandbox.bootstrap_servers, "demo", topics) as traffic:
                told = _watched(folder, size, sandbox, traffic, tell)
            tell("ending Kafka")
    told["seconds"] = round(time.monotonic() - began, 1)
    write_text(folder / MARKER, to_json(told, indent=1))
    return told


def _create(connection: Connection, topics: Mapping[str, int]) -> None:
    config = {"min.insync.replicas": str(_COPIES - 1)}
    with connection.admin() as admin:
        admin.create_topics(
            [NewTopic(name, count, _COPIES, topic_configs=config) for name, count in topics.items()]
        )


def _fill(sandbox: Sandbox, topics: Mapping[str, int], partition_bytes: int) -> None:
    """Data in each topic, by Kafka's own tool: kafka-python's checksums would take a minute."""
    java, jars = find_java("Kafka") / "bin" / "java", kafka_jars(sandbox.kafka)
    tool = [str(java), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", _PERFORMANCE]
    for topic, count in topics.items():
        records = max(count * partition_bytes // _RECORD_BYTES, 1)
        asked = f"--topic {topic} --num-records {records} --record-size {_RECORD_BYTES}"
        settings = f"bootstrap.servers={sandbox.bootstrap_servers} acks=all"
        command = [*tool, *f"{asked} --throughput -1 --producer-props {settings}".split()]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            raise PartageError(f"{topic} cannot be filled: {ended.stderr.strip()[-300:]}")


def _watched(
    folder: Path, size: Size, sandbox: Sandbox, traffic: Traffic, tell: Tell
) -> dict[str, Any]:
    """The traffic, and the growth in its middle."""
    tell(f"a group of {size.members} members")
    for number in range(size.members):
        traffic.join(f"member-{number + 1}", ASSIGNOR)
    traffic.settled()
    traffic.produce(every=size.every, value_bytes=size.value_bytes)
    clock = _Clock(time.time())
    tell("traffic before anything is done")
    _let_run(traffic, size.quiet)
    quiet_until = clock.now()

    with Connection.of(sandbox.bootstrap_servers).admin() as admin:
        before = take(admin, tell=tell)
    write_text(folder / BEFORE, to_json(before.to_json(), indent=1))
    for rack in _ADDED_RACKS:
        since = clock.now()
        tell("adding a broker")
        clock.step(f"broker {sandbox.add_broker(rack)} starts", since)
        traffic.check()
    since = clock.now()
    with Connection.of(sandbox.bootstrap_servers).admin() as admin:
        tell("planning")
        grown = take(admin, groups=False)
        made = _plan(folder, size, grown)
        clock.step("snapshot and plan", since)
        carried = _carry_out(folder, size, admin, grown, clock, tell)
        verified = verify(ExecutionPlan.read(folder / PLAN), admin)
        tell("looking at it again")
        _let_run(traffic, size.quiet)
        after = take(admin)
    write_text(folder / AFTER, to_json(after.to_json(), indent=1))
    until = clock.now()
    tell("reading what is left")
    _read_all(traffic)
    return {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "kafka": sandbox.kafka,
        "throttle": size.throttle,
        **_plan_figures(made, grown, after),
        **carried,
        "steps": clock.steps,
        "verified": {
            "state": verified["state"],
            "lists_as_planned": _lists(after) == _planned(made),
            "throttles_put_back": after.throttles == grown.throttles == before.throttles,
        },
        **_traffic_figures(size, traffic, clock.start, quiet_until, until),
    }


# ---------------------------------------------------------------------- the change


def _plan(folder: Path, size: Size, grown: Snapshot) -> Plan:
    made = plan(grown.cluster(), throttle=str(size.throttle), concurrency=size.concurrency)
    made.write(folder / PLAN)
    return made


def _carry_out(
    folder: Path, size: Size, admin: Any, grown: Snapshot, clock: _Clock, tell: Tell
) -> dict[str, Any]:
    """Apply the plan as ``partage apply`` does; what was copied when, and each wave's times."""
    execution_plan = ExecutionPlan.read(folder / PLAN)
    copied: list[tuple[float, int]] = []
    ends: dict[int, float] = {}
    whole = [0] * (len(execution_plan.waves) + 1)

    def watch(progress: ProgressUpdate) -> None:
        if progress.note:
            return
        moment = clock.now()
        ends[progress.wave] = moment
        done = progress.bytes_done if progress.moving else progress.bytes_total
        whole[progress.wave] = done
        copied.append((moment, sum(whole)))
        tell(f"wave {progress.wave} of {progress.waves}: {progress.moving} partitions to go")

    found = preflight(execution_plan, grown, throttle=size.throttle)
    if found.errors:
        raise PartageError(found.errors[0])
    began = clock.now()
    with Journal.open(execution_plan.directory) as journal:
        outcome = Executor(
            execution_plan, admin, journal, throttle=size.throttle, progress=watch
        ).run()
    _must_be_done(outcome)
    ended = clock.now()
    rows, since = [], began
    for number, wave in enumerate(execution_plan.waves, 1):
        until = ends[number]
        moves = sum(len(execution_plan.changes[key].adding) for key in wave)
        rows.append(
            {
                "partitions": len(wave),
                "moves": moves,
                "bytes": whole[number],
                "from": since,
                "to": until,
            }
        )
        clock.steps.append({"what": f"wave {number}", "from": since, "to": until})
        since = until
    return {
        "apply": {
            "from": began,
            "to": ended,
            "seconds": round(ended - began, 1),
            "bytes_copied": sum(whole),
        },
        "waves": rows,
        "copied": [[at, done] for at, done in copied],
    }


def _must_be_done(outcome: Outcome) -> None:
    if outcome.state != "done":
        first = next(iter(outcome.problems.items()), ("the plan", "was not carried out"))
        raise PartageError(f"{first[0]}: {first[1]}")


def _lists(found: Snapshot) -> dict[tuple[str, int], list[int]]:
    return {one.key: list(one.replicas) for one in found.partitions}


def _planned(made: Plan) -> dict[tuple[str, int], list[int]]:
    cluster = made.after
    names = [(cluster.topics[t], n) for t, n in zip(cluster.topic, cluster.partition, strict=True)]
    return dict(zip(names, cluster.replica_lists(), strict=True))


def _plan_figures(made: Plan, grown: Snapshot, after: Snapshot) -> dict[str, Any]:
    brokers = [broker.id for broker in grown.brokers]

    def counts(found: Snapshot, leaders: bool) -> list[int]:
        held = [
            broker
            for one in found.partitions
            for broker in ([one.leader] if leaders else one.replicas)
        ]
        return [held.count(broker) for broker in brokers]

    return {
        "plan": {
            "moves": made.moves,
            "moves_lower_bound": made.lower_bound,
            "bytes_moved": made.bytes_moved,
            "waves": len(made.waves),
        },
        "brokers": [
            {
                "id": broker.id,
                "rack": broker.rack,
                "added": number >= len(brokers) - len(_ADDED_RACKS),
            }
            for number, broker in enumerate(grown.brokers)
        ],
        "replicas": {"before": counts(grown, False), "after": counts(after, False)},
        "leaders": {"before": counts(grown, True), "after": counts(after, True)},
    }


# ---------------------------------------------------------------------- the traffic


def _let_run(traffic: Traffic, seconds: float) -> None:
    time.sleep(seconds)
    traffic.check()


def _read_all(traffic: Traffic) -> None:
    """End the producer, and let the group read what is left."""
    assert traffic.producer is not None
    traffic.producer.tell_to_end()
    traffic.producer.wait()
    sent = list(traffic.events("acknowledged"))
    traffic.until(lambda: accounts(sent, traffic.events("read")).missing == 0)


def _traffic_figures(
    size: Size, traffic: Traffic, start: float, quiet_until: float, until: float
) -> dict[str, Any]:
    sides = {"producing": "acknowledged", "consuming": "read"}
    told = {side: list(traffic.events(kind)) for side, kind in sides.items()}
    counted = accounts(told["producing"], told["consuming"])
    end = start + until

    def worst(events: Iterable[Told], since: float, to: float) -> dict[str, Any]:
        return longest(pauses(events, traffic.partitions, since, to)).to_json(start)

    return {
        "until": until,
        "members": size.members,
        "assignor": ASSIGNOR,
        "records": vars(counted),
        "every": size.every,
        "pauses": {
            side: {
                "before": worst(events, start, start + quiet_until),
                "during": worst(events, start + quiet_until, end),
            }
            for side, events in told.items()
        },
        "per_second": {side: each_second(events, start, end) for side, events in told.items()},
    }
