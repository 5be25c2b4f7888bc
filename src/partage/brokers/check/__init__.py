"""Verify a plan directory without trusting the planner.

``check`` uses the planner's file names, its fingerprint and the arithmetic of the certificates
(``flow.certificate``, for bytes ``flow.size_certificate``); it loads no solver and has its own
reader of plan.json. It recounts the rules, the figures and the values of the objective from the two
placements in plan.json, and recomputes each bound from its stored prices. Every mismatch is a
*defect*: one line that names the file and the place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from partage.brokers.check.certificate import check_certificate
from partage.brokers.check.figures import check_figures
from partage.brokers.check.files import check_files, check_waves
from partage.brokers.check.log_dirs import check_log_dirs
from partage.brokers.check.not_proven import not_proven
from partage.brokers.check.options import check_fingerprint, check_options
from partage.brokers.check.plan_columns import PlanColumns, read_digested
from partage.brokers.check.rules import check_rules
from partage.brokers.check.schema import MalformedError
from partage.brokers.check.size import check_size, size_not_proven
from partage.brokers.check.wave_limits import check_wave_limits
from partage.brokers.directory import MARKER, SIZE, check_plan_directory
from partage.brokers.optimality import verdict
from partage.errors import MISSHAPEN, InputError
from partage.files import checked_path
from partage.frames import html_table
from partage.printable import printable
from partage.units import plural

_MAX_DEFECT_LENGTH = 500
"""Characters shown of a defect."""


def check_placement(plan: PlanColumns) -> list[str]:
    """Defects of the new broker lists, and if there are none, of the log dirs."""
    return check_rules(plan) or check_log_dirs(plan)


_CHECKS: tuple[tuple[str, Callable[[PlanColumns], list[str]]], ...] = (
    ("fingerprint matches the cluster and the options in plan.json", check_fingerprint),
    (
        "added and removed brokers, chosen partitions and replication factors match the options",
        check_options,
    ),
    (
        "placement keeps every rule: live brokers, replication factors, racks, disk capacity",
        check_placement,
    ),
    (
        "reassignment.json makes exactly the planned changes, and rollback.json undoes them",
        check_files,
    ),
    ("waves contain every planned change exactly once", check_waves),
    (
        "waves keep the limits per broker, batch and disk, and their lower bound is correct",
        check_wave_limits,
    ),
    ("figures match a recount of the placements", check_figures),
    (
        "certificate is correct: each stage's value is recounted, its bound proven by its prices",
        check_certificate,
    ),
)
"""What each check verifies, and its function, which returns the defects."""

_OF_SIZE = (
    "number of brokers in size.json: the plan fits, each bound is derived again",
    check_size,
)
"""Of a plan of ``partage size``."""

_OF_PROOFS = (check_figures, check_certificate)
_OF_NEW_PLACEMENT = (check_placement, check_waves, check_wave_limits)


@dataclass(repr=False)
class CheckResult:
    """The result of ``check``.

    - ``held``: what was verified, in words
    - ``defects``: what is wrong, a line each
    - ``not_proven``: what the plan states and its files cannot prove, a line each: places in
      plan.json, and what about them is taken as given; empty if there is a defect
    - ``optimal``: the plan has no defect and every exact stage meets its bound
    - ``verdict``: the same in a sentence, with the stages above their bound; empty if there is a
      defect
    - ``changes``: there is something to apply
    - ``throttle``: the option of the plan
    """

    held: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    not_proven: list[str] = field(default_factory=list)
    optimal: bool = False
    verdict: str = ""
    changes: bool = False
    throttle: str | None = None

    @property
    def sound(self) -> bool:
        """Whether there is no defect."""
        return not self.defects

    def summary(self) -> str:
        """The result in a sentence."""
        if not self.sound:
            return "The plan is not valid."
        return self.verdict

    def __repr__(self) -> str:
        found = ""
        if self.defects:
            found = f" {plural(len(self.defects), 'defect')}, first: {self.defects[0]}"
        return f"<CheckResult: {self.summary()}{found}>"

    def _repr_html_(self) -> str:
        lines = [["✗", defect] for defect in self.defects] + [["✓", one] for one in self.held]
        lines += [["?", f"not proven: {one}"] for one in self.not_proven]
        return html_table(self.summary(), ("", "check"), lines)


@dataclass
class RuleDefects:
    """Defects without those of figures and proofs. ``files``: of the original placement, the
    options, and the files; ``placement``: of the new placement and its waves; ``digest``: SHA-256
    (hex) of the plan.json that was checked."""

    files: list[str]
    placement: list[str]
    digest: str | None = None


def check(directory: str | os.PathLike[str]) -> CheckResult:
    """Verify a plan directory without the planner: its rules, figures, files and proofs.

    Raises InputError if it is not a plan directory or a file cannot be read; every other problem is
    a defect of the result.
    """
    result = CheckResult()
    with _readable(directory) as root:
        plan = _read(root, result.defects)
        if plan is None:
            return result
        sized = os.path.lexists(root / SIZE)
        for verified, find_defects in (*_CHECKS, *([_OF_SIZE] if sized else ())):
            found = _defects(find_defects, plan)
            # of one cause, such as a missing file, several checks find the same
            result.defects.extend(one for one in found if one not in result.defects)
            if not found:
                result.held.append(verified)
    if result.sound:
        result.not_proven = [_one_line(line) for line in not_proven(plan)]
        if sized:
            result.not_proven += [_one_line(line) for line in size_not_proven(plan)]
        result.optimal = plan.value["figures"]["after"]["optimal"]
        result.verdict = verdict(
            result.optimal,
            plan.value["gaps"],
            [name for name, stage in plan.stages.items() if not stage["bound"]],
        )
        result.changes = plan.value["changes"]
        result.throttle = plan.value["options"].get("throttle")
    return result


def rule_defects(directory: str | os.PathLike[str]) -> RuleDefects:
    """Every check of a plan directory but those of figures and proofs: what must hold before the
    plan is applied, optimal or not.

    Raises InputError as ``check`` does.
    """
    found = RuleDefects([], [])
    with _readable(directory) as root:
        plan = _read(root, found.files)
        if plan is not None:
            found.digest = plan.digest
            for _, find_defects in _CHECKS:
                if find_defects not in _OF_PROOFS:
                    placement = find_defects in _OF_NEW_PLACEMENT
                    group = found.placement if placement else found.files
                    group += [one for one in _defects(find_defects, plan) if one not in group]
    return found


@contextmanager
def _readable(directory: str | os.PathLike[str]) -> Iterator[Path]:
    """Raise InputError unless it is a plan directory, and for files that cannot be read."""
    root = Path(checked_path(directory, "plan", "a plan directory"))
    try:
        check_plan_directory(directory)
        yield root
    except OSError as error:
        where = os.fspath(error.filename or directory)
        raise InputError(where, f"cannot be read ({error.strerror})") from None


def _read(root: Path, defects: list[str]) -> PlanColumns | None:
    """The columns of plan.json; None, with a defect, if it is malformed."""
    try:
        value, digest = read_digested(root, MARKER)
        return PlanColumns(value, root, digest)
    except MalformedError as error:
        defects.append(_one_line(str(error)))
        return None


def _defects(find_defects: Callable[[PlanColumns], list[str]], plan: PlanColumns) -> list[str]:
    try:
        found = find_defects(plan)
    except MalformedError as error:
        found = [str(error)]
    except (*MISSHAPEN, AssertionError, RecursionError, re.error) as error:
        found = [f"{MARKER}: malformed ({type(error).__name__}: {error})"]
    return [_one_line(defect) for defect in found]


def _one_line(defect: str) -> str:
    """The defect on one line of limited length: a forged name may contain line ends and control
    characters."""
    shown = printable(defect[:_MAX_DEFECT_LENGTH])
    return shown if len(defect) <= _MAX_DEFECT_LENGTH else f"{shown} …"
