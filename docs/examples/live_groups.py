"""Restart and kill real consumers, and compare the pauses with those that ``simulate`` predicts.

    python docs/examples/live_groups.py deploy       restart each member of a group, in several ways
    python docs/examples/live_groups.py failover     end the active member, a standby takes over
    python docs/examples/live_groups.py migrate      from range to cooperative-sticky
    python docs/examples/live_groups.py upgrade      to the consumer protocol, member by member

Each consumer and the producer is a process: kafka-python with partage's assignors or, with --client
confluent or java, consumers of librdkafka or Kafka with their own assignors and the broker's. The
producer sends a record to each partition every 0.1 s. A pause of a partition is half a second or
longer without a record that a member has processed. The events of the members form a scenario,
which is then simulated with heartbeats that start again with every assignment. There a pause is a
time without an owner.

Without --bootstrap-server it starts a sandbox and removes it. It creates a topic and deletes it.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from kafka.admin import NewTopic

from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from partage.demo.delivery import pauses
from partage.demo.traffic import PROGRAM, Client, Traffic
from partage.live import Sandbox
from partage.live.admin.connection import Connection

EVERY = 0.1
NOTICED = 0.5
"""Seconds from which a pause counts: a record arrives every 0.1 s, and a poll takes time."""


INITIAL_DELAY = 0.5
"""Seconds that the simulated group waits for its first members, which all join at the start."""
SETTLING = 20.0
"""Seconds that a simulated group of the consumer protocol has before the events: its members share
the partitions only with their next heartbeats."""


@dataclass(frozen=True)
class Way:
    """How to run a group: the class of its assignor, its name for ``simulate``, and whether the
    members are static."""

    name: str
    assignor: str
    simulated: str
    protocol: str | None
    static: bool = False
    program: tuple[str, ...] = PROGRAM


COOPERATIVE = ("CooperativeStickyAssignor", "cooperative-sticky", "cooperative")
THEIRS = ("cooperative-sticky", "cooperative-sticky", "cooperative")
BROKERS = ("uniform", "uniform", "consumer")
CONFLUENT = (str(Path(__file__).with_name("confluent_member.py")),)
JAVA = (str(Path(__file__).with_name("java_member.py")),)


def ways_of(program: tuple[str, ...]) -> tuple[Way, ...]:
    """The ways of a client that comes with Kafka's assignors and the consumer protocol."""
    return (
        Way("range, eager", "range", "range", "eager", program=program),
        Way("cooperative-sticky", *THEIRS, program=program),
        Way("cooperative-sticky, static", *THEIRS, static=True, program=program),
        Way("consumer", *BROKERS, program=program),
        Way("consumer, static", *BROKERS, static=True, program=program),
    )


DEPLOYS = {
    "kafka-python": (
        Way("sticky, eager", "StickyAssignor", "sticky", "eager"),
        Way("cooperative-sticky", *COOPERATIVE),
        Way("cooperative-sticky, static", *COOPERATIVE, static=True),
    ),
    "confluent": ways_of(CONFLUENT),
    "java": ways_of(JAVA),
}
"""By client: kafka-python with partage's assignors; librdkafka, and Kafka's own in Java, with their
assignors or the broker's."""

UPGRADES = {
    "confluent": (Way("range to consumer", "range", "range", None, program=CONFLUENT),),
    "java": (
        Way("range to consumer", "range", "range", None, program=JAVA),
        Way("cooperative-sticky to consumer", *THEIRS[:2], None, program=JAVA),
    ),
}
"""By client: groups of the classic protocol whose members restart with the consumer protocol. The
broker does not convert librdkafka's with cooperative-sticky."""

FAILOVER = Way("failover", "FailoverAssignor", "failover", "eager")
MIGRATION = (
    "RangeAssignor",
    "CooperativeStickyAssignor,RangeAssignor",
    "CooperativeStickyAssignor",
)
"""The assignors at the start, and after each of two rolling restarts."""


@dataclass(frozen=True)
class Settings:
    """The group's size, and its heartbeat interval and session timeout in seconds."""

    members: int = 3
    partitions: int = 12
    heartbeat: float = 3.0
    session: float = 45.0


@dataclass(frozen=True)
class Result:
    """The pauses of each partition in seconds, measured and simulated; ``scenario``: the events
    as ``partage simulate`` takes them."""

    name: str
    measured: dict[str, list[float]]
    simulated: dict[str, list[float]]
    scenario: dict[str, Any]


@dataclass(frozen=True)
class Migration:
    """A group that changes its assignors in rolling restarts.

    - ``revoked``: by step, how many partitions the members revoked that went on, measured and
      simulated
    - ``rejected``: the error of a member that skips a step, measured and simulated
    """

    result: Result
    revoked: list[tuple[int, int]]
    rejected: tuple[str, str]


def longest(found: dict[str, list[float]]) -> float:
    """The longest pause."""
    return max((seconds for pauses in found.values() for seconds in pauses), default=0.0)


def total(found: dict[str, list[float]]) -> float:
    """The sum of all pauses of all partitions: partition-seconds."""
    return sum(map(sum, found.values()))


class Group:
    """A running group, and the scenario of its events."""

    def __init__(self, traffic: Traffic, way: Way, settings: Settings) -> None:
        self.traffic, self.way, self.settings = traffic, way, settings
        self._start = self._since = time.time()
        self._first: list[Client] = []
        self._specs: dict[Client, dict[str, Any]] = {}
        self._killed: set[Client] = set()

    def join(self, name: str, priority: int | None = None, assignor: str = "") -> Client:
        """Start a member, without waiting until it has joined. ``assignor``: not that of the
        way."""
        known = {
            "session_timeout_ms": self.settings.session,
            "heartbeat_interval_ms": self.settings.heartbeat,
        }
        config: dict[str, Any] = {key: round(1000 * seconds) for key, seconds in known.items()}
        if self.way.static:
            config["group_instance_id"] = name
        options = {} if priority is None else {"priority": priority}
        assignor = assignor or self.way.assignor
        mixed, consumer = self.way.protocol is None, assignor == BROKERS[0]
        client = self.traffic.join(name, assignor, options, self.way.program, **config)
        self._specs[client] = {
            "id": f"{name}.{len(self._specs)}",
            "instance_id": name if self.way.static else None,
            "priority": priority,
            "assignors": assignor.split(",") if mixed and not consumer else None,
            "config": {"group.protocol": "consumer"} if mixed and consumer else None,
            "client": "librdkafka" if self.way.program == CONFLUENT else None,
        }
        return client

    def begin(self) -> None:
        """Start the producer and the measurement; the scenario starts with the last assignment, as
        the heartbeats do."""
        self._first = list(self.traffic.members)
        events = (event for member in self._first for event in list(member.events))
        assigned = max(event["at"] for event in events if event["kind"] == "assigned")
        self._start = assigned - (SETTLING if self.way.protocol == "consumer" else INITIAL_DELAY)
        self.traffic.produce(every=EVERY)
        self._since = time.time()

    def end(self, client: Client, kill: bool = False) -> None:
        """Close it, or kill it."""
        if kill:
            self._killed.add(client)
            client.kill()
        else:
            client.stop()
            client.wait()

    def restart(self, client: Client, assignor: str = "") -> Client:
        """Close it, start it again, and wait until the group is stable."""
        self.end(client)
        again = self.join(client.name, assignor=assignor)
        self.traffic.wait_until(lambda: bool(again.owned))
        self.traffic.wait_until_stable()
        return again

    def reject(self, assignor: str) -> str:
        """Start a member that the group rejects, wait until it has ended, and return its error."""
        client = self.join("rejected", assignor=assignor)
        self.traffic.members.remove(client)
        client.wait()
        client.ended = time.time()
        return client.failed or "none"

    def since_start(self) -> float:
        """Seconds since the start of the scenario."""
        return time.time() - self._start

    def revoked(self, since: float, until: float) -> int:
        """How many partitions members revoked between two times of the scenario, without those
        that were closing."""
        return sum(
            len(event["partitions"])
            for client in self._specs
            for event in client.events
            if event["kind"] == "revoked"
            and since <= event["at"] - self._start < until
            and (client.ended is None or event["at"] < client.ended)
        )

    def result(self, name: str) -> Result:
        """All pauses until now, measured and simulated."""
        until = time.time()
        found = pauses(self.traffic.records("read"), self.traffic.partitions, self._since, until)
        scenario = self._scenario(until)
        return Result(
            name,
            {
                name: [round(one.seconds, 2) for one in ones if one.seconds >= NOTICED]
                for name, ones in found.items()
            },
            self._simulated(scenario, self._since - self._start),
            scenario,
        )

    def _scenario(self, until: float) -> dict[str, Any]:
        """The events as ``partage simulate`` takes them."""
        members = []
        for client, spec in self._specs.items():
            joined = self._start if client in self._first else client.joined
            assert joined is not None
            member = {
                **{key: value for key, value in spec.items() if value is not None},
                "topics": sorted(self.traffic.topics),
                "joins_at": round(joined - self._start, 2),
            }
            if client.ended is not None:
                how = "crashes_at" if client in self._killed else "leaves_at"
                member[how] = round(client.ended - self._start, 2)
            members.append(member)
        return {
            "topics": self.traffic.topics,
            "produce": dict.fromkeys(self.traffic.topics, 1 / EVERY),
            "members": members,
            "session_timeout": self.settings.session,
            "heartbeat_interval": self.settings.heartbeat,
            "initial_delay": INITIAL_DELAY,
            "in_step": True,
            "until": round(until - self._start, 2),
        }

    def _simulated(self, scenario: dict[str, Any], since: float) -> dict[str, list[float]]:
        found = simulate(Scenario.from_json(scenario), self.way.simulated, self.way.protocol)
        without: dict[str, list[float]] = {}
        for name in sorted(self.traffic.partitions):
            spans = [one for one in found.spans if "{}-{}".format(*one.partition) == name]
            owned = [(one.start, one.end) for one in spans if one.end > since]
            ends = [(since, since), *owned, (scenario["until"], scenario["until"])]
            gaps = (later[0] - earlier[1] for earlier, later in pairwise(ends))
            without[name] = [round(gap, 2) for gap in gaps if gap > 0.005]
        return without


@contextmanager
def group(servers: str, way: Way, settings: Settings) -> Iterator[Group]:
    """A group without members on a new topic, which is deleted at the end."""
    topic = f"partage-{time.time_ns()}"
    with Connection.of(servers).admin() as admin, ExitStack() as stack:
        copies = min(3, len(admin.describe_cluster()["brokers"]))
        admin.create_topics([NewTopic(topic, settings.partitions, copies)])
        stack.callback(admin.delete_topics, [topic])
        traffic = stack.enter_context(Traffic(servers, topic, {topic: settings.partitions}))
        yield Group(traffic, way, settings)


def deploy(servers: str, way: Way, settings: Settings, assignor: str = "") -> Result:
    """Restart every member, one after the other. ``assignor``: with another one."""
    with group(servers, way, settings) as running:
        members = [running.join(f"member-{n + 1}") for n in range(settings.members)]
        running.traffic.wait_until(lambda: all(member.owned for member in members))
        running.traffic.wait_until_stable()
        running.begin()
        for member in members:
            running.restart(member, assignor)
        return running.result(way.name)


def upgrade(servers: str, way: Way, settings: Settings) -> Result:
    """Restart every member with the consumer protocol: the broker converts the group."""
    return deploy(servers, way, settings, BROKERS[0])


def failover(servers: str, kill: bool, settings: Settings) -> Result:
    """End the active member while a standby with lower priority waits."""
    with group(servers, FAILOVER, settings) as running:
        active = running.join("active", priority=10)
        running.traffic.wait_until_stable()
        standby = running.join("standby", priority=1)
        running.traffic.wait_until(lambda: standby.joined is not None)
        running.traffic.wait_until_stable(settings.heartbeat + 1)
        running.begin()
        running.end(active, kill)
        running.traffic.wait_until(
            lambda: standby.owned == running.traffic.partitions, settings.session + 60
        )
        time.sleep(1.0)
        return running.result("the active member is " + ("killed" if kill else "closed"))


def migrate(servers: str, settings: Settings) -> Migration:
    """Change the assignors of a group in two rolling restarts, after a member that skips a step."""
    way = Way("migration", MIGRATION[0], MIGRATION[0], None)
    with group(servers, way, settings) as running:
        members = [running.join(f"member-{n + 1}") for n in range(settings.members)]
        running.traffic.wait_until(lambda: all(member.owned for member in members))
        running.traffic.wait_until_stable()
        running.begin()
        rejected = running.reject(MIGRATION[-1])
        times = []
        for assignor in MIGRATION[1:]:
            times.append(running.since_start())
            members = [running.restart(member, assignor) for member in members]
        times.append(running.since_start())
        measured = [running.revoked(*step) for step in pairwise(times)]
        result = running.result("migration")
    found = simulate(Scenario.from_json(result.scenario))
    simulated = [
        sum(
            len(call.partitions)
            for at, member, call in found.callbacks
            if call.kind == "revoked"
            and since <= at < until
            and at < (found.members[member].leaves_at or until)
        )
        for since, until in pairwise(times)
    ]
    (why,) = found.refused.values()
    return Migration(result, list(zip(measured, simulated, strict=True)), (rejected, why))


def show_migration(found: Migration) -> None:
    """Print what members revoked in each rolling restart, and the pauses of both."""
    for assignor, (measured, simulated) in zip(MIGRATION[1:], found.revoked, strict=True):
        print(f"{assignor:42}revoked: measured {measured}, simulated {simulated}")
    print(f"{MIGRATION[-1]} at once: {found.rejected[0]}")
    show([found.result])


def show(results: list[Result]) -> None:
    """Print a table: the longest pause of any partition, and the sum of all pauses."""
    print(f"{'':32}{'longest pause':>24}{'partition-seconds':>26}")
    print(f"{'':32}{'measured':>12}{'simulated':>12}{'measured':>14}{'simulated':>12}")
    for one in results:
        figures = [how(side) for how in (longest, total) for side in (one.measured, one.simulated)]
        print("{:32}{:10.1f} s{:10.1f} s{:14.0f}{:12.0f}".format(one.name, *figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["deploy", "failover", "migrate", "upgrade"])
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT")
    parser.add_argument("--client", choices=list(DEPLOYS), default="kafka-python")
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--heartbeat", type=float, default=3.0, metavar="SECONDS")
    parser.add_argument("--session", type=float, default=45.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="pauses of each partition, scenarios")
    arguments = parser.parse_args()
    settings = Settings(
        arguments.members, arguments.partitions, arguments.heartbeat, arguments.session
    )
    with ExitStack() as stack:
        servers = arguments.bootstrap_server
        if servers is None:
            home = stack.enter_context(tempfile.TemporaryDirectory())
            servers = stack.enter_context(Sandbox.start(f"{home}/sandbox")).bootstrap_servers
        if arguments.what == "migrate":
            migration = migrate(servers, settings)
            show_migration(migration)
            return
        if arguments.what == "deploy":
            results = [deploy(servers, way, settings) for way in DEPLOYS[arguments.client]]
        elif arguments.what == "upgrade":
            ways = UPGRADES.get(arguments.client)
            if ways is None:
                parser.error("upgrade needs --client confluent or java")
            results = [upgrade(servers, way, settings) for way in ways]
        else:
            results = [failover(servers, kill, settings) for kill in (False, True)]
    if arguments.json:
        print(json.dumps([vars(one) for one in results], indent=1))
    else:
        show(results)


if __name__ == "__main__":
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    main()
