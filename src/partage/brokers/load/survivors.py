"""After a broker fails, less load on the survivor that carries most: a search over the order of
followers.

If a leader fails, the next replica of each list takes over what it receives from producers and
what it sends. Replica sets and leaders stay; followers change places in the lists of one leader,
such that each survivor counts as many leaders after its failure, or two exchange counts that differ
by one: in the first list from broker x to y, in the next from y to z, until the counts are kept.
After a rack's failure no survivor counts more than the worst.

Each chain lowers the worst survivor, the largest share of what is fair for a broker, as far as a
chain of up to four lists can that passes each broker once. A search in layers finds it: of the
chains of one length with the same first and the same last list, only the best is made longer. If
none helps, chains that pass their second broker twice are tried: from there to another broker and
back, then on. A step takes time in proportion to the pairs of lists that can follow each other,
times the first lists; where one survivor takes over many partitions, only some of them are tried.

The search ends where no chain lowers the worst survivor, so a second run changes nothing, or at the
time limit. It does not prove its result.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.brokers.figures import Placement
from partage.brokers.leaders import Led, lead
from partage.brokers.load.model import LED, LoadModel
from partage.brokers.problem import Problem
from partage.brokers.survivors import too_large_to_search

_MOVED = [LED.index("out"), LED.index("leader_in")]
_LEAST = 1e-9
"""How much a chain must gain, as a share of what is fair."""
_LENGTH = 4
"""Most lists in a chain. The layers do not exclude that longer ones pass a broker twice."""
_MOST = 32
"""Most exchanges that are tried of those that relieve one survivor after one failure."""


def relieve_survivors(problem: Problem, led: Led) -> Led:
    """The lists as they are, or with followers in an order that is better after a failure."""
    few = len(problem.slot_brokers) < 3 or led.replicas.shape[1] < 3
    if few or too_large_to_search(problem) or problem.clock.stopped:
        return led
    search = _Search(problem, led.replicas)
    if not search.run():
        return led
    found = lead(problem.again(problem.cluster.with_replicas(search.lists)), search.lists)
    return found if (found.replicas == search.lists).all() else led


class _Exchanges(Struct, frozen=True, eq=False):
    """The first follower and a later one of a list of one leader change places.

    - ``row``, ``at`` [A]: the list, and the place of the later follower in it
    - ``giver``, ``taker`` [A]: the slots of the first follower before and after
    - ``given``, ``taken`` [2, A]: the load that is taken over, as a share of what is fair for each
    """

    row: Ints
    at: Ints
    giver: Ints
    taker: Ints
    given: Floats
    taken: Floats


class _Search:
    """``carried`` [2, E, E]: load out and in as leader, of each survivor after each failure, and
    ``share`` of what is fair; ``count`` [E, E]: leaders, ``rack_count`` [Z, E] after a rack's.
    Loads are whole numbers, so a second run has the same sums."""

    def __init__(self, problem: Problem, lists: Ints) -> None:
        model = LoadModel.of(problem)
        after = problem.cluster.with_replicas(lists)
        placement, place = Placement(after, problem.usable), problem.slot_brokers
        self.clock = problem.clock
        self.lists = lists.copy()
        self.slots = problem.broker_slot[lists]
        self.rack = problem.cluster.rack[place]
        self.racks_fail = bool(placement.failing_racks())
        self.moved = model.led[_MOVED].astype(np.float64)
        self.fair = model.led_bands.fair[_MOVED].astype(np.float64)
        led = placement.leader_counts()[place]
        self.count = led + placement.takeovers()[np.ix_(place, place)]
        self.rack_count = led + placement.rack_takeovers()[:, place]
        load, follower = model.loads(after)[1][_MOVED], placement.first_followers()
        self.carried = self._carried(load, problem.broker_slot[follower])
        self.share = self.carried / self.fair[:, None, :]
        self.rows = self._rows(problem)

    def _carried(self, load: Ints, taker: Ints) -> Floats:
        taken = np.zeros((2, load.shape[1], load.shape[1]))
        leader = self.slots[:, 0]
        some = (leader >= 0) & (taker >= 0)
        for k in range(2):
            np.add.at(taken[k], (leader[some], taker[some]), self.moved[k, some])
        carried = load[:, None, :] + taken
        carried[:, np.arange(load.shape[1]), np.arange(load.shape[1])] = 0
        return np.asarray(carried)

    def _rows(self, problem: Problem) -> list[Ints]:
        """By leader, the rows that may change, in ascending order of their load."""
        held, usable = (self.lists >= 0).sum(axis=1), (self.slots >= 0).sum(axis=1)
        may = np.flatnonzero(problem.chosen & (held == usable) & (held > 2))
        load = (self.moved[:, may] / self.fair.mean(axis=1)[:, None]).max(axis=0)
        may = may[np.argsort(load, kind="stable")]
        leader = self.slots[may, 0]
        return [may[leader == slot] for slot in range(len(problem.slot_brokers))]

    def run(self) -> bool:
        """Make steps until none lowers the worst survivor, or the time is over. Returns whether any
        was made."""
        made = False
        while not self.clock.stop():
            worst = self.share.max(axis=0)
            leader, survivor = divmod(int(worst.argmax()), len(worst))
            exchanges = self._exchanges(leader)
            chains = _Chains(
                self.share[:, leader], exchanges, survivor, self._alike(leader, survivor)
            )
            chain = chains.best(float(worst[leader, survivor]) - _LEAST)
            if not chain:
                break
            for index in chain:
                self._make(leader, exchanges, index)
            made = True
        return made

    def _exchanges(self, leader: int) -> _Exchanges:
        rows = self.rows[leader]
        index, column = np.nonzero(self.slots[rows, 2:] >= 0)
        row, at = rows[index], column + 2
        giver, taker = self.slots[row, 1], self.slots[row, at]
        if self.racks_fail:
            # in the leader's rack: when the rack fails, another broker takes over
            inside = self.rack == self.rack[leader]
            apart = ~(inside[giver] | inside[taker])
            row, at, giver, taker = (part[apart] for part in (row, at, giver, taker))
        tried = _some_of_each(giver)
        row, at, giver, taker = (part[tried] for part in (row, at, giver, taker))
        load = self.moved[:, row]
        given, taken = load / self.fair[:, giver], load / self.fair[:, taker]
        return _Exchanges(row, at, giver, taker, given, taken)

    def _alike(self, leader: int, x: int) -> Bools:
        """[E] whether the counts of x and of another survivor change places if one leader goes from
        x to it, and after a rack's failure no survivor counts more than the worst."""
        alike = self.count[leader] + 1 == self.count[leader, x]
        if self.racks_fail:
            alike &= self.rack_count[self.rack[leader]] < self.rack_count.max()
        return np.asarray(alike)

    def _make(self, leader: int, exchanges: _Exchanges, index: int) -> None:
        row, at = int(exchanges.row[index]), int(exchanges.at[index])
        for slot, sign in ((exchanges.giver[index], -1), (exchanges.taker[index], 1)):
            carried = self.carried[:, leader, slot]
            carried += sign * self.moved[:, row]
            self.share[:, leader, slot] = carried / self.fair[:, slot]
            self.count[leader, slot] += sign
            if self.racks_fail:
                self.rack_count[self.rack[leader], slot] += sign
        for lists in (self.lists, self.slots):
            lists[row, [1, at]] = lists[row, [at, 1]]


class _Chains:
    """The chains of exchanges that begin at the worst survivor of a failure and keep the counts.

    - ``share`` [2, E]: of the survivors
    - ``first`` [F]: exchanges with which a chain can begin
    - ``ends`` [F, A]: by the first and the last exchange, the share of the worst survivor and of
      the last taker after the chain; infinite if it cannot end there
    """

    def __init__(self, share: Floats, exchanges: _Exchanges, worst: int, alike: Bools) -> None:
        self.share, self.exchanges, self.worst = share, exchanges, worst
        giver, taker, taken = exchanges.giver, exchanges.taker, exchanges.taken
        self.first = np.flatnonzero(giver == worst)
        left = share[:, [worst]] - exchanges.given[:, self.first]
        back = (left[:, :, None] + taken[:, None, :]).max(axis=0)
        on = np.maximum(left.max(axis=0)[:, None], (share[:, taker] + taken).max(axis=0))
        on[:, ~alike[taker]] = np.inf
        self.ends = np.where(taker == worst, back, on)

    def best(self, limit: float) -> list[int]:
        """The exchanges of the chain after which the largest share of all brokers on it is least;
        none if it is not below the limit."""
        chain: list[int] = []
        before: list[Ints] = []
        level = np.full(self.ends.shape, np.inf)
        level[np.arange(len(self.first)), self.first] = 0
        for length in range(1, _LENGTH + 1):
            if length > 1:
                level, previous = self._longer(level, limit, last=length == _LENGTH)
                before.append(previous)
            value = np.maximum(level, self.ends)
            least = float(value.min(initial=np.inf))
            if least < limit:
                limit = least
                first, index = divmod(int(value.argmin()), value.shape[1])
                chain = [index]
                for previous in reversed(before):
                    chain.insert(0, int(previous[first, chain[0]]))
        return chain or self._best_with_return(limit)

    def _best_with_return(self, limit: float) -> list[int]:
        """The same of the chains that pass their second broker twice."""
        chain: list[int] = []
        for slot in np.unique(self.exchanges.taker[self.first]).tolist():
            limit, chain = self._with_return(slot, limit) or (limit, chain)
        return chain

    def _longer(self, level: Floats, limit: float, *, last: bool) -> tuple[Floats, Ints]:
        """From chains of one length to those with one exchange more, and which exchange is before
        it: both [F, A]. ``level`` [F, A]: by the first and the last exchange, the largest share of
        the brokers between, infinite for no chain. Only chains below the limit are made longer;
        what they get as their ``last`` exchange must be able to end one."""
        giver, taker = self.exchanges.giver, self.exchanges.taker
        can_end = self.ends < limit
        useful = (level < limit) & (taker != self.worst) & can_end.any(axis=1)[:, None]
        wanted = can_end.any(axis=0) | (not last)
        longer, before = np.full_like(level, np.inf), np.zeros(level.shape, dtype=np.int64)
        rows = np.flatnonzero(useful.any(axis=1))
        for slot in np.unique(taker[useful.any(axis=0)]).tolist():
            at = np.flatnonzero(useful.any(axis=0) & (taker == slot))
            to = np.flatnonzero(wanted & (giver == slot))
            value = np.maximum(level[np.ix_(rows, at)][:, :, None], self._shares(slot, at, to))
            best = value.argmin(axis=1)
            before[np.ix_(rows, to)] = at[best]
            longer[np.ix_(rows, to)] = np.take_along_axis(value, best[:, None], axis=1)[:, 0]
        longer[taker == taker[self.first][:, None]] = np.inf
        return longer, before

    def _with_return(self, slot: int, limit: float) -> tuple[float, list[int]] | None:
        """The least largest share and its chain, of those that go from the worst survivor to a
        broker, from there to another and back, and on to an end; None if it is not below the
        limit."""
        exchanges, taker = self.exchanges, self.exchanges.taker
        first = np.flatnonzero(taker[self.first] == slot)
        to = np.flatnonzero((exchanges.giver == slot) & (self.ends[first] < limit).any(axis=0))
        out, back, other = self._returns(slot, limit)
        if not len(to) or not len(out):
            return None
        more = exchanges.taken[:, back] - exchanges.given[:, out]
        share = self.share[:, slot, None, None] + exchanges.taken[:, self.first[first], None]
        share = (share + more[:, None, :])[:, :, :, None] - exchanges.given[:, None, None, to]
        value = np.maximum(share.max(axis=0), other[:, None])
        value = np.maximum(value, self.ends[np.ix_(first, to)][:, None, :])
        row = exchanges.row
        value[:, (row[out][:, None] == row[to]) | (taker[out][:, None] == taker[to])] = np.inf
        f, i, j = np.unravel_index(int(value.argmin()), value.shape)
        if value[f, i, j] >= limit:
            return None
        chain = [self.first[first[f]], out[i], back[i], to[j]]
        return float(value[f, i, j]), [int(index) for index in chain]

    def _returns(self, slot: int, limit: float) -> tuple[Ints, Ints, Floats]:
        """[C] exchanges of a broker with others but the worst survivor, one to and one from the
        other, and the other's share after both, where it is below the limit."""
        giver, taker = self.exchanges.giver, self.exchanges.taker
        out = np.flatnonzero((giver == slot) & (taker != self.worst))
        back = np.flatnonzero(taker == slot)
        i, j = np.nonzero(taker[out][:, None] == giver[back])
        out, back = out[i], back[j]
        given, taken = self.exchanges.given[:, back], self.exchanges.taken[:, out]
        other = (self.share[:, taker[out]] + taken - given).max(axis=0)
        return out[other < limit], back[other < limit], other[other < limit]

    def _shares(self, slot: int, at: Ints, to: Ints) -> Floats:
        """[at, to] the share of a survivor between two exchanges; infinite where the chain would
        return to the broker before it, which only the worst survivor may be."""
        giver, taker = self.exchanges.giver[at], self.exchanges.taker[to]
        taken, given = self.exchanges.taken[:, at], self.exchanges.given[:, to]
        share = self.share[:, slot, None, None] + taken[:, :, None] - given[:, None, :]
        returns = (giver[:, None] == taker) & (taker != self.worst)
        return np.where(returns, np.inf, share.max(axis=0))


def _some_of_each(giver: Ints) -> Ints:
    """Up to ``_MOST`` positions of each giver, evenly spaced, in ascending order."""
    by_giver = np.argsort(giver, kind="stable")
    chosen: list[Ints] = []
    for part in np.split(by_giver, np.cumsum(np.bincount(giver))[:-1]):
        few = min(len(part), _MOST)
        chosen.append(part[(2 * np.arange(few) + 1) * len(part) // max(2 * few, 1)])
    return np.sort(np.concatenate(chosen))
