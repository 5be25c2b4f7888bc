"""How often Kafka's sticky misses the fairest loads, or moves more than it must.

Random groups whose subscriptions differ: everyone joins, Kafka's class assigns; then a member
leaves, joins or changes what it subscribes to, and Kafka's class assigns again. Each answer is
compared with ``optimal`` on the same group, and with Kafka's mode ``java`` here.

    python benchmarks/consumers/compare_kafka.py [GROUPS] [SEED]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from groups import random_group
from java import answers

from partage import Assignment, assign
from partage.group.formats import group_from_json

Json = dict[str, Any]


def changed(draw: random.Random, group: Json, held: dict[str, list[list[Any]]]) -> Json:
    """The next generation: all claim what they hold, and one thing is different."""
    members = [{**m, "owned": held[m["id"]], "generation": 6} for m in group["members"]]
    names = list(group["topics"])
    what = draw.choice(["leaves", "joins", "subscribes"])
    if what == "leaves" and len(members) > 1:
        members.pop(draw.randrange(len(members)))
    elif what == "joins":
        some = draw.sample(names, draw.randint(1, len(names)))
        members.append({"id": "new", "topics": some, "owned": [], "generation": -1})
    else:
        member = draw.choice(members)
        member["topics"] = draw.sample(names, draw.randint(1, len(names)))
        member["owned"] = [pair for pair in member["owned"] if pair[0] in member["topics"]]
    members.sort(key=lambda member: str(member["id"]))
    return {**group, "members": members}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    groups = [random_group(draw, alike=False, racks=False, large=True) for _ in range(count)]
    for group in groups:
        for member in group["members"]:
            member["owned"], member["generation"] = [], -1
    tally: dict[str, dict[str, int]] = {}
    for when in ("fresh", "after a change"):
        said = answers([("sticky", group) for group in groups])
        tally[when] = {"fails": 0, "unfair": 0, "moves more": 0, "as good": 0}
        tally[when]["java mode differs"] = 0
        following = []
        for group, answer in zip(groups, said, strict=True):
            read = group_from_json(group, "group")
            ours, theirs = assign(read, "sticky"), answer.get("assignment")
            if theirs is None:
                tally[when]["fails"] += 1
                theirs = ours.to_json()["assignment"]
            same = assign(read, "sticky", "java").to_json()["assignment"]
            tally[when]["java mode differs"] += same != {m: sorted(h) for m, h in theirs.items()}
            tally[when][_verdict(group, ours, theirs)] += 1
            following.append(changed(draw, group, theirs))
        groups = following
    for when, row in tally.items():
        figures = ", ".join(f"{what} {number}" for what, number in row.items() if what != "as good")
        print(f"{when}: of {count} groups {figures}")


def _verdict(group: Json, ours: Assignment, theirs: dict[str, list[list[Any]]]) -> str:
    loads = sorted(map(len, theirs.values()))
    if loads != sorted(ours.loads.tolist()):
        return "unfair"
    had = {(t, n): m["id"] for m in group["members"] for t, n in m["owned"]}
    moves = sum(had.get((t, n)) != m for m, held in theirs.items() for t, n in held)
    assert moves >= ours.moves
    return "moves more" if moves > ours.moves else "as good"


if __name__ == "__main__":
    main()
