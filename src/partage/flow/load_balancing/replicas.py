"""Search for replica sets that bring several loads of every slot into their bands, moving little.

A load is a vector per item, the same for each of its replicas. The search starts from slots that
break no rule and

- *fills*: slots with too few replicas take some from slots that must, or best can, give them, up to
  a target load within the bands. Each is one whose loads point in the direction that both slots
  lack then, so that all loads approach the target together; that hardly exceeds it; and that has
  little in common with the slot (``overlap``);
- *repairs*: the slot furthest outside a band gives or takes a replica, or exchanges one, with the
  highest decrease of the squared distances for each byte moved in addition;
- *saves*: replicas return home, and smaller replicas move in place of larger ones, where the bands
  allow it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partage.arrays import Bools, Floats, Ints
from partage.flow.assignment import AssignmentProblem, loads_of
from partage.flow.assignment.problem import as_rows
from partage.flow.load_balancing.bands import Bands, Penalty
from partage.flow.load_balancing.overlap import Overlap
from partage.flow.load_balancing.targets import counts_by_surplus, target_loads, zones_fixed
from partage.flow.load_balancing.worst_first import improve_worst_first
from partage.flow.size_balancing.band_search import BandSearch

_MARGIN = 0.01
"""The share of a band's width that targets and repairs keep from its edges."""

_BEYOND = 0.25
"""The share of a band's width by which filling may exceed a target."""

_SOURCES = 2
"""Slots that one turn of filling takes replicas from."""

_PARTNERS, _SAMPLE = 4, 48
"""Slots that are tried on the other side of a step, and replicas of each in exchanges."""

_MORE = 3
"""Times as many where these do not help and the slot is outside its bands."""

_EXCHANGES, _HOMES = 400, 16
"""Exchanges for smaller replicas that are made for a slot at most, and homes tried for each."""

_FREE = 0.05
"""Moving this share of an item's mean size counts as nothing."""

LEAST_GAIN, LEAST_SHARE = 1e-15, 1e-3
"""The least decrease of the squared distances, and as a share of those of both slots."""

_HALF = 0.5 + 1e-6

Step = tuple[float, list[tuple[int, int]]]
"""What a step is worth, and (replica, new slot) of each replica that it moves."""


def legal_start(problem: AssignmentProblem, low: Ints, high: Ints) -> Ints:
    """[I, max demand] the current slots, with the necessary changes only: where an item breaks a
    rule, slots with the most space in a band [E] of sizes."""
    start = BandSearch(problem, low, high)
    if start.wrong().any():
        start.repair_counts()
    return start.arrangement()


def _any_is(rows: Ints, slot: int | Ints) -> Bools:
    """[N] whether any of ``rows`` [N, any] is the slot (one, or one each). For few columns this is
    faster than ``any`` over an axis."""
    found = np.zeros(len(rows), dtype=np.bool_)
    for column in rows.T:
        found |= column == slot
    return found


def _direction(way: Floats) -> Floats:
    return np.asarray(way / max(float(np.sqrt((way * way).sum())), 1e-300))


class ReplicaSearch:
    """An assignment under change. Replicas are numbered ``item * R + column``; ``home`` are the
    slots that hold the item today."""

    def __init__(
        self, problem: AssignmentProblem, load: Ints, base: Ints, bands: Bands, start: Ints
    ) -> None:
        self.problem = problem
        self.zone = problem.zone_of
        self.least, self.most = problem.item_bounds
        self.bands, self.penalty = Penalty(bands), Penalty(bands, _MARGIN)
        self.target_band = self.penalty.low, self.penalty.high
        unit = self.penalty.unit
        each = np.ascontiguousarray((load / unit[:, None]).T)
        self.weight = np.repeat(each, start.shape[1], axis=0)
        self.size = problem.move_size.astype(np.float64)
        self.free = max(float(self.size.mean()), 1.0) * _FREE
        self.slots, self.home = start.copy(), np.sort(problem.own, axis=1)
        self.width = start.shape[1]
        self.load = np.ascontiguousarray((loads_of(start, load, base) / unit[:, None]).T)
        self.one = float(self.weight[0, 0])
        self.half = self.one * _HALF  # strictly more: a move brings the counts closer to the target
        self.random = np.random.default_rng(0)
        self._index()

    def _index(self) -> None:
        """Members of each slot, and the place of each replica among them."""
        e, flat = self.problem.slots, self.slots.ravel()
        replica = np.flatnonzero(flat >= 0)
        order = replica[np.argsort(flat[replica], kind="stable")]
        self.count = np.bincount(flat[replica], minlength=e)
        edge = np.concatenate(([0], np.cumsum(self.count)))
        self.members = np.zeros((e, 2 * int(self.count.max(initial=1)) + 16), dtype=np.int64)
        self.place = np.zeros(len(flat), dtype=np.int64)
        for slot in range(e):
            mine = order[edge[slot] : edge[slot + 1]]
            self.members[slot, : len(mine)] = mine
            self.place[mine] = np.arange(len(mine))
        self.in_zone = np.zeros((self.problem.items, self.problem.zones), dtype=np.int64)
        np.add.at(self.in_zone, (replica // self.width, self.zone[flat[replica]]), 1)
        self.overlap = Overlap(self.problem, self.slots)
        self.stays = np.zeros(len(flat), dtype=np.bool_)
        self.stays[replica] = self._at_home(replica, flat[replica])

    def run(self, stop: Callable[[], bool]) -> None:
        """All three phases; ``stop``: asked between steps whether to end."""
        self._fill(stop)
        self._repair(stop)
        self._send_home()
        self._shrink(stop)

    def rows(self) -> Ints:
        """[I, max demand] slots of each item, ascending, -1 padded."""
        item, column = np.nonzero(self.slots >= 0)
        return as_rows(self.problem, item.astype(np.int64), self.slots[item, column])

    # -- replicas

    def _on(self, slot: int) -> Ints:
        return self.members[slot, : self.count[slot]]

    def _at_home(self, replica: Ints, slot: int | Ints) -> Bools:
        """Whether ``slot`` (one, or one each) holds the replicas' items today."""
        return _any_is(self.home[replica // self.width], slot)

    def _movable(self, replica: Ints, here: int, there: int) -> Bools:
        """Which replicas on ``here`` may go to ``there``."""
        item = replica // self.width
        allowed = ~_any_is(self.slots[item], there)
        of, to = self.zone[here], self.zone[there]
        if of != to:
            allowed &= self.in_zone[item, to] < self.most[item]
            allowed &= self.in_zone[item, of] > self.least[item]
        return np.asarray(allowed)

    def _added(self, replica: Ints, there: int) -> Floats:
        """The bytes that moving each replica adds to what moves; negative: saves."""
        change = self.stays[replica].astype(np.float64) - self._at_home(replica, there)
        return np.asarray(change * self.size[replica // self.width])

    def _move(self, replica: int, there: int) -> None:
        item, column = divmod(replica, self.width)
        here = int(self.slots[item, column])
        last = int(self.members[here, self.count[here] - 1])
        self.members[here, self.place[replica]] = last
        self.place[last] = self.place[replica]
        self.count[here] -= 1
        if self.count[there] == self.members.shape[1]:
            self.members = np.pad(self.members, ((0, 0), (0, self.members.shape[1])))
        self.members[there, self.count[there]] = replica
        self.place[replica] = self.count[there]
        self.count[there] += 1
        self.overlap.move(item, self.slots[item], here, there)
        self.slots[item, column] = there
        self.stays[replica] = there in self.home[item].tolist()
        self.load[here] -= self.weight[replica]
        self.load[there] += self.weight[replica]
        self.in_zone[item, self.zone[here]] -= 1
        self.in_zone[item, self.zone[there]] += 1

    # -- fill

    def _fill(self, stop: Callable[[], bool]) -> None:
        """Move replicas from slots above their target count to slots below."""
        fixed = zones_fixed(self.problem)
        target = target_loads(self.load, *self.target_band, self.zone, fixed)
        target[:, 0] = counts_by_surplus(self.load, target, *self.target_band, self.zone)
        done = np.zeros(self.problem.slots, dtype=np.bool_)
        while not stop():
            lacking = np.where(done, 0, target[:, 0] - self.load[:, 0])
            there = int(lacking.argmax())
            if lacking[there] < self.half:
                return
            done[there] = not self._take(there, target)

    def _take(self, there: int, target: Floats) -> bool:
        """Take replicas from the highest slots that have any for this one, of other zones only if
        none of the same zone has; whether some slot has."""
        spare = self.load[:, 0] - target[:, 0]
        order = np.argsort(-spare, kind="stable")
        order = order[spare[order] >= self.half]
        near = self.zone[order] == self.zone[there]
        for sources in (order[near], order[~near]):
            given = 0
            for here in sources.tolist():
                given += self._pour(here, there, target)
                if given == _SOURCES:
                    break
            if given:
                return True
        return False

    def _pour(self, here: int, there: int, target: Floats) -> bool:
        """Move some replicas, one by one: whose loads point most in the direction that both slots
        then lack, and that have little in common with the slot and hardly exceed its target.
        Whether there is any."""
        replica = self._on(here)
        replica = replica[self.stays[replica]]
        replica = replica[self._movable(replica, here, there)]
        weight = self.weight[replica]
        length = np.sqrt((weight * weight).sum(axis=1))
        item = replica // self.width
        common = self.overlap.added(item, self.slots[item], here, there)
        spare, lacking = (
            self.load[here, 0] - target[here, 0],
            target[there, 0] - self.load[there, 0],
        )
        enough = max(1, int(min(spare, lacking) / self.one + 0.5))
        most = min(enough, max(4, enough // 4), len(replica))
        low, high = self.penalty.low[there], self.penalty.high[there]
        limit = np.minimum(target[there] + _BEYOND * (high - low), high)
        for moved in range(most):
            way = _direction(self.load[here] - target[here])
            way -= _direction(self.load[there] - target[there]) / 3
            gain = (weight * way).sum(axis=1) / length - common
            gain[(weight > limit - self.load[there]).any(axis=1)] = -np.inf
            best = int(gain.argmax())
            if np.isneginf(gain[best]):
                return moved > 0
            self._move(int(replica[best]), there)
            common[best] = np.inf
        return most > 0

    # -- repair

    def _repair(self, stop: Callable[[], bool]) -> None:
        """Bring the slot furthest outside its bands closer, until no step helps."""
        improve_worst_first(
            lambda: self.penalty.at(self.load),
            lambda slot: (
                self._improve(slot, 1) or (self._outside(slot) and self._improve(slot, _MORE))
            ),
            stop,
            LEAST_GAIN,
        )

    def _outside(self, slot: int) -> bool:
        """Whether a slot is outside its bands, not only in their margins."""
        return bool(self.bands.at(self.load[slot], slot) > 0)

    def _improve(self, slot: int, effort: int) -> bool:
        """Make the best step of a slot with one of its partners, if any helps."""
        best: Step = (0.0, [])
        for other in self._partners(slot, effort):
            for found in self._steps(slot, other, _SAMPLE * effort):
                best = max(best, found, key=lambda step: step[0])
        for replica, there in best[1]:
            self._move(replica, there)
        return bool(best[1])

    def _partners(self, slot: int, effort: int) -> list[int]:
        """Slots with most space for what this one lacks or has too much of; with more effort, also
        the one of each zone, since few replicas may be able to go to the others."""
        wrong = self.penalty.signed(self.load)[slot]
        low, high = self.penalty.low, self.penalty.high
        middle = (self.load - (low + high) / 2) * self.penalty.scale
        space = -(middle * np.sign(wrong)).sum(axis=1)
        space[slot] = -np.inf
        order = np.argsort(-space, kind="stable")
        found = order[: _PARTNERS * effort]
        if effort > 1:
            first = np.unique(self.zone[order], return_index=True)[1]
            found = np.concatenate((found, order[np.sort(first)]))
        return [other for other in dict.fromkeys(found.tolist()) if other != slot]

    def _steps(self, slot: int, other: int, most: int) -> list[tuple[float, list[tuple[int, int]]]]:
        """The best transfer each way, and the best exchange: (worth, [(replica, to slot)])."""
        here, there = self._on(slot), self._on(other)
        here = here[self._movable(here, slot, other)]
        there = there[self._movable(there, other, slot)]
        found = []
        for replica, source, sink in ((here, slot, other), (there, other, slot)):
            change = self.weight[replica]
            worth = self._worth(source, sink, change, self._added(replica, sink))
            if len(worth) and worth.max() > 0:
                found.append((float(worth.max()), [(int(replica[worth.argmax()]), sink)]))
        if len(here) and len(there):
            here, there = self._sample(here, most), self._sample(there, most)
            given, taken = (self.weight[part] for part in (here, there))
            change = given[:, None] - taken[None, :]
            added = self._added(here, other)[:, None] + self._added(there, slot)
            worth = self._worth(slot, other, change, added)
            one, two = divmod(int(worth.argmax()), len(there))
            if worth[one, two] > 0:
                pair = [(int(here[one]), other), (int(there[two]), slot)]
                found.append((float(worth[one, two]), pair))
        return found

    def _worth(self, source: int, sink: int, change: Floats, added: Floats) -> Floats:
        """The decrease of the penalty when ``change`` [..., K] goes from source to sink, by bytes
        added; 0 or less where it does not help."""
        penalty, load = self.penalty, self.load
        before = penalty.at(load[source], source) + penalty.at(load[sink], sink)
        after = penalty.at(load[source] - change, source) + penalty.at(load[sink] + change, sink)
        gain = before - after
        gain = np.where(gain > max(LEAST_GAIN, LEAST_SHARE * float(before)), gain, 0)
        return np.asarray(gain / (np.maximum(added, 0) + self.free))

    def _sample(self, replica: Ints, most: int = _SAMPLE) -> Ints:
        """At most ``most`` replicas, half of them of those that moved, if there are as many."""
        if len(replica) <= most:
            return replica
        order = self.random.permutation(len(replica))
        order = order[np.argsort(self.stays[replica[order]], kind="stable")]
        half = most // 2
        return np.asarray(replica[np.concatenate((order[:half], order[-half:]))])

    # -- save

    def _within(self, slot: int, load: Floats) -> Bools:
        """Which loads [..., K] of a slot are no further outside the bands than today's."""
        low = np.minimum(self.penalty.low[slot], self.load[slot])
        high = np.maximum(self.penalty.high[slot], self.load[slot])
        return np.asarray(((low <= load) & (load <= high)).all(axis=-1))

    def _strangers(self, slot: int) -> Ints:
        """Replicas on a slot that did not hold their items today, largest first."""
        replica = self._on(slot)
        replica = replica[~self.stays[replica]]
        return replica[np.lexsort((replica, -self.size[replica // self.width]))]

    def _homes(self, replica: int) -> list[int]:
        """Slots that held the item and do not now."""
        item = replica // self.width
        mine = self.slots[item].tolist()
        return [h for h in self.home[item].tolist() if h >= 0 and h not in mine]

    def _send_home(self) -> None:
        """Return replicas to their homes where all bands allow it."""
        for slot in range(self.problem.slots):
            for replica in self._strangers(slot).tolist():
                weight = self.weight[replica]
                if not self._within(slot, self.load[slot] - weight):
                    continue
                for home in self._homes(replica):
                    fits = self._within(home, self.load[home] + weight)
                    if fits and self._movable(np.array([replica]), slot, home)[0]:
                        self._move(replica, home)
                        break

    def _shrink(self, stop: Callable[[], bool]) -> None:
        """Exchange replicas that moved for smaller ones of the same home, while the bands allow
        it."""
        for slot in range(self.problem.slots):
            for _ in range(_EXCHANGES):
                if stop() or not self._shrink_one(slot):
                    break

    def _shrink_one(self, slot: int) -> bool:
        """The exchange that saves most bytes, with the homes of most replicas that moved here."""
        best: tuple[float, int, int, int] = (self.free, -1, -1, -1)
        moved = self._strangers(slot)
        homes = self.home[moved // self.width].ravel()
        homes, count = np.unique(homes[homes >= 0], return_counts=True)
        for home in homes[np.argsort(-count, kind="stable")][:_HOMES].tolist():
            back = moved[self._at_home(moved, home)]
            back = self._sample(back[self._movable(back, slot, home)])
            rest = self._on(home)
            rest = self._sample(rest[self.stays[rest]])
            rest = rest[self._movable(rest, home, slot) & ~self._at_home(rest, slot)]
            if not len(back) or not len(rest):
                continue
            change = self.weight[back][:, None] - self.weight[rest]
            saved = self.size[back // self.width][:, None] - self.size[rest // self.width]
            fits = self._within(slot, self.load[slot] - change)
            fits &= self._within(home, self.load[home] + change)
            saved = np.where(fits, saved, 0)
            one, two = divmod(int(saved.argmax()), len(rest))
            if saved[one, two] > best[0]:
                best = (float(saved[one, two]), int(back[one]), int(rest[two]), home)
        if best[1] < 0:
            return False
        self._move(best[1], best[3])
        self._move(best[2], slot)
        return True
