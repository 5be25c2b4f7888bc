"""Numpy arrays: their types, and what many modules do with them.

A docstring gives the shape in brackets, such as [P, R].
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of Python or NumPy; true and false are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def first_where(lists: npt.NDArray[np.integer], wanted: Bools) -> Ints:
    """[N] the first entry of each list [N, R] that is ``wanted`` [N, R], or -1."""
    rows, place = np.arange(len(lists)), wanted.argmax(axis=1)
    return np.where(wanted[rows, place], lists[rows, place], -1).astype(np.int64, copy=False)


def sums_on(lists: Ints, each: Ints, count: int) -> Ints:
    """[count] for each entry below ``count``, the sum of ``each`` [N] over the lists [N, R], -1
    padded, that have it."""
    row, column = np.nonzero(lists >= 0)
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, lists[row, column], each[row])
    return total
