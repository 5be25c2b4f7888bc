"""Write tests/consumers/kafka_answers.json.gz: the answers of Kafka's assignors to random groups.

The tests compare range, roundrobin and sticky's mode ``java`` with it, without Java. With a number,
that many groups of each kind are compared immediately, and nothing is written:

    python benchmarks/consumers/kafka_answers.py [GROUPS]
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from random_groups import random_group
from runners import answers

from partage import Group, assign

FILE = Path(__file__).resolve().parents[2] / "tests" / "consumers" / "kafka_answers.json.gz"
KINDS = ("range", "roundrobin", "sticky", "cooperative-sticky")
OF_EACH = 12


def cases(of_each: int) -> list[tuple[str, dict[str, Any]]]:
    """(assignor, group) pairs: groups of every kind for every assignor."""
    draw = random.Random(1)
    return [
        (name, random_group(draw, alike=alike, racks=racks, large=large))
        for name in KINDS
        for alike in (False, True)
        for racks in (False, True)
        for large in (False, True)
        for _ in range(of_each)
    ]


def main() -> None:
    pairs = cases(int(sys.argv[1]) if len(sys.argv) > 1 else OF_EACH)
    kafka = answers(pairs)
    found: list[dict[str, Any]] = []
    differ = 0
    for (name, group), answer in zip(pairs, kafka, strict=True):
        theirs = {member: sorted(held) for member, held in answer["assignment"].items()}
        ours = assign(Group.from_json(group, "group"), name, "java").to_json()["assignment"]
        differ += ours != theirs
        found.append({"assignor": name, "group": group, "assignment": theirs})
    print(f"{len(pairs)} groups, {differ} with another answer", file=sys.stderr)
    if len(sys.argv) == 1:
        text = "\n".join(json.dumps(case, separators=(",", ":")) for case in found) + "\n"
        FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
