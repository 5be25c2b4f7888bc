"""Which partition count to recommend for a topic, or to stay.

What counts is how many equally fast consumers a count keeps *busy*: the total load divided by the
fullest partition's, by records or by bytes, whichever is lower. More than the consumers that there
are, or should be, are worth nothing.

A change has a price: keys that change partition lose their order at that moment. ``move_cost`` is
the gain in busy consumers that is worth moving all keys: at 100 % a candidate that moves half of
the keys must keep 1.5 times as many consumers busy as today's count does. The *worth* of a
candidate is therefore

    busy consumers / (1 + move_cost × share of keys that move)

Records without a partition that their key decides (round robin) have no order to lose, so there no
key counts as moved. A topic without any key stays unless more consumers than partitions should be
busy: that its records are even is an assumption for every other count. Today's count moves none and
is always a candidate. The highest worth is recommended; of equals the one that changes least:
today's, then the fewest partitions. A topic cannot shrink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from partage.arrays import Ints
from partage.measured_loads import shown_key
from partage.producers.candidates import (
    EMPTY,
    Candidate,
    HotKey,
    Recommendation,
    max_over_mean,
    percent,
)
from partage.producers.detection import SPREAD

MOVE_COST = 1.0
"""The default gain in busy consumers that is worth moving all keys: twice as many."""

_NO_KEYS = "its records have no key, so their producers decide how even the partitions are"

_EVEN = 0.9
"""The share of the consumers that counts as all of them in an explanation."""


def recommended(
    candidates: Sequence[Candidate],
    today: Mapping[str, Ints],
    partitioner: str,
    hot_keys: Sequence[HotKey] = (),
    *,
    consumers: int | None = None,
    move_cost: float = MOVE_COST,
) -> Recommendation:
    """The candidate of the highest worth, or today's count.

    - ``today``: the present loads by measure, [partitions], written by ``partitioner``
    - ``hot_keys``: the topic's hottest
    - ``consumers``: how many should be busy; None: as many as there are partitions
    - ``move_cost``: as above, 0 or more
    """
    now = len(next(iter(today.values())))
    need = now if consumers is None else consumers
    busy = min(now / max(map(max_over_mean, today.values())), need)
    possible = sorted(
        # the present count without a move is today's, not another one
        (one for one in candidates if (one.partitions, one.keys_moved) > (now, 0)),
        key=lambda one: one.partitions,
    )

    in_order = partitioner != SPREAD
    by_producers = need <= now and bool(candidates) and not any(one.keys for one in candidates)

    def worth(one: Candidate) -> float:
        return min(one.busy, need) / (1 + move_cost * one.moved * in_order)

    best = max(possible, key=worth, default=None)
    if best is not None and worth(best) > busy and not by_producers:
        reasons = [
            f"keeps {min(best.busy, need):.1f} of {need} consumers busy, today {busy:.1f}",
            f"skew of {best.worst} {best.skew[best.worst]:.2f}, "
            f"today {max_over_mean(today[best.worst]):.2f}",
            *_moves(best, in_order),
            *_limit(hot_keys, need),
        ]
        return Recommendation(best.partitions, best.partitioner, "; ".join(reasons), stay=False)
    reasons = [f"keeps {busy:.1f} of {need} consumers busy"]
    if busy < _EVEN * need:
        other = _NO_KEYS if by_producers else _not_worth(best, partitioner, busy, need)
        reasons += [other, *_limit(hot_keys, need)]
    return Recommendation(now, partitioner, "; ".join(reasons), stay=True)


def _moves(best: Candidate, in_order: bool) -> list[str]:
    """What the change costs."""
    if not best.keys_moved:
        return []
    if in_order:
        return [f"{percent(best.moved)} of the keys change partition"]
    return ["keys are on several partitions today, so none loses its order"]


def _not_worth(best: Candidate | None, partitioner: str, busy: float, need: int) -> str:
    """Why the best of the others is not recommended."""
    if best is None:
        return "all other counts are smaller, and a topic cannot shrink"
    found = min(best.busy, need)
    if found <= busy:
        return f"no other count keeps more busy (at best {found:.1f})"
    by = f" by {best.partitioner}" if best.partitioner != partitioner else ""
    moved = percent(best.moved)
    return f"{best.partitions}{by} would keep {found:.1f}, but move {moved} of the keys"


def _limit(hot_keys: Sequence[HotKey], need: int) -> list[str]:
    """The one key that keeps any count from occupying all consumers, and what to do about it."""
    shares = [(share, name, hot) for hot in hot_keys for name, share in hot.share.items()]
    if not shares:
        return []
    share, name, hot = max(shares, key=lambda one: one[0])
    if 1 / share >= _EVEN * need:
        return []
    advice = (
        "extend this key, or give its records a topic of their own"
        if hot.key
        else "give these records a key, or none at all"
    )
    key = shown_key(hot.key) or EMPTY
    return [
        f"{key} alone has {percent(share)} of the {name}, so no count keeps more than "
        f"{1 / share:.1f} busy: {advice}"
    ]
