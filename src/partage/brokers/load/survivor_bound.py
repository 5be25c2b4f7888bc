"""A lower bound on the share of the worst survivor, for all placements.

Shares are loads divided by fair shares. If a broker fails, the others lead everything that stays
online. Partitions with all replicas in racks of their own count for more: their next leader is in
another rack than the broker that failed. So, for a worst share W, a broker of rack Z leads at most

    W * (fair shares outside Z) - (what brokers outside Z lead), and at most W * (its fair share)

of them. Summed over the m brokers of Z with the largest fair shares by the first limit, and over
the others by the second, they give how much Z must lead at least: a line that falls with W. The
racks together lead everything: the least W at which their lines allow that is the bound. It is
found by Newton's method on the sum of the steepest lines, exact after finitely many steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Line = tuple[Fraction, Fraction]
"""(a, d): a rack leads at least a * (everything) - d * W."""


def least_share(online: int, apart: int, fair: Sequence[int], rack: Sequence[int]) -> Fraction:
    """The bound for brokers with fair shares ``fair`` [E] in racks ``rack`` [E]. ``online``: the
    load that stays online; ``apart``: of it that of partitions with replicas in racks of their own.
    """
    anywhere = Fraction(online, sum(fair) - max(fair))
    return max(anywhere, _apart(apart, fair, rack)) if apart else anywhere


def _apart(load: int, fair: Sequence[int], rack: Sequence[int]) -> Fraction:
    racks = [_lines(fair, rack, one) for one in sorted(set(rack))]
    level = Fraction(load, sum(fair))
    while True:
        steepest = [
            max(lines, key=lambda line: line[0] * load - line[1] * level)
            for lines in racks
            if lines
        ]
        active = [(a, d) for a, d in steepest if a * load > d * level]
        if not active:
            return level
        up, down = (sum(part, Fraction(0)) for part in zip(*active, strict=True))
        found = load * (up - 1) / down
        if found <= level:
            return level
        level = found


def _lines(fair: Sequence[int], rack: Sequence[int], one: int) -> list[Line]:
    """A line for each number of brokers of a rack, from two on."""
    inside = sorted((f for f, z in zip(fair, rack, strict=True) if z == one), reverse=True)
    outside, rest, lines = sum(fair) - sum(inside), sum(inside), []
    for count, own in enumerate(inside, start=1):
        rest -= own
        if count > 1:
            lines.append((Fraction(count, count - 1), Fraction(count * outside + rest, count - 1)))
    return lines
