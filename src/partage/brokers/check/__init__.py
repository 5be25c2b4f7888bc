"""The plan's proof worked out again from the files alone.

Nothing of the planner is used here but the file names, the certificate's arithmetic
(``flow.certificate``) and the cluster model's own validation. Everything else, the rules, the
figures, the values of the objective, is counted anew from the two placements in plan.json. What
does not hold is a *defect*: one line that names the file and the place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from partage.brokers.check.bounds import check_proofs
from partage.brokers.check.counts import check_figures
from partage.brokers.check.plan_file import MalformedError, PlanFile, read_json
from partage.brokers.check.plan_files import check_files, check_waves
from partage.brokers.check.rules import check_fingerprint, check_rules
from partage.brokers.directory import MARKER
from partage.errors import InputError


@dataclass
class Verdict:
    """What was checked (``held``, in words) and what does not hold (``defects``)."""

    held: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.defects


def check(directory: str | os.PathLike[str]) -> Verdict:
    """Check a plan directory. InputError only where there is no plan to check."""
    root = Path(directory)
    if not root.is_dir():
        problem = "is a file" if root.exists() else "no such directory"
        raise InputError(os.fspath(directory), f"{problem}, expected a plan directory")
    if not (root / MARKER).is_file():
        raise InputError(os.fspath(directory), f"has no {MARKER}: not a plan directory")
    verdict = Verdict()
    try:
        plan = PlanFile(read_json(root / MARKER), root)
    except MalformedError as error:
        verdict.defects.append(f"{MARKER}: {error}")
        return verdict
    steps: list[tuple[str, Callable[[PlanFile], list[str]]]] = [
        ("the plan is of the cluster and the options that it names", check_fingerprint),
        ("the placement keeps every rule", check_rules),
        ("the reassignment is the plan, and the rollback restores what was", check_files),
        ("the waves together are the reassignment, each partition once", check_waves),
        ("every figure is what the placements say", check_figures),
        (
            "every bound follows from its prices, and every stage has the value it claims",
            check_proofs,
        ),
    ]
    for what, step in steps:
        try:
            found = step(plan)
        except (MalformedError, InputError) as error:
            found = [str(error)]
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            AssertionError,
        ) as error:
            found = [f"{MARKER}: malformed ({type(error).__name__}: {error})"]
        verdict.defects.extend(found)
        if not found:
            verdict.held.append(what)
    return verdict
