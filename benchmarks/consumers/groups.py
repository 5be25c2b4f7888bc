"""Random groups that are hard for assignors, from a seed, as GROUP.json values.

Claims are right here (one owner each, of one generation): on wrong ones Kafka's classes fail.
"""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]


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
