"""What the certificate proves, with this plan's numbers, and how to check it independently."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import PurePath

from msgspec import Struct

from partage.brokers.optimality import verdict
from partage.brokers.stages import StageName
from partage.report import units
from partage.report.view.data import PlanData
from partage.report.view.sentences import comparable, fairest_moves

_DUAL_VALUES = (
    "Each bound follows from dual values (prices) that plan.json contains. Any prices give a valid "
    "lower bound, so you need not trust the solver that found these."
)
COUNT_MOVES = (
    "python3 -c \"import json; new, old = (json.load(open(n + '.json'))['partitions'] "
    "for n in ('reassignment', 'rollback')); "
    "print(sum(len(set(a['replicas']) - set(b['replicas'])) for a, b in zip(new, old)))\""
)
"""A command that prints the number of moves in the two files of its working directory."""
_FEW = 4
"""With at most so many different loads, the sum of squares can be computed by hand."""


class Step(Struct, frozen=True):
    """A check to do: a command or a sum, what it verifies, and its expected result."""

    command: str
    verifies: str
    expected: str


def meaning(plan: PlanData) -> tuple[str, ...]:
    """The certificate in three sentences; empty without a certificate."""
    if not plan.file.certificate.stages:
        return ()
    return (_balance(plan), _movement(plan), _DUAL_VALUES)


def _balance(plan: PlanData) -> str:
    if stage := plan.stage(StageName.REPLICAS):
        measure = f"The sum over brokers of replicas squared{_weighted(plan)}"
        value, bound = units.count(stage.value), units.count(stage.bound)
        if stage.proven:
            return (
                f"No placement within the rules balances the {units.count(plan.replicas)} replicas "
                f"better. {measure} is {value} here, and at least {bound} in any other."
            )
        return f"{measure} is {value} here. No placement within the rules gets below {bound}."
    if stage := plan.stage(StageName.BYTES):
        return (
            f"The fullest broker stores {units.size(stage.value)}, weighted by capacity. In any "
            f"placement within the rules some broker stores at least {units.size(stage.bound)}."
        )
    if stage := plan.stage(StageName.LEADERS):
        return (
            f"The sum over brokers of leaders squared is {units.count(stage.value)} here, and at "
            f"least {units.count(stage.bound)} for any choice of leaders among these replicas."
        )
    return "Each stage has a value, which is this plan's, and a bound that no plan can beat."


def _weighted(plan: PlanData) -> str:
    stage = plan.stage(StageName.REPLICAS)
    assert stage is not None
    if stage.prices.aim is not None:
        return " (counted from the loads that the limit aims at)"
    return " (weighted by capacity)" if set(stage.prices.load_weights or [1]) != {1} else ""


def _movement(plan: PlanData) -> str:
    moves = units.plural(plan.moves, "replica")
    if plan.options.get("no_moves"):
        return "With --no-moves no data moves: the certificate is about leaders only."
    if plan.bytes_bound is not None:
        return (
            f"Every plan {comparable(plan)} copies at least {units.size(plan.bytes_bound)}; "
            f"this one copies {units.size(plan.bytes_moved)}."
        )
    if plan.less_balanced:
        return (
            f"This plan moves {moves} and is less balanced than the fairest placement, "
            f"which needs {fairest_moves(plan)} moves."
        )
    bound = units.plural(plan.lower_bound, "replica")
    return (
        f"Every plan {comparable(plan)} moves at least {bound}; this one moves "
        f"{units.count(plan.moves)}."
    )


def steps(plan: PlanData, directory: str) -> tuple[Step, ...]:
    """What to run, and what to add up, for a plan in ``directory``."""
    place = shlex.quote(str(PurePath(directory)))
    found = [
        Step(
            f"partage check {place}",
            "Counts every replica, leader and byte of both placements in plan.json, compares the "
            "reassignment, the rollback and the waves with them, and computes every bound from its "
            "prices, all without the planner. Change any number, and it reports it.",
            verdict(plan.figures.optimal, plan.file.gaps, plan.without_bound),
        ),
        Step(
            f"cd {place} && {COUNT_MOVES}",
            "Counts the new replicas in the file that Kafka gets against the rollback file, with "
            "Python's standard library only.",
            str(plan.moves),
        ),
    ]
    if by_hand := _by_hand(plan):
        found.append(
            Step(
                by_hand[0],
                "The first stage on paper: brokers × replicas², from the table of loads above.",
                by_hand[1],
            )
        )
    found.append(
        Step(f"partage report {place}", "Renders this page again from plan.json.", "the same bytes")
    )
    if plan.file.changes:
        found.append(
            Step(
                f"partage verify {place}",
                "After the plan is applied: compares the replicas and leaders of the running "
                "cluster with the plan.",
                "done",
            )
        )
    return tuple(found)


def _by_hand(plan: PlanData) -> tuple[str, str] | None:
    """The first stage's value as a sum that fits on a line."""
    stage = plan.stage(StageName.REPLICAS)
    if stage is None or stage.prices.aim is not None:
        return None
    if set(stage.prices.load_weights or [0]) != {1}:
        return None
    load = plan.loads[0].after[plan.usable].astype(int).tolist()
    counts = sorted(Counter(load).items())
    if len(counts) > _FEW:
        return None
    total = sum(number * value**2 for value, number in counts)
    terms = " + ".join(f"{units.count(n)} × {units.count(value)}²" for value, n in counts)
    return (terms, units.count(total)) if total == stage.value else None
