"""Record logs of small groups of real consumers, with what their own callbacks told:

    python tests/data/logs/record.py [NAME...]

A group is called after its client, its protocol and what happens to it (``LIVES``). Each has a
folder with a log per member and ``happened.json``: ``events`` (who was given what, gave up what or
ended, when) and ``settled`` (who had what each time the group had come to rest). The README beside
this file says which lines are left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from kafka import KafkaAdminClient  # noqa: E402
from kafka.admin import NewTopic  # noqa: E402
from tests.live.plugins.groups import Consumers, Member, wait  # noqa: E402

from partage.live.sandbox import Sandbox  # noqa: E402
from partage.live.sandbox.jars import kafka_jars  # noqa: E402

LOG4J = """<Configuration status="OFF">
  <Appenders><File name="file" fileName="${sys:log}"><PatternLayout pattern="%d %p [%c{1}] %m%n"/>
  </File></Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="file"/></Root>
    <Logger name="org.apache.kafka.clients.consumer.internals.ConsumerCoordinator" level="DEBUG"/>
  </Loggers>
</Configuration>
"""
ASSIGNORS: dict[tuple[str, str], list[Any]] = {
    ("java", "eager"): ["RangeAssignor"],
    ("java", "cooperative"): ["CooperativeStickyAssignor"],
    ("librdkafka", "eager"): ["range"],
    ("librdkafka", "cooperative"): ["cooperative-sticky"],
    ("kafka-python", "eager"): [
        ["kafka.coordinator.assignors.range", "RangePartitionAssignor", {}]
    ],
    ("kafka-python", "cooperative"): [
        ["kafka.coordinator.assignors.cooperative_sticky", "CooperativeStickyAssignor", {}]
    ],
}
LEFT_OUT = {
    "java": re.compile(r"^\s+(sasl|ssl|metrics?|share|security)\.|asynchronous auto-commit"),
    "librdkafka": re.compile(
        r"\|(DUMP\w*|CGRPOP|CGRPQUERY|CGRPMETADATA|PARTADD|PARTDEL|SRVPEND|OFFSETFETCH|INIT)\|"
    ),
    "kafka-python": re.compile(
        r"^(?!\S+ \S+ \w+ kafka\.(coordinator|consumer\.subscription_state))"
        r"|need_rejoin|offset|coordinator\.heartbeat (?!Received)"
    ),
}
"""Lines that say nothing of the group, or say it at every poll."""

Join = Callable[[str], Member]


def whole(group: Consumers, join: Join, settle: Callable[..., None]) -> None:
    """Three join one by one, the second leaves, the third crashes, the first leaves."""
    first = join("a")
    settle(6)
    second = join("b")
    settle(3, 3)
    third = join("c")
    settle(2, 2, 2)
    second.leave()
    settle(3, 3)
    third.crash()
    settle(6)
    first.leave()


def put_out(group: Consumers, join: Join, settle: Callable[..., None]) -> None:
    """The first of two stands still until it is put out, comes back, and both leave."""
    first, second = join("a"), None
    settle(6)
    second = join("b")
    settle(3, 3)
    still = [first._process.pid, *children(first._process.pid)]
    first.events.append({"at": time.time(), "kind": "frozen", "partitions": frozenset()})
    for pid in still:
        os.kill(pid, signal.SIGSTOP)
    wait(lambda: second.held == group.partitions)
    for pid in still:
        os.kill(pid, signal.SIGCONT)
    settle(3, 3)
    first.leave()
    settle(6)
    second.leave()


LIVES = {"whole": whole, "put-out": put_out}


def children(pid: int) -> list[int]:
    """A member of the Java client is a Java process of its own."""
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def record(bootstrap: str, scratch: Path, client: str, protocol: str, life: str) -> None:
    name = f"{client}-{protocol}-{life}"
    logs = scratch / name
    logs.mkdir()
    config = {"java": {"jars": str(kafka_jars())}, "librdkafka": {"debug": "cgrp"}}
    settled: list[dict[str, Any]] = []
    with Consumers(bootstrap, name, {"orders": 6}, logs) as group:

        def join(member: str) -> Member:
            if client == "java":
                log = f"-Dlog4j2.configurationFile={scratch}/log4j2.xml -Dlog={logs}/{member}.log"
                os.environ["JAVA_TOOL_OPTIONS"] = log
            kind = "confluent" if client == "librdkafka" else client
            return group.join(
                member, ASSIGNORS[client, protocol], kind, None, **config.get(client, {})
            )

        def settle(*sizes: int) -> None:
            shares = group.settle(*sizes, still=1.5)
            settled.append({who: sorted(n for _, n in held) for who, held in shares.items()})

        LIVES[life](group, join, settle)
    events = [
        {"at": e["at"], "member": m.name, "kind": e["kind"], "partitions": numbers(e)}
        for m in group.members
        for e in m.events
        if e["kind"] != "read"
    ]
    events += [{"at": m.ended_at, "member": m.name, "kind": "ended"} for m in group.members]
    target = HERE / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for at, member in enumerate(group.members):
        log = logs / (f"{member.name}.log" if client == "java" else f"{member.name}-{at}.log")
        lines = log.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not LEFT_OUT[client].search(line)]
        (target / f"{member.name}.log").write_text("\n".join(kept) + "\n", encoding="utf-8")
        print(f"{name}/{member.name}.log: {len(kept)} of {len(lines)} lines")
    text = ",\n".join(json.dumps(e) for e in sorted(events, key=lambda e: e["at"]))
    (target / "happened.json").write_text(
        f'{{"settled": {json.dumps(settled)},\n"events": [\n{text}\n]}}\n',
        encoding="utf-8",
    )


def numbers(event: dict[str, Any]) -> list[int]:
    return sorted(number for _, number in event["partitions"])


def main() -> None:
    wanted = sys.argv[1:]
    os.environ["MEMBER_LOG"] = "DEBUG"
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "log4j2.xml").write_text(LOG4J)
        with Sandbox.start(scratch / "sandbox", brokers=1) as kafka:
            admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
            admin.create_topics([NewTopic("orders", 6, 1)])
            admin.close()
            for client, protocol in ASSIGNORS:
                for life in LIVES:
                    if not wanted or f"{client}-{protocol}-{life}" in wanted:
                        record(kafka.bootstrap_servers, scratch, client, protocol, life)


if __name__ == "__main__":
    main()
