"""what-if through the command line: bad input in one line, and one JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bundled import bundled

pytest.importorskip("pyspark")

Run = Callable[..., Any]


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """A small group in ``scenario.json``."""
    value = bundled("groups/failover-scenario.json")
    (tmp_path / "scenario.json").write_text(json.dumps(value))
    return "scenario.json"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("churn none.json", "none.json: no such file"),
        ("churn scenario.json --runs 0", "--runs: 0: expected a number from 1"),
        ("churn scenario.json --events 0", "--events: 0: expected a number from 1"),
        ("churn scenario.json --seed -1", "--seed: -1: expected a number from 0"),
        ("churn scenario.json --assignor best", "--assignor best: expected one of range,"),
        ("churn scenario.json --protocol lazy", "--protocol lazy: expected one of eager,"),
        ("churn scenario.json --mode best", "--mode best: expected one of optimal,"),
        ("churn scenario.json -o taken", "taken: has what-if.json, but no .partage.json"),
        ("churn scenario.json -o mine", "mine: contains files that partage did not write"),
        pytest.param(
            *("churn scenario.json -o nosuch://a/b", "nosuch://a/b: Spark has no client for such"),
            marks=pytest.mark.long,
        ),
        ("failures none.json", "none.json: no such file"),
        ("failures small.json --pairs -1", "--pairs: -1: expected a number from 0"),
        ("failures small.json --strategy best", "--strategy best: expected one of"),
        ("failures small.json --add-broker 1:a", "--add-broker 1:a: broker 1 is already"),
        ("growth small.json --profile none", "none: no such directory"),
        ("growth small.json", "--profile: required: the cluster file has no bytes_in_per_second"),
        (
            "growth small.json --profile none --disk-threshold half",
            "--disk-threshold half: expected",
        ),
    ],
)
def test_bad_input(
    run: Run, scenario: str, small: str, tmp_path: Path, arguments: str, line: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "what-if.json").write_text('{"partage": "0.1"}')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").touch()
    ended = run("what-if", *arguments.split(), "--json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {line}")
    assert len(ended.err.splitlines()) == 1


@pytest.mark.spark
def test_churn(run: Run, spark: Any, scenario: str, tmp_path: Path) -> None:
    asked = ("what-if", "churn", scenario, "--runs", "4", "--assignor", "sticky", "-o", "out")
    value = run(*asked, "--json").json
    assert {"what_if", "scenario", "runs", "seed", "events", "mode", "violations"} <= set(value)
    assert [(row["protocol"], row["measure"], row["runs"]) for row in value["percentiles"]] == [
        (protocol, measure, 0 if measure == "lag_peak" else 4)
        for protocol in ("eager", "cooperative")
        for measure in (
            "moved",
            "paused_partition_seconds",
            "unowned_partition_seconds",
            "rounds",
            "lag_peak",
        )
    ]
    again = run(*asked, "--json")
    assert (again.code, again.err) == (
        2,
        "partage: out: already exists: --overwrite replaces it\n",
    )
    text = run(*asked, "--overwrite", "--format", "json")
    assert text.code == 0
    assert max(map(len, text.out.splitlines())) <= 100
    next_step = "Next: partage simulate scenario.json --assignor sticky --protocol "
    assert text.out.splitlines()[-1].startswith(f"Written: out   {next_step}")
    rows = [
        json.loads(line)
        for file in (tmp_path / "out" / "percentiles").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert len(rows) == 10


@pytest.mark.long
@pytest.mark.spark
def test_failures_and_growth(run: Run, spark: Any, grown: str, tmp_path: Path) -> None:
    value = run("what-if", "failures", grown, "--strategy", "exact", "--json").json
    assert value["placements"] == ["today", "exact"]
    assert value["cannot"] == {}
    tried = {(r["failure"], r["runs"]) for r in value["percentiles"] if r["measure"] == "offline"}
    assert tried == {("broker", 9), ("rack", 3), ("pair", 36)}
    rows = [
        {"topic": p["topic"], "partition": p["partition"], "offset": o, "key": "k"}
        | {"timestamp": f"2026-01-01T00:00:{o:02}Z", "value_bytes": 100 + p["partition"]}
        for p in bundled("cluster-grown.json")["partitions"][:40]
        for o in range(2)
    ]
    (tmp_path / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run("profile", str(tmp_path / "records.jsonl"), "-o", "prof").code == 0
    asked = ("what-if", "growth", grown, "--profile", "prof", "--runs", "20", "--strategy", "exact")
    uneven = ("--remove-broker", "9")  # which rack-greedy has no answer for
    value = run(*asked, *uneven, "--strategy", "rack-greedy", "--json").json
    assert value["placements"] == ["today", "exact"]
    assert list(value["cannot"]) == ["rack-greedy"]
    assert {row["threshold"] for row in value["percentiles"]} == {1.5, 0.85}
    for command in (asked, ("what-if", "failures", grown, "--profile", "prof", "--pairs", "3")):
        text = run(*command, "--strategy", "generate")
        assert text.code == 0
        *_, last = text.out.splitlines()
        assert last == f"Next: partage plan {grown} --profile prof -o plan/"
        assert max(map(len, text.out.splitlines())) <= 100


@pytest.mark.long
@pytest.mark.spark
def test_growth_of_the_rates_in_the_cluster_file(run: Run, spark: Any, tmp_path: Path) -> None:
    value = bundled("cluster-grown.json")
    for part in value["partitions"]:
        part["bytes_in_per_second"] = 100 + part["partition"]
    (tmp_path / "rated.json").write_text(json.dumps(value))
    asked = ("what-if", "growth", "rated.json", "--runs", "20", "--strategy", "exact")
    rows = run(*asked, "--leaders", "rate", "--json").json["percentiles"]
    busiest = {row["placement"]: row["p50"] for row in rows if row["measure"] == "leader_rate"}
    assert 1 <= busiest["exact"] < busiest["today"]


def test_cases_of_churn() -> None:
    """The broker's assignors with the consumer protocol, the clients' with the classic ones."""
    from partage.cli.what_if_command import _churn_cases

    assert len(_churn_cases(None, None)) == 9
    assert _churn_cases(None, None)[-1] == ("uniform", "consumer")
    assert _churn_cases(["range"], None) == [("range", "eager"), ("range", "cooperative")]
    assert _churn_cases(["range"], ["consumer"]) == [("range", "consumer")]
    assert _churn_cases(["rnage"], ["eager"]) == [("rnage", "eager")]
