"""Solve a planning problem: the strategy decides, and the answer is measured against exact bounds.

Whatever strategy decides, leaders are assigned, waves are scheduled, every stage of the objective
is proven, and a second run shows whether the plan is stable.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from partage.brokers.failure_steps import improve_by_steps
from partage.brokers.figures import (
    Placement,
    changed_rows,
    changed_sets,
    moved_log_dirs,
    rack_violations,
)
from partage.brokers.leaders import Led, lead, prove_order
from partage.brokers.limiting_constraints import limiting_constraints
from partage.brokers.options import BUDGET, EXACT, GIVEN, PlanOptions
from partage.brokers.placement.disks import disk_overflow
from partage.brokers.placement.log_dirs import choose_log_dirs
from partage.brokers.plan import Plan, Progress
from partage.brokers.problem import Problem
from partage.brokers.proofs import Stage, is_aimed, prove_leaders, prove_placement
from partage.brokers.stages import StageName
from partage.brokers.strategies import Strategy, strategy_named
from partage.brokers.survivors import improve_after_failures, too_large_to_search
from partage.brokers.waves import WaveSchedule, schedule_waves
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.units import listed, plural

if TYPE_CHECKING:
    from partage.brokers.placement.log_dir_balance import Fullness

_MANY = 20_000
"""From this many partitions on, arrays are so large that it matters how memory is freed."""


def solve(problem: Problem, progress: Progress | None = None) -> Plan:
    """Let the problem's strategy decide, and prove the answer. Raises CannotError.

    ``progress`` is called with each step.
    """
    if problem.cluster.partitions < _MANY:
        return _solved(problem, progress)
    from partage.memory import kept_memory

    with kept_memory():
        return _solved(problem, progress)


def _solved(problem: Problem, progress: Progress | None) -> Plan:
    report = progress or (lambda _: None)
    began = time.perf_counter()
    strategy = strategy_named(problem.options.strategy)
    _refuse(problem.options)
    report(f"deciding ({problem.options.strategy})")
    if problem.options.by_load:
        problem = problem.timed(report)
    before = problem.cluster
    after, led = _decide(strategy, problem)
    report("proving")
    stages: list[Stage] = []
    if problem.options.by_load:
        from partage.brokers.load import prove_loads

        stages += prove_loads(problem, after)
    elif not problem.options.no_moves:
        stages += prove_placement(problem, after)
    stages += prove_leaders(problem, after, led or prove_order(problem, after.replicas))
    placement = Placement(after, problem.usable)
    ideal = next(stage.bound for stage in stages if stage.name == StageName.FAILURE)
    report("scheduling waves")
    after, schedule = scheduled(problem, after)
    settled = _settled(strategy, problem, after, stages, report)
    stages += _log_dir_stages(problem, after)
    return Plan(
        problem=problem,
        before=before,
        after=after,
        stages=tuple(stages),
        schedule=schedule,
        binding=(
            *limiting_constraints(problem, placement, ideal),
            *_uneven_log_dirs(problem, after),
            *schedule.limiting_constraints,
        ),
        gaps=_gaps(problem.options, stages, schedule),
        settled=settled,
        seconds=round(time.perf_counter() - began, 3),
        warnings=(
            *problem.warnings,
            *_rack_warnings(problem, after),
            *_disk_warnings(problem, after),
            *_time_warnings(problem),
        ),
        hints=tuple(_hints(problem, after)),
        fullness=_fullness(problem, after),
    )


def scheduled(problem: Problem, after: Cluster) -> tuple[Cluster, WaveSchedule]:
    """``after`` in log dirs, and the waves. Replicas that change their log dir need waves of their
    own, and the log dirs of new ones depend on the other waves. Raises CannotError."""
    options = problem.options

    def waves(target: Cluster) -> WaveSchedule:
        limits = options.concurrency, options.throttle, options.batch
        return schedule_waves(problem.cluster, target, *limits)

    schedule = waves(after)
    after = replace(after, log_dirs=choose_log_dirs(problem, after, schedule.waves))
    after = _with_even_log_dirs(problem, after)
    if len(moved_log_dirs(problem.cluster, after)[0]):
        schedule = waves(after)
    return after, schedule


def _with_even_log_dirs(problem: Problem, after: Cluster) -> Cluster:
    """``after`` with its replicas in the log dirs that the options ask for. Raises CannotError."""
    if not problem.options.within_brokers:
        return after
    from partage.brokers.placement.log_dir_balance import balance_log_dirs

    return balance_log_dirs(problem, after)


def _log_dir_stages(problem: Problem, after: Cluster) -> list[Stage]:
    """What moves between log dirs, and the bound on it, where the options ask for that."""
    if not problem.options.within_brokers:
        return []
    from partage.brokers.placement.log_dir_balance import prove_log_dirs

    return prove_log_dirs(problem, after)


def _fullness(problem: Problem, after: Cluster) -> Fullness | None:
    """How full log dirs get, where the plan chooses some."""
    if after.log_dirs is None:
        return None
    from partage.brokers.placement.log_dir_balance import fullness_of

    return fullness_of(problem, after)


def _uneven_log_dirs(problem: Problem, after: Cluster) -> list[str]:
    """A sentence about brokers whose log dirs stay uneven, if there are any."""
    if not problem.options.balance_disks:
        return []
    from partage.brokers.placement.log_dir_balance import uneven_brokers

    uneven = uneven_brokers(problem, after)
    if not uneven:
        return []
    names = listed([str(after.broker_ids[one]) for one in uneven[:5]], 5, len(uneven))
    return [
        f"log dirs: those of {names} stay further from even than the tolerance: no better way was "
        "found with replicas of these sizes"
    ]


def placed(problem: Problem, progress: Progress | None = None) -> Cluster:
    """The placement of the plan that ``solve`` makes, without its proofs. Raises CannotError."""
    strategy = strategy_named(problem.options.strategy)
    _refuse(problem.options)
    return _decide(strategy, problem.timed(progress or (lambda _: None)))[0]


def _refuse(options: PlanOptions) -> None:
    """Raise CannotError for options that the strategy does not support."""
    for name in BUDGET:
        if options.strategy != EXACT and getattr(options, name) is not None:
            raise CannotError(f"does not support `{name}`: exact does")
    for name in ("leader_racks", "demote_broker", "prefer_zone"):
        if options.strategy != EXACT and getattr(options, name):
            raise CannotError(f"does not support `{name}`: exact does")
    if options.balance == "load" and options.strategy != EXACT:
        raise CannotError("does not support `balance` load: exact does")
    if options.balance == "bytes" and options.strategy not in (EXACT, "bin-packing", GIVEN):
        raise CannotError("does not support `balance` bytes: exact and bin-packing do")


def _decide(strategy: Strategy, problem: Problem) -> tuple[Cluster, Led | None]:
    """The strategy's placement; for replica sets their best order, which is proven with it."""
    answer = strategy.decide(problem)
    # where loads are relieved, the lists change no more than that needs
    led = None if strategy.ordered or problem.options.relieved else lead(problem, answer)
    if led is not None and problem.options.strategy == EXACT:
        led = improve_by_steps(problem, improve_after_failures(problem, led))
        if problem.options.by_load:
            from partage.brokers.load import relieve_survivors

            led = relieve_survivors(problem, led)
        if problem.options.prefer_zone:
            from partage.brokers.leaders.zones import prefer_zone

            led = prefer_zone(problem, led)
    return problem.cluster.with_replicas(answer if led is None else led.replicas), led


def _settled(
    strategy: Strategy, problem: Problem, after: Cluster, stages: Sequence[Stage], report: Progress
) -> bool:
    """Whether a second run on the result changes nothing. If every stage of an exact plan is exact
    and meets its bound, it does not, because no change is optimal and costs nothing; the search for
    better leader counts only ends where it finds none, and where other sets are not searched for a
    lower worst survivor, that stage need not meet its bound. Otherwise the second run is made."""
    if not _log_dirs_settled(problem, after):
        return False
    searched = {StageName.JOINT_FAILURE_BALANCE}
    if too_large_to_search(problem):
        searched.add(StageName.FAILURE)
    certain = all(s.name in searched or (s.exact and s.value == s.bound) for s in stages)
    if problem.options.strategy == EXACT and certain:
        return True
    if problem.clock.stopped:
        return False
    report("running once more on the result")
    again = problem.again(after).timed(lambda _: None)
    try:
        second, _ = _decide(strategy, again)
    except CannotError:
        return False
    return not again.clock.stopped and len(changed_rows(after, second)) == 0


def _log_dirs_settled(problem: Problem, after: Cluster) -> bool:
    """Whether a second run leaves every replica in its log dir."""
    again = _with_even_log_dirs(problem.again(after), after)
    return not len(moved_log_dirs(after, again)[0])


def _hints(problem: Problem, after: Cluster) -> list[str]:
    """What other options would do, where loads are known."""
    if problem.rates is None:
        return []
    from partage.brokers.load import load_hint

    return load_hint(problem, after)


def _rack_warnings(problem: Problem, after: Cluster) -> list[str]:
    """A warning if the plan itself violates the rack rule; unchanged partitions do not count."""
    other = changed_sets(problem.cluster.replicas, after.replicas)
    broken = rack_violations(after, problem.usable)
    if not (broken & other & problem.chosen).any():
        return []
    before = int(rack_violations(problem.cluster, problem.usable).sum())
    return [
        f"{plural(int(broken.sum()), 'partition breaks', 'partitions break')} the rack rule "
        f"({before} before): partage check will report it"
    ]


def _time_warnings(problem: Problem) -> list[str]:
    """A warning if the search ended at its limit."""
    if not problem.clock.stopped:
        return []
    return [
        f"the search ended at its limit of {problem.options.time_limit}: this is the best plan "
        "so far, and another run may find another"
    ]


def _disk_warnings(problem: Problem, after: Cluster) -> list[str]:
    """A warning about the broker whose disk overflows most, if any does."""
    over = disk_overflow(problem, after.replicas)
    if not over.any():
        return []
    broker = int(over.argmax())
    identity = problem.cluster.broker_ids[broker]
    return [f"broker {identity}: {over[broker]} bytes more than its disk holds"]


def _gaps(
    options: PlanOptions, stages: Sequence[Stage], schedule: WaveSchedule
) -> dict[str, float]:
    """By stage, and for the waves: the distance to the bound as a share of it; if the bound is 0,
    the value."""
    gaps = {
        stage.name.value: round(stage.value / stage.bound - 1, 6)
        if stage.bound
        else float(stage.value)
        for stage in stages
        if stage.value > stage.bound and is_aimed(options, stage.name)
    }
    return gaps | ({"waves": schedule.gap} if schedule.gap else {})
