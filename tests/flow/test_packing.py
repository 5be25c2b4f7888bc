"""Integers as text: round trips, and texts that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow import packing
from partage.flow.packing import pack, unpack


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_packed_numbers_round_trip(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert unpack(pack(array), len(values)).tolist() == values


def test_packed_numbers_are_unpacked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_PIECE", 20)
    for count in range(9):
        array = np.arange(count) ** 9
        assert unpack(pack(array), count).tolist() == array.tolist()
        with pytest.raises(ValueError, match=f"packed integers, expected {count + 1}"):
            unpack(pack(array), count + 1)
        with pytest.raises(ValueError, match="packed integers, expected 0"):
            unpack(pack(np.arange(count + 1)), 0)


@pytest.mark.parametrize("text", ["", "!", "aGVsbG8=", pack(np.arange(3))[:-4]])
def test_text_that_is_not_packed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="packed integers"):
        unpack(text, 3)


def test_the_wrong_count_is_refused() -> None:
    with pytest.raises(ValueError, match="2 packed integers, expected 3"):
        unpack(pack(np.arange(2)), 3)
