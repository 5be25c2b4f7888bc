"""Random assignment problems small enough to enumerate, and the enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from partage.flow.assignment import LOAD, MOVES, SPREAD, AssignmentProblem

ORDERS = ((LOAD, MOVES, SPREAD), (MOVES, LOAD, SPREAD), (SPREAD, LOAD, MOVES))


def plain(own: np.ndarray, zone: np.ndarray, **given: Any) -> AssignmentProblem:
    """Items of one family and of no size that want one slot each of slots that are alike, where
    nothing else is; what is ``given`` is otherwise."""
    items, slots = len(own), len(zone)
    usual: dict[str, Any] = {
        "family": np.zeros(items, dtype=np.int64),
        "demand": np.ones(items, dtype=np.int64),
        "weight": np.ones(slots, dtype=np.int64),
        "base": np.zeros(slots, dtype=np.int64),
        "family_base": np.zeros((1, slots), dtype=np.int64),
        "zoned": False,
        "size": np.zeros(items, dtype=np.int64),
        "base_size": np.zeros(slots, dtype=np.int64),
    }
    return AssignmentProblem(own=own, zone=zone, **(usual | given))


@st.composite
def problems(draw: st.DrawFn, max_slots: int = 5, max_items: int = 5) -> AssignmentProblem:
    slots = draw(st.integers(1, max_slots))
    items = draw(st.integers(1, max_items))
    families = draw(st.integers(1, 3))
    zone = draw(st.lists(st.integers(0, 2), min_size=slots, max_size=slots))
    places = st.lists(st.sampled_from(range(slots)), unique=True, max_size=slots)
    own = np.full((items, slots), -1, dtype=np.int64)
    for row in own:
        held = draw(places)
        row[: len(held)] = held
    stay = draw(st.booleans())
    family_base = np.array(
        [[draw(st.integers(0, 2)) if stay else 0 for _ in range(slots)] for _ in range(families)],
        dtype=np.int64,
    )
    weight = draw(st.sampled_from([(1,), (1,), (1, 2, 3, 6)]))
    return AssignmentProblem(
        family=np.array([draw(st.integers(0, families - 1)) for _ in range(items)]),
        demand=np.array([draw(st.integers(1, min(3, slots))) for _ in range(items)]),
        own=own,
        zone=np.unique(zone, return_inverse=True)[1].astype(np.int64),
        weight=np.array([draw(st.sampled_from(weight)) for _ in range(slots)], dtype=np.int64),
        base=family_base.sum(axis=0),
        family_base=family_base,
        zoned=draw(st.booleans()),
        size=np.array([draw(st.integers(0, 99)) for _ in range(items)]),
        base_size=np.zeros(slots, dtype=np.int64),
    )


@st.composite
def violating_problems(
    draw: st.DrawFn, max_slots: int = 5, max_items: int = 5
) -> AssignmentProblem:
    """Items drawn at random over zones of unequal size, or all into the largest zone, so that
    most of them must give up a slot; some have one slot too many, or a removed slot."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    slots = draw(st.integers(2, max_slots))
    items = draw(st.integers(1, max_items))
    families = draw(st.integers(1, 3))
    zones = draw(st.integers(1, min(4, slots)))
    zone = np.minimum(rng.geometric(0.5, slots) - 1, zones - 1)
    zone = np.unique(zone, return_inverse=True)[1].astype(np.int64).ravel()
    crowd = draw(st.integers(1, slots))
    width = min(4, crowd)
    own = np.array([rng.permutation(crowd)[:width] for _ in range(items)])
    own[:, 1:] = np.where(rng.random((items, width - 1)) < 0.2, -1, own[:, 1:])
    most = draw(st.integers(1, min(4, slots)))
    mixed = draw(st.booleans())
    return plain(
        own.astype(np.int64),
        zone,
        family=rng.integers(0, families, items),
        demand=rng.integers(1, most + 1, items) if mixed else np.full(items, most),
        family_base=np.zeros((families, slots), dtype=np.int64),
        zoned=draw(st.integers(0, 3)) > 0,
        size=rng.integers(0, 99, items),
    )


def allowed(problem: AssignmentProblem, demand: int, chosen: tuple[int, ...]) -> bool:
    """Distinct slots, as many zones as possible, then the least maximum: by trying every choice."""
    if not problem.zoned:
        return True
    zones = range(int(problem.zone.max()) + 1)

    def profile(slots: tuple[int, ...]) -> tuple[int, int]:
        held = [sum(int(problem.zone[s]) == z for s in slots) for z in zones]
        return -sum(h > 0 for h in held), max(held)

    every = itertools.combinations(range(problem.slots), demand)
    return profile(chosen) == min(map(profile, every))


def cost(
    problem: AssignmentProblem, arrangement: list[tuple[int, ...]], order: tuple[str, ...]
) -> tuple:
    """The three costs of an arrangement, counted with plain loops, in the order asked."""
    count = {
        (f, s): int(problem.family_base[f, s])
        for f in range(len(problem.family_base))
        for s in range(problem.slots)
    }
    moves = 0
    for i, chosen in enumerate(arrangement):
        for s in chosen:
            count[int(problem.family[i]), s] += 1
            moves += s not in problem.own[i]
    load = [sum(n for (_, s), n in count.items() if s == slot) for slot in range(problem.slots)]
    value = {
        LOAD: sum(int(w) * x * x for w, x in zip(problem.weight, load, strict=True)),
        MOVES: moves,
        SPREAD: sum(n * n for n in count.values()),
    }
    return tuple(value[c] for c in order)


def best(problem: AssignmentProblem, order: tuple[str, ...]) -> tuple:
    """The least cost over all arrangements: states of counts, extended item by item."""
    choices = [
        [
            c
            for c in itertools.combinations(range(problem.slots), int(d))
            if allowed(problem, int(d), c)
        ]
        for d in problem.demand
    ]
    states: dict[tuple[tuple[int, int], ...], tuple[int, list[tuple[int, ...]]]] = {(): (0, [])}
    for i, options in enumerate(choices):
        following: dict = {}
        for key, (moves, made) in states.items():
            for chosen in options:
                added = tuple(sorted([*key, *((int(problem.family[i]), s) for s in chosen)]))
                total = moves + sum(s not in problem.own[i] for s in chosen)
                if added not in following or following[added][0] > total:
                    following[added] = (total, [*made, chosen])
        states = following
    return min(cost(problem, made, order) for _, made in states.values())


def chosen_slots(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(s for s in row if s >= 0) for row in rows.tolist()]
