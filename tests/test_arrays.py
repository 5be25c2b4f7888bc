"""What many modules do with replica lists, compared with plain Python."""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints, first_where, is_whole, sums_on

ENTRIES = 5


def some_lists(random: np.random.Generator) -> Ints:
    """Lists of different entries, -1 padded."""
    rows, width = random.integers(0, 8), random.integers(1, 5)
    lists = np.array([random.permutation(ENTRIES)[:width] for _ in range(rows)], dtype=np.int64)
    lists = lists.reshape(rows, width)
    lists[np.arange(width) >= random.integers(1, width + 1, (rows, 1))] = -1
    return lists


def test_the_first_wanted_entry_of_each_list() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        lists = some_lists(random)
        wanted = random.random(lists.shape) < 0.4
        assert first_where(lists, wanted).tolist() == [
            next((entry for entry, one in zip(row, flags, strict=True) if one), -1)
            for row, flags in zip(lists.tolist(), wanted.tolist(), strict=True)
        ]
        assert first_where(lists.astype(np.int32), wanted).dtype == np.int64


def test_what_each_entry_gets_from_the_lists_that_have_it() -> None:
    random = np.random.default_rng(2)
    for _ in range(200):
        lists = some_lists(random)
        each = random.integers(0, 2**50, len(lists))
        pairs = list(zip(lists.tolist(), each.tolist(), strict=True))
        assert sums_on(lists, each, ENTRIES).tolist() == [
            sum(size for row, size in pairs if entry in row) for entry in range(ENTRIES)
        ]


def test_whole_numbers() -> None:
    assert all(map(is_whole, (0, -3, 2**70, np.int32(5), np.uint64(5))))
    assert not any(map(is_whole, (True, np.True_, 2.0, np.float64(2), "2", None, np.array([2]))))
