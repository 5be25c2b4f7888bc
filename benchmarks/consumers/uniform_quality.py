"""How fair the broker's uniform assignor is, and how many partitions it moves too many.

    python benchmarks/consumers/uniform_quality.py [--groups 400]

Random groups whose subscriptions differ: all members join, then a member leaves or joins, or a
topic grows (``random_groups.py``), from uniform's own first answer. ``judging.py`` judges whether
the loads are the fairest; the fewest moves are those of ``uniform --mode optimal``, which is tested
against brute force. The answers of mode ``java`` are tested against Kafka's class.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from judging import Verdict, verdict
from random_groups import changed, unequal_group

from partage import Group, assign


@dataclass
class Tally:
    """Of the answers to one round: how many are ``unfair``; of the fair ones, how many have ``more
    moves`` than needed, and how many moves that are in all."""

    unfair: int = 0
    fair_with_more: int = 0
    moves_too_many: int = 0


def recount(groups: int, seed: int = 1) -> tuple[Tally, Tally]:
    """The tallies of all joining, and of the change after it."""
    draw = random.Random(seed)
    joins, change = Tally(), Tally()
    for _ in range(groups):
        group = unequal_group(draw)
        after = changed(draw, group)
        held = _judge(joins, group)
        _judge(change, after(held))
    return joins, change


def _judge(tally: Tally, group: dict[str, Any]) -> dict[str, list[list[Any]]]:
    answer, given = _answer(group, "java")
    if not given.fairest:
        tally.unfair += 1
        return answer
    _, least = _answer(group, "optimal")
    if not least.fairest:
        raise RuntimeError("optimal: not the fairest")
    tally.fair_with_more += given.moves > least.moves
    tally.moves_too_many += given.moves - least.moves
    return answer


def _answer(group: dict[str, Any], mode: str) -> tuple[dict[str, list[list[Any]]], Verdict]:
    answer = assign(Group.from_json(group, "group"), "uniform", mode).to_json()["assignment"]
    found = verdict(group, answer)
    if found.faults:
        raise RuntimeError(f"{mode}: {found.faults} faults")
    return answer, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--groups", type=int, default=400)
    groups = parser.parse_args().groups
    for name, found in zip(("all join", "change"), recount(groups), strict=True):
        print(
            f"{name}: {found.unfair} of {groups} groups unfair; {found.moves_too_many} moves too "
            f"many in {found.fair_with_more} of the fair ones"
        )


if __name__ == "__main__":
    main()
