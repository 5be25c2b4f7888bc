"""Keys in all the forms they come in, and one line for what is no key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partage
from partage.errors import InputError
from partage.producers import Keys
from partage.producers.keys import AFTER
from tests.profiles import examples

KEYS = [b"a", None, b"", b"foobar", b"a", b"x" * 40, None, b"\x00\xff"]

FORMS = {
    "list": lambda keys: list(keys),
    "tuple": lambda keys: tuple(keys),
    "iterator": lambda keys: iter(keys),
    "numpy objects": lambda keys: np.array([*keys, None], dtype=object)[:-1],
    "binary": lambda keys: pa.array(keys, pa.binary()),
    "large binary": lambda keys: pa.array(keys, pa.large_binary()),
    "binary view": lambda keys: pa.array(keys, pa.binary_view()),
    "chunked": lambda keys: pa.chunked_array(
        [pa.array(keys[:3], pa.binary()), pa.array([], pa.binary()), pa.array(keys[3:])]
    ),
    "dictionary": lambda keys: pa.array(keys, pa.binary()).dictionary_encode(),
    "sliced": lambda keys: pa.array([b"before", None, *keys, b"after"], pa.binary())[2:-1],
    "sliced twice": lambda keys: pa.array([None] * 9 + [*keys, None], pa.binary())[3:][6:-1],
    "sliced dictionary": lambda keys: pa.array(
        [None, b"b", *keys], pa.binary()
    ).dictionary_encode()[2:],
}


def listed(keys: Keys) -> list[bytes | None]:
    return [keys.key(row) for row in range(len(keys))]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_means_the_same(form: str) -> None:
    given = FORMS[form](KEYS)
    assert listed(Keys.of(given)) == KEYS
    expected = partage.partition(KEYS, 7, "fnv1a").tolist()
    assert partage.partition(FORMS[form](KEYS), 7, "fnv1a").tolist() == expected


@pytest.mark.parametrize("form", FORMS)
@examples(100)
@given(keys=st.lists(st.none() | st.binary(max_size=9), max_size=20))
def test_each_form_of_any_keys(form: str, keys: list[bytes | None]) -> None:
    if form == "chunked":
        given: Any = pa.chunked_array([pa.array(keys, pa.binary())] * 2)
        keys = keys * 2
    else:
        given = FORMS[form](keys)
    assert listed(Keys.of(given)) == keys
    assert Keys.of(keys).null.tolist() == [key is None for key in keys]


def test_fixed_widths() -> None:
    uuids = [bytes([n]) * 16 for n in range(5)]
    expected = partage.partition(uuids, 11).tolist()
    for form in (
        pa.array(uuids, pa.binary(16)),
        pa.array([b"." * 16, *uuids], pa.binary(16))[1:],
        np.array(uuids, dtype="V16"),
        np.frombuffer(b"".join(uuids), dtype="V16"),
    ):
        assert partage.partition(form, 11).tolist() == expected
    with_null = pa.array([*uuids, None], pa.binary(16))
    assert listed(Keys.of(with_null)) == [*uuids, None]


def test_numpys_bytes_end_at_their_last_byte_that_is_not_zero() -> None:
    given = np.array([b"a", b"", b"longer", b"b\x00"], dtype="S")
    assert listed(Keys.of(given)) == [b"a", b"", b"longer", b"b"]
    assert listed(Keys.of(given[::2])) == [b"a", b"longer"]


def test_values_under_a_null_do_not_count() -> None:
    data = pa.py_buffer(b"abcdef")
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], dtype=np.int32))
    valid = pa.py_buffer(np.array([0b101], dtype=np.uint8))
    array = pa.Array.from_buffers(pa.binary(), 3, [valid, offsets, data])
    assert listed(Keys.of(array)) == [b"ab", None, b"ef"]
    assert partage.partition(array, 2**31 - 1, "murmur2")[1] == 0x106E08D9  # as an empty one


def test_a_slice_takes_no_more_than_its_own_bytes() -> None:
    """Chunks of a table are often slices of one large buffer."""
    large = pa.array([b"%06d" % n for n in range(10_000)])
    chunks = pa.chunked_array([large[at : at + 10] for at in range(0, 10_000, 10)])
    for few in (large[5_000:5_002], large[-2:], large.cast(pa.binary(6))[5_000:5_002]):
        assert len(Keys.of(few).data) <= 2 * 6 + AFTER
    assert len(Keys.of(chunks).data) <= 1_000 * (10 * 6 + AFTER)
    assert listed(Keys.of(chunks)) == large.to_pylist()
    assert partage.partition(chunks, 99).tolist() == partage.partition(large, 99).tolist()


def test_a_dictionary_with_a_null_in_it() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array([b"a", None]))
    assert listed(Keys.of(array)) == [b"a", None, None, None]
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.binary()))
    assert listed(Keys.of(empty)) == [None]


@pytest.mark.parametrize(
    "keys",
    [
        [],
        pa.array([], pa.binary()),
        pa.chunked_array([], pa.binary()),
        pa.chunked_array([[], []], pa.binary()),
        pa.array([], pa.binary()).dictionary_encode(),
        np.array([], dtype="S3"),
        np.array([], dtype=object),
    ],
)
def test_no_keys(keys: Any) -> None:
    found = partage.partition(keys, 3)
    assert (found.dtype, found.shape) == (np.int32, (0,))


def test_nothing_but_nulls() -> None:
    assert Keys.of(pa.nulls(4)).null.tolist() == [True] * 4
    assert Keys.of(pa.nulls(2, pa.binary())).null.tolist() == [True] * 2


def test_other_kinds_of_bytes() -> None:
    assert partage.partition([bytearray(b"21"), memoryview(b"21")], 7).tolist() == [3, 3]
    assert partage.partition(bytearray(b"21"), 7) == partage.partition(memoryview(b"21"), 7) == 3
    words = memoryview(np.array([0x3132], dtype="<u2"))  # two bytes, one item
    assert partage.partition(words, 7) == partage.partition(b"21", 7)
    assert partage.partition([words], 7).tolist() == [3]
    assert partage.partition(pa.scalar(b"21"), 7) == 3
    assert Keys.of(keys := Keys.of([b"21"])) is keys


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("abc", "keys: expected keys as bytes or None in a sequence, got str"),
        (17, "keys: expected keys as bytes or None in a sequence, got int"),
        ([b"a", "b"], r"keys\[1\]: expected keys as bytes or None, got str"),
        ([None, 3], r"keys\[1\]: expected keys as bytes or None, got int"),
        (np.array([1.5]), r"keys\[0\]: expected keys as bytes or None, got float"),
        (np.array([["a"]], dtype=object), "keys: expected one dimension, got 2"),
        (pa.array(["a"]), "keys: expected keys as bytes or None, got an array of string"),
        (pa.array([1]), "keys: expected keys as bytes or None, got an array of int64"),
        (pa.table({"key": [b"a"]}), "got pyarrow's Table"),
    ],
)
def test_invalid_keys(keys: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        partage.partition(keys, 3)
