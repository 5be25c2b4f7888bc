"""The plan's proof worked out again from the files alone.

Nothing of the planner is used here but the file names, the fingerprint and the certificates'
arithmetic (``flow.certificate``, for bytes ``flow.size_certificate``): no solver is loaded.
Everything else, the rules, the figures, the values of the objective, is counted anew from the two
placements in plan.json. What does not hold is a *defect*: one line that names the file and the
place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from partage.brokers.check.bounds import check_proofs
from partage.brokers.check.counts import check_figures
from partage.brokers.check.plan_file import MalformedError, PlanFile, read_json
from partage.brokers.check.plan_files import check_files, check_waves
from partage.brokers.check.rules import check_fingerprint, check_options, check_rules
from partage.brokers.check.wave_limits import check_wave_limits
from partage.brokers.directory import MARKER
from partage.errors import MISSHAPEN, InputError

_LONGEST = 500
"""Characters shown of a defect."""


@dataclass
class Verdict:
    """What was checked (``held``, in words), what does not hold (``defects``), and whether every
    stage of a plan that holds meets its bound (``optimal``). ``changes``: whether there is anything
    to carry out; ``throttle``: at what rate the plan says."""

    held: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    optimal: bool = False
    changes: bool = False
    throttle: str | None = None

    @property
    def sound(self) -> bool:
        return not self.defects

    def sentence(self) -> str:
        """The verdict in words."""
        if not self.sound:
            return "The plan does not hold."
        if self.optimal:
            return "The plan holds, and is optimal: every exact stage meets its bound."
        return "The plan holds as it says, but it is not optimal."


def check(directory: str | os.PathLike[str]) -> Verdict:
    """Check a plan directory. InputError only where there is no plan to check, or a file of it
    cannot be read."""
    try:
        return _check(Path(directory), os.fspath(directory))
    except OSError as error:
        where = os.fspath(error.filename or directory)
        raise InputError(where, f"cannot be read ({error.strerror})") from None


def _check(root: Path, name: str) -> Verdict:
    if not root.is_dir():
        problem = "is a file" if root.exists() else "no such directory"
        raise InputError(name, f"{problem}, expected a plan directory")
    if not (root / MARKER).is_file():
        raise InputError(name, f"has no {MARKER}: not a plan directory")
    verdict = Verdict()
    try:
        plan = PlanFile(read_json(root, MARKER), root)
    except MalformedError as error:
        verdict.defects.append(_one_line(str(error)))
        return verdict
    steps: list[tuple[str, Callable[[PlanFile], list[str]]]] = [
        ("the plan is of the cluster and the options that it names", check_fingerprint),
        ("who and what may change, and how many replicas, are as the options ask", check_options),
        ("the placement keeps every rule", check_rules),
        ("the reassignment is the plan, and the rollback restores what was", check_files),
        ("the waves together are the reassignment, each partition once", check_waves),
        (
            "no wave asks too much of a broker or a disk, and their bound follows from the limits",
            check_wave_limits,
        ),
        ("every figure is what the placements say", check_figures),
        (
            "every bound follows from its prices, and every stage has the value it claims",
            check_proofs,
        ),
    ]
    for what, step in steps:
        try:
            found = step(plan)
        except MalformedError as error:
            found = [str(error)]
        except (*MISSHAPEN, AssertionError, RecursionError, re.error) as error:
            found = [f"{MARKER}: malformed ({type(error).__name__}: {error})"]
        verdict.defects.extend(map(_one_line, found))
        if not found:
            verdict.held.append(what)
    if verdict.sound:
        verdict.optimal = plan.value["figures"]["after"]["optimal"]
        verdict.changes = plan.value["changes"]
        verdict.throttle = plan.value["options"].get("throttle")
    return verdict


def _one_line(defect: str) -> str:
    """The defect without what a forger may have put into names: line ends, control characters."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in defect[:_LONGEST])
    return shown if len(defect) <= _LONGEST else f"{shown} …"
