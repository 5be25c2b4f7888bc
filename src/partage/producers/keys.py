"""Keys as columns, in Arrow's binary layout, converted from any accepted input.

One buffer has all bytes; each key has a start, a length and whether it is null. Most producers
treat a null key differently from an empty one. Input from Arrow or numpy in this layout is not
copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.arrays import Bools, Ints
from partage.errors import InputError

Bytes = npt.NDArray[np.uint8]

WHERE = "keys"
EXPECTED = "expected keys as bytes or None"

AFTER = 16
"""Bytes after the last key that are kept if the buffer has them: a hash reads so many at once."""

BYTES = (bytes, bytearray, memoryview)
"""Accepted types of one key."""


@dataclass(frozen=True, eq=False)
class Keys:
    """N keys.

    - ``data``: the bytes of all
    - ``start``, ``length``: [N] of each key in ``data``; a null key has length 0
    - ``valid``: [N] False for a null key; None if no key is null
    """

    data: Bytes
    start: Ints
    length: Ints
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.start)

    def key(self, row: int) -> bytes | None:
        """The key at a row."""
        if self.valid is not None and not self.valid[row]:
            return None
        start = int(self.start[row])
        return self.data[start : start + int(self.length[row])].tobytes()

    @property
    def null(self) -> Bools:
        """[N] which are null."""
        return np.zeros(len(self), dtype=np.bool_) if self.valid is None else ~self.valid

    @classmethod
    def of(cls, keys: Any) -> Keys:
        """From a pyarrow array of binaries (also chunked, sliced or dictionary-encoded), a numpy
        array (of objects, or of fixed width: ``S``, which drops trailing zero bytes, or ``V``), or
        a sequence of bytes and None. Raises InputError for anything else."""
        if isinstance(keys, Keys):
            return keys
        if type(keys).__module__.partition(".")[0] == "pyarrow":
            return _of_arrow(keys)
        if isinstance(keys, (str, *BYTES)) or not isinstance(keys, Iterable):
            raise InputError(WHERE, f"{EXPECTED} in a sequence, got {type(keys).__name__}")
        if hasattr(keys, "__array__"):
            array = np.asarray(keys)
            if array.ndim != 1:
                raise InputError(WHERE, f"expected one dimension, got {array.ndim}")
            if array.dtype.kind in "SV" and array.dtype.fields is None:
                return _of_fixed(array)
        return _of_sequence(list(keys))


def as_bytes(key: Any, where: str = WHERE) -> bytes | None:
    """One key. Raises InputError if it is neither bytes nor None."""
    if key is None or isinstance(key, bytes):
        return key
    if isinstance(key, BYTES):
        return bytes(key)
    raise InputError(where, f"{EXPECTED}, got {type(key).__name__}")


def _of_sequence(keys: list[Any]) -> Keys:
    kinds = set(map(type, keys))
    if not kinds <= {bytes, type(None)}:
        keys = [as_bytes(key, f"{WHERE}[{row}]") for row, key in enumerate(keys)]
    valid = None
    if type(None) in kinds:
        valid = np.fromiter((key is not None for key in keys), dtype=np.bool_, count=len(keys))
        keys = [key or b"" for key in keys]
    length = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    data = np.frombuffer(b"".join(keys), dtype=np.uint8)
    return Keys(data, np.cumsum(length) - length, length, valid)


def _of_fixed(array: npt.NDArray[Any]) -> Keys:
    width = array.dtype.itemsize
    length = np.full(len(array), width, dtype=np.int64)
    if array.dtype.kind == "S":
        length = np.char.str_len(array).astype(np.int64)
    data = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.uint8)
    return Keys(data, np.arange(len(array), dtype=np.int64) * width, length)


def _of_arrow(keys: Any) -> Keys:
    import pyarrow as pa

    if isinstance(keys, pa.ChunkedArray):
        return _joined([_of_arrow(chunk) for chunk in keys.chunks])
    if not isinstance(keys, pa.Array):
        raise InputError(WHERE, f"{EXPECTED} in an array, got pyarrow's {type(keys).__name__}")
    kind, count = keys.type, len(keys)
    if pa.types.is_null(kind):
        nothing = np.zeros(count, dtype=np.int64)
        return Keys(np.empty(0, dtype=np.uint8), nothing, nothing, np.zeros(count, dtype=np.bool_))
    if pa.types.is_dictionary(kind):
        return _of_dictionary(keys)
    if pa.types.is_binary_view(kind):
        return _of_sequence(keys.to_pylist())
    if pa.types.is_fixed_size_binary(kind):
        valid, data = keys.buffers()
        offsets = np.arange(keys.offset, keys.offset + count + 1, dtype=np.int64) * kind.byte_width
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        valid, places, data = keys.buffers()
        offset_type = np.dtype(np.int64 if pa.types.is_large_binary(kind) else np.int32)
        offsets = np.zeros(count + 1, dtype=np.int64)
        if count:  # an empty array may have no offsets
            skipped = keys.offset * offset_type.itemsize
            offsets[:] = np.frombuffer(places, offset_type, count + 1, skipped)
    else:
        raise InputError(WHERE, f"{EXPECTED}, got an array of {kind}")
    length, there = np.diff(offsets), None
    if valid is not None and keys.null_count:
        skipped, within = divmod(keys.offset, 8)
        packed = np.frombuffer(valid, dtype=np.uint8)[skipped : skipped + count // 8 + 2]
        bits = np.unpackbits(packed, bitorder="little")
        there = bits[within : within + count].astype(np.bool_)
        length = np.where(there, length, 0)  # a null may have any length
    bytes_ = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    # a slice may be a small part of a large buffer; keep the bytes that a hash may read after it
    first, last = int(offsets[0]), int(offsets[-1]) + AFTER
    return Keys(bytes_[first:last], offsets[:-1] - first, length, there)


def _of_dictionary(keys: Any) -> Keys:
    """Without copying the values: each key points to its value."""
    values = _of_arrow(keys.dictionary)
    there = np.asarray(keys.indices.is_valid())
    code = np.asarray(keys.indices.fill_null(0)).astype(np.int64)
    if not len(values):
        code, values = np.zeros(len(keys), dtype=np.int64), Keys.of([None])
    there = there & ~values.null[code]
    return Keys(
        values.data,
        values.start[code],
        np.where(there, values.length[code], 0),
        None if there.all() else there,
    )


def _joined(parts: list[Keys]) -> Keys:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Keys.of([])
    before = np.cumsum([0, *(len(part.data) for part in parts)])
    whole = all(part.valid is None for part in parts)
    return Keys(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.start + at for part, at in zip(parts, before, strict=False)]),
        np.concatenate([part.length for part in parts]),
        None if whole else np.concatenate([~part.null for part in parts]),
    )
