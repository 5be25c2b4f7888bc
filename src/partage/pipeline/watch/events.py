"""What a watch has to say, as JSON values: one object an event, told by its ``event``.

``closed`` windows, an ``alert``, ``fair`` again, ``trouble`` that does not end it, and ``stopped``.
A healthy watch tells people nothing: ``closed`` is for programs only.
"""

from __future__ import annotations

from typing import Any

from partage.errors import PartageError
from partage.pipeline.watch.fairness import Fairness
from partage.pipeline.watch.store import State, shown, told

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
        "counts": told(state),
    }


def alert(
    end: int,
    threshold: float,
    found: Fairness,
    plan: str | None,
    after: float | None,
    why: PartageError | None,
) -> Event:
    """The fairness has passed the threshold. ``plan``: its directory, ``after``: the fairness that
    it leads to; or ``why`` there is none."""
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
    """It is at or below the threshold again, or nothing is taken in."""
    return {"event": "fair", "at": shown(end), "threshold": threshold, **_figures(found)}


def trouble(problem: str) -> Event:
    """Something that a user should look at, and that the watch goes on without."""
    return {"event": "trouble", "problem": problem}


def stopped(state: State) -> Event:
    """The end, and the counts since the beginning."""
    return {"event": "stopped", "counts": told(state)}


def _figures(found: Fairness | None) -> dict[str, Any]:
    return {
        "fairness": None if found is None else found.value,
        "broker": None if found is None else found.broker,
        "bytes_per_second": None if found is None else found.rate,
        "mean_bytes_per_second": None if found is None else found.mean,
    }
