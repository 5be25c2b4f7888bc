"""The quality of an assignment, computed from GROUP.json values. It shares no code with partage.

Loads are as fair as possible if and only if there is no chain of members, each able to pass a
partition to the next, from one member to another with at least two partitions less (optimal
semi-matchings: Harvey, Ladner, Lovász, Tamir 2003). So an answer is judged without others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Assignment = dict[str, list[list[Any]]]


@dataclass(frozen=True)
class Verdict:
    """The quality of an answer.

    - ``faults``: partitions assigned twice, not at all, unknown, or to a non-subscriber
    - ``fairest``: whether no loads are fairer; ``moves``: partitions with a new owner
    - ``spread``: the most that two subscribers of a topic differ in its partitions
    - ``squares``: of the counts per topic and member, summed
    """

    faults: int
    fairest: bool
    moves: int
    spread: int
    squares: int


def verdict(group: Json, assignment: Assignment) -> Verdict:
    """Judge an answer to a group with consistent claims."""
    topics = {member["id"]: set(member["topics"]) for member in group["members"]}
    subscribers: dict[str, list[str]] = {}
    for member in group["members"]:
        for topic in member["topics"]:
            subscribers.setdefault(topic, []).append(member["id"])
    had = {(t, n): m["id"] for m in group["members"] for t, n in m.get("owned") or ()}
    given: Counter[tuple[str, int]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    moves = not_subscribed = 0
    for member, pairs in assignment.items():
        for topic, number in pairs:
            given[topic, number] += 1
            held[topic, member] += 1
            not_subscribed += topic not in topics.get(member, ())
            moves += had.get((topic, number)) != member
    wanted = {
        (t, n) for t, count in group["topics"].items() if t in subscribers for n in range(count)
    }
    twice = sum(given.values()) - len(given)
    counts = {
        topic: [held[topic, member] for member in members] for topic, members in subscribers.items()
    }
    return Verdict(
        faults=twice + not_subscribed + len(wanted ^ set(given)),
        fairest=_fairest(topics, held),
        moves=moves,
        spread=max((max(each) - min(each) for each in counts.values()), default=0),
        squares=sum(count * count for count in held.values()),
    )


def _fairest(
    topics: dict[str, set[str]],
    held: Counter[tuple[str, str]],
) -> bool:
    load = dict.fromkeys(topics, 0)
    holds: dict[str, list[str]] = {member: [] for member in topics}
    for (topic, member), count in held.items():
        if count and member in load:
            load[member] += count
            holds[member].append(topic)
    done: set[str] = set()
    # from the lowest load: members that can pass it a partition may have one more, not two
    for low in sorted(topics, key=load.__getitem__):
        reach = [low]
        seen = {low}
        while reach:
            to = reach.pop()
            for member in topics:
                if member in seen or member in done:
                    continue
                if any(topic in topics[to] for topic in holds[member]):
                    if load[member] > load[low] + 1:
                        return False
                    seen.add(member)
                    reach.append(member)
        # members that reach this one reach no lower one
        done |= seen
    return True
