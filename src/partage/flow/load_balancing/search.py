"""Replica sets and leaders with all loads in their bands: the searches one after the other.

``replicas`` brings what every replica adds into the bands, ``leaders`` what leading adds, for these
sets; if something is still outside, ``joint`` works on both together. A result replaces what it
started from only if the squared distances from the bands decrease, and the searches run again from
there. Where they find nothing closer, they try once more as a second run would, for which what has
been found is today's placement: what moved is at home there, so that moving it back counts as a
move. The answer is what neither improves; so a second run changes nothing. Distances only decrease
and there are finitely many placements; so the rounds end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Ints
from partage.flow.assignment import AssignmentProblem, loads_of
from partage.flow.load_balancing.bands import Bands, Penalty
from partage.flow.load_balancing.joint import JointSearch
from partage.flow.load_balancing.leaders import LeaderSearch
from partage.flow.load_balancing.replicas import ReplicaSearch, legal_start
from partage.flow.ordering import led_by

_CLOSER = 0.9
"""A result counts only if it brings the squared distances down to this share."""


class Loads(Struct, frozen=True, eq=False):
    """K loads: ``each`` [K, I] of an item, ``base`` [K, E] that stays, and the ``bands``."""

    each: Ints
    base: Ints
    bands: Bands


def balance_loads(
    problem: AssignmentProblem,
    held: Loads,
    led: Loads,
    today: Ints,
    sizes: int,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[str], None] = lambda _: None,
) -> Ints:
    """[I, max demand] slots, the leader first, -1 padded.

    ``held``: what every replica adds, of which the first counts replicas and ``sizes`` is the
    number of the one in bytes; ``led``: what the leader adds besides. ``today`` [I]: the leaders,
    or -1. ``stop``: asked between steps whether to return the best so far; ``report``: called with
    what the search does.
    """
    sets = legal_start(problem, held.bands.low[sizes], held.bands.high[sizes])
    best = led_by(sets, _still(sets, today))
    penalties = Penalty(held.bands), Penalty(led.bands)

    def distance(rows: Ints) -> float:
        return _distance(rows, held, penalties[0]) + _distance(rows[:, :1], led, penalties[1])

    def attempts(start: Ints) -> Iterator[Ints]:
        at_home = np.array_equal(np.sort(start, axis=1), np.sort(problem.own, axis=1))
        for homes in (start,) if at_home else (problem.own, start):
            yield _attempt(replace(problem, own=homes), held, led, start, stop, report)

    return _closest(best, distance, attempts, stop)


def balance_leaders(
    sets: Ints,
    led: Loads,
    today: Ints,
    stop: Callable[[], bool],
    report: Callable[[str], None],
) -> Ints:
    """[I] the leaders, where replicas stay on ``sets`` [I, any], -1 padded. The other arguments:
    see ``balance_loads``."""
    penalty = Penalty(led.bands)

    def distance(leader: Ints) -> float:
        return _distance(leader[:, None], led, penalty)

    def attempts(start: Ints) -> Iterator[Ints]:
        report("searching for leaders")
        yield LeaderSearch(sets, start, led.each, led.base, led.bands).run(stop)

    return _closest(_still(sets, today), distance, attempts, stop)


def _closest(
    best: Ints,
    distance: Callable[[Ints], float],
    attempts: Callable[[Ints], Iterator[Ints]],
    stop: Callable[[], bool],
) -> Ints:
    """What no attempt brings closer, from ``best``; nothing is tried at distance 0."""
    apart, settled = distance(best), False
    while apart > 0 and not settled and not stop():
        settled = True
        for found in attempts(best):
            closer = distance(found)
            if closer < apart * _CLOSER:
                best, apart, settled = found, closer, False
                break
    return best


def _attempt(
    problem: AssignmentProblem,
    held: Loads,
    led: Loads,
    start: Ints,
    stop: Callable[[], bool],
    report: Callable[[str], None],
) -> Ints:
    """The searches one after the other."""
    report("searching for replicas to move")
    replicas = ReplicaSearch(problem, held.each, held.base, held.bands, start)
    replicas.run(stop)
    sets = replicas.rows()
    report("searching for leaders")
    leaders = LeaderSearch(sets, _still(sets, start[:, 0]), led.each, led.base, led.bands)
    found = led_by(sets, leaders.run(stop))
    report("searching for replicas and leaders together")
    base = np.concatenate((held.base, led.base))
    both = zip(*((b.low, b.high, b.fair) for b in (held.bands, led.bands)), strict=True)
    bands = Bands(*(np.concatenate(pair) for pair in both))
    joint = JointSearch(problem, held.each, led.each, base, bands, found)
    joint.run(stop)
    return joint.rows()


def _distance(slots: Ints, loads: Loads, penalty: Penalty) -> float:
    total = loads_of(slots, loads.each, loads.base)
    return float(penalty.at((total / penalty.unit[:, None]).T).sum())


def _still(sets: Ints, today: Ints) -> Ints:
    """[I] the leaders of today where they still hold the item, else the first slot."""
    stays = (sets == today[:, None]).any(axis=1) & (today >= 0)
    return np.where(stays, today, sets[:, 0])
