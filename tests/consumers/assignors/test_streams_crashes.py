"""Crashes of Streams applications: as much state as an equally even assignment can keep."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from partage import Assignment, Group, Member, assign
from partage.consumers.assignors.streams import state_lags, target_criteria
from partage.consumers.streams.config import StreamsConfig
from partage.consumers.streams.targets import choose_targets
from partage.consumers.streams.threads import assign_actives
from partage.consumers.streams.topology import Topology
from partage.group.model import NO_MEMBER
from tests.oracles.streams import StreamsCase
from tests.profiles import seeds

Json = dict[str, Any]


def group_of(value: Json) -> Group:
    return Group(value["topics"], [Member(**m) for m in value["members"]], streams=value["streams"])


def targets(value: Json) -> dict[str, list[tuple[str, int]]]:
    """Active tasks by member, once everything has caught up and moved."""
    group = group_of(value)
    app = Topology.of(group, StreamsConfig.of(group))
    target = choose_targets(app.tasks, app.stateful, target_criteria(app, None, state_lags(app)))
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    owner[app.row] = assign_actives(app.tasks, target)[app.task]
    return Assignment(group, owner, owner).as_dict()


def application(draw: random.Random) -> Json:
    """Up to four threads with up to nine tasks, stateful ones among them."""
    topics = {name: draw.randint(1, 4) for name in "abc"[: draw.randint(1, 3)]}
    while sum(topics.values()) > 9:
        topics[max(topics, key=lambda name: topics[name])] -= 1
    processes = [*"xyz"[: draw.randint(2, 3)], *draw.choices("xyz", k=draw.randint(0, 1))]
    kinds = [{"topics": [t], "stateful": draw.random() < 0.6} for t in topics]
    return {
        "topics": topics,
        "members": [
            {"id": f"{p}{n}", "topics": list(topics), "process": p} for n, p in enumerate(processes)
        ],
        "streams": {"subtopologies": kinds, "standbys": draw.randint(0, 2)},
    }


def crash(draw: random.Random, value: Json) -> Json:
    """The application after one of its processes died. Before, it was assigned, or tasks and
    standbys were anywhere."""
    found = assign(group_of(value), "streams")
    owned, standbys = found.as_dict(), found.standbys_by_id
    if draw.random() < 0.5:
        owned, standbys = ({m["id"]: [] for m in value["members"]} for _ in range(2))
        for topic, count in value["topics"].items():
            for number in range(count):
                runs, copy = (draw.choice(value["members"]) for _ in range(2))
                owned[runs["id"]].append((topic, number))
                if copy["process"] != runs["process"]:
                    standbys[copy["id"]].append((topic, number))
    gone = draw.choice(value["members"])["process"]
    members = [
        {**m, "generation": 1, "owned": owned[m["id"]], "standbys": standbys[m["id"]]}
        for m in value["members"]
        if m["process"] != gone
    ]
    if draw.random() < 0.3:  # another one takes its place
        members.append({"id": "new", "topics": list(value["topics"]), "process": "new"})
    return {**value, "members": members}


def some_lags(draw: random.Random, value: Json) -> Json:
    """The lags of the standbys, some of them larger than acceptable."""
    lags: dict[str, dict[str, int]] = {}
    for member in value["members"]:
        for kind, entry in enumerate(value["streams"]["subtopologies"]):
            for topic, number in member.get("standbys", []):
                if entry["topics"] == [topic] and entry["stateful"]:
                    of_process = lags.setdefault(member["process"], {})
                    of_process[f"{kind}_{number}"] = draw.choice((0, 5_000, 20_000, 90_000))
    return {**value, "streams": {**value["streams"], "lags": lags}}


def crashes(count: int) -> Iterator[tuple[int, random.Random, dict[str, Any]]]:
    """(seed, random numbers, group after a crash), where members are left."""
    for seed in seeds(count):
        draw = random.Random(seed)
        value = crash(draw, application(draw))
        if value["members"]:
            yield seed, draw, value


@pytest.mark.random
def test_no_task_starts_without_state_that_an_equally_even_assignment_has() -> None:
    moved = cold = 0
    for seed, _, value in crashes(2_000):
        case = StreamsCase(value)
        found = assign(group_of(value), "streams")
        target = Assignment(found.group, found.target, found.target).as_dict()
        measured = case.value(target)
        assert measured == case.best(), f"seed {seed}"
        moved, cold = moved + measured[5], cold + measured[4]
    assert moved > 3 * cold > 0


@pytest.mark.random
def test_with_lags_no_task_waits_that_an_equally_even_assignment_has_caught_up() -> None:
    moved = waiting = 0
    for seed, draw, value in crashes(1_000):
        case = StreamsCase(some_lags(draw, value))
        found, best = case.value(targets(case.group)), case.best()
        # lags among targets that wait count before threads
        assert found[:-1] == best[:-1], f"seed {seed}"
        moved, waiting = moved + found[5], waiting + found[4]
    assert moved > 3 * waiting > 0


@pytest.mark.parametrize(("s", "n"), ["xy", "yx"])
def test_the_standby_takes_over_and_the_stateless_task_goes_elsewhere(s: str, n: str) -> None:
    """x and y have a stateful and a stateless task each; those of z, which died, are the third."""
    members = [
        {
            "id": name,
            "topics": ["s", "n"],
            "owned": [("s", number), ("n", number)],
            "standbys": [("s", 2)] if name == s else [],
            "generation": 1,
        }
        for number, name in enumerate("xy")
    ]
    streams = {
        "subtopologies": [{"topics": ["s"], "stateful": True}, {"topics": ["n"]}],
        "standbys": 1,
    }
    found = targets({"topics": {"s": 3, "n": 3}, "members": members, "streams": streams})
    assert ("s", 2) in found[s]
    assert ("n", 2) in found[n]
