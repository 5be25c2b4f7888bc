"""A plan: what changes, its figures, and the proof that nothing better exists.

``plan`` resolves the options, lets the strategy decide, and measures the answer against the exact
bounds, whatever strategy made it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from partage.brokers.directory import (
    FORMAT_VERSION,
    MARKER,
    REASSIGNMENT,
    ROLLBACK,
    fingerprint,
    wave_name,
)
from partage.brokers.directory import write as write_plan_directory
from partage.brokers.figures import (
    Placement,
    changed_rows,
    new_replicas,
    one_width,
    rack_violations,
)
from partage.brokers.leaders import Led, lead
from partage.brokers.limiting_constraints import limiting_constraints
from partage.brokers.options import BUDGET, EXACT, GIVEN, PlanOptions
from partage.brokers.placement.disks import disk_overflow
from partage.brokers.placement.sizes import forced_moves
from partage.brokers.problem import Problem
from partage.brokers.proofs import Stage, prove_leaders, prove_placement
from partage.brokers.stages import StageName
from partage.brokers.strategies import Strategy, strategy_named
from partage.brokers.waves import Wave, WaveSchedule, schedule_waves
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.files import to_json

if TYPE_CHECKING:
    from partage.brokers.saved_plan import SavedPlan

Ints = npt.NDArray[np.int64]
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Plan:
    """``before`` and ``after`` share brokers and partitions; only the replica lists differ.

    ``stages`` prove the objective stage by stage; ``figures`` are the interface's keys;
    ``warnings``: the problem's, and those that only the answer gives rise to.
    """

    problem: Problem
    before: Cluster
    after: Cluster
    stages: tuple[Stage, ...]
    schedule: WaveSchedule
    binding: tuple[str, ...]
    gaps: dict[str, float]
    settled: bool
    seconds: float
    warnings: tuple[str, ...]

    @property
    def waves(self) -> tuple[Wave, ...]:
        """The order of execution."""
        return self.schedule.waves

    @cached_property
    def moves(self) -> int:
        """Replicas that a broker must newly fetch."""
        return len(new_replicas(self.before, self.after)[0])

    @property
    def lower_bound(self) -> int:
        """The fewest moves that reach the fairest share, proven, whoever made the plan; where bytes
        are shared out, those that the rules force."""
        if self.problem.options.by_size and not self.problem.options.no_moves:
            return forced_moves(self.problem)
        bound = next((s.bound for s in self.stages if s.name == StageName.MOVES), 0)
        # where disks keep the loads from being fairest, fewer moves may do
        return min(bound, self.moves) if self.problem.options.strategy == EXACT else bound

    @property
    def optimal(self) -> bool:
        """Whether every stage that has an exact answer meets its bound, and every search for what
        must be moved; see ``gaps`` for others."""
        return all(map(self._met, self.stages))

    def _met(self, stage: Stage) -> bool:
        if stage.name == StageName.BYTES:
            # even as far as asked; a byte more or less is rounding
            limit = stage.bound * (1 + self.problem.options.limits.tolerance)
            return bool(stage.value <= limit + max(stage.prices["load_weights"]))
        searched = not stage.exact and stage.name not in (StageName.BUDGET, StageName.BYTES_MOVED)
        return searched or stage.value == stage.bound

    @property
    def bytes_moved(self) -> int | None:
        """Bytes that the moves fetch; None when no size is known."""
        if (self.before.size_bytes < 0).all():
            return None
        rows, _ = new_replicas(self.before, self.after)
        return int(np.maximum(self.before.size_bytes, 0)[rows].sum())

    @property
    def leader_changes(self) -> int:
        """Partitions whose preferred leader changes."""
        return self.leaders_other_than(self.before)

    def leaders_other_than(self, other: Cluster) -> int:
        """Partitions that another placement of the same cluster lets another broker lead."""
        return int((other.replicas[:, 0] != self.after.replicas[:, 0]).sum())

    @cached_property
    def changed(self) -> Ints:
        """Rows of the partitions whose list changes."""
        return changed_rows(self.before, self.after)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of the plan, under the names of the interface."""
        failure = next(stage for stage in self.stages if stage.name == StageName.FAILURE)
        return {
            "strategy": self.problem.options.strategy,
            "moves": self.moves,
            "moves_lower_bound": self.lower_bound,
            "bytes_moved": self.bytes_moved,
            "bytes_moved_lower_bound": next(
                (s.bound for s in self.stages if s.name == StageName.BYTES_MOVED), None
            ),
            "optimal": self.optimal,
            **Placement(self.after, self.problem.usable).figures(),
            "leaders_after_failure": {"max": failure.value, "ideal": failure.bound},
            "leader_changes": self.leader_changes,
            "settled": self.settled,
            "waves": len(self.waves),
            "waves_lower_bound": self.schedule.bound,
            "seconds": self.seconds,
            "binding": list(self.binding),
            "gaps": self.gaps,
        }

    def document(self) -> dict[str, Any]:
        """plan.json as a value."""
        return _document(self)

    def write(
        self, directory: str | os.PathLike[str], beside: Mapping[str, str] | None = None
    ) -> None:
        """Write the plan directory whole or not at all; ``beside``: more files, name to text."""
        write_plan_directory(directory, {**(beside or {}), **_files(self)})

    @staticmethod
    def read(directory: str | os.PathLike[str]) -> SavedPlan:
        """The plan of a plan directory. Raises InputError."""
        from partage.brokers.saved_plan import SavedPlan

        return SavedPlan.read(directory)


def _document(plan: Plan) -> dict[str, Any]:
    """plan.json as a value."""
    from partage import __version__

    problem, before, after = plan.problem, plan.before, plan.after
    rates = problem.bytes_per_second
    brokers = [
        broker | {"excluded": bool(problem.excluded[i]), "added": bool(problem.added[i])}
        for i, broker in enumerate(before.to_json()["brokers"])
    ]
    partitions = {
        "topic": before.topic.tolist(),
        "partition": before.partition.tolist(),
        "size_bytes": [None if s < 0 else s for s in before.size_bytes.tolist()],
        "bytes_per_second": None if rates is None else rates.tolist(),
        "chosen": problem.chosen.tolist(),
        "replication_factor": (
            before.replication_factor if problem.options.no_moves else problem.target
        ).tolist(),
        "before": before.replica_lists(),
        "after": after.replica_lists(),
    }
    value: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "partage": __version__,
        "strategy": problem.options.strategy,
        "cluster_id": before.cluster_id,
        "changes": len(plan.changed) > 0,
        "options": problem.options.given(),
        "brokers": brokers,
        "topics": list(before.topics),
        "partitions": partitions,
        "figures": {
            "before": Placement(before, problem.usable).figures(),
            # how long it took is no property of the plan: the same input, the same bytes
            "after": {k: v for k, v in plan.figures.items() if k != "seconds"},
        },
        "binding": list(plan.binding),
        "gaps": plan.gaps,
        "loads": list(problem.loads),
        "warnings": list(plan.warnings),
        "certificate": {"stages": [stage.to_json() for stage in plan.stages]},
        "waves": [_wave(plan, i, wave) for i, wave in enumerate(plan.waves, start=1)],
    }
    value["fingerprint"] = fingerprint(value)
    return value


def _wave(plan: Plan, number: int, wave: Wave) -> dict[str, Any]:
    """A wave and its load, broker by broker."""
    return {
        "file": wave_name(number),
        "partitions": len(wave.rows),
        "moves": wave.moves,
        "bytes": wave.bytes,
        "seconds": wave.seconds,
        "brokers": plan.before.broker_ids[wave.brokers].tolist(),
        "replicas_in": wave.replicas_in.tolist(),
        "replicas_out": wave.replicas_out.tolist(),
        "bytes_in": None if wave.bytes_in is None else wave.bytes_in.tolist(),
        "bytes_out": None if wave.bytes_out is None else wave.bytes_out.tolist(),
    }


def _files(plan: Plan) -> dict[str, str]:
    """Every file of the plan directory but the report, by name."""
    changed = plan.changed
    reassignment = plan.after.to_reassignment(changed)
    files = {
        MARKER: to_json(plan.document()),
        REASSIGNMENT: to_json(reassignment),
        ROLLBACK: to_json(plan.before.to_reassignment(changed)),
    }
    # the changed partitions once, each wave a part of them: lists of all P would be made per wave
    entries = dict(zip(changed.tolist(), reassignment["partitions"], strict=True))
    for i, wave in enumerate(plan.waves, start=1):
        part = [entries[row] for row in np.sort(wave.rows).tolist()]
        files[wave_name(i)] = to_json({"version": 1, "partitions": part})
    return files


def solve(problem: Problem, progress: Progress | None = None) -> Plan:
    """Let the problem's strategy decide and measure the answer."""
    tell = progress or (lambda _: None)
    began = time.perf_counter()
    strategy = strategy_named(problem.options.strategy)
    _refuse(problem.options)
    tell(f"deciding ({problem.options.strategy})")
    before = problem.cluster
    after, led = _decide(strategy, problem)
    tell("proving")
    stages: list[Stage] = []
    if not problem.options.no_moves:
        stages += prove_placement(problem, after)
    stages += prove_leaders(problem, after, led)
    placement = Placement(after, problem.usable)
    ideal = next(stage.bound for stage in stages if stage.name == StageName.FAILURE)
    tell("scheduling waves")
    schedule = schedule_waves(
        before,
        after,
        problem.options.concurrency,
        problem.options.throttle,
        problem.options.batch,
    )
    settled = _settled(strategy, problem, after, stages, tell)
    return Plan(
        problem=problem,
        before=before,
        after=after,
        stages=tuple(stages),
        schedule=schedule,
        binding=(
            *limiting_constraints(problem, placement, ideal),
            *schedule.limiting_constraints,
        ),
        gaps=_gaps(stages, schedule),
        settled=settled,
        seconds=round(time.perf_counter() - began, 3),
        warnings=(
            *problem.warnings,
            *_rack_warnings(problem, after),
            *_disk_warnings(problem, after),
        ),
    )


def _refuse(options: PlanOptions) -> None:
    """Budgets are kept by the exact strategy alone."""
    for name in BUDGET:
        if options.strategy != EXACT and getattr(options, name) is not None:
            raise CannotError(f"does not support `{name}`: exact does")
    if options.balance == "bytes" and options.strategy not in (EXACT, "bin-packing", GIVEN):
        raise CannotError("does not support `balance` bytes: exact and bin-packing do")


def _decide(strategy: Strategy, problem: Problem) -> tuple[Cluster, Led]:
    """What the strategy decides, and how its replica sets are led best."""
    answer = strategy.decide(problem)
    led = lead(problem, answer)
    return problem.cluster.with_replicas(answer if strategy.ordered else led.replicas), led


def _settled(
    strategy: Strategy, problem: Problem, after: Cluster, stages: Sequence[Stage], tell: Progress
) -> bool:
    """Whether a second run on the result would change nothing. Where every stage of an exact plan
    is exact and meets its bound, it would not: to change nothing is optimal and costs nothing. In
    any other case the second run is made."""
    if problem.options.strategy == EXACT and all(s.exact and s.value == s.bound for s in stages):
        return True
    tell("running once more on the result")
    try:
        second, _ = _decide(strategy, problem.again(after))
    except CannotError:
        return False
    return len(changed_rows(after, second)) == 0


def _rack_warnings(problem: Problem, after: Cluster) -> list[str]:
    """That the rack rule is broken, where the plan itself does so: sets may stay as they are."""
    was, now = one_width(problem.cluster.replicas, after.replicas)
    other = (np.sort(was, axis=1) != np.sort(now, axis=1)).any(axis=1)
    broken = rack_violations(after, problem.usable)
    if not (broken & other & problem.chosen).any():
        return []
    before = int(rack_violations(problem.cluster, problem.usable).sum())
    return [
        f"{int(broken.sum())} partitions break the rack rule ({before} before): "
        "partage check will say so"
    ]


def _disk_warnings(problem: Problem, after: Cluster) -> list[str]:
    """The broker whose disk overflows most, if any does."""
    over = disk_overflow(problem, after.replicas)
    if not over.any():
        return []
    broker = int(over.argmax())
    identity = problem.cluster.broker_ids[broker]
    return [f"broker {identity}: {over[broker]} bytes more than its disk holds"]


def _gaps(stages: Sequence[Stage], schedule: WaveSchedule) -> dict[str, float]:
    """By stage, and for the waves: how far above the bound, as a share of it; where the bound is 0,
    the value."""
    gaps = {
        stage.name.value: round(stage.value / stage.bound - 1, 6)
        if stage.bound
        else float(stage.value)
        for stage in stages
        if stage.value > stage.bound
    }
    return gaps | ({"waves": schedule.gap} if schedule.gap else {})
