"""A line of a log takes time in proportion to its length, whatever repeats in it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from partage.consumers.history import MARKERS, events_of
from partage.consumers.history.first_match import FirstMatch
from tests.fuzz import bounded
from tests.profiles import seeds

LOGS = Path(__file__).parent.parent.parent / "data" / "logs"
LENGTH = 1_000_000
"""Characters: a tenth of a second; the square of them, minutes."""


def test_only_the_first_place_counts() -> None:
    form = FirstMatch("at ", r"(\d+)")
    found = form.search("at 7, at 8")
    assert found is not None
    assert found[1] == "7"
    assert form.search("at x, at 8") is None
    assert form.search("nowhere") is None


def lines() -> list[str]:
    """One line of each form in the logs."""
    found: dict[str, str] = {}
    for path in sorted(LOGS.rglob("*.log")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if any(marker in line for marker in MARKERS):
                found.setdefault(re.sub(r"\d+", "0", line[:200]), line)
    return list(found.values())


@pytest.mark.parametrize("seed", seeds(130))
def test_a_part_of_a_line_that_repeats(seed: int) -> None:
    chance = random.Random(seed)
    line = chance.choice(lines())
    cuts = [0, *(found.start() for found in re.finditer(r"\b|\W", line)), len(line)]
    begin, end = sorted(chance.sample(cuts, 2))
    if chance.random() < 0.5:
        end = min(end, begin + chance.choice((1, 2, 5, 12, 30, 60)))
    part = line[begin:end] or " "
    rest = chance.choice(("", line[end:]))
    text = line[:end] + part * (LENGTH // len(part)) + rest
    case = bounded.function(lambda: list(events_of([("a.log", [(1, text)])])))
    assert bounded.run(case).fault() is None, (part, line)
