"""Sort integers by counting.

NumPy orders 16-bit integers by counting them (radix sort), several times faster than it sorts wider
ones. So larger values are ordered by one digit of 16 bits after the other, the lowest first. Where
there are not many more possible values than values, those that occur are marked or counted in an
array of all possible ones, without an order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.arrays import Bools, Ints

_Digits = npt.NDArray[np.uint16]

_DENSE = 8
"""The most possible values for each value that are marked or counted."""

_SCRAMBLER = 0x9E3779B97F4A7C15


def stable_order(values: Ints) -> Ints:
    """The positions in ascending order of the values, equal ones in their order."""
    return _order(_digits(values))


def scrambled_order(values: Ints) -> Ints:
    """The positions in ascending order of the values, equal ones in an order that looks random and
    is always the same."""
    mixed = _scrambled(len(values))
    return mixed.take(_order([digit.take(mixed) for digit in _digits(values)]))


def distinct(values: Ints) -> Ints:
    """The different values, ascending."""
    least, span = _range(values)
    if span > _DENSE * len(values):
        ascending = np.sort(values)
        return ascending[_starts(ascending)]
    return np.flatnonzero(_marked(values, least, span)) + least


def counted(values: Ints) -> tuple[Ints, Ints]:
    """The different values, ascending, and how often each occurs."""
    least, span = _range(values)
    if span > _DENSE * len(values):
        ascending = np.sort(values)
        first = np.flatnonzero(_starts(ascending))
        return ascending[first], np.diff(np.append(first, len(values)))
    count = np.bincount(values - least, minlength=span)
    some = np.flatnonzero(count)
    return some + least, count[some]


def numbered(values: Ints) -> tuple[Ints, Ints, Ints]:
    """The different values, ascending; the first position of each; the number, from 0, of every
    value among them."""
    least, span = _range(values)
    if span > _DENSE * len(values):
        order = stable_order(values)
        ascending = values[order]
        starts = _starts(ascending)
        number = np.empty(len(values), dtype=np.int64)
        number[order] = np.cumsum(starts) - 1
        return ascending[starts], order[starts], number
    marked = _marked(values, least, span)
    number = (np.cumsum(marked) - 1).take(values - least)
    some = np.flatnonzero(marked) + least
    first = np.empty(len(some), dtype=np.int64)
    first[number[::-1]] = np.arange(len(values))[::-1]
    return some, first, number


def _range(values: Ints) -> tuple[int, int]:
    """The least value, and how many there are from it to the greatest."""
    if len(values) == 0:
        return 0, 0
    least = int(values.min())
    return least, int(values.max()) - least + 1


def _marked(values: Ints, least: int, span: int) -> Bools:
    """[span] which values occur."""
    marked = np.zeros(span, dtype=np.bool_)
    marked[values - least] = True
    return marked


def _digits(values: Ints) -> list[_Digits]:
    """The values above the least one as digits of 16 bits, the lowest first."""
    least, span = _range(values)
    above = values.astype(np.uint64) - np.uint64(least % 2**64)
    bits = max(1, (span - 1).bit_length())
    return [(above >> np.uint64(shift)).astype(np.uint16) for shift in range(0, bits, 16)]


def _order(digits: list[_Digits]) -> Ints:
    order = np.argsort(digits[0], kind="stable")
    for digit in digits[1:]:
        order = order.take(np.argsort(digit.take(order), kind="stable"))
    return order


def _scrambled(count: int) -> Ints:
    """The positions, fewer than 2**32, in an order that looks random: all numbers of as many bits
    are scrambled by a bijection, and those that are positions are kept."""
    bits = count.bit_length()
    mask, half = np.uint32((1 << bits) - 1), np.uint32((bits + 1) // 2)
    factor = np.uint32(pow(_SCRAMBLER | 1, -1, 1 << bits))
    mixed = np.arange(1 << bits, dtype=np.uint32) * factor & mask
    mixed = (mixed ^ (mixed >> half)) * factor & mask
    return mixed[mixed < count].astype(np.int64)


def _starts(ascending: Ints) -> Bools:
    """Where a value differs from the one before it."""
    starts = np.ones(len(ascending), dtype=np.bool_)
    starts[1:] = ascending[1:] != ascending[:-1]
    return starts
