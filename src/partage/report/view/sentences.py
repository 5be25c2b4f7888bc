"""Sentences about a plan: what it does, how the cluster changes, what is proven."""

from __future__ import annotations

import numpy as np

from partage.brokers.figures import changed_sets
from partage.brokers.plan_file import PlanFigures, PlanStage
from partage.brokers.stages import StageName
from partage.report import units
from partage.report.view.data import PlanData

AS_BALANCED = "that is as balanced"
NOT_MINIMAL = "not proven minimal"


def headline(plan: PlanData) -> str:
    """What the plan does, in one sentence. If it balances rates, the busiest broker's comes
    first. A second one names what ``--relieve`` does besides."""
    if not plan.file.changes:
        return _nothing_to_do(plan)
    return f"{_first_sentence(plan)}{_besides_relief(plan)}"


def _first_sentence(plan: PlanData) -> str:
    moves = _moves(plan)
    rate = plan.by_rate
    if rate is None:
        return moves
    was, now = (rate.text(float(load.max(initial=0))) for load in (rate.before, rate.after))
    led = f"still leads {now}" if was == now else f"leads {now} instead of {was}"
    moves = moves.replace(": ", ", ") if plan.moves else moves.removeprefix("No replica moves: ")
    return f"The busiest broker {led}: {moves}"


def _besides_relief(plan: PlanData) -> str:
    """What a plan that relieves disks changes though no disk is too full."""
    if not plan.options.get("relieve") or plan.relieves_loads:
        return ""
    other = changed_sets(plan.before[plan.changed], plan.after[plan.changed])
    reordered = int(np.count_nonzero(~other))
    if not reordered:
        return ""
    sentence = " --relieve balances leaders in any case"
    if plan.moves == 0:
        return f"{sentence}."
    changing = (
        f"{units.plural(reordered, 'other partition')} {'changes' if reordered == 1 else 'change'}"
    )
    return f"{sentence}: {changing} only the order of replicas."


def _moves(plan: PlanData) -> str:
    """How many replicas move, whether that is the minimum, and what they copy; likewise between
    log dirs; then what is deleted."""
    between, deletes = _between_log_dirs(plan), deletion(plan)
    if between and plan.moves == 0:
        parts = [f"No replica moves to another broker: {between}{_schedule(plan)}"]
    elif deletes and plan.moves == 0 and len(plan.changed) == plan.shortened:
        return f"No replica moves: the plan {deletes}{_schedule(plan)}."
    else:
        parts = [_between_brokers(plan), *([between] if between else [])]
    parts += [f"the plan {deletes}"] if deletes else []
    return f"{'; '.join(parts)}."


def deletion(plan: PlanData) -> str:
    """What the plan deletes; empty where it deletes nothing."""
    if not plan.deleted:
        return ""
    partitions = units.plural(plan.shortened, "partition")
    return f"deletes {units.plural(plan.deleted, 'replica')} of {partitions}"


def _between_log_dirs(plan: PlanData) -> str:
    """The replicas that change their log dir, if any."""
    found, stage = plan.figures.log_dirs, plan.stage(StageName.LOG_DIRS)
    if found is None or stage is None or not found.moves:
        return ""
    verb = "changes its log dir" if found.moves == 1 else "change their log dirs"
    minimum = "proven minimum" if stage.proven else _above(plan, stage)
    replicas = units.plural(found.moves, "replica")
    return f"{replicas} {verb}, {units.size(stage.value)} to copy ({minimum})"


def _schedule(plan: PlanData) -> str:
    """In how many waves, and how long they take."""
    waves = f" in {units.plural(len(plan.waves), 'wave')}" if plan.waves else ""
    return f"{waves}, about {units.duration(plan.seconds)}" if plan.seconds else waves


def _between_brokers(plan: PlanData) -> str:
    """The moves between brokers; without any, the partitions whose order changes."""
    waves = _schedule(plan)
    if plan.moves == 0:
        reordered = len(plan.changed) - plan.shortened
        verb = "changes" if reordered == 1 else "change"
        changed = units.plural(reordered, "partition")
        return f"No replica moves: {changed} {verb} only the order of replicas{waves}"
    moves = f"{units.plural(plan.moves, 'replica')} {'moves' if plan.moves == 1 else 'move'}"
    copied = f"{units.size(plan.bytes_moved)} to copy"
    if plan.bytes_bound is not None:
        minimum = "proven minimum" if plan.minimal else above(plan)
        return f"{moves}: {copied}{waves} ({minimum})"
    minimum = f"at least {units.count(plan.lower_bound)} needed"
    if plan.minimal:
        limits = comparable(plan)
        minimum = f"proven minimum{'' if limits == AS_BALANCED else f' {limits}'}"
    elif plan.less_balanced:
        minimum = f"the fairest placement needs {fairest_moves(plan)}"
    if not plan.load("bytes"):
        return f"{moves} ({minimum}){waves}: sizes unknown"
    return f"{moves} ({minimum}): {copied}{waves}"


def _nothing_to_do(plan: PlanData) -> str:
    if "reassignment" in plan.options:
        return "Nothing to do: every given replica list is in place."
    if plan.options.get("relieve") and not plan.options.get("no_moves"):
        return "Nothing to do: every broker is below the limit."
    if plan.figures.settled:
        return "Nothing to do: the cluster is already as balanced as the rules allow."
    return "Nothing to do: the plan changes nothing."


def effect(plan: PlanData) -> str:
    """How the cluster changes, in one sentence; empty for a plan that changes nothing."""
    if not plan.file.changes:
        return ""
    before, after = plan.figures_before, plan.figures
    parts: list[str] = []
    for noun, old, new in (
        ("replicas per broker", before.replicas_per_broker, after.replicas_per_broker),
        ("leaders", before.leaders_per_broker, after.leaders_per_broker),
    ):
        if new is None:
            continue
        was, now = units.span(old), units.span(new)
        verb = "" if parts and " go from " in parts[0] else "go "
        parts.append(f"{noun} stay {now}" if was == now else f"{noun} {verb}from {was} to {now}")
    sentence = ", ".join(parts)
    worst, was_worst = worst_survivor(after), worst_survivor(before)
    if worst is not None:
        compared = f" (before: {units.count(was_worst)})" if was_worst not in (None, worst) else ""
        failing = "broker of the set" if plan.has_broker_set else "broker"
        failure = f"if any one {failing} fails, no other leads more than {worst}{compared}"
        sentence = f"{sentence}; {failure}" if sentence else failure
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""


def failure_aim(plan: PlanData) -> str:
    """What a plan that balances rates or loads aims at after a failure: it counts leaders first.
    Empty for others, which balance counts throughout."""
    aim = "after a failure: the aim is few leaders per survivor"
    if plan.options.get("balance") == "load":
        return f"{aim}, then little load on the worst one"
    return "" if plan.by_rate is None else f"{aim}, whatever their rates"


def proof(plan: PlanData) -> str:
    """What the certificate proves of the moves, in one line; empty where bytes are minimised,
    because the headline has it."""
    if not plan.file.changes:
        return "nothing changes"
    if plan.bytes_bound is not None:
        return ""
    moves = units.plural(plan.moves, "move")
    if plan.less_balanced:
        return f"{moves}: not the fairest placement, which needs {fairest_moves(plan)}"
    if plan.moves == 0:
        return "no data moves"
    if plan.minimal:
        return f"{moves}: proven minimum"
    return f"{moves}: {NOT_MINIMAL}, at least {units.count(plan.lower_bound)} needed"


def fairest_moves(plan: PlanData) -> str:
    """The fewest moves to the fairest placement."""
    stage = plan.stage(StageName.MOVES)
    return units.count(max(plan.lower_bound, stage.bound if stage else 0))


def comparable(plan: PlanData) -> str:
    """The plans with which this one is compared: "every plan *that is as balanced* …"."""
    if plan.bytes_bound is not None:
        if plan.relieves_loads:
            return "that keeps the limits"
        return "that relieves the disks" if plan.options.get("relieve") else AS_BALANCED
    budget = plan.stage(StageName.BUDGET)
    if plan.moves == plan.options.get("max_moves") or not (budget is None or budget.proven):
        return "with these loads"
    return "within the tolerance" if plan.options.get("tolerance") else AS_BALANCED


def above(plan: PlanData) -> str:
    """How far the bytes to copy are above their lower bound."""
    stage = plan.stage(StageName.BYTES_MOVED)
    return NOT_MINIMAL if stage is None else _above(plan, stage)


def _above(plan: PlanData, stage: PlanStage) -> str:
    """How far the bytes of a stage are above their lower bound; only the bound, if it is weak."""
    gap = plan.file.gaps.get(stage.name)
    if stage.bound and gap is not None and gap < units.WEAK_BOUND:
        return units.gap(gap)
    least = f", at least {units.size(stage.bound)} needed" if stage.bound else ""
    return f"{NOT_MINIMAL}{least}"


def worst_survivor(figures: PlanFigures) -> int | None:
    """Leaders of the worst survivor after any one broker's failure."""
    failure = figures.leaders_after_failure
    return None if failure is None else failure.max
