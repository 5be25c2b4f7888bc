"""The load of a plan's waves: what each broker receives and sends in each wave.

Many waves are grouped with their neighbours; of many brokers those that copy most are kept. Amounts
are bytes, or replicas where no size is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partage.arrays import Floats, Ints
from partage.brokers.plan_file import PlanWave
from partage.report import units
from partage.report.view import View

LEVELS = 6
"""Shades of a cell that is not empty."""

_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, eq=False)
class WaveLoad:
    """G groups of neighbouring waves (mostly of one each), K brokers.

    - ``first``, ``last`` [G]: numbers of the waves of each group, from 1
    - ``brokers`` [K]: positions in the plan's brokers; ``hidden``: others that copy too
    - ``received``, ``sent`` [K, G]: bytes, or replicas where ``by_bytes`` is false
    - ``length`` [G]: seconds where ``timed``, otherwise the amount copied
    """

    first: Ints
    last: Ints
    brokers: Ints
    hidden: int
    received: Floats
    sent: Floats
    length: Floats
    by_bytes: bool
    timed: bool

    def heading(self, group: int) -> str:
        """The waves of a group: ``7`` or ``7–9``."""
        first, last = int(self.first[group]), int(self.last[group])
        return str(first) if first == last else f"{first}–{last}"

    def level(self, amount: float) -> int:
        """Shade 0 (nothing) to LEVELS (the most of any broker in any group)."""
        most = max(self.received.max(initial=0), self.sent.max(initial=0))
        return int(np.ceil(LEVELS * amount / most)) if most else 0

    def title(self, row: int, group: int, name: str) -> str:
        """A cell in words: ``wave 7, broker 3: receives 2.10 GB, sends nothing``."""
        wave = "wave" if self.first[group] == self.last[group] else "waves"
        received, sent = (
            self._amount(self.received[row, group]),
            self._amount(self.sent[row, group]),
        )
        return f"{wave} {self.heading(group)}, broker {name}: receives {received}, sends {sent}"

    def height(self, group: int) -> float:
        """The group's length relative to the longest, 0 to 1."""
        most = self.length.max(initial=0)
        return float(self.length[group] / most) if most else 0.0

    def length_text(self, group: int) -> str:
        """How long the group takes, or how much it copies."""
        amount = float(self.length[group])
        return units.duration(amount) if self.timed else self._amount(amount)

    def blocks(self, table: Floats, row: int) -> str:
        """A broker's row of bars; ``·`` for nothing."""
        most = max(self.received.max(initial=0), self.sent.max(initial=0))
        bars = np.ceil(len(_BLOCKS) * table[row] / most) if most else np.zeros(table.shape[1])
        return "".join(_BLOCKS[int(bar) - 1] if bar else "·" for bar in bars)

    def _amount(self, amount: float) -> str:
        if not amount:
            return "nothing"
        return units.size(amount) if self.by_bytes else units.plural(round(amount), "replica")


def wave_load(plan: View, groups: int, brokers: int) -> WaveLoad | None:
    """The load in at most that many groups and brokers; None where nothing is copied, or for a plan
    written without the load of its waves."""
    waves = [wave for wave in plan.waves if wave.moves]
    if not waves or any(wave.brokers is None for wave in waves):
        return None
    by_bytes = _sizes_known(waves)
    timed = plan.seconds is not None and by_bytes
    size = -(-len(waves) // groups)
    received, sent = _amounts(plan, waves, size, by_bytes)
    lengths = [(w.seconds if timed else w.bytes if by_bytes else w.moves) or 0 for w in waves]
    length = np.add.reduceat(np.array(lengths, dtype=np.float64), np.arange(0, len(waves), size))
    total = received.sum(axis=1) + sent.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0]
    shown = np.sort(order[:brokers])
    # waves that copy nothing are left out, but the others keep their numbers in the plan
    numbers = np.array([i for i, wave in enumerate(plan.waves, start=1) if wave.moves])
    return WaveLoad(
        first=numbers[::size],
        last=numbers[np.minimum(np.arange(1, len(length) + 1) * size, len(waves)) - 1],
        brokers=shown,
        hidden=len(order) - len(shown),
        received=received[shown],
        sent=sent[shown],
        length=length,
        by_bytes=by_bytes,
        timed=timed,
    )


def _sizes_known(waves: Sequence[PlanWave]) -> bool:
    known = all(wave.bytes_in is not None for wave in waves)
    return known and any(wave.bytes for wave in waves)


def _amounts(
    plan: View, waves: Sequence[PlanWave], size: int, by_bytes: bool
) -> tuple[Floats, Floats]:
    """[B, G] amounts that each broker receives and sends in each group of ``size`` waves."""
    received = np.zeros((len(plan.brokers), -(-len(waves) // size)))
    sent = np.zeros_like(received)
    for number, wave in enumerate(waves):
        positions = [plan.positions[broker] for broker in wave.brokers or []]
        group = number // size
        received[positions, group] += np.array(wave.bytes_in if by_bytes else wave.replicas_in)
        sent[positions, group] += np.array(wave.bytes_out if by_bytes else wave.replicas_out)
    return received, sent


def busiest(plan: View, wave: PlanWave) -> str:
    """The broker that receives or sends most in the wave: ``7 receives 12.1 GB``; empty if
    unknown."""
    if not wave.brokers:
        return ""
    received: Sequence[int] = wave.replicas_in
    sent: Sequence[int] = wave.replicas_out
    show: Callable[[float], str] = units.count
    if wave.bytes_in is not None and wave.bytes_out is not None and any(wave.bytes_in):
        received, sent, show = wave.bytes_in, wave.bytes_out, units.size
    verb, values = ("receives", received) if max(received) >= max(sent) else ("sends", sent)
    most = max(values)
    return f"{wave.brokers[values.index(most)]} {verb} {show(most)}"
