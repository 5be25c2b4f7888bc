"""Lists in another order, against lists of Python."""

from __future__ import annotations

import numpy as np
import pytest

from partage.flow.ordering import brought_to, by_rank, led_by, rank_in


@pytest.mark.random
def test_a_slot_comes_forward_to_a_place_and_the_others_keep_their_order() -> None:
    random = np.random.default_rng(5)
    lists = np.array([random.permutation(9)[:4] for _ in range(200)])
    lists[::3, 3] = -1
    for place in range(3):
        slot = lists[np.arange(200), random.integers(place, 3, 200)]
        expected = []
        for row, one in zip(lists.tolist(), slot.tolist(), strict=True):
            row.remove(one)
            row.insert(place, one)
            expected.append(row)
        assert brought_to(lists, slot, place).tolist() == expected
        if place == 0:
            assert led_by(lists, slot).tolist() == expected


def test_one_slot_comes_forward_in_all_lists() -> None:
    assert brought_to(np.array([[3, 1, 2], [2, 3, 1]]), 1, 1).tolist() == [[3, 1, 2], [2, 1, 3]]


def test_a_list_without_the_leader_is_unchanged() -> None:
    assert led_by(np.array([[3, 1, 2]]), np.array([7])).tolist() == [[3, 1, 2]]


def test_kept_slots_keep_their_order_and_new_ones_come_before_padding() -> None:
    lists, before = np.array([[-1, 5, 7, 2, 9]]), np.array([[9, 4, 5]])
    rank = rank_in(lists, before)
    assert by_rank(lists, rank).tolist() == [[9, 5, 7, 2, -1]]
    assert rank.tolist() == [[6, 2, 5, 5, 0]]
