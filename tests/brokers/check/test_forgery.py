"""Forged plans: none that is worse than the best passes as optimal, and every leaf of plan.json is
proven or named as not proven."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage.brokers.check import CheckResult
from partage.brokers.check.asked import Asked
from partage.brokers.check.placement_bounds import placement_bounds
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.stages import placement_stages
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.flow.packing import pack
from tests.brokers.check.forgery import PLACEMENT, best_values, claim, forged, problems
from tests.brokers.check.plans import LIMITED, SOUND, LazyPlans
from tests.brokers.check.tampering import Files, judged
from tests.matrices import cluster_of
from tests.profiles import seeds

Path_ = tuple[Any, ...]

PROVEN_PARTS = (
    *("brokers.excluded", "brokers.added", "partitions.chosen", "partitions.after"),
    "partitions.replication_factor",
)
"""What follows from the options, of the parts that are the input."""


def with_more(count: int, more: int) -> list[Any]:
    """Seeds, and many more of them in the long tier."""
    return [*seeds(count), *(pytest.param(n, marks=pytest.mark.long) for n in range(100, more))]


@pytest.mark.parametrize("seed", with_more(24, 120))
def test_no_forgery_passes_as_optimal(seed: int, tmp_path: Path) -> None:
    """What passes is as good as the best plan for its own cluster and options."""
    for name, directory in forged(random.Random(seed), tmp_path):
        if judged(directory).optimal:
            assert_as_good(directory, name)


def assert_as_good(directory: Path, name: str) -> None:
    made = Plan.read(directory)
    best = best_values(made)
    values = {stage.name.value: stage.value for stage in made.stages}
    if any("aim" in stage.prices for stage in made.stages):
        values = {name: value for name, value in values.items() if name == "budget"}
    worst_excess, proven = best.get("load", (0, True))
    if worst_excess or not proven:
        return  # what is further from the bands, in the worst or the others, needs fewer moves
    for stage in ("load", *PLACEMENT, "budget", "bytes moved"):
        value, proven = best.get(stage, (0, False))
        assert stage not in values or not proven or values[stage] == value, (name, stage)


# ---------------------------------------------------------------- bounds that rest on others

VALID: dict[str, Callable[[], Plan]] = {
    "another strategy": lambda: plan(cluster_of("1 " * 9 + "2 2 2", "1 2"), strategy="generate"),
    "topics first": lambda: plan(
        cluster_of("1 " * 9 + "u: 2 2 2", "1 2"), strategy="generate", spread="topic"
    ),
    "disks": lambda: plan(cluster_of("1/10 " * 4, "1/100 2/15")),
    "disks, fewer moves": lambda: plan(cluster_of("1/10 " * 6, "1/100 2/35"), max_moves=1),
}
"""Plans that ``check`` finds valid where a bound of their placement is not reached."""


@pytest.mark.parametrize("name", VALID)
def test_what_rests_on_a_bound_that_is_not_reached_is_named(name: str, tmp_path: Path) -> None:
    """Prices that prove too little in one stage let later stages prove anything."""
    made = VALID[name]()
    made.write(tmp_path / "plan")
    files = Files(tmp_path / "plan")
    order = placement_stages(Asked.of(files.plan["options"]))
    assert len(order) == 3
    for place, lowered in enumerate(order[:-1]):
        too_low = np.full(len(made.problem.slot_brokers), -100)
        files.stage(lowered)["prices"]["brokers"] = pack(too_low)
        state_what_prices_prove(files)
        assert files.stage(lowered)["bound"] < files.stage(lowered)["value"]
        verdict = judged(files.write())
        assert verdict.defects == []
        assert not verdict.optimal
        for later in order[place + 1 :]:
            assert is_named(f"stage {later}", verdict), (lowered, later)
        if "moves" in order[place + 1 :]:
            assert is_named("figures.after.moves_lower_bound", verdict)
        files.restore()


def state_what_prices_prove(files: Files) -> None:
    """As a forger would: the bound of each stage that its prices prove, and what follows."""
    claim(files, met=False)
    found = Recount()
    columns = PlanColumns(files.plan, files.directory)
    placement_bounds(columns, placement_stages(columns.asked), found)
    for defect in found.defects:
        proven = re.search(r"bound of (.+) is .* prove (-?[0-9]+)", defect)
        assert proven, defect
        files.stage(proven[1])["bound"] = int(proven[2])
    claim(files, met=False)
    files.after["settled"] = False


# ---------------------------------------------------------------- every leaf


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all scalars, and of what is empty."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    else:
        yield path


def kind_of(path: Path_) -> str:
    """The path without positions in lists."""
    return ".".join(key for key in path if isinstance(key, str))


def alike(path: Path_) -> str:
    """The kind of a leaf, the same for every resource."""
    keys = ["", *(key for key in path if isinstance(key, str))]
    by_resource = {"resources", "fair", "bands"}
    return ".".join("*" if outer in by_resource else key for outer, key in pairwise(keys))


def at(value: Any, path: Path_) -> Any:
    for key in path:
        value = value[key]
    return value


def others(value: Any) -> list[Any]:
    """Other values of the same type, and of none."""
    match value:
        case bool():
            return [not value]
        case None:
            return [7, "x", []]
        case int():
            return [value + 1, value - 1, 0 if value else 2, 2 * value + 3]
        case float():
            return [value + 0.5, 0.0 if value else 2.0]
        case str():
            return [value + "x", "", value[:-1]]
        case list():
            return [[1], ["x"]]
        case dict():
            return [{"moves": 0.5}]
    raise AssertionError(value)


def is_named(kind: str, verdict: CheckResult) -> bool:
    """Whether what is not proven has the leaf, or what it is part of."""
    named = {place for line in verdict.not_proven for place in line.partition(": ")[0].split(", ")}
    parts = kind.split(".")
    prefixes = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return kind not in PROVEN_PARTS and not named.isdisjoint(prefixes)


def assert_leaves_are_proven_or_named(files: Files, rng: random.Random, samples: int) -> None:
    """Another value at a leaf, sealed again, is a defect unless the leaf is named, or it is a price
    that proves the same bound. A draw of a third of the kinds; many plans have each."""
    by_kind: dict[str, list[Path_]] = {}
    for path in leaves(files.plan):
        by_kind.setdefault(alike(path), []).append(path)
    for drawn in rng.sample(sorted(by_kind), -(-len(by_kind) // 3)):
        paths = by_kind[drawn]
        for path in rng.sample(paths, min(samples, len(paths))):
            kind = kind_of(path)
            value = rng.choice(others(at(files.plan, path)))
            inner = at(files.plan, path[:-1])
            inner[path[-1]] = value
            if kind != "fingerprint":
                files.seal()
            verdict = judged(files.write())
            files.restore()
            if verdict.sound:
                said = (path, value)
                assert is_named(kind, verdict) or ".prices." in kind, said
        assert_cannot_be_left_out(files, rng.choice(paths))


def assert_cannot_be_left_out(files: Files, path: Path_) -> None:
    """A key that is left out, or an entry of a list, is a defect unless it is named."""
    inner = at(files.plan, path[:-1])
    del inner[path[-1]]
    kind = kind_of(path)
    if kind != "fingerprint":
        with suppress(KeyError):
            files.seal()
    verdict = judged(files.write())
    files.restore()
    if verdict.sound:
        assert is_named(kind, verdict) or ".prices." in kind, path


@pytest.mark.long
@pytest.mark.parametrize("name", [*SOUND, *LIMITED])
def test_every_leaf_is_proven_or_named(
    sound_plans: LazyPlans, limited_plans: LazyPlans, name: str
) -> None:
    files = (sound_plans if name in SOUND else limited_plans)[name]
    rng = random.Random(name)
    assert_leaves_are_proven_or_named(files, rng, samples=1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", with_more(12, 108))
def test_every_leaf_of_small_plans_is_proven_or_named(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    _, made = next(problems(rng))
    made.write(tmp_path / "plan")
    files = Files(tmp_path / "plan")
    assert judged(tmp_path / "plan").defects == []
    assert_leaves_are_proven_or_named(files, rng, samples=-(-len(seeds(9)) // 3))
