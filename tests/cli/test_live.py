"""snapshot, groups, apply, rollback, verify and throttle, as a user types them."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

import partage
from partage.brokers.directory import JOURNAL
from partage.cli import output
from partage.live.admin.connection import Connection
from partage.live.execution.claim import Claim
from partage.live.execution.journal import Journal
from partage.live.execution.overrides import Overrides
from partage.report.execution_lines import Tally
from partage.testing import FakeCluster
from tests.live.described_groups import cluster_of, member, of_groups

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARTAGE_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setattr("partage.live.admin.connection._BOOTSTRAP_MS", 500)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    cluster = partage.Cluster.from_json(
        {
            "brokers": [{"id": 1}, {"id": 2}],
            "partitions": [{"topic": "t", "partition": p, "replicas": [1]} for p in range(2)],
        }
    )
    partage.plan(cluster).write(tmp_path / "plan")
    return str(tmp_path / "plan")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("snapshot",), "--bootstrap-server: expected HOST:PORT, here or in PARTAGE_BOOTSTRAP"),
        (("groups",), "--bootstrap-server: expected HOST:PORT"),
        (("groups", "--max-skew", "5%"), "--max-skew: needs --racks-first"),
        (("groups", "--racks-first", "--max-skew", "x"), "--max-skew x: expected a percentage"),
        (("groups", "--profile", "none"), "none: no such directory"),
        (("plan",), "CLUSTER: is missing: name a file, or a running cluster with --bootstrap-"),
        (("plan", "c.json", "--bootstrap-server", "h:1"), "cannot be combined with a CLUSTER"),
        (
            ("plan", "--bootstrap-server", "h:1", "--sizes", "s"),
            "--sizes: a running cluster",
        ),
        (("apply", "nothing"), "nothing: no such directory, expected a plan directory"),
        (("verify", "nothing"), "nothing: no such directory, expected a plan directory"),
        (("throttle", "nothing", "5MB"), "nothing: no such directory, expected a plan directory"),
        (("throttle", "nothing", "fast"), "RATE|auto fast: expected a rate"),
        (("throttle", "nothing"), "RATE: expected for instance 100MB, auto, or --concurrency N"),
        (
            ("throttle", "nothing", "--concurrency", "0"),
            "--concurrency 0: expected a whole",
        ),
        (("apply", "nothing", "--on-broker-failure", "cry"), "'cry': expected one of cancel, re"),
        (("rollback", "nothing", "--on-broker-failure", "replan"), "one of cancel, wait, stop"),
        (("apply", "nothing", "--throttle", "0"), "--throttle 0: must be above 0"),
        (("snapshot", "--command-config", "none"), "none: no such file"),
    ],
)
def test_bad_options(run: Run, command: tuple[str, ...], said: str) -> None:
    ended = run(*command)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("command", [("snapshot",), ("groups",), ("plan",)])
def test_no_broker_reachable(run: Run, command: tuple[str, ...]) -> None:
    ended = run(*command, "--bootstrap-server", "127.0.0.1:1")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "partage: no broker reachable at 127.0.0.1:1 (connection refused)\n"


def test_throttle_overrides_a_run(run: Run, plan: str) -> None:
    with Journal.open(plan):
        overrides = run("throttle", plan, "5MB", "--json").json
        assert overrides == {"throttle": 5_000_000, "concurrency": None}
        assert Overrides.read(plan) == Overrides(5_000_000)
        text = run("throttle", plan, "auto", "--concurrency", "4").out
        assert text == "Requested: throttle auto, concurrency 4 from the next wave on.\n"
        assert Overrides.read(plan) == Overrides("auto", 4)


@pytest.mark.parametrize("begun", [False, True])
def test_throttle_without_a_run(run: Run, plan: str, begun: bool) -> None:
    if begun:
        with Journal.open(plan) as journal:
            journal.write("started")
    before = sorted(Path(plan).iterdir())
    ended = run("throttle", plan, "5MB")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"partage: {plan}: is not being applied now: use --throttle of partage apply instead\n"
    )
    assert sorted(Path(plan).iterdir()) == before


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize("hangup", [False, True])
def test_a_run_whose_output_is_lost_stops_after_the_wave(
    run: Run,
    answered_by: Callable[[Any], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hangup: bool,
) -> None:
    """As by Ctrl-C: no one sees it any more. No reassignment is left without its throttle. A
    terminal that is closed (an ssh connection that breaks) is one reason to stop, not two."""
    cluster = FakeCluster({("t", number): (1,) for number in range(8)}, range(1, 5))
    snapshot = partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)
    partage.plan(snapshot, concurrency=1).write(tmp_path / "plan")
    answered_by(cluster)
    before, lines, print_json = dict(cluster.throttles), [], output.print_json

    def closed(value: Any) -> None:
        lines.append(value)
        if len(lines) > 2:
            if hangup and len(lines) == 3:
                os.kill(os.getpid(), signal.SIGHUP)
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        print_json(value)

    monkeypatch.setattr(output, "print_json", closed)
    monkeypatch.setattr("partage.cli._discard_stdout", lambda: None)
    words = ("plan", "--bootstrap-server", "h:1", "--throttle", "1MB", "--yes", "--json")
    ended = run("apply", *words)
    assert (ended.code, len(lines)) == (1, 3)
    assert ended.err == (
        "partage: plan: stopped, 5 waves left: its output could not be written; the same command "
        "resumes it\n"
    )
    assert (cluster.throttles, cluster.admin.list_partition_reassignments()) == (before, {})
    monkeypatch.setattr(output, "print_json", print_json)
    assert run("apply", *words).code == 0


def test_the_commands_that_resume_and_undo_have_the_options_of_the_call(
    run: Run, answered_by: Callable[[Any], None], tmp_path: Path
) -> None:
    """Without its throttle a resumed run would take all of the brokers' bandwidth."""
    cluster = FakeCluster({("t", number): (1,) for number in range(8)}, range(1, 5))
    snapshot = partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)
    partage.plan(snapshot, concurrency=1).write(tmp_path / "a plan")
    answered_by(cluster)
    cluster.at(cluster.now + 10, lambda: os.kill(os.getpid(), signal.SIGINT))
    options = "--bootstrap-server h:1 --throttle 1MB"
    chosen = f"{options} --on-broker-failure replan --yes"
    ended = run("apply", "a plan", *chosen.split())
    assert ended.code == 1
    assert f"\nUndo, during the run or later: partage rollback 'a plan' {options}\n" in ended.out
    resume, undo = ended.out.splitlines()[-2:]
    assert resume == f"Resume: partage apply 'a plan' {chosen}"
    assert undo == f"Undo: partage rollback 'a plan' {options}"
    assert run(*shlex.split(resume)[2:]).code == 0


def test_the_time_that_is_shown_begins_with_the_first_step(
    run: Run, answered_by: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the ten seconds in which it is checked whether a killed run still runs."""
    cluster = FakeCluster({("t", number): (1,) for number in range(8)}, range(1, 5))
    partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)).write("plan")
    answered_by(cluster)
    order: list[str] = []
    take, start = Claim.take, Tally.start
    monkeypatch.setattr(Claim, "take", lambda *of: order.append("checked") or take(*of))
    monkeypatch.setattr(Tally, "start", lambda of: order.append("started") or start(of))
    assert run("apply", "plan", "--bootstrap-server", "h:1", "--yes").code == 0
    assert order[-2:] == ["checked", "started"]


def test_verify_of_an_unfinished_rollback_names_the_command_that_finishes_it(
    run: Run, answered_by: Callable[[Any], None], tmp_path: Path
) -> None:
    """Not the one that undoes it."""
    cluster = FakeCluster({("t", number): (1,) for number in range(8)}, range(1, 5))
    snapshot = partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)
    partage.plan(snapshot, concurrency=1).write(tmp_path / "plan")
    answered_by(cluster)
    address = ("--bootstrap-server", "h:1")
    options = (*address, "--throttle", "1MB", "--yes")
    assert run("apply", "plan", *options).code == 0
    cluster.at(cluster.now + 10, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert run("rollback", "plan", *options).code == 1
    ended = run("verify", "plan", *address)
    assert ended.out.startswith("in progress: ")
    assert ended.out.endswith(
        "\nNext: partage rollback plan --bootstrap-server h:1 --throttle 50MB\n"
    )
    assert run("rollback", "plan", *options).code == 0
    ended = run("verify", "plan", *address)
    assert ended.out.startswith("not begun: ")
    assert "\nNext: partage apply plan" in ended.out


@pytest.mark.long
@pytest.mark.kafka
def test_on_a_cluster(run: Run, plan: str, kafka: Any, tmp_path: Path) -> None:
    address = ("--bootstrap-server", kafka.bootstrap_servers)
    with Connection.of(kafka.bootstrap_servers).admin() as admin:
        admin.create_topics({"typed": {"assignments": {0: [1, 2], 1: [2, 3]}}})
        try:
            file = tmp_path / "live.json"
            ended = run("snapshot", *address, "-o", str(file), "--json")
            written = json.loads(file.read_text())
            assert written.pop("checksum").startswith("partage sha256 ")
            assert ended.json == written
            assert ended.json["cluster_id"] == kafka.cluster_id
            assert "groups" in run("groups", *address, "--json").json
            missing = run("groups", "no-such-group", *address)
            assert (missing.code, missing.out) == (2, "")

            refused = run("apply", plan, *address, "--yes")
            assert (refused.code, refused.out) == (1, "")
            assert (
                f"{plan}: the cluster has changed since the plan was made: t-0 does not exist"
                in refused.err
            )

            own = str(tmp_path / "own")
            made = run(
                "plan", *address, "--topics", "typed", "--replication-factor", "3", "-o", own
            )
            assert made.code == 0, made.err
            asked = run("apply", own, *address)
            assert asked.code == 2
            assert "--yes: is needed here, because there is no terminal to ask on" in asked.err
            assert not Path(own, JOURNAL).exists()
            assert run("verify", own, *address, "--json").json["state"] == "not begun"
            words = " ".join(address)
            applied = run("apply", own, *address, "--yes")
            assert applied.code == 0
            assert applied.out.endswith(f"\nNext: partage verify {own} {words}\n")
            seen = run("verify", own, *address).out
            assert seen.startswith("done: 2 of 2 partitions done")
            assert seen.endswith(f"\nNext: partage snapshot {words} -o cluster.json\n")
            back = run("rollback", own, *address, "--yes")
            assert back.code == 0
            assert "\nDone: every replica and leader is where it was before the plan.\n" in back.out
            assert back.out.endswith(f"\nNext: partage snapshot {words}\n")
            again = run("rollback", own, *address)  # asks nothing, as there is nothing to do
            assert again.code == 0
            assert again.out.startswith("Nothing to roll back: 2 partitions done already\n")

            unknown = run("plan", *address, "--topics", "typ")
            assert unknown.code == 2
            assert "the whole name must match; .*typ.* matches typed" in unknown.err
            compared = run("compare", *address, "--topics", "typed", "--strategy", "exact")
            assert compared.code == 0
            assert compared.out.endswith(f"\nNext: partage plan --topics typed {words} -o plan/\n")
        finally:
            admin.delete_topics(["typed"])


def test_a_group_as_a_file(run: Run, answered_by: Callable[[Any], None], tmp_path: Path) -> None:
    """assign finds the same for it, simulate plays it when it has an end, and it is written again
    only while it is not edited."""
    cluster = cluster_of({"t": 4})
    cluster.racks = {1: "a"}
    metadata = {"topics": ["t"], "rack_id": "a"}
    members = [
        member(1, {"t": [0, 1, 2]}, member_metadata=metadata, group_instance_id="seat-1"),
        member(2, {"t": [3]}),
    ]
    of_groups(cluster, {"billing": {"members": members}, "left": {}})
    answered_by(cluster)
    words = ("groups", "billing", "--bootstrap-server", "h:1", "-o", "g.json")
    exact = run(*words, "--json").json["groups"][0]["exact"]
    text = (tmp_path / "g.json").read_text(encoding="utf-8")
    value = json.loads(text)
    assert value["topics"] == {"t": 4}
    assert value["racks"] == {"t": [["a"]] * 4}
    assert value["members"][0] == {
        "id": "app-1111",
        "topics": ["t"],
        "owned": [["t", 0], ["t", 1], ["t", 2]],
        "generation": 0,
        "instance_id": "seat-1",
        "rack": "a",
    }
    found = run("assign", "g.json", "--assignor", "sticky", "--json").json
    assert (found["assignment"], found["moves"]) == (exact["assignment"], exact["moves"])
    again = run(*words)
    assert again.out.endswith("Written: g.json   Next: partage assign g.json --assignor sticky\n")
    assert (tmp_path / "g.json").read_text(encoding="utf-8") == text

    (tmp_path / "g.json").write_text(json.dumps({**value, "until": 60}), encoding="utf-8")
    played = run("simulate", "g.json", "--assignor", "cooperative-sticky", "--json").json
    assert [len(one) for one in played["rounds"][-1]["assignment"].values()] == [2, 2]
    assert "g.json: was changed since partage wrote it" in run(*words).err

    for arguments, problem in (
        (("-o", "all.json"), "partage: --out: writes one group: name a GROUP\n"),
        (
            ("left", "-o", "left.json"),
            "partage: group left: cannot be written: classic, Stable, no subscriptions\n",
        ),
    ):
        ended = run("groups", *arguments, "--bootstrap-server", "h:1")
        assert (ended.code, ended.err) == (2, problem)


def test_a_group_with_its_lags(
    run: Run, answered_by: Callable[[Any], None], tmp_path: Path
) -> None:
    """Both tables name the members alike, and the partitions that lag most have theirs."""
    cluster = cluster_of({"clicks": 3, "orders": 3})
    cluster.produce(("orders", 2), 1_204, 1)
    cluster.commit("billing", ("orders", 2), 0)
    first, second = (dict.fromkeys(("clicks", "orders"), numbers) for numbers in ([0, 1], [2]))
    of_groups(cluster, {"billing": {"members": [member(1, first), member(2, second)]}})
    answered_by(cluster)
    words = ("groups", "billing", "--bootstrap-server", "h:1")
    out = run(*words).out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "app 2222 10.0.0.1 – 2 ≥1,204 clicks-2, orders-2" in lines
    assert "Lag: 1,204 records, 5 partitions without a commit" in lines
    assert lines[lines.index("partition lag member") + 2] == "orders-2 1,204 app 2222"
    exact = lines[lines.index("The exact assignment, starting from this one:") :]
    assert any(line.startswith("app 2222 3 clicks 2, orders 2") for line in exact)
    assert lines[-1] == (
        "! range gives partitions of the same number of clicks, orders to one member, as joins "
        "need; the exact assignment does not"
    )
    value = run(*words, "--json").json["groups"][0]
    assert (value["total_lag"], value["partitions_without_commit"]) == (1_204, 5)
    assert value["lag"] == {"clicks": [None] * 3, "orders": [None, None, 1_204]}
