"""The sentences about a plan: what it does, what becomes of the cluster, what is proven of it."""

from __future__ import annotations

from partage.report import units
from partage.report.view.facts import Facts, after_failure

FAIREST = "as fair"


def headline(plan: Facts) -> str:
    """What the plan does, in one sentence."""
    if not plan.changes:
        settled = " The cluster is as the objective wants it." if plan.settled else ""
        if "reassignment" in plan.asked:
            settled = " Every list that was given is in place."
        return f"Nothing to do: the plan changes nothing.{settled}"
    waves = f" in {units.plural(len(plan.waves), 'wave')}" if plan.waves else ""
    if plan.moves == 0:
        return (
            f"No replica moves: {units.plural(len(plan.changed), 'partition')} "
            f"{'changes' if len(plan.changed) == 1 else 'change'} only "
            f"the order of the replicas{waves}."
        )
    verb = "moves" if plan.moves == 1 else "move"
    known = f"{units.size(plan.bytes_moved)} to copy" if plan.load("bytes") else "sizes unknown"
    proven = f"at least {units.count(plan.lower_bound)} are needed"
    if plan.bytes_bound is not None:
        least = f"any plan {as_even(plan)} copies {units.size(plan.bytes_bound)} or more"
        least = "proven to be the fewest bytes" if plan.fewest else least
        return f"{units.plural(plan.moves, 'replica')} {verb}: {known}{waves}, {least}."
    if plan.fewest:
        even = as_even(plan)
        proven = f"proven to be the fewest{'' if even == FAIREST else f' {even}'}"
    elif plan.short:
        proven = f"the fairest share needs {fair_moves(plan)}"
    return f"{units.plural(plan.moves, 'replica')} {verb}, {proven}: {known}{waves}."


def effect(plan: Facts) -> str:
    """What becomes of the cluster, in one sentence; empty for a plan that changes nothing."""
    if not plan.changes:
        return ""
    parts: list[str] = []
    for key, noun in (("replicas", "replicas per broker"), ("leaders", "leaders")):
        old = units.span(plan.figures_before.get(f"{key}_per_broker"))
        new = units.span(plan.figures.get(f"{key}_per_broker"))
        if new != units.MISSING:
            verb = "" if parts and " go from " in parts[0] else "go "
            moved = f"{noun} {verb}from {old} to {new}"
            parts.append(f"{noun} stay {new}" if old == new else moved)
    sentence = ", ".join(parts)
    worst, was = after_failure(plan.figures)[0], after_failure(plan.figures_before)[0]
    if worst is not None:
        before = f" (before: {units.count(was)})" if was not in (None, worst) else ""
        ending = f"when any one broker fails, no other leads more than {worst}{before}"
        sentence = f"{sentence}; {ending}" if sentence else ending
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""


def proof(plan: Facts) -> str:
    """The certificate in one line."""
    if not plan.changes:
        return "nothing changes"
    moves, bound = units.plural(plan.moves, "move"), units.count(plan.lower_bound)
    if plan.bytes_bound is not None:
        moves, bound = units.size(plan.bytes_moved), units.size(plan.bytes_bound)
        if not plan.fewest:
            return f"{moves} move, {bound} must: {above(plan)}"
    if plan.short:
        return f"not the fairest: {moves}, where the fairest share needs {fair_moves(plan)}"
    if plan.moves == 0:
        return "no data moves"
    if plan.fewest:
        return f"proven: {moves} is the fewest"
    return f"not proven: {moves}, at least {bound} are needed"


def fair_moves(plan: Facts) -> str:
    """The fewest moves of the fairest share."""
    bounds = [stage.get("bound") or 0 for stage in plan.raw_stages if stage.get("stage") == "moves"]
    return units.count(max([plan.lower_bound, *bounds]))


def as_even(plan: Facts) -> str:
    """The plans among which the moves are the fewest."""
    if plan.bytes_bound is not None:
        return "that relieves the disks" if plan.asked.get("relieve") else "as even"
    budget = plan.stage("budget")
    if plan.moves == plan.asked.get("max_moves") or not (budget is None or budget.proven):
        return "with these counts"
    return "within the tolerance" if plan.asked.get("tolerance") else FAIREST


def above(plan: Facts) -> str:
    """How far the bytes moved are above their bound."""
    assert plan.bytes_bound is not None
    if not plan.bytes_bound:
        return "nothing had to move"
    return units.gap(plan.bytes_moved / plan.bytes_bound - 1)
