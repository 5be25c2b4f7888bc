"""Simulations as logs of Java clients: the log of KIP-429's article, and ``history`` reads them."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from partage.consumers.client_log import client_log
from partage.consumers.scenario import Scenario, ScenarioMember
from partage.consumers.simulation import simulate
from tests.consumers.history.history_logs import KIP_429, one_group, text_of

GROUPS = files("partage") / "data" / "groups"
UPDATE = re.compile(
    r"(?:now a|\bA)ssigned partitions: *(?P<now>.*)\n"
    r"\s*(?:compare with previously|Current) owned partitions: *(?P<owned>.*)\n"
    r"\s*(?:newly added partitions|Added partitions \(assigned - owned\)): *(?P<added>.*)\n"
    r"\s*(?:r|R)evoked partitions(?: \(owned - assigned\))?: *(?P<revoked>.*)"
)
"""Of the article's log and of today's words."""


def shipped(name: str) -> Scenario:
    text = (GROUPS / f"{name}-scenario.json").read_text(encoding="utf-8")
    return Scenario.from_json(json.loads(text))


def updates(log: str) -> list[dict[str, list[int]]]:
    """Partitions assigned, owned before, added and revoked, in each update of a log."""
    return [
        {part: [int(n) for n in re.findall(r"-(\d+)", text)] for part, text in found.items()}
        for found in (match.groupdict() for match in UPDATE.finditer(log))
    ]


def finished(log: str) -> list[tuple[int, list[list[int]]]]:
    """Generations, and what their members were assigned."""
    return [
        (
            int(number),
            [
                [int(n) for n in re.findall(r"-(\d+)", held)]
                for held in re.findall(r"partitions=\[(.*?)\]", text)
            ],
        )
        for number, text in re.findall(r"at generation (\d+): (.*)", log)
    ]


def test_the_log_of_kip_429() -> None:
    """The article's log, partition 0 and all: Kafka's client of then kept the partitions that it
    listed first, in the order of a hash map."""
    found = simulate(shipped("kip-429"), "cooperative-sticky", mode="java-3.7.0")
    log = client_log(found)
    of_one, of_two = ("\n".join(text_of(KIP_429 / f"client-{n}.log")) for n in ("one", "two"))
    lines = log.split("2000-01-01 ")
    for name, article in (("consumer-1", of_one), ("consumer-2", of_two)):
        mine = "".join(line for line in lines if f"clientId={name}," in line)
        assert updates(mine) == updates(article)
        assert finished(mine) == finished(article)
    assert updates(of_one)[1] == {"now": [1, 2], "owned": [0, 1, 2], "added": [], "revoked": [0]}
    assert [generation for generation, _ in finished(log)] == [9, 10, 11]


@pytest.mark.parametrize(
    ("name", "assignor"),
    [
        ("kip-429", "cooperative-sticky"),
        ("migration", "range"),
        ("deploy", "sticky"),
        ("deploy", "cooperative-sticky"),
    ],
)
def test_history_reads_what_was_simulated(name: str, assignor: str) -> None:
    found = simulate(shipped(name), assignor)
    history = one_group({"simulated.log": client_log(found).splitlines()})
    rounds = [one for one in found.rounds if one.assignment]
    assert [one.generation for one in history.rounds] == [one.generation for one in rounds]
    assert [one.assignor for one in history.rounds] == [one.assignor for one in rounds]
    since = history.since_start
    read = sorted(
        (one.partition, one.member, round(1000 * since(one.start)), round(1000 * since(one.end)))
        for one in history.owned
        if one.end > one.start
    )
    until = round(1000 * since(history.until))
    expected = (
        (one.partition, one.member, int(1000 * one.start + 0.01), int(1000 * one.end + 0.01))
        for one in found.spans
    )
    assert read == sorted(
        (*who, start, min(end, until)) for *who, start, end in expected if start < until
    )


def test_names_cannot_forge_lines() -> None:
    member = ScenarioMember("a\n2000-01-01 b", ("t",), instance_id="i")
    lines = client_log(simulate(Scenario({"t": 1}, (member,), 5.0), "range")).splitlines()
    assert all(line.startswith("2000-01-01 00:00:0") for line in lines)
    assert "[Consumer instanceId=i, clientId=a\\n2000-01-01 b, groupId=simulated]" in lines[0]
