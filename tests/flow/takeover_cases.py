"""Small cases of items that pick ordered pairs of slots, for comparison with enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from partage.flow.certificate import Takeovers, fairest_range
from partage.flow.selection import pick_slots

Counts = tuple[int, ...]


@dataclass
class Case:
    """Each item picks an ordered pair of its slots; ``fair``: every way to do so whose counts have
    the least sum of squares, as counts, worst level and sum of squares of the levels."""

    items: list[list[int]]
    base: list[int]
    fixed: list[list[int]]

    def outcomes(self) -> Iterator[tuple[Counts, int, int]]:
        slots = range(len(self.base))
        for picks in itertools.product(*(itertools.permutations(row, 2) for row in self.items)):
            held = tuple(b + sum(p[0] == s for p in picks) for s, b in enumerate(self.base))
            level = [
                held[f] + self.fixed[b][f] + picks.count((b, f))
                for b in slots
                for f in slots
                if f != b
            ]
            yield held, max(level), sum(n * n for n in level)

    def fair(self) -> list[tuple[Counts, int, int]]:
        every = list(self.outcomes())
        least = min(sum(n * n for n in held) for held, _, _ in every)
        return [one for one in every if sum(n * n for n in one[0]) == least]

    def takeovers(self) -> Takeovers:
        base = np.array(self.base)
        arcs = np.array([(i, s) for i, row in enumerate(self.items) for s in row])
        no_change = np.zeros(len(arcs), dtype=np.int64)
        _, price = pick_slots(arcs[:, 0], arcs[:, 1], len(self.items), base, no_change)
        low, high = fairest_range(base, price, len(self.items))
        pairs = [
            (i, pair)
            for i, row in enumerate(self.items)
            for pair in itertools.permutations(sorted(row), 2)
            if price[pair[0]] == min(price[row])
        ]
        options = sorted({pair for _, pair in pairs})
        return Takeovers(
            item=np.array([i for i, _ in pairs]),
            option=np.array([options.index(pair) for _, pair in pairs]),
            items=len(self.items),
            holder=np.array([b for b, _ in options]),
            taker=np.array([f for _, f in options]),
            base=base,
            fixed=np.array(self.fixed),
            low=low,
            high=high,
            total=sum(self.base) + len(self.items),
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    slots = draw(st.integers(2, 5))
    sets = st.lists(st.integers(0, slots - 1), min_size=2, max_size=3, unique=True)
    few = st.integers(0, 2)
    fixed = [[draw(few) if b != f else 0 for f in range(slots)] for b in range(slots)]
    if draw(st.booleans()):
        fixed = [[0] * slots for _ in range(slots)]
    return Case(
        draw(st.lists(sets, min_size=1, max_size=5)), [draw(few) for _ in range(slots)], fixed
    )
