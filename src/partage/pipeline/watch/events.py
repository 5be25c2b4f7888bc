"""The events of a watch as JSON values; the key ``event`` names the type.

``closed`` windows, an ``alert``, ``fair`` again, ``trouble`` that does not end the watch, each
``batch``, and ``stopped``. ``closed`` and ``batch`` are for programs only: a watch prints nothing
while all is well.
"""

from __future__ import annotations

from typing import Any

from partage.errors import PartageError
from partage.pipeline.watch.fairness import Fairness
from partage.pipeline.watch.store import State, counts, shown

Event = dict[str, Any]


def closed(state: State, windows: int, found: Fairness | None) -> Event:
    """A batch closed ``windows`` (one per partition and window)."""
    assert state.end is not None
    return {
        "event": "closed",
        "at": shown(state.end),
        "windows": windows,
        **_figures(found),
        "unfair": state.unfair,
        "counts": counts(state),
    }


def alert(
    end: int,
    threshold: float,
    found: Fairness,
    plan: str | None = None,
    after: float | None = None,
    why: PartageError | None = None,
) -> Event:
    """The fairness is above the threshold. ``plan``: the directory of a new plan, ``after``: the
    fairness that it leads to; or ``why`` there is no plan; none of them where another component
    plans."""
    return {
        "event": "alert",
        "at": shown(end),
        "threshold": threshold,
        **_figures(found),
        "heaviest": [
            {"partition": name, "bytes_per_second": rate} for name, rate in found.heaviest
        ],
        "plan": plan,
        "fairness_after": after,
        "cannot": None if why is None else str(why),
    }


def fair(end: int, threshold: float, found: Fairness | None) -> Event:
    """The fairness is at or below the threshold again, or no bytes come in."""
    return {"event": "fair", "at": shown(end), "threshold": threshold, **_figures(found)}


def trouble(problem: str) -> Event:
    """A problem that a user should look at; the watch continues."""
    return {"event": "trouble", "problem": problem}


def batch(state: State, records: int, seconds: float, found: Fairness | None) -> Event:
    """A batch is committed: it had this many ``records``, rejected ones too, and took this long.
    The fairness is that of the last closed windows of this run."""
    return {
        "event": "batch",
        "batch": state.batch,
        "records": records,
        "seconds": round(seconds, 3),
        "open_windows": state.open_windows,
        **_figures(found),
        "unfair": state.unfair,
        "counts": counts(state),
    }


def stopped(state: State) -> Event:
    """The end of the watch, with the counts since its beginning."""
    return {"event": "stopped", "counts": counts(state)}


def _figures(found: Fairness | None) -> dict[str, Any]:
    return {
        "fairness": None if found is None else found.value,
        "broker": None if found is None else found.broker,
        "bytes_per_second": None if found is None else found.rate,
        "mean_bytes_per_second": None if found is None else found.mean,
    }
