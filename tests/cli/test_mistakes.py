"""Mistakes that people make, each answered with what to do instead."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from partage.cli import app, settings
from partage.cli.arguments import assignor_names, strategy_names

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]

ANSWERS = {
    "plan": "CLUSTER: is missing: name a file, or a running cluster with --bootstrap-server HOST",
    "compare": "CLUSTER: is missing: name a file, or a running cluster with --bootstrap-server",
    "plan topics.json": "lists topics to move, expected a cluster: name one, and its topics with "
    "--topics",
    "plan cluster.json --topics kaf": "--topics kaf: matches no topic of the cluster: the whole "
    "name must match; .*kaf.* matches kafka, kafka-ui, librdkafka",
    "plan cluster.json --topics kafak": "--topics kafak: matches no topic of the cluster: did you "
    "mean kafka?",
    "plan cluster.json --topics k(a|b)": "the whole name must match; .*k(a|b).* matches kafka",
    "plan cluster.json --explain nosuch-3": "--explain nosuch-3: not a partition of the cluster: "
    "the topics are ",
    "plan cluster.json --explain consol-3": "not a partition of the cluster: did you mean console?",
    "plan cluster.json --explain console-99": "console has partitions 0 to 11",
    "plan cluster.json --explain console": "add its number, console-0",
    "plan rak.json": "rak.json: brokers[0].rak: unknown key: did you mean rack? expected alive, ",
    "plan size.json": "size.json: partitions[1].size: unknown key: did you mean size_bytes? ",
    "plan double.json": "double.json: key rack is given twice in {",
    "report cluster.json": "cluster.json: is a file, expected a plan directory: partage plan "
    "cluster.json -o plan/ makes one",
    "check cluster.json": "is a file, expected a plan directory: partage plan cluster.json",
    "verify cluster.json": "is a file, expected a plan directory: partage plan cluster.json",
    "check p/plan.json": "p/plan.json: is a file, expected the plan directory it is in: p",
    "report p/plan.json": "p/plan.json: is a file, expected the plan directory it is in: p",
    "report p": "p/plan.json: has no format_version: expected a file that partage plan wrote",
    "plan headings.txt": "headings.txt: has 1 topic without partitions (no 'Partition:' line): "
    "give the whole output of kafka-topics.sh --describe",
    "place console cluster.json --partitions 30 --brokers 7,8": "--brokers 7,8: the partitions of "
    "console have 3 replicas each: name 3 brokers or more",
    "place t few.json --partitions 3": "t: the partitions of t have 2 replicas each, only 1 broker",
    "assign group.json --assignor range --max-skew 5%": "--max-skew: range has no such option: it "
    "takes none",
    "assign group.json --assignor weighted --racks-first": "--racks-first: weighted has no such "
    "option: it takes --max-skew",
    "plan cluster.json --replication-factor 10": "needs 10 live brokers, 9 can be used: lower the "
    "replication factor or add a broker",
    "plan cluster.json --picture x.PNG": "--picture x.PNG: is drawn as SVG: give a name with .svg",
    "assign group.json --assignor range --picture x.pdf": "--picture x.pdf: is drawn as SVG",
    "report nosuch": "nosuch: no such directory, expected a plan directory",
    "profile nosuch.parquet -o d": "partage: nosuch.parquet: no such file or directory",
    "profile --sizes nosuch.txt -o d": "partage: nosuch.txt: no such file or directory",
    "history nosuch.log": "partage: nosuch.log: no such file or directory",
    "history empty": "partage: empty: holds no files",
    "keys empty --partitions 6": "partage: empty: holds no files",
    "keys notes.doc --partitions 6": "notes.doc: no file of a known format (names that end in "
    ".parquet, .orc, .avro, .jsonl, .csv)",
    "profile notes -o d": "partage: notes: no file of a known format (names that end in .parquet, ",
    "profile --sizes notes -o d": "partage: notes: no file of a known format (names that end in ",
    "profile --lags notes.doc -o d": ".csv, .txt)",
    "assign member.json --assignor sticky": "members[0].instanc_id: unknown key: did you mean "
    "instance_id? expected one of id, topics, ",
    "keys nosuch.parquet --partitions 6": "partage: nosuch.parquet: no such file or directory",
}


@pytest.fixture
def files(run: Run, grown: str) -> None:
    """What the commands above name; in the directory of the run."""
    text = Path(grown).read_text()

    def write(name: str, change: Callable[[Any], None]) -> None:
        value = json.loads(text)
        change(value)
        Path(name).write_text(json.dumps(value))

    def misspell(row: dict[str, Any], key: str, wrong: str) -> None:
        row[wrong] = row.pop(key)

    write("rak.json", lambda value: misspell(value["brokers"][0], "rack", "rak"))
    write("size.json", lambda value: misspell(value["partitions"][1], "size_bytes", "size"))
    Path("double.json").write_text('{"brokers":[{"id":1,"rack":"a","rack":"b"}],"partitions":[]}')
    Path("topics.json").write_text('{"version": 1, "topics": [{"topic": "console"}]}')
    Path("p").mkdir()
    Path("empty").mkdir()
    Path("notes").mkdir()
    for name in ("notes.csv", "notes.doc", "notes/one.doc", "notes/_one.csv"):
        Path(name).write_text("text")
    Path("member.json").write_text(
        '{"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"], "instanc_id": "b"}]}'
    )
    Path("p/plan.json").write_text("{}")
    Path("headings.txt").write_text("Topic: orders\tPartitionCount: 3\tReplicationFactor: 3\n")
    Path("group.json").write_text('{"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}]}')
    Path("few.json").write_text(
        '{"brokers": [{"id": 1}, {"id": 2, "alive": false}],'
        ' "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'
    )


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", ANSWERS)
def test_the_answer_says_what_to_do(run: Run, words: str) -> None:
    ended = run(*words.split())
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()  # nothing else: Spark was not started
    assert ANSWERS[words] in line


EMPTY = {
    "profile ? -o d": "path: is empty: is a variable unset? Name a file or a directory",
    "profile --sizes ? -o d": "path: is empty",
    "profile --lags ? -o d": "path: is empty",
    "profile kafka://h:1/t --command-config ? -o d": "path: is empty",
    "profile --table ? -o d": "--table: is empty: name a table as in SQL",
    "profile notes.csv -o d --cluster ?": "path: is empty",
    "keys ? --partitions 6": "path: is empty",
    "history empty ?": "path: is empty",
    "watch ? --cluster p -o d": "path: is empty",
    "what-if churn ?": "path: is empty",
    "plan ?": "path: is empty",
    "plan few.json --profile ?": "path: is empty",
}
"""Errors of commands of which the word ``?`` is an empty one."""


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", EMPTY)
def test_an_empty_path_is_not_the_current_directory(run: Run, words: str) -> None:
    ended = run(*("" if word == "?" else word for word in words.split()))
    assert (ended.code, ended.out) == (2, "")
    (line,) = (line for line in ended.err.splitlines() if line.startswith("partage: "))
    assert EMPTY[words] in line


@pytest.mark.usefixtures("files")
def test_a_plan_without_a_version_is_a_defect(run: Run) -> None:
    ended = run("check", "p")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith(
        "✗ plan.json: has no format_version: expected a file that partage plan wrote\n"
    )


def warnings(run: Run, *words: str) -> list[str]:
    run("plan", *words, "-o", "warned")
    found: list[str] = json.loads(Path("warned/plan.json").read_text())["warnings"]
    return found


def test_a_reassignment_as_a_cluster(run: Run, tmp_path: Path) -> None:
    Path("new.json").write_text(
        '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'
    )
    (found, _) = warnings(run, "new.json")
    assert found == (
        "the input is a reassignment JSON and is read as the current placement: to judge it as a "
        "proposal, name the cluster and add --reassignment FILE"
    )


def test_a_description_with_replicas_out_of_sync(run: Run, tmp_path: Path) -> None:
    def line(number: int, replicas: str, in_sync: str) -> str:
        return f"\tTopic: t\tPartition: {number}\tLeader: 1\tReplicas: {replicas}\tIsr: {in_sync}\n"

    known = "Topic: t\tTopicId: kkUFvaIfTPyVfMKfQKlP7g"
    head = f"{known}\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: \n"
    described = Path("described.txt")
    described.write_text(head + line(0, "1,2,3", "1,2,3") + line(1, "2,3,1", "1"))
    assert warnings(run, "described.txt")[0] == (
        "1 partition has replicas out of sync (t-1): repair them first"
    )
    described.write_text(head + line(0, "1,2,3", "") + line(1, "2,3,1", "1\tElr: 2"))
    assert warnings(run, "described.txt")[0].startswith("2 partitions have replicas out of sync")
    described.write_text(head + line(0, "1,2,3", "2,1,3") + line(1, "2,3,1", "1,2,3"))
    assert "sync" not in str(warnings(run, "described.txt"))


def test_warnings_are_printed_once(run: Run, tmp_path: Path) -> None:
    value = {
        "brokers": [{"id": broker, "alive": broker != 2} for broker in (1, 2, 3)],
        "partitions": [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in (0, 2)],
    }
    Path("dead.json").write_text(json.dumps(value))
    said = warnings(run, "dead.json")
    assert [one.split(":")[0] for one in said] == [
        "the input lacks 1 partition (t-1)",
        "broker 2 is dead",
    ]
    for command in ("plan", "compare"):
        assert run(command, "dead.json", "--json").json["warnings"] == said
        ended = run(command, "dead.json")
        assert ended.out.count("broker 2 is dead: 2 replicas move") == 1
        assert ended.out.count("the input lacks 1 partition") == 1
    assert Path("warned/report.html").read_text().count("broker 2 is dead") >= 1
    for broker in value["brokers"]:
        broker["alive"] = True
    value["partitions"].pop()
    Path("alive.json").write_text(json.dumps(value))
    for command in ("plan", "compare"):
        assert "warnings" not in run(command, "alive.json", "--json").json
        assert "Warnings" not in run(command, "alive.json").out


def test_a_broker_in_a_new_rack(run: Run, grown: str) -> None:
    wanted = "broker 10 is in a new rack, z (existing: a, b, c)"
    assert wanted in warnings(run, grown, "--add-broker", "10:z", "--add-broker", "11:a")
    assert not any("rack, " in one for one in warnings(run, grown, "--add-broker", "10:a"))


def test_unknown_keys_of_other_tools_are_ignored(run: Run, grown: str) -> None:
    value = json.loads(Path(grown).read_text())
    value["comment"] = value["partitions"][0]["leader"] = 1
    value["brokers"][0]["host"] = "h"
    Path("more.json").write_text(json.dumps(value))
    assert run("plan", "more.json").code == 0


# ---------------------------------------------------------------- the help


def all_options() -> list[tuple[str, Any]]:
    return [
        (" ".join(path), option)
        for path, command in settings.commands(get_command(app))
        for option in settings.options(command).values()
    ]


def test_metavars_cannot_be_taken_for_values() -> None:
    """Upper case, or words to choose from."""
    for path, option in all_options():
        if option.is_flag:
            continue
        wanted = r"[A-Z-]+(:[A-Z]+|=[A-Z]+|,…|\.svg|\.html|\|%|\.\.\.)*(\|([A-Z]+(=[A-Z]+)?|auto))*"
        choice = r"[a-z0-9.-]+(\|[a-z0-9.-]+)+"
        assert re.fullmatch(f"{wanted}|{choice}", option.metavar or ""), (path, option.metavar)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("plan", strategy_names()),
        ("compare", strategy_names()),
        ("what-if growth", strategy_names()),
        ("assign", assignor_names()),
        ("simulate", assignor_names()),
        ("what-if churn", assignor_names()),
    ],
)
def test_help_lists_names_and_no_types_of_flags(run: Run, command: str, names: Any) -> None:
    for _ in range(2):  # what the first help prints, the second prints again
        shown = run(*command.split(), "--help").out
        assert "<bool>" not in shown
        text = " ".join(re.sub(r"[│\s]+", " ", shown).split())
        assert text.count(f"Known: {', '.join(names)}.") == 1
