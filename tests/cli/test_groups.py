"""partage assign and partage simulate."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

Run = Callable[..., Any]
GROUPS = files("partage") / "data" / "groups"

GROUP: dict[str, Any] = {
    "topics": {"t0": 2, "t1": 3},
    "racks": {"t0": [["a", "b"], ["b", "c"]]},
    "members": [
        {
            "id": "C0",
            "topics": ["t0", "t1"],
            "instance_id": None,
            "rack": None,
            "owned": [["t0", 0], ["t0", 1], ["t1", 0], ["t1", 1], ["t1", 2]],
            "generation": 3,
            "priority": 10,
        },
        {"id": "C1", "topics": ["t0", "t1"]},
        {"id": "C2", "topics": ["nothing"]},
    ],
}


@pytest.fixture
def group(tmp_path: Path) -> str:
    (tmp_path / "group.json").write_text(json.dumps(GROUP), encoding="utf-8")
    return "group.json"


def bundled(name: str) -> str:
    return str(GROUPS / f"{name}.json")


def test_assign_json_has_the_keys_of_the_design(run: Run, group: str) -> None:
    value = run("assign", group, "--assignor", "cooperative-sticky", "--json").json
    assert {"assignment", "loads", "moves", "revoke_first"} <= set(value)
    assert value["loads"] == {"C0": 3, "C1": 0, "C2": 0}
    assert value["moves"] == 2
    assert len(value["revoke_first"]) == 2
    assert all(entry[2] == "C0" for entry in value["revoke_first"])
    value = run("assign", group, "--assignor", "sticky", "--json").json
    assert value["loads"] == {"C0": 3, "C1": 2, "C2": 0}
    assert value["revoke_first"] == []


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_assign_shows_what_each_member_keeps_gains_and_revokes(
    run: Run, group: str, mode: str
) -> None:
    ended = run("assign", group, "--assignor", "cooperative-sticky", "--mode", mode)
    assert ended.code == 0
    assert ended.out.startswith("cooperative-sticky: 5 partitions, 3 members, loads 0–3, 2 moves")
    assert "2 partitions must be revoked first:" in ended.out
    assert "C0 revokes it, C1 gets it in the next round" in ended.out
    assert "Idle: C2" in ended.out
    assert "! subscriptions to topics that are not listed are ignored: nothing" in ended.out
    assert max(map(cell_len, ended.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "file", "shown"),
    [
        (("assign", "-", "--assignor", "sticky"), "two-topics", "sticky: 4 partitions, 3 members"),
        (("simulate", "-", "--assignor", "sticky"), "crash-scenario", "sticky, eager: 2 rounds"),
    ],
)
def test_standard_input(words: tuple[str, ...], file: str, shown: str) -> None:
    """It cannot be read again, so no next command is suggested."""

    def end(text: str) -> Any:
        command = [sys.executable, "-m", "partage", *words]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    ended = end(Path(bundled(file)).read_text(encoding="utf-8"))
    assert (ended.returncode, shown in ended.stdout, "Next:" in ended.stdout) == (0, True, False)
    ended = end('{"topics": {}}')
    assert (ended.returncode, "standard input: members: missing" in ended.stderr) == (2, True)


LAGS = """
GROUP    TOPIC     PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG
billing  clicks    0          0               10              10
billing  orders    9          0               7               7
"""


def test_a_lag_file_of_other_partitions(run: Run, tmp_path: Path) -> None:
    words = ("assign", bundled("lagging"), "--assignor", "weighted", "--lag", "lag.txt")
    (tmp_path / "lag.txt").write_text(LAGS, encoding="utf-8")
    missing = "clicks-1, orders-0, orders-1 and 2 more"
    warnings = [
        f"lag.txt: 5 partitions without a weight, counted as 0: {missing}",
        "lag.txt: 1 partition that is not in the group, ignored: orders-9",
    ]
    assert run(*words, "--json").json["warnings"] == warnings
    shown = run(*words).out
    assert all(f"! {warning}" in shown for warning in warnings)
    (tmp_path / "lag.txt").write_text(LAGS.replace("clicks", "others"), encoding="utf-8")
    ended = run(*words)
    assert (ended.code, ended.err) == (
        2,
        "partage: lag.txt: covers no partition of the group: has orders-9, others-0, expected "
        "partitions of clicks, orders\n",
    )


def test_weights_for_an_assignor_that_does_not_use_them(run: Run, tmp_path: Path) -> None:
    """With racks, they count what is read across racks."""
    (tmp_path / "lag.txt").write_text(LAGS, encoding="utf-8")
    ended = run("assign", bundled("lagging"), "--assignor", "sticky", "--lag", "lag.txt")
    assert (ended.code, ended.err) == (
        2,
        "partage: --lag: sticky does not use weights: choose weighted or lag, or add racks to "
        "GROUP\n",
    )
    ended = run("assign", bundled("lagging"), "--assignor", "range", "--profile", "p")
    assert (ended.code, "--profile: range does not use" in ended.err) == (2, True)
    assert run("assign", bundled("lagging"), "--assignor", "lag", "--lag", "lag.txt").code == 0
    ended = run("assign", bundled("zones"), "--assignor", "sticky", "--lag", "lag.txt")
    assert (ended.code, "Read across racks" in ended.out) == (0, True)


def test_assign_with_racks_first(run: Run) -> None:
    words = ("assign", bundled("zones"), "--assignor", "sticky", "--racks-first")
    ended = run(*words, "--max-skew", "0%")
    assert ended.out.startswith("sticky: 12 partitions, 4 members, loads 3, 8 moves")
    assert "Read across racks: 1 of 12 partitions, weight 10 of 400 (before: 9 of" in ended.out
    assert "Next:" not in ended.out
    reads = run(*words, "--json").json["reads"]
    assert reads["before"]["weight"] == {"within_rack": 65, "across_racks": 335, "unknown": 0}
    assert reads["after"]["across_racks"] == 0
    ended = run("assign", bundled("zones"), "--assignor", "sticky", "--max-skew", "5%")
    assert (ended.code, ended.err) == (
        2,
        "partage: --max-skew: needs --racks-first with this assignor\n",
    )


@pytest.mark.parametrize(
    ("assignor", "group", "shown"),
    [
        (
            "weighted",
            {"topics": {"t": 3}, "weights": {"t": [7, 5, 4]}},
            "Highest load by weight 9, lower bound 9: proven minimum",
        ),
        (
            "streams",
            {
                "topics": {"t": 2},
                "streams": {"subtopologies": [{"topics": ["t"], "stateful": True}], "standbys": 1},
            },
            "C0 standby: t 1",
        ),
        (
            "connect",
            {
                "topics": {},
                "connect": {"tasks": ["x-0", "x-1"], "delay_ms": 300_000, "now_ms": 100_000},
            },
            "Waits 5 min for members that left.",
        ),
    ],
)
def test_custom_assignors(
    run: Run, tmp_path: Path, assignor: str, group: dict[str, Any], shown: str
) -> None:
    topics = list(group["topics"])
    members: list[dict[str, Any]] = [{"id": name, "topics": topics} for name in ("C0", "C1")]
    if assignor == "streams":
        for member in members:
            member["process"] = member["id"]
    if assignor == "connect":
        members[1].update(left_at_ms=100_000, owned=[["x", 1]], generation=1)
    (tmp_path / "g.json").write_text(json.dumps({**group, "members": members}), encoding="utf-8")
    ended = run("assign", "g.json", "--assignor", assignor)
    assert ended.code == 0, ended
    assert shown in ended.out


def test_long_tables_are_shortened(run: Run, tmp_path: Path) -> None:
    members: list[dict[str, Any]] = [{"id": "C00", "topics": ["t"]}]
    members += [{"id": f"C{n:02}", "topics": ["t"], "joins_at": 10 * n} for n in range(1, 30)]
    value = {"topics": {"t": 90}, "members": members, "until": 400}
    (tmp_path / "s.json").write_text(json.dumps(value), encoding="utf-8")
    out = run("simulate", "s.json", "--assignor", "sticky").out
    assert "and 10 more rounds" in out
    assert "more members" in out
    first = {"id": "a", "topics": ["t"], "owned": [["t", n] for n in range(90)], "generation": 1}
    value = {"topics": {"t": 90}, "members": [first, {"id": "b", "topics": ["t"]}]}
    (tmp_path / "g.json").write_text(json.dumps(value), encoding="utf-8")
    out = run("assign", "g.json", "--assignor", "cooperative-sticky").out
    assert "45 partitions must be revoked first:" in out
    assert "  and 25 more" in out


def test_a_large_group_shows_its_extremes(run: Run, tmp_path: Path) -> None:
    members = [{"id": f"consumer-{n:03}", "topics": ["t"]} for n in range(100)]
    value = {"topics": {"t": 1030}, "members": members}
    (tmp_path / "large.json.gz").write_bytes(gzip.compress(json.dumps(value).encode()))
    ended = run("assign", "large.json.gz", "--assignor", "range")
    assert ended.code == 0
    assert "The 5 members with the highest load and the 5 with the lowest:" in ended.out
    assert ended.out.count("consumer-") == 10
    assert max(map(cell_len, ended.out.splitlines())) <= 100


def test_simulate_json_has_the_keys_of_the_design(run: Run) -> None:
    name = bundled("kip-429-scenario")
    value = run(
        "simulate", name, "--assignor", "cooperative-sticky", "--protocol", "cooperative", "--json"
    ).json
    keys = ["rounds", "unowned_partition_seconds", "moved", "lag"]
    assert list(value)[:4] == keys
    assert value["invariants"] == "hold"
    assert [r["generation"] for r in value["rounds"]] == [9, 10, 11]
    assert list(value["rounds"][0]) == [
        "at",
        "generation",
        "assignment",
        "added",
        "revoked",
        "lost",
        "assignor",
    ]
    assert value["rounds"][1]["revoked"] == {"consumer-1": [["kmo_community", 2]]}


@pytest.mark.parametrize("name", ["deploy", "failover", "idle", "push-pull", "restart"])
@pytest.mark.parametrize("by", ["partition", "member"])
def test_simulate_draws_a_hundred_columns(run: Run, name: str, by: str) -> None:
    path = bundled(f"{name}-scenario")
    ended = run("simulate", path, "--assignor", "sticky", "--by", by)
    assert ended.code == 0
    assert "✓ No partition had two owners" in ended.out
    assert max(map(cell_len, ended.out.splitlines())) <= 100
    assert "\x1b" not in ended.out


def test_the_picture(run: Run) -> None:
    out = run("simulate", bundled("failover-scenario"), "--assignor", "failover").out
    (line,) = [line for line in out.splitlines() if line.startswith("A-0")]
    cells = line[20:]
    assert len(cells) == 80
    # owned by C1 until it crashes at 60 of 180 s, by nobody until 105 s, then by C2
    assert cells == "0" * 26 + "·" * 21 + "1" * 33
    out = run("simulate", bundled("failover-scenario"), "--assignor", "failover", "--by", "member")
    (line,) = [line for line in out.out.splitlines() if line.startswith("C1 ")]
    assert line[20:].rstrip() == "4" * 26 + "×"


@pytest.mark.parametrize(
    ("assignor", "shown"),
    [
        ("connect", ["lost tasks: 5 min", "lost tasks: 3 min 59 s"]),
        ("StreamsPartitionAssignor", ["0.0 task-seconds restoring state", "6 copies: 1 min"]),
    ],
)
def test_simulations_show_what_waits(run: Run, assignor: str, shown: list[str]) -> None:
    name = "connect" if assignor == "connect" else "streams"
    done = run("simulate", bundled(f"{name}-scenario"), "--assignor", assignor)
    assert all(text in done.out for text in shown)
    assert f"--assignor {assignor}" in done.out + done.err
    value = run("simulate", bundled(f"{name}-scenario"), "--assignor", assignor, "--json").json
    assert value["invariants"] == "hold"
    key = "delay_ms" if name == "connect" else "warmups"
    assert all(key in one for one in value["rounds"])


def test_a_list_of_assignors_and_none(run: Run) -> None:
    names = "cooperative-sticky,RangeAssignor"
    ended = run("simulate", bundled("kip-429-scenario"), "--assignor", names)
    assert ended.code == 0
    assert "cooperative-sticky, range, eager: 2 rounds" in ended.out
    ended = run("simulate", bundled("kip-429-scenario"))
    assert ended.code == 2
    problem = "--assignor: is missing: member 'consumer-1' does not list its own assignors"
    assert problem in ended.err


def test_members_that_are_rejected_are_shown(run: Run) -> None:
    ended = run("simulate", bundled("strategies-scenario"), "--assignor", "range")
    assert ended.code == 1
    words = " ".join(ended.out.split())
    assert (
        "C2 was rejected: INCONSISTENT_GROUP_PROTOCOL: The group member's supported protocols"
        in words
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("assign", "group.json"), "--assignor"),
        (("assign", "none.json", "--assignor", "range"), "none.json: no such file"),
        (("assign", "group.json", "--assignor", "x"), "--assignor x: expected one of range"),
        (("assign", "group.json", "--assignor", "sticky", "--mode", "x"), "--mode x"),
        (
            ("assign", "group.json", "--assignor", "range", "--mode", "java"),
            "--mode java: range has no modes: expected optimal",
        ),
        (
            ("simulate", "good.json", "--assignor", "connect", "--mode", "java"),
            "--mode java: connect has no modes: expected optimal",
        ),
        (
            ("assign", "group.json", "--assignor", "weighted", "--lag", "x", "--profile", "y"),
            "--lag: cannot be combined with --profile",
        ),
        (
            ("assign", "group.json", "--assignor", "weighted", "--group", "x"),
            "--group: needs --lag FILE or --profile DIR",
        ),
        (
            ("assign", "group.json", "--assignor", "weighted", "--lag", "empty.json"),
            "empty.json: not the output of kafka-consumer-groups.sh",
        ),
        (("simulate", "none.json", "--assignor", "range"), "none.json: no such file"),
        (("simulate", "group.json", "--assignor", "range"), "group.json: until: missing"),
        (("simulate", "empty.json", "--assignor", "range"), "empty.json: is empty"),
        (("simulate", "good.json", "--assignor", "x"), "--assignor x: expected one of range"),
        (
            ("simulate", "good.json", "--assignor", "range", "--protocol", "x"),
            "--protocol x: expected one of eager, cooperative",
        ),
        (("simulate", "good.json", "--assignor", "range", "--by", "x"), "--by: 'x': expected"),
    ],
)
def test_bad_input(
    run: Run, group: str, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    assert group == "group.json"
    (tmp_path / "empty.json").write_text("")
    good = {"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}], "until": 10}
    (tmp_path / "good.json").write_text(json.dumps(good))
    ended = run(*arguments)
    assert ended.code == 2, ended
    assert ended.out == ""
    assert problem in ended.err
    assert len(ended.err.splitlines()) == 1


def test_weights_by_lag_and_by_profile(run: Run, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    by_lag = run(
        *("assign", bundled("lagging"), "--assignor", "weighted"),
        *("--lag", str(GROUPS / "lag.txt"), "--group", "billing", "--json"),
    ).json
    assert by_lag["weights"] == {"app-1": 309 + 20 + 10, "app-2": 165 + 206}
    profile = tmp_path / "profile"
    (profile / "partitions").mkdir(parents=True)
    numbers = {"records": 1, "bytes": 1, "peak_bytes_per_second": 1.0}
    rows = [
        {"topic": "orders", "partition": n, "bytes_per_second": rate, **numbers}
        | {"distinct_keys": 1, "null_keys": 0}
        for n, rate in enumerate((0.5, 0.25, 0.25, 1.0))
    ]
    pq.write_table(pa.Table.from_pylist(rows), profile / "partitions" / "0.parquet")
    totals = dict.fromkeys(("records", "bytes", "rejected", "topics", "partitions"), 1)
    about = {"format_version": 1, "window_seconds": 60, "sources": [], "totals": totals}
    (profile / "profile.json").write_text(json.dumps(about))
    by_rate = run(
        *("assign", bundled("lagging"), "--assignor", "weighted"),
        *("--profile", str(profile), "--json"),
    ).json
    assert by_rate["weights"] == {"app-1": 1000, "app-2": 1000}
    racked = {
        "topics": {"orders": 4},
        "racks": {"orders": [["a"], ["a"], ["a"], ["b"]]},
        "members": [
            {"id": name, "topics": ["orders"], "rack": name, "owned": owned, "generation": 1}
            for name, owned in (("a", [["orders", 3]]), ("b", [["orders", 0]]))
        ],
    }
    (tmp_path / "racked.json").write_text(json.dumps(racked))
    words = ("assign", "racked.json", "--assignor", "sticky", "--profile", str(profile))
    reads = run(*words, "--json").json["reads"]
    rates = {"within_rack": 0.0, "across_racks": 1.5, "unknown": 0.0}
    assert reads["before"]["bytes_per_second"] == rates
    shown = "Read across racks: 0 of 4 partitions, 0 B/s of 173 kB/day (before: 2 of 2 partitions,"
    assert shown in run(*words, "--racks-first").out


def test_assign_is_light(tmp_path: Path, group: str) -> None:
    import subprocess
    import sys

    code = (
        "import sys\nsys.argv = ['partage', 'assign', 'group.json', '--assignor', 'sticky']\n"
        "from partage.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'pyspark', 'pyarrow', 'pandas', 'kafka'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
