"""Acts on the judgements of a watch: at most one plan at a time, and only what the policy allows.

A judgement that the load is uneven leads to an *attempt*, if the policy allows one: read the
cluster, plan, write the plan, ``check`` it, go through the preflight of ``partage apply``, count
its bytes in the ledger, run it. Whatever an attempt ends with, the next one comes after the time
over which rates are measured. A dry run ends where the run would begin.

What ends a run in order between two waves, a signal or the end of the hours, leaves it ``stopped``;
a kill leaves it ``running``. Either is resumed before anything else, the killed one at once and
whatever the hour, since replicas may be on their way; but never against the limits that this watch
was started with. Any other end than ``done`` halts: the ledger has a file that a person has to
remove. Where the cluster cannot be reached, or another plan is being applied to it, the run has not
begun: nothing is counted, and it is tried again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from partage.auto_apply import events
from partage.auto_apply.ledger import HALTED, PLANS, Ledger, Run
from partage.auto_apply.policy import (
    Limits,
    Reason,
    Refusal,
    bytes_left,
    refusal,
    within_hours,
)
from partage.auto_apply.relief import Relief, relief
from partage.brokers.check import check
from partage.brokers.directory import REPORT
from partage.errors import InputError, PartageError, SeveralError
from partage.live.admin.snapshot import take_snapshot
from partage.live.admin.states import Snapshot
from partage.live.execution.execute import execute
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.executor import Interrupts
from partage.live.execution.journal import is_locked, is_rolled_back
from partage.live.execution.outcome import Outcome
from partage.live.execution.progress import ProgressUpdate
from partage.live.execution.proven_plan import read_proven
from partage.pipeline.watch import Judgement
from partage.units import plural

Connect = Callable[[], AbstractContextManager[Any]]
"""A context with a connected admin client."""


class _NotBegunError(Exception):
    """Ends a run where it would begin: a dry run, or ``found`` is in the way."""

    def __init__(self, found: Refusal | None = None) -> None:
        super().__init__()
        self.found = found


@dataclass(frozen=True)
class Settings:
    """``act``: otherwise a dry run; ``moves``: replicas may move; ``threshold``: of the alert."""

    limits: Limits
    threshold: float
    moves: bool
    throttle: int | str | None
    act: bool


class Keeper:
    """The applier of a watch with this ``directory``. ``stopping``: whether to stop soon;
    ``render``: a plan's document and directory → its report. Raises InputError for a damaged
    ledger."""

    def __init__(
        self,
        directory: Path,
        connect: Connect,
        settings: Settings,
        emit: Callable[[events.Event], None],
        *,
        render: Callable[[dict[str, Any], str], str] | None = None,
        stopping: Callable[[], bool] = lambda: False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._directory, self._connect, self._settings = directory, connect, settings
        self._limits = settings.limits
        self._emit, self._render, self._stopping = emit, render, stopping
        self._now, self._clock, self._sleep = now, clock, sleep
        self._ledger = Ledger(directory)
        self._attempted: datetime | None = None
        self._reported: Reason | None = None

    def begin(self) -> None:
        """Resume a plan that a killed run left: its moves may be in progress. Reads the ledger
        again: until now, another watch may have had the directory."""
        self._ledger = Ledger.writable(self._directory)
        run = self._ledger.unfinished
        if run is not None and run.state == "running":
            self._resume(run)

    def judged(self, judgement: Judgement) -> None:
        """Resume what was stopped, or attempt to bring the load below the threshold."""
        now = self._now()
        if self._ledger.halted is not None:
            self._refuse(self._halted())
        elif (run := self._ledger.unfinished) is not None:
            if run.state == "running" or within_hours(self._limits, now):
                self._resume(run)
        elif not judgement.unfair:
            self._reported = None
        elif (found := self._refusal(now, judgement)) is not None:
            self._refuse(found)
        elif self._attempted is None or now - self._attempted >= self._limits.settling:
            self._attempted = now
            with self._reporting_trouble():
                self._attempt(judgement)

    def end(self) -> None:
        """Nothing is being done between two calls."""

    # ------------------------------------------------------------------ a new plan

    def _refusal(self, now: datetime, judgement: Judgement) -> Refusal | None:
        begin, end = (
            datetime.fromtimestamp(at / 1e6, UTC) for at in (judgement.begin, judgement.end)
        )
        return refusal(self._limits, self._ledger.runs, now, begin, end)

    def _attempt(self, judgement: Judgement) -> None:
        limits, left = self._limits, bytes_left(self._limits, self._ledger.runs, self._now())
        with self._connect() as admin:
            snapshot = take_snapshot(
                admin, groups=False, throttles=False, complete=False, sleep=self._sleep
            )
        if (found := _unready(snapshot)) is not None:
            self._refuse(found)
            return
        try:
            planned = relief(
                snapshot.cluster(),
                judgement.profile,
                self._settings.threshold,
                moves=self._settings.moves,
                most_bytes=left,
                racks=limits.racks,
            )
        except PartageError as error:
            self._refuse(Refusal(Reason.PLAN, f"no plan within the limits: {error}"))
            return
        if planned is not None:
            self._try(self._written(planned))

    def _written(self, planned: Relief) -> Run:
        """Write the plan directory."""
        name = events.shown(self._now()).replace(":", "-")
        path, plan = self._path(name), planned.plan
        beside = {} if self._render is None else {REPORT: self._render(plan.document(), path)}
        plan.write(path, beside)
        return Run(
            plan=name,
            state="stopped",
            started_at=int(self._now().timestamp()),
            ended_at=None,
            bytes=(plan.bytes_moved or 0) if plan.moves else 0,
            moves=plan.moves,
            leader_changes=plan.leader_changes,
            fairness=planned.before.value,
            fairness_after=planned.after.value,
        )

    def _try(self, run: Run) -> None:
        """Check a new plan, and run it unless something is in the way."""
        path = self._path(run.plan)
        if defects := check(path).defects:
            self._refuse(Refusal(Reason.CHECK, f"{path}: {defects[0]}"), path)
        elif self._settings.act:
            self._apply(run, "started")
        else:
            self._apply_dry(run)

    # ------------------------------------------------------------------ runs

    def _resume(self, run: Run) -> None:
        """Finish a plan, unless a person has taken it over or the limits are others now."""
        if self._ledger.halted is not None:
            self._refuse(self._halted())
            return
        path = self._path(run.plan)
        if is_locked(path):
            problem = f"another partage process is applying {path}, or rolling it back"
            self._refuse(Refusal(Reason.UNFINISHED, problem), path)
            return
        if not self._settings.act:
            problem = f"{path} is unfinished: resume it with --yes, or use partage rollback"
            self._refuse(Refusal(Reason.UNFINISHED, problem), path)
            return
        try:
            rolled_back = is_rolled_back(path)
            outside = None if rolled_back else self._outside(run, read_proven(path))
        except PartageError as error:
            self._fail(run, str(error))
            return
        if rolled_back:
            self._close(run, "rolled back")
        elif outside is not None:
            problem = f"{path} is unfinished, and {outside}: allow it, or use partage rollback"
            self._refuse(Refusal(Reason.UNFINISHED, problem), path)
        else:
            self._apply(run, "resumed")

    def _outside(self, run: Run, plan: ExecutionPlan) -> str | None:
        """What a plan does that the limits no longer allow."""
        limits, racks = self._limits, self._limits.racks
        if run.moves and not self._settings.moves:
            return "moves replicas"
        if limits.bytes_per_day is not None and run.bytes > limits.bytes_per_day:
            return f"moves {run.bytes:,} bytes, more than a day's budget"
        if racks is None:
            return None
        for change in plan.changes.values():
            for broker in sorted({*change.adding, change.target[0]} - {change.origin[0]}):
                if plan.racks.get(broker) not in racks:
                    return f"gives {change.name} to broker {broker}, which is in another rack"
        return None

    def _apply_dry(self, run: Run) -> None:
        """Go through everything up to where the run would begin."""

        def confirm() -> None:
            raise _NotBegunError

        try:
            self._execute(run, confirm, lambda: None)
        except _NotBegunError:
            left = bytes_left(self._limits, self._ledger.runs, self._now()) - run.bytes
            self._reported = None
            self._emit(self._event(run, "would", left))
        except PartageError as error:
            self._refuse(Refusal(Reason.PREFLIGHT, str(error)), self._path(run.plan))

    def _apply(self, run: Run, state: str) -> None:
        """Run a plan, which is ``started`` or ``resumed``; before that it is in the ledger."""
        before, began, fresh = self._ledger.runs, False, state == "started"

        def confirm() -> None:
            # the checks may have taken minutes
            if run.state != "running":
                if not within_hours(self._limits, self._now()):
                    problem = f"outside of the hours {self._limits.hours}"
                    raise _NotBegunError(Refusal(Reason.HOURS, problem))
                if self._stopping():
                    raise _NotBegunError
            self._ledger.put(replace(run, state="running"))

        def begin() -> None:
            nonlocal began
            began = True
            self._report(run, state)

        try:
            outcome = self._execute(run, confirm, begin)
        except _NotBegunError as error:
            if error.found is not None:
                self._refuse(error.found, self._path(run.plan))
        except PartageError as error:
            definite = isinstance(error, SeveralError | InputError) and not fresh
            if began or definite:
                self._fail(run, str(error))
                return
            self._ledger.restore(before)
            reason = Reason.PREFLIGHT if fresh else Reason.UNFINISHED
            self._refuse(Refusal(reason, str(error)), self._path(run.plan))
        else:
            self._ended(run, outcome)

    def _execute(self, run: Run, confirm: Callable[[], None], begin: Callable[[], None]) -> Outcome:
        """Run a plan; it stops between two waves when the watch ends, and outside of the hours."""
        interrupts = Interrupts(again=", then it stops")  # a second signal ends the watch at once
        # what a killed run left in progress needs its throttle: finish that wave in any case
        may_stop = run.state != "running"

        def stop_in_time() -> None:
            if may_stop and self._must_stop() and not interrupts.count:
                interrupts()

        def progress(update: ProgressUpdate) -> None:
            nonlocal may_stop
            may_stop = may_stop or update.note is None
            self._emit(events.progress(self._path(run.plan), update))
            stop_in_time()

        def sleep(seconds: float) -> None:
            self._sleep(seconds)
            stop_in_time()

        with self._connect() as admin:
            return execute(
                read_proven(self._path(run.plan)),
                admin,
                throttle=self._settings.throttle,
                confirm=lambda _: confirm(),
                begin=begin,
                progress=progress,
                interrupts=interrupts,
                clock=self._clock,
                sleep=sleep,
            )

    def _must_stop(self) -> bool:
        return self._stopping() or not within_hours(self._limits, self._now())

    def _ended(self, run: Run, outcome: Outcome) -> None:
        failed = bool(outcome.problems or outcome.dead)
        if outcome.state == "done" and not failed:
            self._close(run, "done")
        elif outcome.state == "stopped" and not failed:
            run = replace(run, state="stopped")
            self._ledger.put(run)
            self._report(run, "stopped", waves_left=outcome.waves_left)
        else:
            self._fail(run, _problem(outcome, self._path(run.plan)), outcome)

    def _close(self, run: Run, state: Any) -> None:
        """The plan is finished; what it has to be measured first begins now."""
        run = self._over(run, state)
        self._reported, self._attempted = None, self._now()
        self._report(run, "ended" if state == "done" else state)

    def _fail(self, run: Run, problem: str, outcome: Outcome | None = None) -> None:
        self._ledger.halt(self._path(run.plan), problem, events.shown(self._now()))
        run = self._over(run, "failed")
        self._reported = Reason.HALTED
        problems = {} if outcome is None else outcome.problems
        remove = os.fspath(self._directory / HALTED)
        self._report(run, "failed", problem=problem, problems=problems, remove=remove)

    def _over(self, run: Run, state: Any) -> Run:
        run = replace(run, state=state, ended_at=int(self._now().timestamp()))
        self._ledger.put(run)
        return run

    def _path(self, plan: str) -> str:
        return os.fspath(self._directory / PLANS / plan)

    # ------------------------------------------------------------------ reports

    def _report(self, run: Run, state: str, **more: Any) -> None:
        left = bytes_left(self._limits, self._ledger.runs, self._now())
        self._emit(self._event(run, state, left, **more))

    def _event(self, run: Run, state: str, left: int, **more: Any) -> events.Event:
        known = None if self._limits.bytes_per_day is None else left
        return events.about(run, self._path(run.plan), state, self._now(), known, **more)

    def _refuse(self, found: Refusal, plan: str | None = None) -> None:
        """Report a reason once, until another one holds, or the load is even again. That a plan's
        effect is being measured is not a problem."""
        if found.reason not in (self._reported, Reason.SETTLING):
            self._reported = found.reason
            self._emit(events.refused(found, self._now(), plan))

    def _halted(self) -> Refusal:
        where = os.fspath(self._directory / HALTED)
        problem = f"the last plan failed: look at {where}, and remove it to go on"
        return Refusal(Reason.HALTED, problem)

    @contextmanager
    def _reporting_trouble(self) -> Iterator[None]:
        """Nothing has begun: a cluster that cannot be read is tried again later."""
        try:
            yield
        except PartageError as error:
            self._refuse(Refusal(Reason.UNHEALTHY, str(error)))


def _problem(outcome: Outcome, plan: str) -> str:
    """What went wrong in a run. The next plan would take a throttle that is left for a setting of
    the broker."""
    parts = []
    if outcome.problems or not outcome.dead:
        name, why = next(iter(outcome.problems.items()), ("the run", outcome.state))
        parts = [f"{plural(len(outcome.problems), 'problem')}, first: {name}: {why}"]
    if outcome.dead:
        brokers = ", ".join(map(str, outcome.dead))
        parts.append(
            f"the throttle of broker {brokers} is not restored: once it answers, partage rollback "
            f"{plan} or partage apply {plan} does it"
        )
    return "; ".join(parts)


def _unready(snapshot: Snapshot) -> Refusal | None:
    """Why a cluster is not to be touched now."""
    if snapshot.reassigning:
        name = snapshot.reassigning[0].name
        several = plural(len(snapshot.reassigning), "partition")
        problem = f"{several} are being reassigned by someone else, first {name}"
        return Refusal(Reason.REASSIGNMENT, problem)
    dead = [broker.id for broker in snapshot.brokers if not broker.alive]
    if dead:
        return Refusal(Reason.UNHEALTHY, f"broker {dead[0]} does not answer")
    behind = [one for one in snapshot.partitions if set(one.isr) != set(one.replicas)]
    if behind:
        several = plural(len(behind), "partition")
        return Refusal(Reason.UNHEALTHY, f"{several} out of sync, first {behind[0].name}")
    return None
