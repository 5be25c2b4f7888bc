"""Local search that brings the size of every slot into its band and moves little.

It starts from the current assignment with the necessary changes only: items with too many slots
give up the fullest ones; items with too few, the largest first, get the slots with the most free
space. Then, while some slot is outside its band:

- *relieve*: a slot above its band gives items to slots with free space, the largest that fit into
  the surplus, at last the smallest that is enough;
- *fill*: a slot below its band takes items likewise from slots that can spare them;
- *exchange*: where neither works, a larger item goes and a smaller one comes back.

Each step reduces the total size outside the bands and takes no other slot outside, so the search
ends. Finally bytes are saved: an item returns home if its band allows it, or a smaller one moves
instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from partage.arrays import Bools, Ints
from partage.flow.assignment.problem import AssignmentProblem, as_rows
from partage.flow.size_balancing.pricing import copied_part
from partage.flow.size_certificate import PARTS

_PARTNERS = 48
"""Slots tried on the other side of a step: those with the most free space."""

_SWEEPS = 60


class BandSearch:
    """An assignment under change, initially the current one. ``low``, ``high`` [E]: the band, base
    included."""

    def __init__(
        self, problem: AssignmentProblem, low: Ints, high: Ints, slots: Ints | None = None
    ) -> None:
        self.problem, self.low, self.high = problem, low, high
        self.size, self.copied, self.part = problem.size, problem.move_size, copied_part(problem)
        self.unit = 1 if problem.copied is None else PARTS
        shape = (problem.slots, problem.items)
        self.own = np.zeros(shape, dtype=np.bool_)
        item, slot = problem.owned
        self.own[slot, item] = True
        self.holds = self.own.copy()
        if slots is not None:
            item, column = np.nonzero(slots >= 0)
            slot = slots[item, column]
            self.holds[:] = False
            self.holds[slot, item] = True
        self.in_zone = np.zeros((problem.items, problem.zones), dtype=np.int64)
        np.add.at(self.in_zone, (item, problem.zone_of[slot]), 1)
        self.load = problem.base_size.copy()
        np.add.at(self.load, slot, self.size[item])
        self.of_family = problem.family_base.copy()
        np.add.at(self.of_family, (problem.family[item], slot), 1)
        self.least, self.most = problem.item_bounds

    def run(self) -> bool:
        """Run the search; True when every slot is within its band."""
        self.repair_counts()
        for _ in range(_SWEEPS):
            outside = self.outside()
            if outside == 0:
                break
            for slot in np.argsort(self.high - self.load, kind="stable").tolist():
                if self.load[slot] > self.high[slot]:
                    self._relieve(slot)
            for slot in np.argsort(self.load - self.low, kind="stable").tolist():
                if self.load[slot] < self.low[slot]:
                    self._fill(slot)
            if self.outside() == outside and not self._exchange_once():
                break
        self._send_home()
        self.replace_moved()
        return self.outside() == 0

    def outside(self) -> int:
        """Total size outside the bands."""
        over = np.maximum(self.load - self.high, 0) + np.maximum(self.low - self.load, 0)
        return int(over.sum())

    def arrangement(self) -> Ints:
        """[I, max demand] slots of each item, ascending, -1 padded."""
        item, slot = np.nonzero(self.holds.T)
        return as_rows(self.problem, item.astype(np.int64), slot.astype(np.int64))

    # -- steps

    def _put(self, item: int, slot: int) -> None:
        self._count(item, slot, 1)

    def _take(self, item: int, slot: int) -> None:
        self._count(item, slot, -1)

    def _count(self, item: int, slot: int, by: int) -> None:
        self.holds[slot, item] = by > 0
        self.in_zone[item, self.problem.zone_of[slot]] += by
        self.load[slot] += by * self.size[item]
        self.of_family[self.problem.family[item], slot] += by

    def _relocate(self, item: int, here: int, there: int) -> None:
        self._take(item, here)
        self._put(item, there)

    def _allowed(self, items: Ints, here: int | Ints, there: int | Ints) -> Bools:
        """Whether each item, on ``here``, may go to ``there`` (slots; one each or one for all)."""
        zone = self.problem.zone_of
        of, to = zone[here], zone[there]
        other = self.in_zone[items, to] < self.most[items]
        other &= self.in_zone[items, of] > self.least[items]
        return np.asarray(~self.holds[there, items] & ((of == to) | other))

    def _added(self, items: Ints, here: int | Ints, there: int | Ints) -> Ints:
        """-1, 0 or 1: the change in the moves of each item by the relocation."""
        gone = self.own[here, items].astype(np.int64)
        return np.asarray(gone - self.own[there, items])

    # -- start: the required number of slots, in the required zones

    def wrong(self) -> Bools:
        """[I] items with too many slots or too few, in total or in a zone."""
        held = self.in_zone.sum(axis=1)
        wrong = (held != self.problem.demand) | (self.in_zone > self.most[:, None]).any(axis=1)
        return np.asarray(wrong | (self.in_zone < self.least[:, None]).any(axis=1))

    def repair_counts(self) -> None:
        """Give every item the required number of slots, in the required zones."""
        rows = np.flatnonzero(self.wrong())
        rows = rows[np.lexsort((rows, -self.size[rows]))]
        for item in rows.tolist():
            self._give_up(item)
        for item in rows.tolist():
            self._fill_up(item)

    def _give_up(self, item: int) -> None:
        zone, demand = self.problem.zone_of, int(self.problem.demand[item])
        least, most = int(self.least[item]), int(self.most[item])
        while True:
            in_zone = self.in_zone[item]
            on = np.flatnonzero(self.holds[:, item])
            missing = int(np.maximum(least - in_zone, 0).sum())
            violating = in_zone[zone[on]] > most
            if not violating.any():
                if len(on) + missing <= demand:
                    return
                violating = in_zone[zone[on]] > least
            on = on[violating]
            fullest = np.lexsort((on, self.high[on] - self.load[on]))
            self._take(item, int(on[fullest[0]]))

    def _fill_up(self, item: int) -> None:
        zone, demand = self.problem.zone_of, int(self.problem.demand[item])
        least, most = int(self.least[item]), int(self.most[item])
        while int(self.in_zone[item].sum()) < demand:
            in_zone = self.in_zone[item]
            short = in_zone < least
            zones = short if short.any() else in_zone < most
            free = np.flatnonzero(zones[zone] & ~self.holds[:, item])
            free_size = np.maximum(self.high - self.load, 0)[free]
            # its current slots first, if the item fits there
            home = self.own[free, item] & (free_size >= self.size[item])
            best = np.lexsort((free, -free_size, ~home))
            self._put(item, int(free[best[0]]))

    # -- towards the bands

    def _relieve(self, here: int) -> None:
        free_size = self.high - self.load
        there = np.argsort(-free_size, kind="stable")[:_PARTNERS]
        there = there[(free_size[there] > 0) & (there != here)]
        items = np.flatnonzero(self.holds[here] & (self.size > 0))
        if len(there) == 0 or len(items) == 0:
            return
        items = items[np.argsort(-self.size[items], kind="stable")]
        item = np.repeat(items, len(there))
        to = np.tile(there, len(items))
        keep = self._allowed(item, here, to)
        item, to = item[keep], to[keep]
        added = self._added(item, here, to)
        while self.load[here] > self.high[here]:
            size = self.size[item]
            fits = size <= (self.high - self.load)[to]
            fits &= size <= int(self.load[here] - self.low[here])
            # what a slot below its band needs costs nothing extra
            needed = size <= (self.low - self.load)[to]
            surplus = int(self.load[here] - self.high[here])
            k = self._pick(item, to, added * self.part[item] - needed * self.unit, fits, surplus)
            if k < 0:
                return
            chosen = int(item[k])
            self._relocate(chosen, here, int(to[k]))
            rest = item != chosen
            item, to, added = item[rest], to[rest], added[rest]

    def _fill(self, there: int) -> None:
        spare = self.load - self.low
        here = np.argsort(-(self.load - self.high), kind="stable")[:_PARTNERS]
        here = here[(spare[here] > 0) & (here != there)]
        if len(here) == 0:
            return
        slot, item = np.nonzero(self.holds[here] & (self.size > 0))
        slot = here[slot]
        order = np.argsort(-self.size[item], kind="stable")
        item, slot = item[order].astype(np.int64), slot[order]
        keep = self._allowed(item, slot, there)
        item, slot = item[keep], slot[keep]
        added = self._added(item, slot, there)
        while self.load[there] < self.low[there]:
            size = self.size[item]
            fits = size <= (self.load - self.low)[slot]
            fits &= size <= int(self.high[there] - self.load[there])
            wanted = int(self.low[there] - self.load[there])
            k = self._pick(item, slot, added * self.part[item], fits, wanted)
            if k < 0:
                return
            chosen = int(item[k])
            self._relocate(chosen, int(slot[k]), there)
            rest = item != chosen
            item, slot, added = item[rest], slot[rest], added[rest]

    def _pick(self, item: Ints, partner: Ints, cost: Ints, fits: Bools, wanted: int) -> int:
        """Index of the cheapest step that fits: the largest item up to ``wanted``, else the
        smallest above it; for this item, the partner with the fewest of its family, then the most
        free space. -1 where none fits. ``item`` is sorted by decreasing size."""
        if not fits.any():
            return -1
        able = np.flatnonzero(fits & (cost == cost[fits].min()))
        size = self.size[item[able]]
        within = np.searchsorted(-size, -wanted)
        chosen = int(item[able[within if within < len(able) else len(able) - 1]])
        same = able[item[able] == chosen]
        count = self.of_family[self.problem.family[chosen], partner[same]]
        free_size = (self.high - self.load)[partner[same]]
        return int(same[np.lexsort((partner[same], -free_size, count))[0]])

    def _exchange_once(self) -> bool:
        """Make the best exchange for a slot outside its band, slots furthest outside first."""
        over = self.load - self.high
        for slot in np.argsort(-over, kind="stable").tolist():
            if over[slot] <= 0:
                break
            partners = np.argsort(self.load - self.high, kind="stable")[:_PARTNERS]
            pairs = [(slot, int(p)) for p in partners.tolist() if p != slot]
            if self._best_exchange(pairs, int(over[slot])):
                return True
        under = self.low - self.load
        for slot in np.argsort(-under, kind="stable").tolist():
            if under[slot] <= 0:
                break
            partners = np.argsort(self.low - self.load, kind="stable")[:_PARTNERS]
            pairs = [(int(p), slot) for p in partners.tolist() if p != slot]
            if self._best_exchange(pairs, int(under[slot])):
                return True
        return False

    def _best_exchange(self, pairs: list[tuple[int, int]], wanted: int) -> bool:
        """Among all pairs (from, to), make the exchange that shifts most, up to ``wanted``."""
        best: tuple[int, int, int, int, int, int] | None = None
        for full, empty in pairs:
            most = min(
                wanted,
                int(self.high[empty] - self.load[empty]),
                int(self.load[full] - self.low[full]),
            )
            if most <= 0 or (best is not None and -best[0] >= most and best[1] <= 0):
                continue
            for found in self._exchanges(full, empty, most):
                if best is None or found < best:
                    best = found
        if best is None:
            return False
        _, _, goes, comes, full, empty = best
        self._relocate(goes, full, empty)
        self._relocate(comes, empty, full)
        return True

    def _exchanges(
        self, full: int, empty: int, most: int
    ) -> Iterator[tuple[int, int, int, int, int, int]]:
        """For each effect on the bytes moved, the best exchange of two items between two slots that
        shifts at most ``most``: (-shift, added bytes, goes, comes, full, empty)."""
        goes = np.flatnonzero(self.holds[full] & ~self.holds[empty])
        comes = np.flatnonzero(self.holds[empty] & ~self.holds[full])
        goes, comes = (
            goes[self._allowed(goes, full, empty)],
            comes[self._allowed(comes, empty, full)],
        )
        comes = comes[np.argsort(self.size[comes], kind="stable")]
        added_out, added_in = self._added(goes, full, empty), self._added(comes, empty, full)
        for way in (-1, 0, 1):
            some = comes[added_in == way]
            if len(some) == 0 or len(goes) == 0:
                continue
            place = np.searchsorted(self.size[some], self.size[goes] - most)
            real = place < len(some)
            partner = some[np.minimum(place, len(some) - 1)]
            shift = self.size[goes] - self.size[partner]
            real &= shift > 0
            if not real.any():
                continue
            one, other, gain = goes[real], partner[real], shift[real]
            added = added_out[real] * self.copied[one] + way * self.copied[other]
            k = int(np.lexsort((other, one, added, -gain))[0])
            yield (-int(gain[k]), int(added[k]), int(one[k]), int(other[k]), full, empty)

    # -- saving bytes

    def _moved(self) -> tuple[Ints, Ints]:
        """(item, slot) of all moves, largest first."""
        slot, item = np.nonzero(self.holds & ~self.own)
        order = np.lexsort((slot, item, -self.copied[item]))
        return item[order].astype(np.int64), slot[order].astype(np.int64)

    def _send_home(self) -> None:
        item, slot = self._moved()
        for i, here in zip(item.tolist(), slot.tolist(), strict=True):
            size = int(self.size[i])
            if size == 0 or self.load[here] - size < min(self.low[here], self.load[here]):
                continue
            homes = np.flatnonzero(self.own[:, i] & ~self.holds[:, i])
            homes = homes[self.load[homes] + size <= self.high[homes]]
            homes = homes[self._allowed(np.full(len(homes), i), here, homes)]
            if len(homes):
                best = np.lexsort((homes, (self.load - self.high)[homes]))
                self._relocate(i, here, int(homes[best[0]]))

    def replace_moved(self, enough: int = 0, *, alike: bool = False) -> None:
        """Move the smallest possible item instead of one that moved, where both bands allow it, the
        largest first, until at most ``enough`` bytes move; ``alike``: of the same family."""
        family = self.problem.family
        item, slot = self._moved()
        moved = int(self.copied[item].sum())
        for i, here in zip(item.tolist(), slot.tolist(), strict=True):
            if moved <= enough:
                return
            for home in np.flatnonzero(self.own[:, i] & ~self.holds[:, i]).tolist():
                most = min(
                    int(self.high[home] - self.load[home]), int(self.load[here] - self.low[here])
                )
                back = min(
                    int(self.high[here] - self.load[here]), int(self.load[home] - self.low[home])
                )
                if most < 0 or not self._allowed(np.array([i]), here, home)[0]:
                    continue
                staying = self.holds[home] & self.own[home] & ~self.own[here] & ~self.holds[here]
                if alike:
                    staying &= family == family[i]
                some = np.flatnonzero(staying & (self.copied < self.copied[i]))
                shift = self.size[i] - self.size[some]
                some = some[(shift <= most) & (shift >= -max(back, 0))]
                some = some[self._allowed(some, home, here)]
                if len(some):
                    other = int(some[np.lexsort((some, self.copied[some]))[0]])
                    self._relocate(i, here, home)
                    self._relocate(other, home, here)
                    moved -= int(self.copied[i] - self.copied[other])
                    break
