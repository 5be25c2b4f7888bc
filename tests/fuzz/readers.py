"""Every reader of partage: which file it reads, and commands that read it.

``workspace`` writes one valid file of each kind; a case damages one of them and runs a command on
it. ``test_readers.py`` holds that no reader is missing here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import partage
from partage.brokers.kept_rollback import check_rollback
from partage.testing import FakeCluster
from tests.fuzz import bounded
from tests.fuzz.mutations import damaged, table_damaged

Case = Callable[[], int]
Damage = Callable[..., bytes]

HOUR = 3_600_000_000
NOON = 1_767_268_800_000_000  # 2026-01-01T12:00Z in microseconds
LOGS = Path(__file__).parent.parent / "data" / "logs"
STORE = Path(__file__).parent.parent / "data" / "stores" / "client.p12"
GROUPS = Path(str(files("partage") / "data" / "groups"))
SCENARIOS = tuple(
    name
    for path in sorted(GROUPS.glob("*-scenario.json"))
    if (name := path.name.removesuffix("-scenario.json")) not in ("connect", "streams")
)
"""All but those that need an assignor of their own."""


@dataclass(frozen=True)
class Reader:
    """``targets``: files of the workspace, one of which is damaged; ``cases``: one of which runs.

    - ``parameters``: those of commands that name such a file, as ``name METAVAR``
    - ``modules``: where in ``partage`` such a file is opened
    - ``folder``: of the workspace, where the command runs
    - ``share``: of all cases, compared with other readers
    """

    name: str
    targets: tuple[str, ...]
    cases: tuple[Case, ...]
    modules: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    damage: Damage = damaged
    folder: str = "."
    share: int = 4


def partitions(replicas: tuple[tuple[int, ...], ...], topic: str = "t") -> list[dict[str, Any]]:
    return [
        {
            "topic": topic,
            "partition": number,
            "replicas": list(own),
            "size_bytes": 10**9 * number,
            "log_dirs": ["/a" if broker == 1 else "any" for broker in own],
        }
        for number, own in enumerate(replicas)
    ]


ROWS = ((1, 2), (2, 1), (1, 2), (2, 1), (1, 2), (2, 1))
CLUSTER = {
    "brokers": [
        {
            "id": 1,
            "rack": "a",
            "disk_bytes": 10**12,
            "capacity": 1,
            "log_dirs": [
                {"path": "/a", "disk_bytes": 10**12, "cordoned": False, "offline": None},
                {"path": "/b", "cordoned": True, "offline": "KafkaStorageError"},
            ],
        },
        {"id": 2, "rack": "b", "disk_bytes": 10**12, "capacity": 1},
        {"id": 3, "rack": "a", "disk_bytes": 10**12, "capacity": 2},
        {"id": 4, "rack": "b", "disk_bytes": 10**12, "alive": True},
    ],
    "partitions": partitions(ROWS) + partitions(((1, 2), (2, 1)), "u"),
}
DESCRIBED = (
    "Topic: t\tTopicId: kkUFvaIfTPyVfMKfQKlP7g\tPartitionCount: 6\t"
    "ReplicationFactor: 2\tConfigs: a=b\n"
    + "".join(
        f"\tTopic: t\tPartition: {n}\tLeader: {a}\tReplicas: {a},{b}\tIsr: {b},{a}\tElr: \tLast: \n"
        for n, (a, b) in enumerate(ROWS)
    )
)
LOG_DIRS = (
    "Querying brokers for log directories information\nReceived log directory\n"
    + json.dumps(
        {
            "version": 1,
            "brokers": [
                {
                    "broker": broker,
                    "logDirs": [
                        {
                            "logDir": "/d",
                            "error": None,
                            "partitions": [
                                {
                                    "partition": f"t-{n}",
                                    "size": 7 * n,
                                    "offsetLag": 0,
                                    "isFuture": False,
                                }
                                for n in range(6)
                            ],
                        }
                    ],
                }
                for broker in (1, 2)
            ],
        }
    )
)
REASSIGNMENT = {
    "version": 1,
    "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["any", "any"]}],
}
LAGS = """
Consumer group 'billing' has no active members.

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG   CONSUMER-ID  HOST  CLIENT-ID
billing         t0              0          300             320             20    a-1          /h    a
billing         t0              1          -               7               -     a-2          /h    a
two words       t0              0          1               1               0     -            -     -
"""  # noqa: E501
GROUP = {
    "topics": {"t0": 4, "t1": 2},
    "racks": {"t0": [["a"], ["b"], ["a", "b"], []], "t1": [["a"], ["b"]]},
    "weights": {"t0": [1, 2, 3, 4], "t1": [5, 6]},
    "members": [
        {"id": "A", "topics": ["t0", "t1"], "owned": [["t0", 0], ["t1", 1]], "generation": 3},
        {"id": "B", "topics": ["t0"], "rack": "b", "instance_id": "b", "priority": 10},
    ],
}
STREAMS = {
    "topics": {"a": 4, "b": 2},
    "streams": {"subtopologies": [{"topics": ["a", "b"], "stateful": True}], "standbys": 1},
    "members": [
        {"id": "A", "topics": ["a", "b"], "process": "p", "tags": {"zone": "1"}},
        {"id": "B", "topics": ["a", "b"], "process": "q", "standbys": [["a", 1]]},
    ],
}
CONNECT = {
    "topics": {},
    "connect": {"tasks": ["c-0", "c-1", "d-0"], "delay_ms": 300_000},
    "members": [{"id": "A", "topics": []}, {"id": "B", "topics": [], "left_at_ms": 5}],
}
PROPERTIES = r"""# a client
bootstrap.servers=localhost:9092
security.protocol = SASL_SSL
sasl.mechanism: SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="me" password="s3cr\"et";
ssl.truststore.type=PEM
ssl.truststore.location=truststore.pem
request.timeout.ms=30000
client.id=caf\u00e9
"""
KEYS = {
    "string": "user-1\n\ncaf\u00e9\n",
    "long": "42\n-7\n9223372036854775807\n",
    "double": "1.5e3\n-0.0\n",
    "uuid": "00000000-0000-0000-0000-000000000001\n",
    "base64": "AAEC\n/w==\n",
}
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBfDCCASGgAwIBAgIUS3brQrL2SQD3Gp8rhd287iapqAgwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHc2FuZGJveDAgFw0yNjExMjIyMTU5MjBaGA8yMTI2MTAyOTIx
NTkyMFowEjEQMA4GA1UEAwwHc2FuZGJveDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABC5RiUl8ddy4m8zAtxeA0wt6GFDe35NbRtsi4eq2ongx2GLsMqbh0P4O9sWX
QfKf52HY7seFatlUyjYX0caXzA2jUzBRMB0GA1UdDgQWBBRvX8LaXASbcglBAdxp
KpoWw2LmUDAfBgNVHSMEGDAWgBRvX8LaXASbcglBAdxpKpoWw2LmUDAPBgNVHRMB
Af8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDcjntzNMAs0jttykwdvbPUX4Xl
PRwJe14vWEYzHQr/6AIhAOPWYfpl/RU/yJjNrBndO7w7Tz++aVTVB7nGMXizJjXC
-----END CERTIFICATE-----
"""
SETTINGS = """
[plan]
leaders = "count"
add-broker = ["9:a", "10:b"]
concurrency = 3
no-moves = false
tolerance = "2%"
topics = "t|u"
[sandbox.up]
brokers = 3
"""
PROMETHEUS = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {
                "metric": {"__name__": name, "topic": "t", "partition": str(number), **more},
                "values": [[1_767_268_800 + 60 * i, str(i * 1000)] for i in range(3)],
            }
            for number in range(2)
            for name, more in (
                ("kafka_log_log_size", {"instance": "b1"}),
                ("kafka_log_log_logendoffset", {"instance": "b1"}),
                ("kafka_log_log_logstartoffset", {"instance": "b1"}),
                ("kafka_consumergroup_current_offset", {"consumergroup": "g"}),
            )
        ],
    },
}

SANDBOX = {
    "format_version": 1,
    "kafka": "4.1.0",
    "cluster_id": "abc",
    "folder": "/nowhere",
    "secure": False,
    "nodes": [
        {"id": 0, "rack": None, "port": 19090, "pid": None},
        {"id": 1, "rack": "a", "port": 19091, "pid": None},
    ],
}


# ---------------------------------------------------------------------- the workspace


def workspace(folder: Path) -> None:
    """Write a valid file of every kind."""

    def write(name: str, content: Any) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")

    write("cluster.json", CLUSTER)
    write("describe.txt", DESCRIBED)
    write("log-dirs.txt", LOG_DIRS)
    write("reassignment.json", REASSIGNMENT)
    write("generated.txt", f"Current partition replica assignment\n{json.dumps(REASSIGNMENT)}\n\n")
    with (folder / "generated.txt").open("a", encoding="utf-8") as file:
        file.write(f"Proposed partition reassignment configuration\n{json.dumps(REASSIGNMENT)}\n")
    write("lag.txt", LAGS)
    of_profile = {"topics": {"t": 2}, "members": [{"id": "a", "topics": ["t"]}]}
    groups = {"group": GROUP, "streams": STREAMS, "connect": CONNECT, "measured": of_profile}
    for name, group in groups.items():
        write(f"{name}.json", group)
    for name in SCENARIOS:
        text = (GROUPS / f"{name}-scenario.json").read_text(encoding="utf-8")
        write(f"{name}-scenario.json", text)
    for client in ("java", "kafka-python", "librdkafka"):
        for protocol in ("eager", "cooperative"):
            text = (LOGS / f"{client}-{protocol}-whole" / "c.log").read_text(encoding="utf-8")
            write(f"{client}-{protocol}.log", text)
    write("prometheus.json", PROMETHEUS)
    write("client.properties", PROPERTIES)
    write("truststore.pem", CERTIFICATE)
    shutil.copyfile(STORE, folder / "client.p12")
    for serializer, keys in KEYS.items():
        write(f"{serializer}-keys.txt", keys)
    write("project/partage.toml", SETTINGS)
    write("project/cluster.json", CLUSTER)
    write("sandbox/sandbox.json", SANDBOX)
    write("records.csv", "topic,partition,offset,timestamp,key,value_bytes\nt,0,1,2026-01-01,k,9\n")
    _write_profile(folder / "prof")
    _write_plan(folder)
    _write_watch(folder / "watch")


def _write_profile(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stamp = pa.timestamp("us", "UTC")
    two = {"topic": ["t", "t"], "partition": [0, 1]}
    times = {"first": pa.array([NOON] * 2, stamp), "last": pa.array([NOON + 9 * HOUR] * 2, stamp)}
    tables = {
        "partitions": two
        | {"records": [4, 2], "bytes": [7200, 3600], "distinct_keys": [1, 1], "null_keys": [0, 0]}
        | {"bytes_per_second": [1.0, 0.5], "peak_bytes_per_second": [1.9, 1.0]},
        "windows": two
        | {"window_start": pa.array([NOON, NOON + HOUR], stamp), "records": [3, 1]}
        | {"bytes": [6840, 360]},
        "sizes": two
        | {"samples": [2, 2], **times, "size_bytes": [1000, 1000], "peak_bytes": [1000, 1000]}
        | {"grown_bytes": [0, 100], "deleted_bytes": [0, 0]},
        "lags": {"group": ["g", "g"], **two, "samples": [2, 2], **times}
        | {"committed": [0, 0], "end_offset": [5, 9], "lag": [5, 9], "peak_lag": [5, 9]}
        | {"consumed": [0, 0], "produced": [5, 9]},
        "keys": {"topic": ["t"], "rank": [1], "key": [b"\xffk"]}
        | {"records": [3], "bytes": [9], "share": [0.5]},
    }
    for name, table in tables.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(table), folder / name / "part-0.parquet")
    totals = {"records": 6, "bytes": 10_800, "rejected": 0, "topics": 1, "partitions": 2}
    about = {"format_version": 1, "partage": "0", "sources": ["x"], "window_seconds": 3600}
    about |= {"totals": totals, "from": None, "to": None, "outside": 0, "format": "parquet"}
    (folder / "profile.json").write_text(json.dumps(about), encoding="utf-8")


def _write_plan(folder: Path) -> None:
    """``plan``: as written, with what a report may show beside it; ``run``: after a run that was
    stopped, with a replan, throttles that are saved and overrides."""
    cluster = partage.Cluster.read(folder / "cluster.json")
    written = partage.plan(cluster, concurrency=1, profile=str(folder / "prof"), leaders="rate")
    written.write(folder / "plan")
    written.write(folder / "out")
    measured = {"before": [1.0] * 4, "after": [1.0] * 4}
    (folder / "plan/measured.json").write_text(json.dumps(measured), encoding="utf-8")
    compared = {"strategies": {"exact": written.figures, "mip": {"cannot": "why"}}}
    (folder / "plan/compare.json").write_text(json.dumps(compared), encoding="utf-8")
    from partage.brokers.posing import posed
    from partage.brokers.sizing import Requirement, fewest_brokers
    from partage.brokers.solving import solve
    from partage.live.execution.overrides import Overrides
    from partage.units import Percent

    size = fewest_brokers(cluster, Requirement(Percent.of("20%"), "broker"))
    sized = solve(posed(size.cluster, size.plan_options()))
    sized.write(folder / "sized", size.files())
    run = folder / "run"
    partage.plan(_running().snapshot, concurrency=1).write(run)
    running = _running()
    running.cluster.at(30, lambda: running.cluster.stop_broker(4))
    _applied(run, running, on_broker_failure="replan")
    if not list(run.glob("replan-1.json")):
        raise AssertionError("the run did not replan")
    after = [(*key, replicas) for key, replicas in sorted(running.cluster.replicas.items())]
    (folder / "after-run.json").write_text(json.dumps(after), encoding="utf-8")
    Overrides(5_000_000, 2).write(str(run))


def _running(moved: Iterable[tuple[str, int, list[int]]] = ()) -> Any:
    """A fake cluster with the partitions of CLUSTER, some of them moved, and its snapshot."""
    keyed = {(one["topic"], one["partition"]): one["replicas"] for one in CLUSTER["partitions"]}
    keyed |= {(topic, number): replicas for topic, number, replicas in moved}
    cluster = FakeCluster(keyed, {1: "a", 2: "b", 3: "a", 4: "b"})
    snapshot = partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)
    return SimpleNamespace(cluster=cluster, snapshot=snapshot)


def _applied(directory: Path, running: Any, back: bool = False, **options: Any) -> Any:
    cluster = running.cluster

    def sleep(seconds: float) -> None:
        if cluster.now > 100_000:
            raise bounded.TooLongError("the run never ends")
        cluster.sleep(seconds)

    do = partage.rollback if back else partage.apply
    return do(
        directory, admin=cluster.admin, clock=cluster.clock, sleep=sleep, throttle="1MB", **options
    )


def _write_watch(folder: Path) -> None:
    from partage.auto_apply.ledger import Ledger, Run
    from partage.pipeline.watch import store

    settings = store.Settings("/records", 60)
    with store.opened(str(folder), settings) as opened:
        opened.commit(store.State(batch=-1, watermark=NOON, records=3))
    at = NOON // 10**6
    Ledger(folder).put(Run("one", "done", at, at + 60, 10**9, 3, 2, 1.5, 1.1))


# ---------------------------------------------------------------------- cases that are no commands


def _apply_after_a_run(back: bool) -> Case:
    """Half of the partitions are where the run has left them."""

    def call() -> None:
        after = json.loads(Path("after-run.json").read_text(encoding="utf-8"))
        _applied(Path("run"), _running(after[::2]), back)

    return bounded.function(call)


def _history_of(name: str) -> Case:
    def call() -> None:
        import pyarrow as pa
        from rich.console import Console

        from partage.consumers.history import Rejected
        from partage.consumers.history.replay import replay
        from partage.consumers.protocol import PROTOCOLS
        from partage.errors import InputError, PartageError
        from partage.pipeline.history.groups import GROUP, assemble, unpacked
        from partage.pipeline.history.lines import parse, scan
        from partage.report.history_tables import print_history, print_rejected

        raw = Path(name).read_bytes().decode("utf-8", "replace").split("\n")  # as Spark does
        lines = [line.removesuffix("\r") for line in raw]
        batch = pa.record_batch(
            {"file": [f"file:/{name}"] * len(lines), "start": [0] * len(lines), "text": lines}
        )
        tables = list(parse(scan(iter([batch])), {}))
        if not tables:
            raise InputError(name, "has no line about a consumer group")
        every = pa.Table.from_batches(tables).to_pylist()
        rejected = [
            Rejected(row["source"], row["line"], row["text"], row["reason"])
            for row in every
            if row["event"] is None
        ]
        events = sorted(
            (row for row in every if row["event"] is not None), key=lambda row: row["group"]
        )
        rows = pa.RecordBatch.from_pylist(events, schema=tables[0].schema)
        found = [row for one in assemble(iter([rows])) for row in one.to_pylist()]
        console = Console(width=100)
        for history in (unpacked(row["shown"]) for row in found if row["table"] == GROUP):
            try:
                replayed = replay(_as_spark_does(history), "cooperative-sticky", "cooperative")
            except PartageError as error:
                replayed = {"cannot": str(error)}
            json.dumps([history.to_json(), replayed], allow_nan=False)
            for by in (None, "member", "partition"):
                print_history(
                    history, {"cooperative-sticky": dict.fromkeys(PROTOCOLS, replayed)}, console, by
                )
        print_rejected(rejected, len(rejected), console)

    return bounded.function(call)


def _as_spark_does(history: Any) -> Any:
    """The scenario of a history, after a way through JSON."""
    from partage.consumers.history.replay import scenario_of, to_text
    from partage.consumers.scenario import Scenario

    return Scenario.from_json(json.loads(to_text(scenario_of(history))), "group")


def _sandbox_state() -> None:
    from partage.live.sandbox.state import State

    State.read(Path("sandbox/sandbox.json"), "sandbox/sandbox.json")


def _overrides() -> None:
    from partage.live.execution.overrides import Overrides

    Overrides(concurrency=3).write("run")


def _profile_in_python() -> None:
    from partage.measured_loads import Profile

    profile = Profile.read("prof")
    profile.hot_keys()
    profile.weights("lag")
    repr(profile), profile._repr_html_(), profile.to_pandas()


def _prometheus() -> None:
    from partage.measured_loads.prometheus import prometheus_rates

    sizes = {(one["topic"], one["partition"]): one["size_bytes"] for one in CLUSTER["partitions"]}
    found = prometheus_rates(["prometheus.json"], sizes)
    json.dumps([one.to_json() for one in found.of.values()], allow_nan=False)


def _key_store() -> None:
    from partage.live.admin.tls import ssl_context
    from partage.properties import Setting

    values = {"location": "client.p12", "password": "changeit"}
    named = {f"ssl.keystore.{name}": value for name, value in values.items()}
    ssl_context({name: Setting(f"f: {name}", value) for name, value in named.items()}, "f")


def _watch_state() -> None:
    from partage.pipeline.watch import store

    settings = store.Settings("/records", 60)
    with store.opened("watch", settings) as opened:
        state = opened.state()
        store.counts(state)
        opened.partitions()
        list(opened.windows_between(NOON, NOON + HOUR))


def _ledger() -> None:
    from partage.auto_apply.ledger import Ledger
    from partage.auto_apply.policy import Limits, bytes_left, refusal

    runs = Ledger(Path("watch")).runs
    now = datetime.fromtimestamp(NOON // 10**6 + 120, UTC)
    limits = Limits(10**12, None, None, timedelta(minutes=5), timedelta(hours=1))
    assert bytes_left(limits, runs, now) <= 10**12
    refusal(limits, runs, now, now, now)


def _csv_header() -> None:
    from partage.files import read_text
    from partage.pipeline.records import RECORDS
    from partage.pipeline.sources.csv import _names

    header = read_text("records.csv").partition("\n")[0]
    RECORDS.check_columns(_names(header, RECORDS, "records.csv"), "records.csv")


def _assign(group: str, *options: str) -> Case:
    return bounded.command("assign", group, "--json", "--assignor", *options)


def _simulations(name: str) -> tuple[Case, ...]:
    at = f"{name}-scenario.json"
    return (
        bounded.command("simulate", at, "--assignor", "cooperative-sticky"),
        bounded.command("simulate", at, "--assignor", "range", "--protocol", "eager", "--json"),
        bounded.command(
            "simulate", at, "--assignor", "sticky", "--protocol", "cooperative", "--json"
        ),
    )


command, function = bounded.command, bounded.function
_EXPLAINED = ("--explain", "t-1")
_PLAN_FILES = ("plan.json", "reassignment.json", "rollback.json", "waves/001.json")
_SERVER = ("--bootstrap-server", "localhost:9092")

READERS: tuple[Reader, ...] = (
    Reader(
        "cluster",
        ("cluster.json",),
        (
            command("plan", "cluster.json", "--json"),
            command("plan", "cluster.json", "--no-moves"),
            command("plan", "cluster.json", "--balance", "bytes", "--json", *_EXPLAINED),
            command("plan", "cluster.json", "--remove-broker", "2", "--json"),
            command("size", "cluster.json", "--json"),
        ),
        ("cluster.formats",),
        ("cluster CLUSTER", "cluster CLUSTER|GROUP", "cluster FILE"),
    ),
    Reader(
        "topics described",
        ("describe.txt",),
        (command("plan", "describe.txt", "--json", "--replication-factor", "2"),),
        ("cluster.kafka_tools",),
    ),
    Reader(
        "log dirs described",
        ("log-dirs.txt",),
        (command("plan", "cluster.json", "--json", "--no-moves", "--sizes", "log-dirs.txt"),),
        ("cluster.kafka_tools",),
        ("sizes FILE",),
    ),
    Reader(
        "reassignment",
        ("reassignment.json", "generated.txt"),
        (
            command("plan", "cluster.json", "--json", "--reassignment", "reassignment.json"),
            command("plan", "cluster.json", "--reassignment", "generated.txt", "--batch", "1"),
            command("plan", "reassignment.json", "--json"),
        ),
        ("cluster.reassignment",),
        ("reassignment FILE", "plan PLAN|FILE"),
    ),
    Reader(
        "plan directory",
        tuple(f"plan/{name}" for name in (*_PLAN_FILES, "compare.json", "measured.json")),
        (
            command("check", "plan"),
            command("check", "plan", "--json"),
            command("report", "plan", "--json"),
            command("verify", "plan", *_SERVER),
            function(lambda: partage.Plan.read("plan").to_pandas()),
        ),
        (
            "brokers.check.files",
            "brokers.check.plan_columns",
            "brokers.check.rules",
            "brokers.plan_file",
            "brokers.plan_reading",
            "cli.cluster_commands",
            "cli.live_demo",
            "live.execution.execution_plan",
        ),
        ("plan PLAN",),
        share=12,
    ),
    Reader(
        "plan directory to replace",
        tuple(f"plan/{name}" for name in _PLAN_FILES[:3]),
        (function(lambda: check_rollback("plan", partage.Cluster.read("cluster.json"))),),
        ("brokers.kept_rollback",),
    ),
    Reader(
        "size of a cluster",
        ("sized/size.json",),
        (command("check", "sized"), command("check", "sized", "--json")),
        ("brokers.check.size",),
    ),
    Reader(
        "plan directory that has begun",
        tuple(f"run/{name}" for name in (*_PLAN_FILES, "replan-1.json")),
        (
            command("check", "run"),
            command("verify", "run", "--json", *_SERVER),
            command("throttle", "run", "5MB"),
            _apply_after_a_run(back=False),
            _apply_after_a_run(back=True),
        ),
        ("live.execution.execution_plan",),
        share=6,
    ),
    Reader(
        "journal",
        ("run/journal.jsonl",),
        (
            _apply_after_a_run(back=False),
            _apply_after_a_run(back=True),
            command("throttle", "run", "5MB"),
            command("verify", "run", *_SERVER),
        ),
        ("live.execution.journal",),
        share=8,
    ),
    Reader(
        "overrides",
        ("run/overrides.json",),
        (function(_overrides), _apply_after_a_run(back=True)),
        ("live.execution.overrides",),
        share=1,
    ),
    Reader(
        "group",
        ("group.json",),
        (
            _assign("group.json", "sticky"),
            _assign("group.json", "cooperative-sticky", "--mode", "java"),
            _assign("group.json", "weighted"),
            _assign("group.json", "range"),
            _assign("group.json", "roundrobin"),
            _assign("group.json", "failover"),
            command("assign", "group.json", "--assignor", "sticky"),
        ),
        ("group.formats", "cli.group_commands"),
        ("group GROUP",),
    ),
    Reader(
        "group of Kafka Streams",
        ("streams.json",),
        (
            _assign("streams.json", "streams"),
            command("assign", "streams.json", "--assignor", "streams"),
        ),
        ("group.formats",),
    ),
    Reader(
        "group of Kafka Connect",
        ("connect.json",),
        (_assign("connect.json", "connect"),),
        ("group.formats",),
    ),
    Reader(
        "lags described",
        ("lag.txt",),
        (
            _assign("group.json", "weighted", "--lag", "lag.txt", "--group", "billing"),
            _assign("group.json", "weighted", "--lag", "lag.txt", "--group", "two words"),
        ),
        ("group.lags",),
        ("lag FILE",),
    ),
    *(
        Reader(
            f"scenario {name}",
            (f"{name}-scenario.json",),
            _simulations(name),
            ("consumers.scenario",),
            ("scenario SCENARIO",),
            share=2,
        )
        for name in SCENARIOS
    ),
    *(
        Reader(
            f"log of {client}, {protocol}",
            (f"{client}-{protocol}.log",),
            (_history_of(f"{client}-{protocol}.log"),),
            ("pipeline.history.lines",),
            ("logs LOGS...",),
            share=3,
        )
        for client in ("java", "kafka-python", "librdkafka")
        for protocol in ("eager", "cooperative")
    ),
    Reader(
        "answer of Prometheus",
        ("prometheus.json",),
        (function(_prometheus),),
        ("measured_loads.prometheus",),
        ("prometheus FILE|URL",),
    ),
    Reader(
        "client properties",
        ("client.properties", "truststore.pem"),
        (
            command("snapshot", "--command-config", "client.properties", "--json"),
            command("verify", "run", "--command-config", "client.properties"),
            command("groups", "--command-config", "client.properties"),
        ),
        ("properties", "live.admin.tls"),
        ("command_config FILE",),
    ),
    Reader("key store", ("client.p12",), (function(_key_store),), ("live.admin.key_stores",), ()),
    Reader(
        "settings",
        ("project/partage.toml",),
        (command("plan", "cluster.json", "--json"), command("check", "../plan")),
        ("cli.settings_file",),
        folder="project",
    ),
    Reader(
        "profile",
        (
            "prof/profile.json",
            *(f"prof/{name}/part-0.parquet" for name in ("partitions", "windows")),
        ),
        (
            command("plan", "cluster.json", "--profile", "prof", "--leaders", "rate", "--json"),
            command("plan", "cluster.json", "--profile", "prof", "--rate", "peak", "--no-moves"),
            command("plan", "cluster.json", "--profile", "prof", "--from", "2026-01-01T12:00"),
            function(_profile_in_python),
        ),
        ("measured_loads.files", "measured_loads.model", "measured_loads.places"),
        ("profile DIR",),
        damage=table_damaged,
    ),
    Reader(
        "samples of a profile",
        tuple(f"prof/{name}/part-0.parquet" for name in ("sizes", "lags", "keys")),
        (
            command("plan", "cluster.json", "--profile", "prof", "--horizon", "30", "--json"),
            _assign("measured.json", "weighted", "--profile", "prof", "--weight-by", "lag"),
            _assign("measured.json", "weighted", "--profile", "prof"),
            function(_profile_in_python),
        ),
        ("measured_loads.files",),
        damage=table_damaged,
    ),
    Reader(
        "state of a watch",
        ("watch/watch.json", "watch/state.json", "watch/partitions/part-00000.parquet"),
        (function(_watch_state),),
        ("pipeline.watch.folder", "pipeline.watch.store"),
        damage=table_damaged,
        share=2,
    ),
    Reader(
        "ledger of a watch",
        ("watch/applied.json",),
        (function(_ledger),),
        ("auto_apply.ledger",),
    ),
    Reader(
        "state of a sandbox",
        ("sandbox/sandbox.json",),
        (function(_sandbox_state),),
        ("live.sandbox.state",),
        ("directory FOLDER",),
        share=2,
    ),
    *(
        Reader(
            f"keys of {serializer}",
            (f"{serializer}-keys.txt",),
            (
                command(
                    *("partition", "--file", f"{serializer}-keys.txt", "--partitions", "12"),
                    *("--serializer", serializer, "--json"),
                ),
            ),
            ("cli.partition_command",),
            ("file FILE",),
            share=1,
        )
        for serializer in KEYS
    ),
    Reader(
        "directory that an output replaces",
        ("out/.partage.json", "out/plan.json", "out/waves/001.json"),
        (command("plan", "cluster.json", "-o", "out"),),
        ("outputs.checksum", "outputs.directory"),
        share=2,
    ),
    Reader(
        "header of CSV",
        ("records.csv",),
        (function(_csv_header),),
        ("pipeline.sources.csv", "pipeline.sources.columnar"),
        ("records RECORDS", "sizes FILES", "lags FILES"),
        share=2,
    ),
)


# ---------------------------------------------------------------------- running a case


@contextmanager
def no_kafka() -> Iterator[None]:
    """Commands connect to a fake cluster, which needs no time to spread its metadata."""
    from partage.live.admin import snapshot
    from partage.live.admin.connection import Connection

    @contextmanager
    def admin(self: Connection, **_: Any) -> Iterator[Any]:
        yield _running().cluster.admin

    with (
        patch.object(Connection, "admin", admin),
        patch.object(snapshot, "_METADATA_DELAY_SECONDS", 0),
    ):
        yield


def restore(folder: Path, top: str) -> None:
    """A file or folder of the workspace, as it was."""
    intact, now = folder / "intact" / top, folder / top
    if intact.is_dir():
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(intact, now)
    else:
        shutil.copyfile(intact, now)
