"""Plans that are worse than they claim, with everything else worked out again as a forger would."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from partage import CannotError, Cluster, InputError
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.brokers.strategies import STRATEGIES, Strategy
from tests.brokers.check.tampering import Files, Value

PLACEMENT = ("topic spread", "replicas", "moves")
_SEARCHED = ("budget", "bytes moved", "load")
"""Stages that ``optimal`` asks for although they are not exact."""

_LIMITS: tuple[Value, ...] = (
    {},
    {"tolerance": "20%"},
    {"tolerance": "60%"},
    {"max_moves": 1},
    {"max_moves": 3},
    {"max_moves": 2, "tolerance": "30%"},
    {"max_moves": 50, "tolerance": "60%"},
    {"max_bytes_moved": "12"},
    {"max_bytes_moved": "1GB", "max_moves": 3},
    {"max_bytes_moved": "9", "tolerance": "40%"},
    {"balance": "bytes"},
    {"balance": "bytes", "tolerance": "30%"},
    {"balance": "bytes", "max_moves": 3},
    {"relieve": "80%"},
    {"spread": "topic"},
    {"leader_racks": ["a,b"]},
    {"demote_broker": ["2"]},
    {"no_moves": True},
    {"balance": "load"},
    {"balance": "load", "tolerance": "40%"},
    {"balance": "load", "tolerance": "replicas=30%,out=60%", "time_limit": "24h"},
    {"balance": "load", "tolerance": "60%", "no_moves": True},
)


def a_cluster(rng: random.Random) -> Cluster:
    """Small, and crowded on a few brokers."""
    count, racks = rng.randint(2, 6), rng.choice((0, 0, 2, 3))
    uneven, disks = rng.random() < 0.15, rng.random() < 0.2
    brokers: list[Value] = [{"id": b} for b in range(count)]
    for broker in brokers:
        if racks:
            broker["rack"] = "abc"[broker["id"] % racks]
        if uneven:
            broker["capacity"] = rng.randint(1, 3)
        if disks:
            broker["disk_bytes"] = 400
    crowd = range(rng.randint(min(2, count), count))
    factor = rng.randint(1, min(3, len(crowd)))
    rows = [
        {
            "topic": rng.choice("tu"),
            "partition": p,
            "replicas": rng.sample(crowd, rng.randint(1, factor)),
            "size_bytes": rng.randint(1, 9),
        }
        for p in range(rng.randint(3, 10))
    ]
    return Cluster.from_json({"brokers": brokers, "partitions": rows})


def a_problem(rng: random.Random) -> Problem:
    """Any limit or balance, with a few other options."""
    cluster, options = a_cluster(rng), dict(rng.choice(_LIMITS))
    if "relieve" in options:
        brokers = [replace(broker, disk_bytes=60) for broker in cluster.brokers]
        cluster = cluster.with_brokers(brokers)
    by_load = options.get("balance") == "load"
    if rng.random() < 0.3 and not by_load:
        options["leaders"] = "rate"
    if rng.random() < 0.2:
        options["topics"] = "t"
    if rng.random() < 0.2 and not options.get("no_moves"):
        options["add_broker"] = ["9:c" if cluster.rack_names else "9"]
    if rng.random() < 0.2:
        options["throttle"] = "1B"
    rates = np.array([float(rng.randint(0, 9)) for _ in range(cluster.partitions)])
    return resolve(cluster, PlanOptions(**options), rates)


def problems(rng: random.Random) -> Iterator[tuple[Problem, Plan]]:
    """Problems that have a plan, without end."""
    while True:
        try:
            problem = a_problem(rng)
            yield problem, solve(problem)
        except (InputError, CannotError):
            continue


def planned(problem: Problem, lists: Any) -> Plan:
    """A plan of ``exact`` with these lists: true in all that it states."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, "exact", Strategy(lambda problem: lists))
        return solve(problem)


# ---------------------------------------------------------------- worse placements


def _two(row: Any, rng: random.Random) -> tuple[int, int] | None:
    width = int((row >= 0).sum())
    return tuple(rng.sample(range(width), 2)) if width > 1 else None  # type: ignore[return-value]


def permuted_lists(problem: Problem, lists: Any, rng: random.Random) -> None:
    """Leaders and followers change places."""
    for row in lists[problem.items]:
        del row
    for i in problem.items.tolist():
        places = _two(lists[i], rng)
        if places is not None and rng.random() < 0.5:
            lists[i, places] = lists[i, places[::-1]]


def permuted_followers(problem: Problem, lists: Any, rng: random.Random) -> None:
    for i in problem.items.tolist():
        width = int((lists[i] >= 0).sum())
        if width > 2:
            lists[i, 1:width] = lists[i, rng.sample(range(1, width), width - 1)]


def a_replica_elsewhere(problem: Problem, lists: Any, rng: random.Random) -> None:
    i = rng.choice(problem.items.tolist())
    free = [b for b in problem.slot_brokers.tolist() if b not in lists[i]]
    if free:
        lists[i, rng.randrange(int((lists[i] >= 0).sum()))] = rng.choice(free)


def two_replicas_exchanged(problem: Problem, lists: Any, rng: random.Random) -> None:
    """The loads stay, and more may move."""
    for _ in range(20):
        i, j = (rng.choice(problem.items.tolist()) for _ in range(2))
        a, b = (rng.randrange(int((lists[n] >= 0).sum())) for n in (i, j))
        if lists[i, a] not in lists[j] and lists[j, b] not in lists[i]:
            lists[i, a], lists[j, b] = lists[j, b], lists[i, a]
            return


def as_before(problem: Problem, lists: Any, rng: random.Random) -> None:
    """Nothing changes at all."""
    before = problem.cluster.replicas
    if before.shape == lists.shape:
        lists[:] = before


WORSE: tuple[Callable[[Problem, Any, random.Random], None], ...] = (
    permuted_lists,
    permuted_followers,
    a_replica_elsewhere,
    two_replicas_exchanged,
    as_before,
)


# ---------------------------------------------------------------- claims


def claim(f: Files, *, met: bool) -> None:
    """Work out again what follows from the stages; ``met``: call every bound met."""
    stages = f.plan["certificate"]["stages"]
    for stage in stages:
        if met:
            stage["bound"] = stage["value"]
        if stage["stage"] == "moves":
            moves = min(stage["bound"], f.after["moves"])
            f.after["moves_lower_bound"] = (
                moves if f.plan["strategy"] == "exact" else stage["bound"]
            )
        if stage["stage"] == "failure":
            f.after["leaders_after_failure"]["ideal"] = stage["bound"]
        if stage["stage"] == "bytes moved":
            f.after["bytes_moved_lower_bound"] = stage["bound"]
    gaps = {
        s["stage"]: round(s["value"] / s["bound"] - 1, 6) if s["bound"] else float(s["value"])
        for s in stages
        if s["value"] > s["bound"]
    }
    waves, fewest = f.after["waves"], f.after["waves_lower_bound"]
    if waves > fewest:
        gaps["waves"] = round(waves / fewest - 1, 6)
    f.plan["gaps"] = f.after["gaps"] = gaps
    asked = [s for s in stages if s["exact"] or s["stage"] in (*_SEARCHED, "moves")]
    f.after["optimal"] = all(s["value"] == s["bound"] for s in asked)
    f.after["settled"] = True
    f.plan["strategy"] = f.after["strategy"] = f.plan["options"].get("strategy", "exact")
    f.seal()


def stages_of_another(f: Files, other: Value, rng: random.Random) -> None:
    """The certificate of another plan."""
    f.plan["certificate"] = other["certificate"]


def prices_of_another(f: Files, other: Value, rng: random.Random) -> None:
    theirs = {s["stage"]: s for s in other["certificate"]["stages"]}
    for stage in f.plan["certificate"]["stages"]:
        if stage["stage"] in theirs:
            stage["prices"] = theirs[stage["stage"]]["prices"]
            stage["bound"] = theirs[stage["stage"]]["bound"]


def options_of_another(f: Files, other: Value, rng: random.Random) -> None:
    """Options that this plan was not made for, with the stages that they call for."""
    ours = {s["stage"]: s for s in f.plan["certificate"]["stages"]}
    f.plan["options"] = other["options"]
    stages = [ours.get(s["stage"], s) for s in other["certificate"]["stages"]]
    f.plan["certificate"] = {"stages": stages}


def an_added_limit(f: Files, other: Value, rng: random.Random) -> None:
    """A limit that would have allowed fewer moves, and a budget that another limit proves."""
    stages = f.plan["certificate"]["stages"]
    theirs = [s for s in other["certificate"]["stages"] if s["stage"] == "budget"]
    f.plan["options"] |= {k: v for k, v in other["options"].items() if k in LIMIT_NAMES}
    if theirs and not any(s["stage"] == "budget" for s in stages):
        stages[3:3] = theirs
    for stage in stages:
        if stage["stage"] == "budget":
            stage["prices"]["limit"] = rng.choice(("tolerance", "max-moves", "max-bytes-moved"))


def an_aim_at_its_own_loads(f: Files, other: Value, rng: random.Random) -> None:
    """Loads that are counted from themselves are fair."""
    usable = [b["id"] for b in f.plan["brokers"] if b["alive"] and not b["excluded"]]
    held = [b for row in f.part["after"] for b in row]
    theirs = {s["stage"]: s for s in other["certificate"]["stages"]}
    for stage in f.plan["certificate"]["stages"]:
        if stage["stage"] in PLACEMENT:
            stage["prices"] |= theirs.get(stage["stage"], stage)["prices"]
            stage["prices"]["aim"] = [held.count(b) for b in usable]
            stage["prices"]["load_weights"] = [1] * len(usable)
        if stage["stage"] == "replicas":
            stage["value"] = 0


def a_stage_dropped(f: Files, other: Value, rng: random.Random) -> None:
    stages = f.plan["certificate"]["stages"]
    stages.pop(rng.randrange(len(stages)))


def prices_swapped(f: Files, other: Value, rng: random.Random) -> None:
    one, two = (rng.choice(f.plan["certificate"]["stages"]) for _ in range(2))
    one["prices"], two["prices"] = two["prices"], one["prices"]


def another_strategy(f: Files, other: Value, rng: random.Random) -> None:
    f.plan["options"]["strategy"] = rng.choice(("generate", "bin-packing", "given", "best"))
    if f.plan["options"]["strategy"] == "given":
        f.plan["options"]["reassignment"] = "lists.json"


def no_lie(f: Files, other: Value, rng: random.Random) -> None:
    """The true certificate of a worse plan."""


LIMIT_NAMES = ("tolerance", "max_moves", "max_bytes_moved")
LIES: tuple[Callable[[Files, Value, random.Random], None], ...] = (
    no_lie,
    stages_of_another,
    prices_of_another,
    options_of_another,
    an_added_limit,
    an_aim_at_its_own_loads,
    a_stage_dropped,
    prices_swapped,
    another_strategy,
)


def forged(rng: random.Random, directory: Path) -> Iterator[tuple[str, Path]]:
    """Forgeries of one random plan by name, each written to the directory."""
    problem, honest = next(problems(rng))
    other = next(problems(rng))[1].document()
    same = solve_with_other_limits(problem, rng)
    for worse in WORSE:
        lists = honest.after.replicas.copy()
        worse(problem, lists, rng)
        if not problem.keeps_last(problem.items, lists[problem.items]).all():
            continue  # no plan has such lists: a rule of its own finds them
        try:
            made = planned(problem, lists)
        except CannotError:
            continue
        root = directory / worse.__name__
        made.write(root)
        files = Files(root)
        for lie in LIES:
            for met in (False, True):
                basis = rng.choice((honest.document(), same or other, other))
                lie(files, basis, rng)
                claim(files, met=met)
                yield f"{worse.__name__}, {lie.__name__}, {met=}", files.write()
                files.restore()


def solve_with_other_limits(problem: Problem, rng: random.Random) -> Value | None:
    """plan.json of the same cluster with other limits."""
    kept = {k: v for k, v in problem.options.given().items() if k in ("topics", "leaders")}
    try:
        options = PlanOptions(**kept, **rng.choice(_LIMITS))
        rates = problem.bytes_per_second
        cluster = problem.cluster
        return solve(resolve(cluster, options, rates)).document()
    except (InputError, CannotError):
        return None


def best_values(made: Plan) -> dict[str, tuple[int, bool]]:
    """The values of the placement's stages that a new plan reaches, and whether it proves them."""
    best = solve(structs.replace(made.problem, options=_as_exact(made.problem.options)))
    return {s.name.value: (s.value, s.value == s.bound) for s in best.stages}


def _as_exact(options: PlanOptions) -> PlanOptions:
    given = {k: v for k, v in options.given().items() if k not in ("strategy", "reassignment")}
    return PlanOptions(**given)
