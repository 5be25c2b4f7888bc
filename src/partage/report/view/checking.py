"""What the certificate says with this plan's numbers, and how a reader works it out without us."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

from partage.report import units
from partage.report.view.facts import Facts
from partage.report.view.sentences import as_even, fair_moves

_ARITHMETIC = (
    "Each bound is worked out of prices stored in plan.json: whatever the prices are, this "
    "arithmetic gives no more than the best plan costs, so that whoever found them need not be "
    "trusted."
)
MOVES_OF_THE_FILES = (
    "python3 -c \"import json; new, old = (json.load(open(n + '.json'))['partitions'] "
    "for n in ('reassignment', 'rollback')); "
    "print(sum(len(set(a['replicas']) - set(b['replicas'])) for a, b in zip(new, old)))\""
)
"""A command line that prints how many moves the two files of the directory it is in make."""
_FEW = 4
"""So many different loads can still be squared by hand."""


@dataclass(frozen=True)
class Step:
    """One thing to try: a command line or a sum, what it verifies, what it is to say."""

    command: str
    verifies: str
    says: str


def meaning(plan: Facts) -> tuple[str, ...]:
    """The certificate in three sentences; none where there is none."""
    if not plan.raw_stages:
        return ()
    return (_evenness(plan), _movement(plan), _ARITHMETIC)


def _evenness(plan: Facts) -> str:
    stage = plan.stage("replicas")
    if stage is not None:
        what = f"the sum over brokers of replicas squared{_weighed(plan)}"
        if stage.proven:
            return (
                f"No placement that keeps the rules shares the {units.count(plan.replicas)} "
                f"replicas more evenly: {what} is {stage.value} here, and at least {stage.bound} "
                "in any other."
            )
        return (
            f"How even the replicas are is {what}: {stage.value} here, and below {stage.bound} "
            "no placement that keeps the rules can get."
        )
    stage = plan.stage("bytes")
    if stage is not None:
        return (
            f"The fullest broker has {stage.value} bytes, by capacity, and in any placement that "
            f"keeps the rules some broker has at least {stage.bound}."
        )
    stage = plan.stage("leaders")
    if stage is not None:
        return (
            f"Who leads on these replicas is judged by the sum over brokers of leaders squared: "
            f"{stage.value} here, and at least {stage.bound} however they are chosen."
        )
    return "Each stage has a value, which is this plan's, and a bound, which no plan can beat."


def _weighed(plan: Facts) -> str:
    prices = next(s.get("prices") or {} for s in plan.raw_stages if s.get("stage") == "replicas")
    if "aim" in prices:
        return " (counted from what the limit aims at)"
    weights = prices.get("load_weights") or [1]
    return " (weighed by capacity)" if set(weights) != {1} else ""


def _movement(plan: Facts) -> str:
    moves = units.plural(plan.moves, "replica")
    if plan.asked.get("no_moves"):
        return "No data moves, as was asked: the certificate speaks of leaders only."
    if plan.bytes_bound is not None:
        return (
            f"Any plan {as_even(plan)} copies at least {units.size(plan.bytes_bound)}; "
            f"this one copies {units.size(plan.bytes_moved)}."
        )
    if plan.short:
        return (
            f"This plan makes brokers fetch {moves} and is less even than the fairest share, "
            f"which needs {fair_moves(plan)}."
        )
    bound = units.plural(plan.lower_bound, "replica")
    return (
        f"Every plan {as_even(plan)} makes brokers fetch at least {bound}; this one makes them "
        f"fetch {units.count(plan.moves)}."
    )


def steps(plan: Facts, directory: str) -> tuple[Step, ...]:
    """What to run, and to add up, with the paths of the plan's own ``directory``."""
    place = shlex.quote(str(PurePath(directory)))
    verdict = "The plan is valid and optimal: every exact stage meets its bound."
    if not plan.figures.get("optimal"):
        verdict = "The plan is valid, but not optimal."
    found = [
        Step(
            f"partage check {place}",
            "Counts every replica, leader and byte of the two placements in plan.json again, holds "
            "the reassignment, the rollback and the waves against them, and works every bound out "
            "of its prices, without the planner. Change one number, and it names it.",
            verdict,
        ),
        Step(
            f"cd {place} && {MOVES_OF_THE_FILES}",
            "Counts, with Python's own library alone, the new replicas in the file that Kafka gets "
            "against the file that brings everything back.",
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
        Step(
            f"partage report {place}",
            "Draws this page again from plan.json.",
            "the same bytes",
        )
    )
    if plan.changes:
        found.append(
            Step(
                f"partage verify {place}",
                "Once it is carried out: asks the running cluster where every replica is and who "
                "leads.",
                "done",
            )
        )
    return tuple(found)


def _by_hand(plan: Facts) -> tuple[str, str] | None:
    """The first stage's value as a sum that fits on a line."""
    stage = next((s for s in plan.raw_stages if s.get("stage") == "replicas"), None)
    prices = (stage or {}).get("prices") or {}
    if stage is None or "aim" in prices or set(prices.get("load_weights") or [0]) != {1}:
        return None
    load = plan.loads[0].after[plan.usable].astype(int).tolist()
    counts = sorted(Counter(load).items())
    if len(counts) > _FEW:
        return None
    total = sum(number * value**2 for value, number in counts)
    sum_of = " + ".join(f"{units.count(n)} × {units.count(value)}²" for value, n in counts)
    return (sum_of, units.count(total)) if total == stage.get("value") else None
