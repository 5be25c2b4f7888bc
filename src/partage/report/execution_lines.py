"""What is about to be carried out, how far it is, and how it ended, in lines for people."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from partage.report import printing, units

if TYPE_CHECKING:
    from partage.live.admin.states import Key
    from partage.live.execution.ending import Outcome
    from partage.live.execution.job import Job, Standing
    from partage.live.execution.run import Progress

_SHOWN = 10


def print_intention(
    job: Job,
    standings: Mapping[Key, Standing],
    throttle: int | str | None,
    remarks: Sequence[str],
    console: Console,
    need: float | None = None,
    source: str = "",
) -> None:
    """What will be asked of the cluster: of a ``Job`` whose changes stand as ``standings`` say.
    ``need``: bytes per second that come in meanwhile at the busiest broker, known by ``source``."""
    left = [job.changes[key] for key, standing in standings.items() if standing.value != "done"]
    moves = sum(len(change.adding) for change in left)
    sizes = [change.size_bytes for change in left if change.adding]
    size = None if None in sizes else sum(len(c.adding) * (c.size_bytes or 0) for c in left)
    waves = sum(any(standings[key].value != "done" for key in wave) for wave in job.waves)
    done = len(standings) - len(left)
    head = "Will change" if job.forth else "Will bring back"
    console.print(
        Text(
            f"{head} {units.plural(len(left), 'partition')}: {units.plural(moves, 'new replica')}, "
            f"{units.size(size)} to copy, in {units.plural(waves, 'wave')}"
            + (f" ({done} are done)" if done else ""),
            "bold",
        )
    )
    console.print(Text(f"{_limit(throttle)}; interrupt to stop after the wave, twice to cancel it"))
    if need is not None:
        console.print(
            Text(
                f"what comes in meanwhile takes {units.rate(need)} at the busiest broker, {source}"
            )
        )
    for remark in remarks:
        printing.remark(remark, console)


def _limit(throttle: int | str | None) -> str:
    if throttle is None:
        return "without a throttle"
    if isinstance(throttle, str):
        return "as fast as nobody falls behind"
    return f"at most {units.rate(throttle)} a broker"


def progress_line(progress: Progress) -> str:
    """A ``Progress`` in a line."""
    said = [
        f"wave {progress.wave} of {progress.waves}",
        f"{units.plural(progress.moving, 'partition')} to go",
    ]
    if progress.bytes_total:
        said.append(f"{units.size(progress.bytes_done)} of {units.size(progress.bytes_total)}")
    if progress.bytes_per_second:
        said.append(units.rate(progress.bytes_per_second))
    if progress.eta_seconds:
        said.append(f"{units.duration(progress.eta_seconds)} left")
    if progress.throttle is not None:
        said.append(f"at most {units.rate(progress.throttle)} a broker")
    return ", ".join(said)


def print_outcome(job: Job, outcome: Outcome, console: Console) -> None:
    """How a run ended, and which command goes on."""
    command = "apply" if job.forth else "rollback"
    if outcome.state == "done":
        what = "every replica and leader is" if job.forth else "everything is back"
        console.print(Text(f"Done: {what} where it shall be.", "green"))
    elif outcome.state == "stopped":
        left = units.plural(outcome.waves_left, "wave")
        console.print(Text(f"Stopped with {left} to go.", "yellow"))
    else:
        count = units.plural(len(outcome.problems), "partition")
        console.print(Text(f"{count} not where they shall be:", "red"))
    for name, why in sorted(outcome.problems.items())[:_SHOWN]:
        console.print(Text(f"  {name}: {why}"))
    if len(outcome.problems) > _SHOWN:
        console.print(Text(f"  and {len(outcome.problems) - _SHOWN} more"))
    if outcome.still_moving:
        console.print(Text(f"Still on their way: {', '.join(outcome.still_moving[:_SHOWN])}"))
    if outcome.dead:
        names = ", ".join(map(str, outcome.dead))
        console.print(
            Text(f"The throttle of broker {names} stays until it answers: run this again", "yellow")
        )
    if outcome.state != "done":
        goes_on, undoes = (
            shlex.join(("partage", name, job.directory)) for name in (command, "rollback")
        )
        console.print(Text(f"Go on: {goes_on}   Undo: {undoes}"), soft_wrap=True)


def print_verdict(found: Mapping[str, Any], console: Console) -> None:
    """What ``verify`` found."""
    style = {"done": "green", "differs": "red"}.get(found["state"], "yellow")
    console.print(
        Text(
            f"{found['state']}: {found['done']} of {found['partitions']} partitions done, "
            f"{found['moving']} moving, {found['waiting']} waiting",
            style,
        )
    )
    for name, replicas in sorted(found["differs"].items())[:_SHOWN]:
        where = "gone" if replicas is None else f"on {','.join(map(str, replicas))}"
        console.print(Text(f"  {name}: {where}"))
    for what, names in (
        ("another leads than shall", found["leaders"]),
        ("out of sync", found["out_of_sync"]),
    ):
        if names:
            more = ", …" if len(names) > _SHOWN else ""
            console.print(Text(f"  {what}: {', '.join(names[:_SHOWN])}{more}"))
