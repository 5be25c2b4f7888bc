"""Hypothesis strategies: small, hard clusters, and planning jobs for them.

A cluster is in the plain form, as JSON values; a job is (cluster, options of ``partage.plan``).
Hard means: broker ids that differ from their positions, gaps in partition numbers, racks that are
too small or too few for the rack rule, placements that break it, replicas concentrated on few
brokers, replication factors that differ within a topic, dead brokers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

BROKER_IDS = (0, 1, 2, 3, 5, 7, 10, 11, 101, 1002, 70000)
NEW_IDS = (4, 6, 13, 2048)
TOPICS = ("clicks", "a.b", "__offsets")
RACKS = ("a", "b", "c", "d")

Json = dict[str, Any]


def _rarely(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.integers(0, one_in - 1)) == one_in - 1


@st.composite
def clusters(
    draw: st.DrawFn,
    max_brokers: int = 7,
    max_partitions: int = 7,
    max_factor: int = 4,
    min_partitions: int = 1,
) -> Json:
    """A cluster of 2 to ``max_brokers`` brokers; partitions and factors within the limits."""
    count = draw(st.integers(2, max_brokers))
    ids = draw(st.permutations(BROKER_IDS))[:count]
    racks = draw(st.sampled_from((0, 0, 1, 2, 2, 3, 3, 4)))
    lopsided = draw(st.booleans())
    uneven = _rarely(draw, 8)
    with_dead = _rarely(draw, 4)
    brokers = []
    for place, broker in enumerate(ids):
        entry: Json = {"id": broker}
        if racks:
            at = draw(st.integers(0, racks - 1)) if lopsided else place % racks
            entry["rack"] = RACKS[at]
        if uneven:
            entry["capacity"] = draw(st.integers(1, 3))
        if with_dead and _rarely(draw, 3):
            entry["alive"] = False
        brokers.append(entry)

    few = draw(st.integers(1, count))  # most replicas are on the first ``few`` brokers
    one_factor = draw(st.booleans())
    factor = draw(st.integers(1, min(max_factor, count)))
    sized = draw(st.booleans())
    topics = TOPICS[: draw(st.integers(1, len(TOPICS)))]
    slots = [(topic, number) for topic in topics for number in range(max_partitions + 2)]
    partitions: list[Json] = []
    replicas: list[int] = []
    rows = draw(st.integers(min_partitions, max_partitions))
    for topic, number in draw(
        st.lists(st.sampled_from(slots), min_size=rows, max_size=rows, unique=True)
    ):
        if not one_factor:
            factor = draw(st.integers(1, min(max_factor, count)))
        if len(replicas) != factor or not _rarely(draw, 3):  # otherwise repeat the previous list
            first = draw(st.permutations(ids[:few]))[:factor]
            others = [b for b in ids if b not in first]
            start = draw(st.integers(0, len(others)))
            replicas = [*first, *others[start:], *others[:start]][:factor]
            if _rarely(draw, 3):
                replicas.reverse()
        entry = {"topic": topic, "partition": number, "replicas": list(replicas)}
        if sized:
            entry["size_bytes"] = draw(st.integers(0, 9))
        partitions.append(entry)
    return {"brokers": brokers, "partitions": partitions}


@st.composite
def jobs(
    draw: st.DrawFn,
    max_brokers: int = 7,
    max_partitions: int = 7,
    max_factor: int = 4,
    min_partitions: int = 1,
    no_moves: bool | None = None,
) -> tuple[Json, Json]:
    """A cluster and options.

    Nearly all jobs are feasible. A few are bad input: a replication factor above the number of
    brokers, or a topic outside ``topics`` on a removed broker. ``no_moves`` None: sometimes.
    """
    cluster = draw(clusters(max_brokers, max_partitions, max_factor, min_partitions))
    options: Json = {}
    topics = sorted({p["topic"] for p in cluster["partitions"]})
    chosen = topics
    if len(topics) > 1 and _rarely(draw, 4):
        chosen = topics[: draw(st.integers(1, len(topics) - 1))]
        options["topics"] = "|".join(t.replace(".", r"\.") for t in chosen)
    if no_moves or (no_moves is None and _rarely(draw, 8)):
        return cluster, options | {"no_moves": True}
    if _rarely(draw, 4):
        options["spread"] = "topic"

    bad = _rarely(draw, 10)
    brokers = {b["id"]: b for b in cluster["brokers"]}
    pinned = {b for p in cluster["partitions"] if p["topic"] not in chosen for b in p["replicas"]}
    free = [b for b in brokers if bad or b not in pinned]
    alive = [b for b in brokers if brokers[b].get("alive", True)]
    racks = sorted({b["rack"] for b in brokers.values() if "rack" in b})
    new = list(NEW_IDS)
    if free and _rarely(draw, 4):
        old = free.pop(draw(st.integers(0, len(free) - 1)))
        name = new.pop(draw(st.integers(0, len(new) - 1)))
        options["replace_broker"] = [f"{old}={name}"]
        alive = [b for b in alive if b != old] + [name]
    if _rarely(draw, 3):
        options["add_broker"] = []
        for _ in range(draw(st.integers(1, 2))):
            name = new.pop(draw(st.integers(0, len(new) - 1)))
            rack = f":{draw(st.sampled_from([*racks, 'new']))}" if racks else ""
            options["add_broker"].append(f"{name}{rack}")
            alive.append(name)
    if len(free) > 1 and _rarely(draw, 3):
        gone = free[: draw(st.integers(1, min(2, len(free) - 1)))]
        if bad or set(alive) - set(gone):
            options["remove_broker"] = gone
            alive = [b for b in alive if b not in gone]
    most = min(max_factor, len(alive) + bad)
    tall = any(len(p["replicas"]) > most for p in cluster["partitions"] if p["topic"] in chosen)
    if most and ((tall and not bad) or _rarely(draw, 3)):
        factor = st.integers(1, most)
        asked = {"": draw(factor)} if (tall and not bad) or draw(st.booleans()) else {}
        if not asked or _rarely(draw, 4):
            asked[draw(st.sampled_from(chosen)) + "="] = draw(factor)
        options["replication_factor"] = [f"{topic}{n}" for topic, n in asked.items()]
    return cluster, options


@st.composite
def plain_clusters(
    draw: st.DrawFn, factors: Sequence[int] = (1, 2, 3), racks: bool = False
) -> Json:
    """Up to 6 brokers without capacities, all alive, and up to 8 partitions of one factor."""
    ids = list(range(1, draw(st.integers(max(2, min(factors)), 6)) + 1))
    factor = draw(st.sampled_from([f for f in factors if f <= len(ids)]))
    return {
        "brokers": [
            {"id": b} | ({"rack": draw(st.sampled_from("abc"))} if racks else {}) for b in ids
        ],
        "partitions": [
            {"topic": "t", "partition": n, "replicas": draw(st.permutations(ids))[:factor]}
            for n in range(draw(st.integers(1, 8)))
        ],
    }


def concentrated(seed: int, brokers: int = 14, partitions: int = 100, racks: int = 3) -> Json:
    """A larger cluster, the same for the same seed: racks of different sizes, most replicas on a
    few brokers, factors 1 to 4, a dead broker in every third."""
    rng = random.Random(seed)
    ids = rng.sample(range(1000), brokers)
    entries: list[Json] = [{"id": b, "rack": RACKS[rng.randrange(racks)]} for b in ids]
    entries[-1]["alive"] = seed % 3 != 0
    topics = [f"topic-{n}" for n in range(rng.randint(1, 9))]
    return {
        "brokers": entries,
        "partitions": [
            {
                "topic": rng.choice(topics),
                "partition": 3 * number,
                "replicas": rng.sample(
                    ids if rng.random() < 0.2 else ids[: brokers // 2], rng.choice((1, 2, 3, 3, 4))
                ),
            }
            for number in range(partitions)
        ],
    }


def shuffled(cluster: Json) -> st.SearchStrategy[Json]:
    """The same cluster in another order."""
    return st.builds(
        lambda brokers, partitions: {"brokers": brokers, "partitions": partitions},
        st.permutations(cluster["brokers"]),
        st.permutations(cluster["partitions"]),
    )


def options_of_second_run(options: dict[str, Any]) -> dict[str, Any]:
    """The options for planning again on the result: brokers are no longer added, and brokers that
    were removed or replaced stay empty."""
    again = {k: v for k, v in options.items() if k not in ("add_broker", "replace_broker")}
    old = [int(text.split("=")[0]) for text in options.get("replace_broker", ())]
    gone = sorted({*options.get("remove_broker", ()), *old})
    return again | ({"remove_broker": gone} if gone else {})
