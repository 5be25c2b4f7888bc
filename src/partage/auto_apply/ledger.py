"""The plans that were applied, in the directory of the watch: ``applied.json``, and
``apply-halted.json`` after one that failed.

A plan is in the ledger, with all its bytes, before it may change anything; so neither a restart nor
a crash gives a byte back. Nor does a ledger that is missing or was changed: it is refused. After a
failure nothing is applied until a person removes the second file, which names the plan and what
went wrong.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

import msgspec

from partage.brokers.directory import JOURNAL
from partage.errors import InputError
from partage.files import parse_json, read_text
from partage.json_input import Int64, check_json
from partage.outputs import json_with_checksum, refuse_changed, refuse_link, write_file

PLANS = "plans"
LEDGER = "applied.json"
HALTED = "apply-halted.json"
FORMAT_VERSION = 1

_KEPT = 1000
"""Plans that the ledger keeps, the latest ones."""

RunState: TypeAlias = Literal["running", "stopped", "done", "failed", "rolled back"]
"""``stopped``: in order, before the first wave or between two; it will be resumed."""


_Moment: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**11)]
_Amount: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A negative one would give back what others have spent."""


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan that was applied: the name of its directory in ``PLANS``, the ``bytes`` that count,
    the fairness before and as planned; ``started`` and ``ended`` are UTC, in seconds since 1970."""

    plan: str
    state: RunState
    started_at: _Moment
    ended_at: _Moment | None
    bytes: _Amount
    moves: _Amount
    leader_changes: _Amount
    fairness: float
    fairness_after: float

    @property
    def ended(self) -> datetime | None:
        """When it ended; None while it is unfinished."""
        return None if self.ended_at is None else datetime.fromtimestamp(self.ended_at, UTC)

    @property
    def unfinished(self) -> bool:
        """Whether it is to be resumed before anything else."""
        return self.state in ("running", "stopped")


class _File(msgspec.Struct, frozen=True):
    format_version: Int64
    runs: list[Run]


class Ledger:
    """The ledger of a watch's directory as it is now. Raises InputError for one that is damaged or
    was changed: what was spent is not known then."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.runs: tuple[Run, ...] = ()
        for name in (LEDGER, HALTED):
            refuse_link(directory / name)
        path = directory / LEDGER
        if not path.exists():
            return
        where = os.fspath(path)
        value = parse_json(read_text(path, regular=True), where)
        found = check_json(value, _File, where)
        if found.format_version != FORMAT_VERSION:
            problem = f"format_version is {found.format_version}, expected {FORMAT_VERSION}"
            raise InputError(where, problem)
        refuse_changed(path)
        self.runs = tuple(found.runs)

    @classmethod
    def writable(cls, directory: Path) -> Self:
        """The ledger, to write in it: no other process does; created if there is none. Raises
        InputError if it is missing: plans were applied."""
        ledger, path = cls(directory), directory / LEDGER
        if not path.exists():
            begun = sorted(file.parent.name for file in directory.glob(f"{PLANS}/*/{JOURNAL}"))
            if begun:
                raise InputError(
                    os.fspath(path),
                    f"is missing, but {directory / PLANS / begun[0]} was applied: restore the "
                    f"file, or move {directory / PLANS} away for a whole budget",
                )
            ledger.restore(())
        return ledger

    @property
    def unfinished(self) -> Run | None:
        """The plan that must be finished before another begins."""
        return next((one for one in reversed(self.runs) if one.unfinished), None)

    @property
    def halted(self) -> Path | None:
        """The file that a person has to remove before anything is applied; None without one."""
        path = self._directory / HALTED
        return path if os.path.lexists(path) else None

    def put(self, run: Run) -> None:
        """Count a plan, or replace what is known of it. It is on disk when this returns."""
        others = [one for one in self.runs if one.plan != run.plan]
        self.restore([*others, run])

    def halt(self, plan: str, problem: str, at: str) -> None:
        """Apply nothing more until a person has looked."""
        about = {"plan": plan, "at": at, "problem": problem}
        path = self._directory / HALTED
        write_file(path, json_with_checksum(about, indent=2), root=self._directory)

    def restore(self, runs: Sequence[Run]) -> None:
        """Replace the plans by others, ascending."""
        kept = tuple(runs[-_KEPT:])
        about = {"format_version": FORMAT_VERSION, "runs": msgspec.to_builtins(kept)}
        write_file(
            self._directory / LEDGER,
            json_with_checksum(about, indent=1),
            root=self._directory,
            recognised=True,
        )
        self.runs = kept
