"""Lists of slots in another order. All arrays of lists are [N, R]; -1 is padding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.arrays import Ints


def by_rank(lists: Ints, rank: npt.ArrayLike) -> Ints:
    """The lists in ascending order of ``rank`` [N, R], slots of the same rank in their order."""
    order = np.argsort(np.broadcast_to(rank, lists.shape), axis=1, kind="stable")
    return np.take_along_axis(lists, order, axis=1)


def brought_to(lists: Ints, slot: npt.ArrayLike, place: int) -> Ints:
    """The lists with a slot [N], which they have there or later, brought forward to a place; the
    others in order."""
    rank = np.tile(np.arange(lists.shape[1]) * 2, (len(lists), 1))
    rank[lists == np.reshape(slot, (-1, 1))] = 2 * place - 1
    return by_rank(lists, rank)


def led_by(lists: Ints, leader: npt.ArrayLike) -> Ints:
    """The lists with the leader [N] first, the others in order; one without it is unchanged."""
    return brought_to(lists, leader, 0)


def rank_in(lists: Ints, before: Ints) -> Ints:
    """[N, R] where the slots are in the lists ``before`` [N, any]; after these come those that are
    not in them, then padding."""
    width = max(lists.shape[1], before.shape[1])
    rank = np.full(lists.shape, width)
    for column in range(before.shape[1]):
        rank[lists == before[:, [column]]] = column
    rank[lists < 0] = width + 1
    return rank
