"""Which slot a search improves next, and when it ends.

The slot furthest outside its bands comes first. One that no step helps waits until all others are
within theirs or wait as well; then each gets another turn if some step has helped since. The search
ends if none has, or if many steps have hardly brought the slots closer to their bands.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partage.arrays import Floats

_FEWEST, _FOR_EACH, _CLOSER = 100, 4, 0.95
"""After 100 steps, or 4 for each slot, the sum of the distances must be down to this share."""


def improve_worst_first(
    apart: Callable[[], Floats],
    improve: Callable[[int], bool],
    stop: Callable[[], bool],
    least: float = 0.0,
) -> None:
    """Call ``improve`` with one slot after the other.

    ``apart``: the squared distances [E] of the slots, of which ``least`` or less counts as nothing;
    ``improve``: whether a step has helped the slot; ``stop``: whether to end at once.
    """
    waiting: list[int] = []
    helped, steps, total = False, 0, float("inf")
    while not stop():
        distance = apart()
        if steps == 0:
            now = float(np.sqrt(distance).sum())
            if now > total * _CLOSER:
                return
            steps, total = max(_FEWEST, _FOR_EACH * len(distance)), now
        steps -= 1
        open_slots = distance.copy()
        open_slots[waiting] = 0
        slot = int(open_slots.argmax())
        if open_slots[slot] > least:
            if improve(slot):
                helped = True
            else:
                waiting.append(slot)
        elif helped and waiting:
            waiting, helped = [], False
        else:
            return
