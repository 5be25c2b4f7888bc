"""Write the answers of Kafka's assignors to random groups, in tests/consumers:
kafka_answers.json.gz of Kafka 4.3.1, kafka_3_7_0_answers.json.gz of the sticky ones of 3.7.0.

The tests compare range, roundrobin and sticky's modes ``java`` and ``java-3.7.0`` with them,
without Java. With ``--groups``, that many groups of each kind are compared immediately, and nothing
is written; the exit code is 1 if an answer differs:

    python benchmarks/consumers/kafka_answers.py [--kafka 3.7.0] [--groups N]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from random_groups import random_group
from runners import KAFKA, answers

from partage import Group, assign
from partage.consumers.assignors import ASSIGNORS
from partage.errors import CannotError

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "consumers"
OF_EACH = 12
VERSIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    KAFKA: ("kafka_answers", "java", ("range", "roundrobin", "sticky", "cooperative-sticky")),
    "3.7.0": ("kafka_3_7_0_answers", "java-3.7.0", ("sticky", "cooperative-sticky")),
}
"""By version: the file's name, our mode, and the assignors."""


def cases(version: str, of_each: int) -> list[tuple[str, dict[str, Any]]]:
    """(assignor, group) pairs: groups of every kind for every assignor. Until 3.7.0 the order in
    which members list what they own counts, so it is random."""
    draw = random.Random(1)
    pairs = [
        (name, random_group(draw, alike=alike, racks=racks, large=large))
        for name in VERSIONS[version][2]
        for alike in (False, True)
        for racks in (False, True)
        for large in (False, True)
        for _ in range(of_each)
    ]
    if version == "3.7.0":
        for _, group in pairs:
            for member in group["members"]:
                member["owned"] = _shuffled_by_topic(draw, member["owned"])
    return pairs


def _shuffled_by_topic(draw: random.Random, owned: list[list[Any]]) -> list[list[Any]]:
    """A message lists what a member owns topic by topic."""
    numbers: dict[str, list[Any]] = {}
    for pair in owned:
        numbers.setdefault(pair[0], []).append(pair)
    return [pair for held in numbers.values() for pair in draw.sample(held, len(held))]


def our_answer(name: str, group: dict[str, Any], mode: str) -> dict[str, Any] | None:
    """Our assignment, None where Kafka's class fails."""
    try:
        found = assign(Group.from_json(group, "group"), name, ASSIGNORS[name].mode(mode))
    except CannotError:
        return None
    return dict(found.to_json()["assignment"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--kafka", choices=VERSIONS, default=KAFKA)
    parser.add_argument("--groups", type=int)
    given = parser.parse_args()
    file, mode, _ = VERSIONS[given.kafka]
    pairs = cases(given.kafka, given.groups or OF_EACH)
    found: list[dict[str, Any]] = []
    differ = 0
    for (name, group), answer in zip(pairs, answers(pairs, version=given.kafka), strict=True):
        theirs = None
        if "error" not in answer:
            theirs = {member: sorted(held) for member, held in answer["assignment"].items()}
        elif "IllegalStateException" not in answer["error"]:
            raise RuntimeError(answer["error"])
        differ += our_answer(name, group, mode) != theirs
        found.append({"assignor": name, "group": group, "assignment": theirs})
    fail = sum(case["assignment"] is None for case in found)
    print(
        f"{len(pairs)} groups, {differ} with another answer; Kafka's class fails on {fail}",
        file=sys.stderr,
    )
    if given.groups is None:
        text = "\n".join(json.dumps(case, separators=(",", ":")) for case in found) + "\n"
        (FOLDER / f"{file}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
