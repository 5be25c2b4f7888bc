"""size, as a user types it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

import partage
from partage.live.admin.connection import Connection

Run = Callable[..., Any]


@pytest.fixture
def group(tmp_path: Path) -> str:
    """Three members; together they process 100 a second."""
    value = {
        "topics": {"t": 4},
        "weights": {"t": [40, 30, 20, 10]},
        "members": [
            {"id": "a", "topics": ["t"], "owned": [["t", 0]], "generation": 1},
            {"id": "b", "topics": ["t"], "owned": [["t", 1]], "generation": 1},
            {"id": "c", "topics": ["t"], "owned": [["t", 2], ["t", 3]], "generation": 1},
        ],
    }
    (tmp_path / "group.json").write_text(json.dumps(value))
    return "group.json"


def test_members_and_moves(run: Run, group: str) -> None:
    ended = run("size", group, "--member-rate", "70", "--headroom", "20%")
    assert (ended.code, ended.err) == (0, "")
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert lines[-3:-1] == [
        "2 members for 100, at 70.0 each with 20% headroom; today 3",
        "Fewer are proven not to suffice. 2 partitions moved (proven minimum).",
    ]
    assert lines[-1].startswith("Not needed: ")
    assert "member partitions load of its rate" in lines
    found = run("size", group, "--member-rate", "70", "--headroom", "20%", "--json").json
    assert (found["members"], found["lower_bound"], found["proven"]) == (2, 2, True)
    assert (found["today"], found["moves"], found["moves_lower_bound"]) == (3, 2, 2)
    assert max(found["loads"].values()) <= found["capacity"] == 56
    assert (found["member_rate"], found["headroom"], found["unit"]) == (70, 0.2, "")


def test_more_members(run: Run, group: str) -> None:
    found = run("size", group, "--member-rate", "40", "--headroom", "0%", "--json").json
    assert (found["members"], found["moves"]) == (3, 0)
    found = run("size", group, "--member-rate", "50", "--json").json
    assert (found["members"], sum(found["loads"].values())) == (3, 100)


def write_profile(folder: Path, rates: list[float], peaks: list[float]) -> str:
    """A profile of the partitions of ``t``."""
    count = len(rates)
    table = {"topic": ["t"] * count, "partition": list(range(count)), "records": [1] * count}
    table |= {"bytes": [9] * count, "bytes_per_second": rates, "peak_bytes_per_second": peaks}
    table |= {"distinct_keys": [1] * count, "null_keys": [0] * count}
    (folder / "prof/partitions").mkdir(parents=True)
    pq.write_table(pa.table(table), folder / "prof/partitions/part-0.parquet")
    totals = {"records": count, "bytes": 9 * count, "rejected": 0, "topics": 1, "partitions": count}
    about = {"format_version": 1, "sources": ["x"], "window_seconds": 60, "totals": totals}
    (folder / "prof/profile.json").write_text(json.dumps(about))
    return "prof"


def test_a_profile(run: Run, group: str, tmp_path: Path) -> None:
    """Bytes per second of its partitions."""
    write_profile(tmp_path, [4e6, 3e6, 2e6, 1e6], [8e6, 3e6, 2e6, 1e6])
    words = ("size", group, "--profile", "prof", "--member-rate", "10MB")
    ended = run(*words)
    assert "\n2 members for 10.0 MB/s, at 10.0 MB/s each with 20% headroom; today 3\n" in ended.out
    peak = run(*words, "--rate", "peak", "--json").json
    assert (peak["members"], peak["unit"], peak["capacity"]) == (2, "bytes", 8e6)
    assert sorted(peak["loads"].values()) == [6e6, 8e6]


def write_day(folder: Path, rates: list[list[int]]) -> str:
    """A profile with these bytes per second of each partition by hour, of records of 1 kB."""
    write_profile(folder, [0.0] * len(rates[0]), [0.0] * len(rates[0]))
    rows = [(h, p, rate * 3600) for h, row in enumerate(rates) for p, rate in enumerate(row)]
    hours, partitions, sizes = (list(column) for column in zip(*rows, strict=True))
    start = [1_795_478_400_000 + 3_600_000 * h for h in hours]
    table = {"topic": ["t"] * len(rows), "partition": partitions}
    table |= {"window_start": pa.array(start, pa.timestamp("ms", "UTC"))}
    table |= {"records": [size // 1000 for size in sizes], "bytes": sizes}
    (folder / "prof/windows").mkdir()
    pq.write_table(pa.table(table), folder / "prof/windows/part-0.parquet")
    parts = folder / "prof/partitions/part-0.parquet"
    total = [sum(size for _, p, size in rows if p == n) for n in range(len(rates[0]))]
    columns = pq.read_table(parts).to_pydict()
    columns |= {"bytes": total, "records": [size // 1000 for size in total]}
    pq.write_table(pa.table(columns), parts)
    about = json.loads((folder / "prof/profile.json").read_text())
    (folder / "prof/profile.json").write_text(json.dumps(about | {"window_seconds": 3600}))
    return "prof"


def test_a_schedule(run: Run, group: str, tmp_path: Path) -> None:
    write_day(tmp_path, [[10_000] * 4] * 2 + [[60_000] * 4] * 3 + [[10_000] * 4] * 2)
    words = ("size", group, "--profile", "prof", "--member-rate", "100kB", "--schedule")
    ended = run(*words, "--report", "size.html")
    assert (ended.code, ended.err) == (0, "")
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert lines[-2:] == [
        "1–4 members at 100 kB/s each with 20% headroom: 16.0 member-hours with 2 rebalances; "
        "today 3",
        "No schedule costs less, where a rebalance counts as 1.00 member-hours: proven.",
    ]
    assert "2026-11-24T02:00Z 2026-11-24T05:00Z 4 240 kB/s 75%" in lines
    assert "member-hours 16.0 28.0" in " ".join(lines)
    page = (tmp_path / "size.html").read_text()
    assert "Members over time" in page
    found = run(*words, "--json").json
    assert [(one["members"], one["lower_bound"]) for one in found["schedule"]] == [
        (1, 1),
        (4, 4),
        (1, 1),
    ]
    assert (found["rebalances"], found["member_hours"], found["proven"]) == (2, 16, True)
    assert (found["cost"], found["cost_lower_bound"], found["capacity"]) == (18, 18, 80_000)
    assert found["lag_scaler"]["threshold"] == 200  # what 80 records a second show in 2.5 s
    played = found["played"]
    assert played.keys() == {"schedule", "constant", "lag_scaler"}
    assert (played["schedule"]["changes"], played["constant"]["changes"]) == (2, 0)
    assert (played["constant"]["worst_lag"], played["constant"]["member_hours"]) == (0, 28)
    assert played["lag_scaler"]["worst_lag"] > played["schedule"]["worst_lag"] > 0


@pytest.mark.long
def test_other_schedules(run: Run, group: str, tmp_path: Path) -> None:
    write_day(tmp_path, [[10_000] * 4] * 2 + [[60_000] * 4] * 3 + [[10_000] * 4] * 2)
    words = ("size", group, "--profile", "prof", "--member-rate", "100kB", "--schedule")
    dear = run(*words, "--rebalance-price", "9", "--json").json
    assert (dear["rebalances"], dear["member_hours"]) == (0, 28)
    part = run(*words, "--from", "2026-11-24T02:00", "--to", "2026-11-24T06:00", "--json").json
    assert [one["members"] for one in part["schedule"]] == [4, 1]
    by_count = run(*words, "--assignor", "range", "--lag-threshold", "9", "--json").json
    assert (by_count["assignor"], by_count["lag_scaler"]["threshold"]) == ("range", 9)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--schedule",), "--schedule: is for groups: add --member-rate"),
        (("--member-rate", "9", "--schedule"), "--schedule: needs the windows of measured loads: "),
        (("--member-rate", "9", "--assignor", "range"), "--assignor: needs --schedule"),
        (("--member-rate", "9", "--rebalance-price", "2"), "--rebalance-price: needs --schedule"),
        (("--member-rate", "9", "--lag-threshold", "2"), "--lag-threshold: needs --schedule"),
        (
            ("--member-rate", "9", "--schedule", "--profile", "prof", "--rate", "peak"),
            "--rate: a schedule follows every window: leave it out",
        ),
        (
            ("--member-rate", "9", "--schedule", "--profile", "prof", "--group", "g"),
            "--group: a schedule is made from records: leave it out",
        ),
        (
            ("--member-rate", "9", "--schedule", "--profile", "prof", "--rebalance-price", "-1"),
            "--rebalance-price -1: must be 0 to 1,000,000 hours",
        ),
        (
            ("--member-rate", "1MB", "--schedule", "--profile", "prof", "--assignor", "best"),
            "--assignor best: ",
        ),
    ],
)
def test_refused_schedules(
    run: Run, group: str, tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    write_day(tmp_path, [[10_000] * 4])
    ended = run("size", group, *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--member-rate", "fast"), 2, "--member-rate fast: expected a rate such as 50MB"),
        (("--member-rate", "9", "--headroom", "100%"), 2, "--headroom 100%: must be below 100%"),
        (("--group", "g"), 2, "--group: needs --member-rate: a cluster has no lags"),
        ((), 2, "group.json: is a group: add --member-rate"),
        (("--member-rate", "9", "--survive", "rack"), 2, "--survive: is for clusters: leave it "),
        (("--member-rate", "9", "-o", "plan"), 2, "--out: is for clusters: leave it out, or "),
        (("--member-rate", "9", "--group", "g"), 2, "--group: needs --profile"),
        (("--member-rate", "9", "--rate", "peak"), 2, "--rate: needs measured loads"),
        (("--member-rate", "9"), 1, "t-0 alone has 40, a member can own 7 (9 less 20% headroom): "),
    ],
)
def test_refused(run: Run, group: str, words: tuple[str, ...], code: int, problem: str) -> None:
    ended = run("size", group, *words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert ended.err.count("\n") == 1


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Six brokers in three racks; 18 partitions of three replicas, together 5,400 bytes."""
    value = {
        "brokers": [
            {
                "id": k,
                "rack": "abc"[k % 3],
                "disk_bytes": 2000,
                "network_out_bytes_per_second": 4000,
            }
            for k in range(1, 7)
        ],
        "partitions": [
            {
                "topic": "t",
                "partition": p,
                "replicas": [1 + (p + i) % 6 for i in range(3)],
                "size_bytes": 100,
                "bytes_in_per_second": 50,
                "bytes_out_per_second": 100,
            }
            for p in range(18)
        ],
    }
    (tmp_path / "cluster.json").write_text(json.dumps(value))
    return "cluster.json"


def test_fewer_brokers(run: Run, cluster: str) -> None:
    """Their disks are then full but for the headroom."""
    ended = run("size", cluster, "--headroom", "10%")
    assert (ended.code, ended.err) == (0, "")
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert " ".join(lines[-7:-1]).strip() == (
        "3 brokers with 10% headroom of disk and network out, also with any one broker down; "
        "today 6 "
        "Fewer are proven not to suffice: a partition has 3 replicas on distinct brokers. "
        "Not needed: 4, 5, 6 "
        "While one of 3 is down, partitions with 3 replicas lack one: no other broker can get it."
    )
    assert "disk ≥ 3 90.0% 90.0%" in lines
    assert "network in is not counted: brokers list no network_in_bytes_per_second" in lines
    removed = " ".join(f"--remove-broker {k}" for k in (4, 5, 6))
    assert lines[-1].endswith(f"partage plan cluster.json {removed} --balance load -o plan/")


def test_json_of_a_cluster(run: Run, cluster: str) -> None:
    found = run("size", cluster, "--json").json
    assert (found["brokers"], found["lower_bound"], found["proven"]) == (6, 6, True)
    assert (found["today"], found["today_fits"], found["survive"]) == (6, True, "broker")
    assert (found["remove"], found["add"], found["headroom"]) == ([], [], 0.2)
    assert found["limiting"] == {
        "resource": "disk",
        "rule": "racks",
        "needed": None,
        "available": None,
    }
    assert found["not_counted"].keys() == {"in"}
    assert sum(row["disk"]["load"] for row in found["loads"]) == 5400
    assert sum(row["out"]["load"] for row in found["loads"]) == 18 * 200
    assert all(row["out"]["after_failure"] <= 3200 for row in found["loads"])


def test_more_brokers_and_their_plan(run: Run, cluster: str, tmp_path: Path) -> None:
    words = ("size", cluster, "--headroom", "60%", "--survive", "none")
    ended = run(*words, "-o", "plan")
    assert (ended.code, ended.err) == (0, "")
    assert "\n9 brokers with 60% headroom of disk and network out; today 6\n" in ended.out
    assert "To add, with the capacities that most have: 7:a, 8:b, 9:c" in ended.out
    assert "Written: plan" in ended.out
    plan = json.loads((tmp_path / "plan/plan.json").read_text())
    assert plan["options"]["add_broker"] == ["7:a", "8:b", "9:c"]
    checked = run("check", "plan", "--json").json
    assert checked["sound"]
    assert any("number of brokers in size.json" in line for line in checked["held"])
    held = dict.fromkeys(range(1, 10), 0)
    for row in plan["partitions"]["after"]:
        for broker in row:
            held[broker] += 100
    found = run(*words, "--json").json
    assert {row["broker"]: row["disk"]["load"] for row in found["loads"]} == held
    assert max(held.values()) <= 800


def test_measured_rates_of_a_cluster(run: Run, cluster: str, tmp_path: Path) -> None:
    """The network counts with the rates of the profile; the next command uses it, too."""
    value = json.loads((tmp_path / cluster).read_text())
    for part in value["partitions"]:
        del part["bytes_in_per_second"], part["bytes_out_per_second"]
    (tmp_path / cluster).write_text(json.dumps(value))
    words = ("size", cluster, "--headroom", "0%")
    assert run(*words, "--json").json["not_counted"]["out"].startswith("no rates are known: give ")
    write_profile(tmp_path, [100.0] * 18, [400.0] * 18)
    measured = run(*words, "--profile", "prof", "--json").json
    assert measured["brokers"] == 3
    # a leader sends its rate three times: to a consumer and two followers
    assert sum(row["out"]["load"] for row in measured["loads"]) == 18 * 300
    peak = run(*words, "--profile", "prof", "--rate", "peak", "--json").json
    assert (peak["lower_bound"], peak["limiting"]["resource"]) == (7, "out")
    assert 7 <= peak["brokers"] <= 9
    text = run(*words, "--profile", "prof", "--rate", "peak").out
    assert "partage " in text.splitlines()[-1]
    assert "--profile prof --rate peak" in text.splitlines()[-1]


def test_a_gap(run: Run, tmp_path: Path) -> None:
    """Three large partitions beside three small ones: no two brokers take over from each other."""
    value = {
        "brokers": [
            {"id": k, "network_out_bytes_per_second": 100, "disk_bytes": 10} for k in (1, 2, 3)
        ],
        "partitions": [
            {
                "topic": "t",
                "partition": p,
                "replicas": [1 + p % 3, 1 + (p + 1) % 3],
                "size_bytes": 1,
                "bytes_in_per_second": 0,
                "bytes_out_per_second": 45,
            }
            for p in range(5)
        ],
    }
    (tmp_path / "tight.json").write_text(json.dumps(value))
    found = run("size", "tight.json", "--headroom", "0%", "--json").json
    assert found["lower_bound"] <= found["brokers"]
    text = run("size", "tight.json", "--headroom", "0%").out
    assert ("Fewer are proven not to suffice" in text) == found["proven"]
    assert ("no placement was found" in text) == (not found["proven"])


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--headroom", "100%"), 2, "--headroom 100%: must be below 100%"),
        (("--survive", "zone"), 2, "--survive: 'zone': expected broker or rack or none"),
        (("--member-rate", "9"), 2, "cluster.json: is a cluster: leave out --member-rate"),
        (("--headroom", "99%"), 1, "t-0 alone takes 100 bytes of disk, a broker may use 20: no "),
    ],
)
def test_refused_clusters(
    run: Run, cluster: str, words: tuple[str, ...], code: int, problem: str
) -> None:
    ended = run("size", cluster, *words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert ended.err.count("\n") == 1


def test_log_dirs(run: Run, tmp_path: Path) -> None:
    """The next command can put the replicas into log dirs, with the options that it needs."""
    own = [{"path": f"/d{k}", "disk_bytes": 400} for k in range(3)]
    value = {
        "brokers": [{"id": b, "rack": "bca"[b % 3], "log_dirs": own} for b in range(6)],
        "partitions": [
            {"topic": "t", "partition": p, "replicas": [p, (p + 1) % 6], "size_bytes": 250}
            | {"log_dirs": ["/d0", "/d1"]}
            for p in range(6)
        ],
    }
    (tmp_path / "jbod.json").write_text(json.dumps(value))
    ended = run("size", "jbod.json", "--headroom", "10%")
    assert ended.code == 0
    assert re.search(r"log dir +≥ 4 +62.5% +62.5%", ended.out)
    assert "partitions do not fit together into the log dirs of 3 brokers" in " ".join(
        ended.out.split()
    )
    *_, command = ended.out.split("Next: partage ")
    assert "--balance load --concurrency 1 -o plan/" in command
    assert run(*shlex.split(command)).code == 0
    sizing = run("size", "jbod.json", "--headroom", "10%", "-o", "sized")
    assert (sizing.code, run("check", "sized").code) == (0, 0)


def test_no_capacities(run: Run, cluster: str, tmp_path: Path) -> None:
    value = json.loads((tmp_path / cluster).read_text())
    for broker in value["brokers"]:
        del broker["disk_bytes"], broker["network_out_bytes_per_second"]
    (tmp_path / cluster).write_text(json.dumps(value))
    ended = run("size", cluster, "-o", "plan")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "capacities: none can be counted: list disk_bytes of all brokers, or " in ended.err
    assert not (tmp_path / "plan").exists()


def test_without_weights(run: Run, tmp_path: Path) -> None:
    bare = {"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}]}
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    ended = run("size", "bare.json", "--member-rate", "9")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "partage: bare.json: has no weights: add --profile, or weights to the file\n"
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "CLUSTER: is missing: name a file, or a running cluster with --bootstrap-server"),
        (("--member-rate", "9"), "GROUP: is missing: name a file, as for assign"),
        (
            ("cluster.json", "--bootstrap-server", "h:1"),
            "--bootstrap-server: cannot be combined with a CLUSTER",
        ),
        (
            ("group.json", "--member-rate", "9", "--bootstrap-server", "h:1"),
            "--bootstrap-server: is for clusters: leave it out, or leave out --member-rate",
        ),
        (("--bootstrap-server", "h:1", "--sizes", "s"), "--sizes: a running cluster reports "),
    ],
)
def test_a_file_or_a_running_cluster(
    run: Run, cluster: str, group: str, words: tuple[str, ...], problem: str
) -> None:
    ended = run("size", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")
    assert ended.err.count("\n") == 1


@pytest.mark.long
@pytest.mark.kafka
def test_a_running_cluster(run: Run, kafka: Any) -> None:
    """Its brokers report their disks: almost empty, so that the replicas of a partition decide."""
    with Connection.of(kafka.bootstrap_servers).admin() as admin:
        admin.create_topics(
            {"sized": {"assignments": {0: [1, 2], 1: [2, 3]}}}, wait_for_metadata=True
        )
    words = ("size", "--bootstrap-server", kafka.bootstrap_servers, "--headroom", "0%")
    found = run(*words, "-o", "plan", "--json").json
    factor = max(map(len, json.loads(Path("plan/plan.json").read_text())["partitions"]["before"]))
    assert (found["brokers"], found["lower_bound"], found["proven"]) == (factor, factor, True)
    assert (found["today"], list(found["resources"])) == (3, ["disk"])
    assert len(found["remove"]) == 3 - factor
    assert all(row["disk"]["capacity"] > 0 for row in found["loads"])
    assert run("check", "plan").code == 0
    text = run(*words).out
    assert "network in is not counted: brokers list no network_in_bytes_per_second" in text
    with Connection.of(kafka.bootstrap_servers).admin() as admin:
        admin.delete_topics(["sized"])


def test_the_same_answer_from_python(run: Run, cluster: str, tmp_path: Path) -> None:
    ended = run("size", cluster, "--headroom", "35%", "--survive", "rack", "--json")
    answer = partage.size(tmp_path / cluster, headroom="35%", survive="rack")
    assert json.loads(ended.out) == answer.to_json()
