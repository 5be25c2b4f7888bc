"""After a broker fails, less load on the survivor that carries most: a search over the order of
followers.

If a leader fails, the next replica of each list takes over what it receives from producers and
what it sends. Replica sets and leaders stay; followers change places in the lists of one leader,
such that each survivor counts as many leaders after its failure, or two exchange counts that differ
by one: in the first list from broker x to y, in the next from y to z, until the counts are kept.
After a rack's failure no survivor counts more than the worst.

Each chain lowers the worst survivor, the largest share of what is fair for a broker. The search
ends where none does, so a second run changes nothing; it does not prove its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import Placement
from partage.brokers.leaders import Led, lead
from partage.brokers.load.model import LED, LoadModel
from partage.brokers.problem import Problem
from partage.brokers.survivors import too_large_to_search

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOVED = [LED.index("out"), LED.index("leader_in")]
_LEAST = 1e-9
"""How much a chain must gain, as a share of what is fair."""
_LENGTH = 4
"""Most lists in a chain."""


def relieve_survivors(problem: Problem, led: Led) -> Led:
    """The lists as they are, or with followers in an order that is better after a failure."""
    few = len(problem.slot_brokers) < 3
    if few or too_large_to_search(problem) or problem.clock.stopped:
        return led
    search = _Search(problem, led.replicas)
    if not search.run():
        return led
    found = lead(problem.again(problem.cluster.with_replicas(search.lists)), search.lists)
    return found if (found.replicas == search.lists).all() else led


_Chain = tuple[tuple[int, int, int], ...]
"""(row, place in its list, the broker there) of each list whose first follower and that one are
exchanged; each row has the broker before it as first follower. The first entry is only a broker."""


class _Search:
    """``share`` [2, E, E]: load out and in as leader, of each survivor after each failure, as a
    share of what is fair; ``count`` [E, E]: leaders, ``rack_count`` [Z, E] after a rack's."""

    def __init__(self, problem: Problem, lists: Ints) -> None:
        model = LoadModel.of(problem)
        after = problem.cluster.with_replicas(lists)
        placement, place = Placement(after, problem.usable), problem.slot_brokers
        self.lists = lists.copy()
        self.slots = problem.broker_slot[lists]
        self.rack = problem.cluster.rack[place]
        self.moved = model.led[_MOVED].astype(np.float64)
        self.fair = model.led_bands.fair[_MOVED].astype(np.float64)
        led = placement.leader_counts()[place]
        self.count = led + placement.takeovers()[np.ix_(place, place)]
        racks = len(problem.cluster.rack_names)
        self.rack_count = led + (
            placement.rack_takeovers()[:, place] if racks else np.zeros((1, len(place)), np.int64)
        )
        load, follower = model.loads(after)[1][_MOVED], placement.first_followers()
        self.share = self._shares(load, problem.broker_slot[follower])
        self.rows = self._rows(problem)

    def _shares(self, load: Ints, taker: Ints) -> Floats:
        taken = np.zeros((2, load.shape[1], load.shape[1]))
        leader = self.slots[:, 0]
        some = (leader >= 0) & (taker >= 0)
        for k in range(2):
            np.add.at(taken[k], (leader[some], taker[some]), self.moved[k, some])
        share = (load[:, None, :] + taken) / self.fair[:, None, :]
        share[:, np.arange(load.shape[1]), np.arange(load.shape[1])] = 0
        return np.asarray(share)

    def _rows(self, problem: Problem) -> dict[tuple[int, int], list[int]]:
        """By leader and first follower, the rows that may change."""
        held, usable = (self.lists >= 0).sum(axis=1), (self.slots >= 0).sum(axis=1)
        may = problem.chosen & (held == usable) & (held > 2)
        found: dict[tuple[int, int], list[int]] = {}
        for row in np.flatnonzero(may).tolist():
            found.setdefault((int(self.slots[row, 0]), int(self.slots[row, 1])), []).append(row)
        return found

    def run(self) -> bool:
        """Make steps until none lowers the worst survivor. Returns whether any was made."""
        made = False
        while True:
            worst = self.share.max(axis=0)
            leader, survivor = divmod(int(worst.argmax()), len(worst))
            limit = float(worst[leader, survivor]) - _LEAST
            steps = [
                (value, chain)
                for chain in self._chains(leader, ((-1, -1, survivor),))
                if (value := self._worst_of(leader, chain)) < limit
            ]
            if not steps:
                return made
            self._make(leader, min(steps)[1])
            made = True

    def _chains(self, leader: int, chain: _Chain) -> Iterator[_Chain]:
        """The chains that begin with this one and keep the counts."""
        first, last = chain[0][2], chain[-1][2]
        used = {row for row, _, _ in chain}
        for row in self.rows.get((leader, last), []):
            if row in used:
                continue
            for at in range(2, int((self.slots[row] >= 0).sum())):
                taker = int(self.slots[row, at])
                if self.rack[leader] >= 0 and self.rack[leader] in self.rack[[last, taker]]:
                    continue  # when the rack fails, another broker takes over
                longer = (*chain, (row, at, taker))
                if taker == first or self._count_alike(leader, first, taker):
                    yield longer
                if taker != first and len(longer) <= _LENGTH:
                    yield from self._chains(leader, longer)

    def _count_alike(self, leader: int, x: int, y: int) -> bool:
        """Whether the counts of two survivors change places if one leader goes from x to y, and
        after a rack's failure no survivor counts more than the worst."""
        of_racks = self.rack_count
        worse = self.rack[leader] >= 0 and of_racks[self.rack[leader], y] >= of_racks.max()
        return bool(not worse and self.count[leader, x] == self.count[leader, y] + 1)

    def _moves(self, chain: _Chain) -> Iterator[tuple[int, int, Floats]]:
        """(from, to, load [2]) of each list in a chain."""
        for (_, _, giver), (row, _, taker) in pairwise(chain):
            yield giver, taker, self.moved[:, row]

    def _worst_of(self, leader: int, chain: _Chain) -> float:
        """The largest share of the survivors that a chain changes, after it."""
        share: dict[int, Floats] = {}
        for giver, taker, load in self._moves(chain):
            for slot, sign in ((giver, -1), (taker, 1)):
                now = share.get(slot, self.share[:, leader, slot])
                share[slot] = now + sign * load / self.fair[:, slot]
        return float(max(now.max() for now in share.values()))

    def _make(self, leader: int, chain: _Chain) -> None:
        for giver, taker, load in self._moves(chain):
            self.share[:, leader, giver] -= load / self.fair[:, giver]
            self.share[:, leader, taker] += load / self.fair[:, taker]
            for count in (self.count[leader], self.rack_count[max(int(self.rack[leader]), 0)]):
                count[giver] -= 1
                count[taker] += 1
        for row, at, taker in chain[1:]:
            self.rows[leader, int(self.slots[row, 1])].remove(row)
            for lists in (self.lists, self.slots):
                lists[row, [1, at]] = lists[row, [at, 1]]
            self.rows.setdefault((leader, taker), []).append(row)
