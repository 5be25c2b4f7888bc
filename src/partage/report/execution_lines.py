"""Lines for the terminal about applying a plan: what will change, how far it is, how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from partage.report import printing, units
from partage.units import listed

if TYPE_CHECKING:
    from partage.live.admin.states import Key
    from partage.live.execution.changes import MoveStatus
    from partage.live.execution.execution_plan import ExecutionPlan
    from partage.live.execution.outcome import Outcome
    from partage.live.execution.progress import ProgressUpdate

_SHOWN = 10
_BAR = 15


def print_pending_changes(
    plan: ExecutionPlan,
    statuses: Mapping[Key, MoveStatus],
    throttle: int | str | None,
    warnings: Sequence[str],
    console: Console,
    required: float | None = None,
    source: str = "",
    cluster: str = "",
    undo: str = "",
) -> None:
    """Print what a run will do, if anything, with partitions at these ``statuses``.

    ``required``: bytes per second that replication takes on the busiest broker without any copying,
    by ``source``; ``cluster``: which one, its id and address; ``undo``: the command for that.
    """
    from partage.brokers.figures import deleted_replicas
    from partage.brokers.least_time import least_seconds
    from partage.live.execution.changes import received_bytes

    left = [plan.changes[key] for key, status in statuses.items() if status.value != "done"]
    moves = sum(len(change.adding) for change in left)
    between = sum(len(change.between_log_dirs) for change in left)
    lengths = ([len(one.origin) for one in left], [len(one.target) for one in left])
    deleted = int(deleted_replicas(*lengths).sum())
    sizes = [change.bytes_to_copy for change in left]
    size = None if None in sizes else sum(one or 0 for one in sizes)
    waves = sum(any(statuses[key].value != "done" for key in wave) for wave in plan.waves)
    done = len(statuses) - len(left)
    verb = "change" if plan.direction == "forward" else "roll back"
    if not left:
        partitions = units.plural(done, "partition")
        console.print(Text(f"Nothing to {verb}: {partitions} done already", "bold"))
        for warning in warnings:
            printing.remark(warning, console)
        return
    console.print(
        Text(
            f"Will {verb} {units.plural(len(left), 'partition')} in {units.plural(waves, 'wave')}: "
            f"{units.plural(moves, 'new replica')}, "
            + (f"{units.plural(between, 'replica')} to other log dirs, " if between else "")
            + (f"{units.plural(deleted, 'replica')} deleted, " if deleted else "")
            + f"{units.size(size)} to copy"
            + (f" ({units.plural(done, 'partition')} done already)" if done else ""),
            "bold",
        )
    )
    bytes_to = received_bytes(left)
    if bytes_to:
        brokers = listed([str(b) for b in sorted(bytes_to)], 12)
        who = f"broker {brokers} receives" if len(bytes_to) == 1 else f"brokers {brokers} receive"
        console.print(Text(f"{cluster}: {who}" if cluster else who.capitalize()))
    console.print(Text(_limit(throttle)))
    if isinstance(throttle, int) and any(bytes_to.values()):
        least = units.duration(least_seconds(bytes_to.values(), throttle))
        console.print(Text(f"Takes {least} or more at this throttle"))
    if undo:
        console.print(Text(f"Undo, during the run or later: {undo}"), soft_wrap=True)
    if required is not None:
        console.print(
            Text(
                f"Replicating new records takes {units.rate(required)} of it on the busiest broker "
                f"({source})"
            )
        )
    console.print(Text("Ctrl-C: stop after the current wave; twice: cancel it"))
    for warning in warnings:
        printing.remark(warning, console)


def _limit(throttle: int | str | None) -> str:
    if throttle is None:
        return "Throttle: none"
    if isinstance(throttle, str):
        return "Throttle: auto, the highest rate at which all replicas stay in sync"
    return f"Throttle: {units.rate(throttle)} per broker"


class Tally:
    """What a run has copied so far, wave by wave. ``clock``: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.start()
        self._last: ProgressUpdate | None = None
        self._finished = 0
        self._ran = False

    def start(self) -> None:
        """Count the time from now."""
        self._start = self._wave_start = self._clock()

    @property
    def copied(self) -> int:
        """Bytes copied in all waves. What a wave did not move is not in its report, so a wave in
        which nothing moves any more has copied its total."""
        last = self._last
        if last is None:
            return self._finished
        return self._finished + (last.bytes_done if last.moving else last.bytes_total)

    def add(self, update: ProgressUpdate) -> str | None:
        """Take a report of the run; a line about the wave that has ended before it, if one has."""
        ended = self.end_wave() if self._last and self._last.wave != update.wave else None
        self._last = update
        return ended

    def end_wave(self) -> str | None:
        """End the current wave, if there is one: a line about it."""
        last = self._last
        if last is None:
            return None
        copied = self.copied - self._finished
        self._finished, self._last = self.copied, None
        seconds, self._wave_start = self._clock() - self._wave_start, self._clock()
        self._ran = True
        return (
            f"wave {last.wave} of {last.waves}: {units.size(copied)} in {units.duration(seconds)}"
        )

    def in_all(self) -> str | None:
        """A line about the whole run, if it did anything."""
        if not self._ran:
            return None
        return f"copied {units.size(self.copied)} in {units.duration(self._clock() - self._start)}"


def progress_bars(progress: ProgressUpdate, copied: int) -> str:
    """Bars for the bytes of the wave and of the whole run, where they are known. ``copied``: bytes
    in all waves so far."""
    if not progress.bytes_total:
        return ""
    wave = f"wave {_bar(progress.bytes_done, progress.bytes_total)}"
    if progress.bytes_later is None:
        return wave
    total = copied + progress.bytes_total - progress.bytes_done + progress.bytes_later
    return f"{wave}   total {_bar(copied, total)} of {units.size(total)}"


def _bar(done: int, total: int) -> str:
    """``━━━━━──────────  33 %``; full only if all is done."""
    share = min(done / total, 1.0) if total else 1.0
    filled = int(share * _BAR)
    return f"{'━' * filled}{'─' * (_BAR - filled)} {int(100 * share):3} %"


def progress_line(progress: ProgressUpdate, *, forward: bool = True) -> str:
    """A ``ProgressUpdate`` in a line: ``Applying wave 3 of 34, 12 partitions moving, …``."""
    parts = [
        f"{'Applying' if forward else 'Rolling back'} wave {progress.wave} of {progress.waves}",
        f"{units.plural(progress.moving, 'partition')} moving",
    ]
    if progress.bytes_total:
        parts.append(f"{units.size(progress.bytes_done)} of {units.size(progress.bytes_total)}")
    if progress.bytes_per_second:
        parts.append(units.rate(progress.bytes_per_second))
    if progress.eta_seconds:
        parts.append(f"{units.duration(progress.eta_seconds)} left")
    if progress.throttle is not None:
        parts.append(f"throttle {units.rate(progress.throttle)} per broker")
    return ", ".join(parts)


def print_outcome(
    plan: ExecutionPlan, outcome: Outcome, console: Console, resume: str = "", undo: str = ""
) -> None:
    """Print how a run ended, and unless it is done the commands that resume and undo it."""
    forward = plan.direction == "forward"
    if outcome.state == "done":
        text = "every replica and leader is where the plan puts it"
        if not forward:
            text = "every replica and leader is where it was before the plan"
        console.print(Text(f"Done: {text}.", "green"))
    elif outcome.state == "stopped":
        left = units.plural(outcome.waves_left, "wave")
        console.print(Text(f"Stopped with {left} left.", "yellow"))
    else:
        count = units.plural(len(outcome.problems), "partition")
        console.print(Text(f"Incomplete: {count} not as planned:", "red"))
    for name, why in sorted(outcome.problems.items())[:_SHOWN]:
        console.print(Text(f"  {name}: {why}"))
    if len(outcome.problems) > _SHOWN:
        console.print(Text(f"  and {len(outcome.problems) - _SHOWN} more"))
    if outcome.still_moving:
        console.print(Text(f"Still moving: {', '.join(outcome.still_moving[:_SHOWN])}"))
    if outcome.dead:
        names = ", ".join(map(str, outcome.dead))
        console.print(
            Text(
                f"The throttle of broker {names} could not be restored: run this command again "
                "when it answers",
                "yellow",
            )
        )
    if outcome.state != "done":
        named = (("Resume", resume), ("Undo", undo))
        commands = [f"{name}: {command}" for name, command in named if command]
        line = "   ".join(commands)
        lines = commands if len(line) > console.width else [line]
        console.print(Text("\n".join(lines)), soft_wrap=True)


def print_verification(found: Mapping[str, Any], console: Console) -> None:
    """Print what ``verify`` found."""
    style = {"done": "green", "differs": "red"}.get(found["state"], "yellow")
    console.print(
        Text(
            f"{found['state']}: {found['done']} of {found['partitions']} partitions done, "
            f"{found['moving']} moving, {found['waiting']} waiting",
            style,
        )
    )
    for name, replicas in sorted(found["differs"].items())[:_SHOWN]:
        gone = "deleted, or deleted and created again"
        where = gone if replicas is None else f"on {','.join(map(str, replicas))}"
        console.print(Text(f"  {name}: {where}"))
    for label, names in (
        ("not led by the preferred leader", found["leaders"]),
        ("out of sync", found["out_of_sync"]),
        ("in another log dir than planned", found["log_dirs"]),
    ):
        if names:
            more = ", …" if len(names) > _SHOWN else ""
            console.print(Text(f"  {label}: {', '.join(names[:_SHOWN])}{more}"))
