"""The oracle for groups: every assignment of a small group, from the definition of GROUP.json.

It imports nothing from the product: a group is a plain JSON value. Partition by partition, every
vector of loads that can be reached, each with the best (far, moved) that reaches it; then the
vector that is best when its loads are compared from the highest down.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

Json = dict[str, Any]
Partition = tuple[str, int]


def owners(group: Json) -> dict[Partition, str | None]:
    """Who rightly owns what: the sole claim of the highest generation, if it is allowed."""
    claims: dict[Partition, list[tuple[int, str]]] = {}
    for member in group["members"]:
        for topic, number in {tuple(pair) for pair in member.get("owned") or []}:
            exists = 0 <= number < group["topics"].get(topic, 0)
            if exists and topic in member["topics"]:
                generation = member.get("generation", -1)
                claims.setdefault((topic, number), []).append((generation, member["id"]))
    found: dict[Partition, str | None] = {}
    for partition, claimed in claims.items():
        highest = max(generation for generation, _ in claimed)
        of_highest = [member for generation, member in claimed if generation == highest]
        found[partition] = of_highest[0] if len(of_highest) == 1 else None
    return found


def partitions(group: Json) -> list[Partition]:
    """Those to which somebody subscribes."""
    wanted = {topic for member in group["members"] for topic in member["topics"]}
    return [(t, n) for t, count in group["topics"].items() if t in wanted for n in range(count)]


def is_far(group: Json, member: Json, partition: Partition) -> bool:
    """Both racks are known and no replica lies in the member's."""
    topic, number = partition
    replicas = (group.get("racks") or {}).get(topic)
    racks = replicas[number] if replicas else []
    return bool(member.get("rack") and racks and member["rack"] not in racks)


def best(group: Json) -> tuple[list[int], int, int]:
    """(loads from the highest down, far partitions, partitions that change owner)."""
    had = owners(group)
    members = group["members"]
    reached: dict[tuple[int, ...], tuple[int, int]] = {(0,) * len(members): (0, 0)}
    for partition in partitions(group):
        after: dict[tuple[int, ...], tuple[int, int]] = {}
        for loads, (far, moved) in reached.items():
            for at, member in enumerate(members):
                if partition[0] not in member["topics"]:
                    continue
                now = (*loads[:at], loads[at] + 1, *loads[at + 1 :])
                value = (
                    far + is_far(group, member, partition),
                    moved + (had.get(partition) != member["id"]),
                )
                if now not in after or value < after[now]:
                    after[now] = value
        reached = after
    return min((sorted(loads, reverse=True), *value) for loads, value in reached.items())


def best_racks_first(group: Json, max_skew: Fraction | None) -> tuple[int, list[int], int]:
    """(weight across racks, loads from the highest down, partitions that change owner) of the best
    assignment when racks come first; no load above the highest of ``best`` by more than
    ``max_skew``."""
    had = owners(group)
    members = group["members"]
    highest = best(group)[0][0]
    limit = len(partitions(group)) if max_skew is None else math.floor(highest * (1 + max_skew))
    reached: dict[tuple[int, ...], tuple[int, int]] = {(0,) * len(members): (0, 0)}
    for partition in partitions(group):
        after: dict[tuple[int, ...], tuple[int, int]] = {}
        for loads, (across, moved) in reached.items():
            for at, member in enumerate(members):
                if partition[0] not in member["topics"] or loads[at] == limit:
                    continue
                cost = (
                    across + crosses(group, member, partition),
                    moved + (had.get(partition) != member["id"]),
                )
                place = _one_more(loads, at)
                after[place] = min(cost, after.get(place, cost))
        reached = after
    return min(
        (across, sorted(loads, reverse=True), moved) for loads, (across, moved) in reached.items()
    )


def crosses(group: Json, member: Json, partition: Partition) -> int:
    """The weight of the partition, at least 1, if the member reads it across racks; a member
    without a rack does. 0 where the racks of the partition, or of all members, are unknown."""
    topic, number = partition
    replicas = (group.get("racks") or {}).get(topic)
    racks = replicas[number] if replicas else []
    if not racks or member.get("rack") in racks or not any(m.get("rack") for m in group["members"]):
        return 0
    weights = (group.get("weights") or {}).get(topic)
    if "weights" not in group:
        return 1
    return max(weights[number] if weights else 0, 1)


def evenest(group: Json) -> int:
    """The least sum of squares of the counts per topic and member that the best assignments have:
    topic by topic, and within a topic every way to count."""
    had = owners(group)
    members = group["members"]
    reached: dict[tuple[int, ...], tuple[int, int, int]] = {(0,) * len(members): (0, 0, 0)}
    for topic, count in group["topics"].items():
        able = [at for at, member in enumerate(members) if topic in member["topics"]]
        inside = {((0,) * len(members), loads): cost for loads, cost in reached.items()}
        for number in range(count if able else 0):
            after: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, int, int]] = {}
            for (counts, loads), (far, moved, squares) in inside.items():
                for at in able:
                    place = (_one_more(counts, at), _one_more(loads, at))
                    cost = (
                        far + is_far(group, members[at], (topic, number)),
                        moved + (had.get((topic, number)) != members[at]["id"]),
                        squares + 2 * counts[at] + 1,
                    )
                    after[place] = min(cost, after.get(place, cost))
            inside = after
        reached = {}
        for (_, loads), cost in inside.items():
            reached[loads] = min(cost, reached.get(loads, cost))
    return min((sorted(loads, reverse=True), cost) for loads, cost in reached.items())[1][2]


def _one_more(counts: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*counts[:at], counts[at] + 1, *counts[at + 1 :])


def unevenness(assignment: dict[str, Any]) -> int:
    """The sum of squares of the counts per topic and member."""
    held = Counter((member, topic) for member, pairs in assignment.items() for topic, _ in pairs)
    return sum(count * count for count in held.values())


def value(group: Json, assignment: dict[str, Any]) -> tuple[list[int], int, int]:
    """The same three of an assignment, which is checked for being one."""
    had = owners(group)
    by_id = {member["id"]: member for member in group["members"]}
    assert set(assignment) == set(by_id)
    far = moved = 0
    seen: set[Partition] = set()
    for member, held in assignment.items():
        for topic, number in held:
            assert (topic, number) not in seen, "given twice"
            assert topic in by_id[member]["topics"], "not subscribed to"
            seen.add((topic, number))
            far += is_far(group, by_id[member], (topic, number))
            moved += had.get((topic, number)) != member
    assert seen == set(partitions(group)), "not all are given, or some that are none"
    return sorted((len(held) for held in assignment.values()), reverse=True), far, moved


def small_group(draw: random.Random, most: int = 7) -> Json:
    """A group of up to ``most`` partitions, with claims right and wrong, and sometimes racks."""
    topics: dict[str, int] = {}
    for name in draw.sample(["t0", "t1", "a.b", "x"], draw.randint(1, 3)):
        topics[name] = draw.randint(0, max(1, most // 2))
    while sum(topics.values()) > most:
        topics[draw.choice([name for name in topics if topics[name]])] -= 1
    names = list(topics)
    alike = draw.random() < 0.3
    racks = draw.choice([[], [], ["a", "b"], ["a", "b", "c"]])
    members = []
    for number in range(draw.randint(1, 4)):
        member: Json = {
            "id": f"c{number}",
            "topics": names if alike else draw.sample(names, draw.randint(1, len(names))),
            "generation": draw.choice([-1, 3, 4, 4, 4]),
            "owned": [],
        }
        if draw.random() < 0.05:
            member["topics"] = []
        if draw.random() < 0.1:
            member["topics"] = [*member["topics"], "gone"]
        if racks and draw.random() < 0.9:
            member["rack"] = draw.choice([*racks, "z"] if draw.random() < 0.2 else racks)
        members.append(member)
    greed = draw.random()
    for topic, count in topics.items():
        for number in range(count + 1):  # one beyond the end, now and then
            if number == count and draw.random() < 0.9:
                continue
            for member in draw.sample(members, min(len(members), draw.choice([0, 1, 1, 1, 2]))):
                claimer = members[0] if draw.random() < greed else member
                claimer["owned"].append([topic, number])
    group: Json = {"topics": topics, "members": members}
    if racks:
        group["racks"] = {
            topic: [draw.sample(racks, draw.randint(0, len(racks))) for _ in range(count)]
            for topic, count in topics.items()
            if draw.random() < 0.9
        }
    return group


def again(group: Json, found: Mapping[str, Sequence[Partition]]) -> Json:
    """The group when all members own what they were assigned."""
    after: Json = json.loads(json.dumps(group))
    for member in after["members"]:
        member["owned"] = [list(pair) for pair in found[member["id"]]]
        member["generation"] = 9
    return after


def relaxed(
    group: Json,
    far: Callable[[Json, Json, Partition], int],
    weights: tuple[int, int],
    limit: int | None = None,
) -> float:
    """Least squares of the loads, far and moves as one cost, a move for 1 and the others for
    ``weights`` (square, far): a flow, so that parts of partitions do not pay. ``limit``: the
    highest load."""
    had, listed, members = owners(group), partitions(group), group["members"]
    of_square, of_far = weights
    cost: list[float] = []
    rows: list[tuple[int, int, int]] = []
    for row, partition in enumerate(listed):
        for at, member in enumerate(members):
            if partition[0] in member["topics"]:
                rows += [(row, len(cost), 1), (len(listed) + at, len(cost), 1)]
                moves = had.get(partition) != member["id"]
                cost.append(far(group, member, partition) * of_far + moves)
    for at in range(len(members)):
        for step in range(len(listed) if limit is None else limit):  # 1 + 3 + 5 ... are the squares
            rows.append((len(listed) + at, len(cost), -1))
            cost.append((2 * step + 1) * of_square)
    row, column, sign = zip(*rows, strict=True)
    table = coo_array((sign, (row, column)), shape=(len(listed) + len(members), len(cost)))
    right = np.concatenate((np.ones(len(listed)), np.zeros(len(members))))
    return float(linprog(cost, A_eq=table, b_eq=right, bounds=(0, 1)).fun)
