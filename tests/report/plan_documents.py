"""plan.json documents made without the planner.

Everything is counted in plain loops over lists, unlike in ``partage.report.view``, so that the
figures of a document are an oracle for the view.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.bundled import uneven_value

Document = dict[str, Any]


def broker(
    id: int,
    rack: str | None = None,
    *,
    alive: bool = True,
    excluded: bool = False,
    added: bool = False,
    capacity: float = 1,
) -> dict[str, Any]:
    return {
        "id": id,
        "rack": rack,
        "disk_bytes": None,
        "capacity": capacity,
        "alive": alive,
        "excluded": excluded,
        "added": added,
    }


def document(
    brokers: Sequence[dict[str, Any]],
    rows: Sequence[tuple[str, int, Sequence[int], Sequence[int]]],
    *,
    sizes: Sequence[int | None] | None = None,
    rates: Sequence[float] | None = None,
    waves: int = 0,
    **more: Any,
) -> Document:
    """A document of rows (topic, partition, before, after); ``more`` replaces top-level keys."""
    topics = sorted({row[0] for row in rows})
    order = sorted(range(len(rows)), key=lambda i: rows[i][:2])
    ordered = [rows[i] for i in order]
    size = [None if sizes is None else sizes[i] for i in order]
    rate = None if rates is None else [rates[i] for i in order]
    befores = [list(row[2]) for row in ordered]
    afters = [list(row[3]) for row in ordered]
    usable = [b["id"] for b in brokers if b["alive"] and not b["excluded"]]
    alive = [b["id"] for b in brokers if b["alive"]]
    moves = sum(len(set(a) - set(b)) for b, a in zip(befores, afters, strict=True))
    moved_bytes = sum(
        (s or 0) * len(set(a) - set(b)) for s, b, a in zip(size, befores, afters, strict=True)
    )
    names = [row[0] for row in ordered]
    changed = sum(a != b for b, a in zip(befores, afters, strict=True))
    after = {
        **figures(names, afters, size, usable, brokers),
        "moves": moves,
        "moves_lower_bound": moves,
        "bytes_moved": moved_bytes,
        "optimal": True,
        "leader_changes": sum(a[0] != b[0] for b, a in zip(befores, afters, strict=True)),
        "settled": True,
        "waves": waves,
        "seconds": 0.2,
        "binding": [],
        "gaps": {},
    }
    return {
        "format_version": 1,
        "partage": "0.1.0",
        "strategy": "exact",
        "changes": changed > 0,
        "options": {},
        "brokers": list(brokers),
        "topics": topics,
        "partitions": {
            "topic": [topics.index(row[0]) for row in ordered],
            "partition": [row[1] for row in ordered],
            "size_bytes": size,
            "bytes_per_second": rate,
            "chosen": [True] * len(rows),
            "replication_factor": [len(a) for a in afters],
            "before": befores,
            "after": afters,
        },
        "figures": {"before": figures(names, befores, size, alive, brokers), "after": after},
        "binding": [],
        "gaps": {},
        "warnings": [],
        "certificate": {
            "stages": [
                {"stage": "replicas", "value": 29_524, "bound": 29_524, "prices": {}},
                {"stage": "moves", "value": moves, "bound": moves, "prices": {}},
                {"stage": "topic spread", "value": 4_210, "bound": 4_210},
                {"stage": "leaders", "value": 3_282, "bound": 3_282},
                {
                    "stage": "failure",
                    "value": after["leaders_after_failure"]["max"],
                    "bound": after["leaders_after_failure"]["ideal"],
                },
            ]
        },
        "waves": _waves(waves, list(zip(befores, afters, size, strict=True)), set(alive)),
        "fingerprint": "5d41402abc4b2a76b9719d911017c592" * 2,
        **more,
    }


def figures(
    topics: Sequence[str],
    lists: Sequence[Sequence[int]],
    sizes: Sequence[int | None],
    there: Sequence[int],
    brokers: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The figures of one placement, counted one replica at a time."""
    rack = {b["id"]: b["rack"] for b in brokers}
    racks = len(set(rack.values()) - {None})
    replicas = Counter(b for row in lists for b in row)
    leaders = Counter(row[0] for row in lists)
    stored: Counter[int] = Counter()
    per_topic: dict[str, Counter[int]] = defaultdict(Counter)
    violations = 0
    for name, row, size in zip(topics, lists, sizes, strict=True):
        for b in row:
            stored[b] += size or 0
            per_topic[name][b] += 1
        if racks:
            violations += len({rack[b] for b in row}) < min(len(row), racks)
    worst = max(max(after_failure(lists, there, f).values(), default=0) for f in there)
    ideal = max(leaders[b] for b in there) + 1
    spread = max(
        max(counts[b] for b in there) - min(counts[b] for b in there)
        for counts in per_topic.values()
    )
    total = sum(stored[b] for b in there)
    return {
        "replicas_per_broker": _span(replicas[b] for b in there),
        "leaders_per_broker": _span(leaders[b] for b in there),
        "leaders_after_failure": {"max": worst, "ideal": min(worst, ideal)},
        "rack_violations": violations,
        "topic_spread": spread,
        "bytes_max_over_mean": max(stored[b] for b in there) * len(there) / total if total else 1.0,
    }


def after_failure(
    lists: Sequence[Sequence[int]], there: Sequence[int], failed: int
) -> Counter[int]:
    """Leaders of each survivor after one broker fails."""
    leaders: Counter[int] = Counter({b: 0 for b in there if b != failed})
    for row in lists:
        if row[0] == failed:
            heirs = [b for b in row[1:] if b in there]
            if heirs:
                leaders[heirs[0]] += 1
        elif row[0] in leaders:
            leaders[row[0]] += 1
    return leaders


def _span(values: Any) -> list[int]:
    known = list(values)
    return [min(known), max(known)]


def _waves(
    count: int, rows: Sequence[tuple[list[int], list[int], int | None]], alive: set[int]
) -> list[dict[str, Any]]:
    """The changed rows (before, after, size) distributed over so many waves."""
    changed = [row for row in rows if row[0] != row[1]]
    waves = []
    for i in range(count):
        part = changed[i::count]
        load: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for before, after, size in part:
            leader = next((b for b in before if b in alive), None)
            for b in set(after) - set(before):
                for who, at in ((b, 0), (leader, 1)):
                    if who is not None:
                        load[who][at] += 1
                        load[who][at + 2] += size or 0
        sums = {b: load[b] for b in sorted(load)}
        moved = sum(row[2] for row in sums.values())
        waves.append(
            {
                "file": f"waves/{i + 1:03d}.json",
                "partitions": len(part),
                "moves": sum(row[0] for row in sums.values()),
                "bytes": moved,
                "seconds": moved / 50e6,
                "brokers": list(sums),
                "replicas_in": [row[0] for row in sums.values()],
                "replicas_out": [row[1] for row in sums.values()],
                "bytes_in": [row[2] for row in sums.values()],
                "bytes_out": [row[3] for row in sums.values()],
            }
        )
    return waves


# ---------------------------------------------------------------------- a placement to fake


def levelled(
    lists: Sequence[Sequence[int]], there: Sequence[int], racks: Mapping[int, str | None]
) -> list[list[int]]:
    """Move single replicas from full to empty brokers, keep racks apart, then level the leaders."""
    after = [list(row) for row in lists]
    load = Counter(b for row in after for b in row)
    held = defaultdict(set)
    for i, row in enumerate(after):
        for b in row:
            held[b].add(i)
    target = sum(load.values()) // len(there)
    for to in sorted(there, key=lambda b: load[b]):
        for source in sorted(load, key=lambda b: -load[b]):
            for i in sorted(held[source]):
                if load[to] >= target or load[source] <= target + 1:
                    break
                row = after[i]
                others = {racks[b] for b in row if b != source}
                if to in row or (racks[to] is not None and racks[to] in others):
                    continue
                row[row.index(source)] = to
                held[source].discard(i)
                held[to].add(i)
                load[source] -= 1
                load[to] += 1
    leaders: Counter[int] = Counter()
    for row in after:
        row.sort(key=lambda b: (leaders[b], b))
        leaders[row[0]] += 1
    return after


def grown() -> Document:
    """The bundled cluster before broker 9: eight brokers, two of them empty."""
    cluster = uneven_value()
    brokers = [
        {**broker(b["id"], b["rack"], added=b["id"] in (7, 8)), "disk_bytes": b["disk_bytes"]}
        for b in cluster["brokers"]
    ]
    parts = cluster["partitions"]
    before = [p["replicas"] for p in parts]
    ids = [b["id"] for b in brokers]
    after = levelled(before, ids, {b["id"]: b["rack"] for b in brokers})
    rng = random.Random(7)
    rates = [p["size_bytes"] / 4e9 * rng.uniform(0.2, 1.8) for p in parts]
    return document(
        brokers,
        [(p["topic"], p["partition"], p["replicas"], a) for p, a in zip(parts, after, strict=True)],
        sizes=[p["size_bytes"] for p in parts],
        rates=rates,
        waves=7,
        options={"add_broker": ["7:a", "8:b"], "concurrency": 2, "throttle": "50MB"},
        binding=[
            "rack rule: rack c has 2 of 8 brokers: in the fairest placement they "
            "hold 81 replicas each, without the rule 60 to 61"
        ],
        warnings=["broker 6 held 16 replicas: it looks as if it was added and never filled"],
    )


def random_plan(
    brokers: int = 36, partitions: int = 5_000, topics: int = 120, *, seed: int = 1, waves: int = 40
) -> Document:
    """A cluster that grew by a fifth: random replicas, sizes and rates, three racks."""
    rng = random.Random(seed)
    fleet = [broker(100 + i, "abc"[i % 3], added=i >= brokers * 5 // 6) for i in range(brokers)]
    old = [b for b in fleet if not b["added"]]
    by_rack = [[b["id"] for b in old if b["rack"] == rack] for rack in "abc"]
    share = sorted(rng.choices(range(topics), [1 / (i + 1) for i in range(topics)], k=partitions))
    rows, number = [], Counter[int]()
    for topic in share:
        row = [rng.choice(members) for members in by_rack]
        rng.shuffle(row)
        rows.append((f"team-{topic % 7}.events.{topic:03d}", number[topic], row))
        number[topic] += 1
    before = [row[2] for row in rows]
    ids = [b["id"] for b in fleet]
    after = levelled(before, ids, {b["id"]: b["rack"] for b in fleet})
    return document(
        fleet,
        [(*row, a) for row, a in zip(rows, after, strict=True)],
        sizes=[int(rng.lognormvariate(21, 1.2)) for _ in rows],
        rates=[rng.lognormvariate(10, 1.5) for _ in rows],
        waves=waves,
        options={"add_broker": [f"{b['id']}:{b['rack']}" for b in fleet if b["added"]]},
    )


SMALL = [
    # topic, partition, before, after
    ("a", 0, [1, 2], [1, 3]),  # 3 copies from 1
    ("a", 1, [2, 1], [2, 1]),
    ("b", 0, [4, 2], [2, 3]),  # 4 is dead: 3 copies from 2
    ("b", 1, [4], [3]),  # no live replica
]
SMALL_FLEET = [
    broker(1, "x"),
    broker(2, "y"),
    broker(3, "x", added=True),
    broker(4, "y", alive=False),
]


def small(**more: Any) -> Document:
    """Four brokers, four partitions; keyword arguments as for ``document``."""
    return document(SMALL_FLEET, SMALL, **more)


def deleting(**more: Any) -> Document:
    """Of three partitions two lose a replica, one of which also moves one; keyword arguments as for
    ``document``."""
    rows = [
        ("t", 0, [1, 2, 3], [1, 2]),
        ("t", 1, [2, 3, 1], [3, 4]),
        ("u", 0, [1, 2], [2, 1]),
    ]
    made = document([broker(n) for n in (1, 2, 3, 4)], rows, waves=1, **more)
    made["figures"]["after"] |= {"replicas_deleted": 2, "partitions_with_fewer_replicas": 2}
    made["waves"][0]["replicas_deleted"] = 2
    return made


def unchanged() -> Document:
    """A plan that changes nothing."""
    rows = [("t", i, [1 + i % 3, 1 + (i + 1) % 3]) for i in range(6)]
    return document([broker(1), broker(2), broker(3)], [(*row, row[2]) for row in rows])


def comparison() -> dict[str, Any]:
    """What ``compare --json`` prints."""

    def row(moves: int, replicas: list[int], leaders: list[int], worst: int, **more: Any) -> Any:
        return {
            "strategy": "",
            "moves": moves,
            "moves_lower_bound": 124,
            "bytes_moved": moves * 6_900_000_000,
            "optimal": False,
            "replicas_per_broker": replicas,
            "leaders_per_broker": leaders,
            "leaders_after_failure": {"max": worst, "ideal": 24},
            "leaders_after_rack_failure": {"max": worst + 9, "ideal": 33, "offline": 0},
            "rack_violations": 0,
            "topic_spread": 4,
            "bytes_max_over_mean": 1.07,
            "leader_changes": 61,
            "settled": False,
            "waves": 9,
            "waves_lower_bound": 8,
            "seconds": 0.41,
            "binding": [],
            "gaps": {},
            "deterministic": True,
            **more,
        }

    return {
        "strategies": {
            "exact": row(124, [54, 81], [20, 21], 24, optimal=True, settled=True, topic_spread=3),
            "generate": row(412, [60, 62], [20, 21], 29, rack_violations=0),
            "greedy": row(141, [54, 81], [14, 31], 44),
            "rack-greedy": row(133, [54, 81], [18, 24], 33, seconds=0.02),
            "three-flows": row(166, [54, 81], [20, 21], 25),
            "mip": {"cannot": "no answer in 60 s: 162 partitions × 8 brokers is 3,888 variables"},
            "leader-flow": {"cannot": "moves no replica, so brokers 7 and 8 would stay empty"},
        }
    }


def measurement() -> dict[str, Any]:
    """What the demo measured on the bundled records."""
    return {
        "records": 378_940,
        "bytes": 214_880_113,
        "topics": 12,
        "partitions": 162,
        "rejected": 3,
        "hot_keys": [
            {
                "topic": "redpanda",
                "rank": 1,
                "key": "redpanda-data/redpanda",
                "share": 0.42,
                "records": 41_208,
            },
            {"topic": "kafka", "rank": 1, "key": "apache/kafka", "share": 0.071, "records": 9_120},
            {"topic": "ibis", "rank": 1, "key": None, "share": 0.0004, "records": 12},
        ],
    }
