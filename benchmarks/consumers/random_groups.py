"""Random groups that are hard for assignors, and large groups, as GROUP.json values from a seed.

Claims are consistent (one owner per partition, one generation): Kafka's classes fail otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Held = Mapping[str, Sequence[Any]]
"""(topic, number) pairs by member."""


def random_group(draw: random.Random, *, alike: bool, racks: bool, large: bool) -> Json:
    """Up to 5 topics and 12 members. ``alike``: all subscribe to all topics."""
    names = [draw.choice(["t", "topic-", "a.b."]) + str(n) for n in range(draw.randint(1, 5))]
    same, most = draw.randint(1, 8), 40 if large else 8
    together = draw.random() < 0.4
    topics = {
        name: same if together and draw.random() < 0.7 else draw.randint(1, most) for name in names
    }
    where = list("abcd")[: draw.randint(1, 4)] if racks else []
    members: list[Json] = []
    for number in range(draw.randint(1, 12 if large else 7)):
        everything = alike or draw.random() < 0.5
        member: Json = {
            "id": f"c{draw.randint(0, 999)}-{number}",
            "topics": names if everything else draw.sample(names, draw.randint(1, len(names))),
            "generation": 5,
            "owned": [],
        }
        if draw.random() < 0.3:
            member["instance_id"] = f"i{draw.randint(0, 99)}-{number}"
        if where and draw.random() < 0.85:
            member["rack"] = draw.choice([*where, "z"] if draw.random() < 0.1 else where)
        members.append(member)
    members.sort(key=lambda member: str(member["id"]))
    if draw.random() < 0.75:
        for topic, count in topics.items():
            able = [member for member in members if topic in member["topics"]]
            for number in range(count if able else 0):
                some = able[: max(1, len(able) // 2)] if draw.random() < 0.6 else able
                if draw.random() < 0.8:
                    draw.choice(some)["owned"].append([topic, number])
    group: Json = {"topics": topics, "members": members}
    if where:
        group["racks"] = {
            topic: [
                draw.sample(where, draw.randint(0 if draw.random() < 0.1 else 1, len(where)))
                for _ in range(count)
            ]
            for topic, count in topics.items()
            if draw.random() < 0.95
        }
    return group


# -- groups with different subscriptions, and changes to them


def unequal_group(draw: random.Random) -> Json:
    """5 to 40 members and 3 to 20 topics, up to some hundreds of partitions; no member owns any."""
    names = [f"topic-{number}" for number in range(draw.randint(3, 20))]
    largest, share = draw.choice([5, 20, 40]), draw.uniform(0.1, 0.9)
    everything = draw.choice([0.0, 0.0, 0.5])
    members = []
    for number in range(draw.randint(5, 40)):
        some = [name for name in names if draw.random() < share] or [draw.choice(names)]
        topics = names if draw.random() < everything else some
        members.append({"id": f"c{number:02}", "topics": topics, "owned": [], "generation": -1})
    return {"topics": {name: draw.randint(1, largest) for name in names}, "members": members}


def changed(draw: random.Random, group: Json) -> Callable[[Held], Json]:
    """A random change of a group: a member leaves or joins, or a topic grows.

    Returns a function from the assignment before to the group after the change, in which members
    claim what they held.
    """
    topics, ids = dict(group["topics"]), [member["id"] for member in group["members"]]
    change = draw.choice(["leaves", "joins", "grows"])
    leaves = draw.choice(ids) if change == "leaves" else None
    joins: list[Json] = []
    if change == "joins":
        some = draw.sample(list(topics), draw.randint(1, len(topics)))
        joins = [{"id": "new", "topics": some, "owned": [], "generation": -1}]
    if change == "grows":
        topics[draw.choice(list(topics))] += draw.randint(1, 10)

    def after(held: Held) -> Json:
        members = [
            {**member, "owned": [list(pair) for pair in held[member["id"]]], "generation": 6}
            for member in group["members"]
            if member["id"] != leaves
        ]
        return {"topics": topics, "members": [*members, *joins]}

    return after


# -- large groups


@dataclass(frozen=True)
class Shape:
    """Topics of equal size, the members' subscriptions, and the ``peers`` to compare."""

    description: str
    partitions: int
    topics: int
    members: int
    subscriptions: str
    peers: tuple[str, ...]
    size: str = "medium"

    def generate(self, seed: int) -> tuple[dict[str, int], dict[str, list[str]]]:
        """Partitions by topic, and topics by member."""
        draw = random.Random(seed)
        topics = {
            f"topic-{number:04}": self.partitions // self.topics for number in range(self.topics)
        }
        names = list(topics)
        ids = [f"member-{number:05}" for number in range(self.members)]
        middle = ids[self.members // 2]
        if self.subscriptions == "odd":
            return topics, {**dict.fromkeys(ids, names), middle: names[::2]}
        if self.subscriptions == "never level":
            topics["small"] = 1
            return topics, {at: ["small"] if at == middle else list(topics) for at in ids}
        if self.subscriptions == "random":
            chosen = {at: [name for name in names if draw.random() < 0.2] for at in ids}
            return topics, {at: some or names[:1] for at, some in chosen.items()}
        if self.subscriptions == "classes":
            sets = [sorted(draw.sample(names, len(names) * 3 // 10)) for _ in range(40)]
            return topics, {at: sets[number % 40] for number, at in enumerate(ids)}
        return topics, dict.fromkeys(ids, names)


_ALL, _KAFKA = ("Kafka", "kafka-python"), ("Kafka",)
SHAPES = {
    "10k": Shape("equal subscriptions", 10_000, 100, 100, "alike", _ALL, "small"),
    "10k-random": Shape("random topics", 10_000, 100, 100, "random", _ALL, "small"),
    "50k": Shape("equal subscriptions", 50_000, 500, 1_000, "alike", _ALL),
    "50k-random": Shape("random topics", 50_000, 500, 1_000, "random", _KAFKA),
    "50k-never": Shape("one can never catch up", 50_000, 500, 1_000, "never level", _KAFKA),
    "200k-classes": Shape("40 classes", 200_000, 500, 500, "classes", _KAFKA),
    "1M": Shape("equal subscriptions", 1_000_000, 1_000, 2_000, "alike", _KAFKA, "large"),
    "1M-odd": Shape("one has half the topics", 1_000_000, 1_000, 2_000, "odd", _KAFKA, "large"),
}
