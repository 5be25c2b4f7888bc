"""After the failure of any one rack: first followers so that the survivors share its leaders.

An aim after all others of the order: leaders, worst survivor, sums of squares and changes stay as
they are. Let L(f) be the leaders of broker f and k(b, f) the partitions that f takes over when b
fails. If L(g) + k(b, g) + 1 = L(f) + k(b, f), a partition of leader b may have g instead of f as
its first follower: these two levels after the failure of b change places.

A search takes such changes, those first that help most, as long as the survivors of a rack's
failure become more even. It does not prove its result: the figure's ``ideal`` bounds how far it may
be from the best. Only partitions whose list is another than today anyhow are changed, so a second
run changes nothing.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints, first_where
from partage.brokers.figures import changed_sets, next_live, one_width
from partage.brokers.problem import Problem


def share_after_rack_failure(problem: Problem, lists: Ints, rows: Ints, pair: Ints) -> Ints:
    """[I] the pairs (leader slot * E + follower slot) of the ``rows`` [I], with other first
    followers where that helps. ``lists`` [P, R]: the order that the rest of a list keeps."""
    if not problem.cluster.rack_names or len(rows) == 0:
        return pair
    search = _Search.of(problem, lists, rows, pair)
    while search.improve():
        pass
    return np.asarray(search.leader * len(search.rack) + search.follower)


class _Search(Struct, eq=False):
    """Brokers are slots.

    - ``leader``, ``follower`` [I]: of the partitions; ``taker`` [I]: the leader when the rack fails
    - ``item``, ``option``, ``taken`` [A]: other first followers that partitions may have, and the
      leader then when the rack fails
    - ``level`` [E, E]: leaders of f after the failure of b; ``after`` [Z, E]: of a rack
    """

    rack: Ints
    leader: Ints
    follower: Ints
    taker: Ints
    item: Ints
    option: Ints
    taken: Ints
    level: Ints
    after: Ints

    @classmethod
    def of(cls, problem: Problem, lists: Ints, rows: Ints, pair: Ints) -> _Search:
        rack = problem.cluster.rack[problem.slot_brokers]
        slots, racks = len(rack), len(problem.cluster.rack_names)
        on = problem.broker_slot[lists]
        leader, follower = (
            on[:, 0].copy(),
            problem.broker_slot[next_live(lists, problem.cluster.alive)],
        )
        leader[rows], follower[rows] = pair // slots, pair % slots
        taker = _takers(on, leader, follower, rack)
        counts = np.bincount(leader[leader >= 0], minlength=slots)
        level, after = np.tile(counts, (slots, 1)), np.tile(counts, (racks, 1))
        some = (leader >= 0) & (follower >= 0)
        np.add.at(level, (leader[some], follower[some]), 1)
        some = (leader >= 0) & (taker >= 0)
        np.add.at(after, (rack[leader[some]], taker[some]), 1)

        leader, follower, taker, mine = leader[rows], follower[rows], taker[rows], on[rows]
        free = _changed(problem, lists, rows, leader, follower) & (taker >= 0)
        other = problem.may_follow(rows, lists[rows])
        other &= (mine != leader[:, None]) & (mine != follower[:, None])
        item, column = np.nonzero(other & free[:, None])
        option = mine[item, column]
        taken = _takers(mine[item], leader[item], option, rack)
        some = (taken >= 0) & (taken != taker[item])
        arcs = {"item": item[some], "option": option[some], "taken": taken[some]}
        return cls(
            rack=rack,
            leader=leader,
            follower=follower,
            taker=taker,
            level=level,
            after=after,
            **arcs,
        )

    def improve(self) -> bool:
        """Take the changes that help. Returns whether there was one."""
        leader = self.leader[self.item]
        follower, taker = self.follower[self.item], self.taker[self.item]
        rack = self.rack[leader]
        gain = self.after[rack, taker] - self.after[rack, self.taken]
        trade = self.level[leader, self.option] + 1 == self.level[leader, follower]
        helps = np.flatnonzero(trade & (gain >= 2) & (follower != self.option))
        by_gain = helps[np.argsort(-gain[helps], kind="stable")]
        return sum(map(self._take, by_gain.tolist())) > 0

    def _take(self, arc: int) -> bool:
        """Take a change if it still helps after those before it."""
        row = self.item[arc]
        level, after = self.level[self.leader[row]], self.after[self.rack[self.leader[row]]]
        follower, taker = self.follower[row], self.taker[row]
        option, taken = self.option[arc], self.taken[arc]
        if level[option] + 1 != level[follower] or after[taken] + 2 > after[taker]:
            return False
        level[option] += 1
        level[follower] -= 1
        after[taken] += 1
        after[taker] -= 1
        self.follower[row], self.taker[row] = option, taken
        return True


def _takers(on: Ints, leader: Ints, follower: Ints, rack: Ints) -> Ints:
    """[N] the leader after the failure of the leader's rack, for lists that begin with these two
    and go on as ``on`` [N, R]; -1 for no broker."""
    of_rack = np.append(rack, -1)
    ordered = np.column_stack((follower, on))
    outside = (ordered >= 0) & (of_rack[ordered] != of_rack[leader][:, None])
    return first_where(ordered, outside)


def _changed(problem: Problem, lists: Ints, rows: Ints, leader: Ints, follower: Ints) -> Bools:
    """[I] whether the list is another than today anyhow."""
    before, after = (part[rows] for part in one_width(problem.cluster.replicas, lists))
    same_leader = problem.broker_slot[before[:, 0]] == leader
    same_follower = problem.broker_slot[next_live(before, problem.usable)] == follower
    return np.asarray(changed_sets(before, after) | ~(same_leader & same_follower))
