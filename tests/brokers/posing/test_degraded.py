"""Warnings about dead brokers and too few replicas for ``acks=all``; ``check`` counts the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import partage
from partage import Cluster
from partage.brokers.planning import problem_of
from tests.matrices import partitions

LISTS = [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2]]
BACK = "; if it will be back soon, wait for it and plan again"


def warned(options: dict[str, Any], dead: tuple[int, ...] = (), **more: Any) -> list[str]:
    brokers = [{"id": b, "alive": b not in dead} for b in range(1, 6)]
    cluster = {"brokers": brokers, "partitions": partitions(LISTS), **more}
    return problem_of(Cluster.from_json(cluster), **options).warnings


@pytest.mark.parametrize(
    ("options", "dead", "said"),
    [
        ({}, (), []),
        ({}, (2,), [f"broker 2 is dead: 3 replicas move from it to others{BACK}"]),
        (
            {"replication_factor": ["2"]},
            (2, 3),
            [
                "brokers 2, 3 are dead: 2 replicas move from them to others; if they will be back "
                "soon, wait for them and plan again"
            ],
        ),
        (
            {"replication_factor": ["2"]},
            (2,),
            ["broker 2 is dead: no replicas move from it or to it"],
        ),
        ({"no_moves": True}, (2,), ["broker 2 is dead: no replicas move from it or to it"]),
        ({}, (5,), ["broker 5 is dead: no replicas move from it or to it"]),
        ({"remove_broker": [2]}, (2,), []),
        ({"replace_broker": ["2=7"]}, (2,), []),
        (
            {
                "reassignment": {
                    "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3, 5]}]
                }
            },
            (2,),
            [f"broker 2 is dead: 1 replica moves from it to others{BACK}"],
        ),
    ],
)
def test_dead_brokers_are_named(
    options: dict[str, Any], dead: tuple[int, ...], said: list[str], tmp_path: Path
) -> None:
    options = options | ({"strategy": "given"} if "reassignment" in options else {})
    found = [one for one in warned(options, dead) if "dead:" in one]
    assert found == said
    brokers = [{"id": b, "alive": b not in dead} for b in range(1, 6)]
    cluster = Cluster.from_json({"brokers": brokers, "partitions": partitions(LISTS)})
    made = partage.plan(cluster, **options)
    made.write(tmp_path / "plan")
    defects = partage.check(tmp_path / "plan").defects
    assert not [one for one in defects if "warnings" in one]
    assert [one for one in made.warnings if "dead:" in one] == said


def described(*lines: str, settings: str = "") -> str:
    head = f"Topic: t\tPartitionCount: {len(lines)}\tReplicationFactor: 2\tConfigs: {settings}"
    rows = [f"\tTopic: t\tPartition: {n}\t{line}" for n, line in enumerate(lines)]
    return "\n".join([head, *rows, ""])


def of_text(tmp_path: Path, text: str, **options: Any) -> list[str]:
    (tmp_path / "topics.txt").write_text(text)
    return problem_of(Cluster.read(tmp_path / "topics.txt"), **options).warnings


def test_brokers_that_may_be_dead(tmp_path: Path) -> None:
    text = described(
        "Leader: 2\tReplicas: 3,2\tIsr: 2",
        "Leader: 1\tReplicas: 1,2\tIsr: 1,2",
        "Leader: none\tReplicas: 3\tIsr: 3",
    )
    said = (
        "broker 3 may be dead: it leads no partition and is in no leader's ISR; if so, add "
        "--remove-broker 3, or plan from a snapshot, which lists dead brokers"
    )
    assert said in of_text(tmp_path, text)
    assert not any("may be dead" in one for one in of_text(tmp_path, text, remove_broker=[3]))
    two = described(*["Leader: 2\tReplicas: 4,3,2\tIsr: 2"] * 2)
    (found,) = (one for one in of_text(tmp_path, two) if "may be dead" in one)
    assert found.startswith("brokers 3, 4 may be dead: they lead no partition and are in no leader")
    assert "--remove-broker 3,4," in found


@pytest.mark.parametrize(
    ("factor", "least", "said"),
    [
        (None, 2, []),
        (None, 3, []),  # as before the plan
        ("4", 3, []),
        (
            "1",
            2,
            [
                "fewer replicas than min.insync.replicas: 4 partitions, among them t-0 (1 of 2); "
                "before Kafka 3.7, producers with acks=all cannot write, since then their records "
                "have fewer copies; apply refuses the plan until min.insync.replicas is lowered"
            ],
        ),
        (
            "2",
            2,
            [
                "only as many replicas as min.insync.replicas: 4 partitions, among them t-0 (2); "
                "while one of their brokers is down, producers with acks=all cannot write"
            ],
        ),
        (
            None,
            4,  # too few already: apply does not refuse what the plan leaves as it is
            [
                "fewer replicas than min.insync.replicas: 4 partitions, among them t-0 (3 of 4); "
                "before Kafka 3.7, producers with acks=all cannot write, since then their records "
                "have fewer copies"
            ],
        ),
    ],
)
def test_min_insync_replicas(factor: str | None, least: int, said: list[str]) -> None:
    options = {} if factor is None else {"replication_factor": [factor]}
    assert warned(options, min_insync_replicas={"t": least, "gone": 9}) == said


def test_min_insync_replicas_of_other_topics_do_not_count(tmp_path: Path) -> None:
    text = described("Leader: 1\tReplicas: 1,2\tIsr: 1,2", settings="min.insync.replicas=3")
    other = text.replace("Topic: t", "Topic: u").replace("replicas=3", "replicas=1")
    assert any("min.insync" in one for one in of_text(tmp_path, text + other))
    assert not any("min.insync" in one for one in of_text(tmp_path, text + other, topics="u"))
