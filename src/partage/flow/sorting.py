"""Sort integers with their positions packed into them.

NumPy sorts 64-bit integers with vector instructions, many times faster than it finds an order
(``argsort``) or the different values (``unique``, which uses a hash table). A value and its
position fit in one integer, and sorting these gives the stable order.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Ints

_BITS = 62
_SCRAMBLER = 0x9E3779B97F4A7C15


def stable_order(values: Ints) -> Ints:
    """The positions in ascending order of the values, equal ones in their order."""
    count = len(values)
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    bits = count.bit_length()
    least = int(values.min())
    if (int(values.max()) - least).bit_length() + bits > _BITS:
        return np.argsort(values, kind="stable")
    packed = ((values - least) << bits) + np.arange(count)
    packed.sort()
    return np.asarray(packed & ((1 << bits) - 1), dtype=np.int64)


def scrambled_order(values: Ints) -> Ints:
    """The positions in ascending order of the values, equal ones in an order that looks random and
    is always the same: positions are scrambled by a bijection, sorted and found again."""
    bits = len(values).bit_length()
    mask, half = (1 << bits) - 1, (bits + 1) // 2
    factor = _SCRAMBLER & mask | 1
    inverse = pow(factor, -1, mask + 1)
    mixed = np.arange(len(values)) * factor & mask
    mixed = (mixed ^ (mixed >> half)) * factor & mask
    packed = (values << bits) + mixed
    packed.sort()
    mixed = (packed & mask) * inverse & mask
    return np.asarray((mixed ^ (mixed >> half)) * inverse & mask, dtype=np.int64)


def distinct(values: Ints) -> Ints:
    """The different values, ascending."""
    ascending = np.sort(values)
    return ascending[_starts(ascending)]


def counted(values: Ints) -> tuple[Ints, Ints]:
    """The different values, ascending, and how often each occurs."""
    ascending = np.sort(values)
    first = np.flatnonzero(_starts(ascending))
    return ascending[first], np.diff(np.append(first, len(values)))


def numbered(values: Ints) -> tuple[Ints, Ints, Ints]:
    """The different values, ascending; the first position of each; the number, from 0, of every
    value among them."""
    order = stable_order(values)
    ascending = values[order]
    starts = _starts(ascending)
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.cumsum(starts) - 1
    return ascending[starts], order[starts], number


def _starts(ascending: Ints) -> Bools:
    """Where a value differs from the one before it."""
    starts = np.ones(len(ascending), dtype=np.bool_)
    starts[1:] = ascending[1:] != ascending[:-1]
    return starts
