"""Items confined to some slots: the level against every set of slots there is."""

from __future__ import annotations

import itertools
import random

import numpy as np

from partage.flow.bottleneck import find_bottleneck


def asked(slots: tuple[int, ...], may: list[set[int]], weight: list[int], base: list[int]) -> int:
    """The level that a set of slots asks for, rounded up."""
    inside = sum(w for w, where in zip(weight, may, strict=True) if where <= set(slots))
    return -(-(inside + sum(base[e] for e in slots)) // len(slots))


def test_level_equals_the_most_demanding_set() -> None:
    rng = random.Random(1)
    raised = 0
    for _ in range(300):
        count = rng.randint(1, 5)
        all_slots = range(count)
        may = [set(rng.sample(all_slots, rng.randint(1, count))) for _ in range(rng.randint(0, 7))]
        weight = [rng.randint(0, 20) for _ in may]
        base = [rng.choice((0, 0, 5, 30)) for _ in all_slots]
        pairs = [(i, e) for i, where in enumerate(may) for e in sorted(where)]
        item, slot = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        found = find_bottleneck(item, slot, np.array(weight, dtype=np.int64), np.array(base))

        sets = [s for n in all_slots for s in itertools.combinations(all_slots, n + 1)]
        best = max(asked(s, may, weight, base) for s in sets)
        assert max(found.level, *base) == best
        named = tuple(np.flatnonzero(found.slots).tolist())
        assert asked(named, may, weight, base) == found.level
        raised += len(named) < count

        given = [0] * len(may)
        taken = [0] * count
        for (i, e), flow in zip(pairs, found.flow.tolist(), strict=True):
            assert flow >= 0
            given[i] += flow
            taken[e] += flow
        assert given == weight
        assert all(t == 0 or t + b <= found.level for t, b in zip(taken, base, strict=True))
    assert raised > 50, "in the other cases all slots together ask for most"
