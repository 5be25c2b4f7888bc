"""Integers as text, as plan.json stores prices: little-endian int64, zlib, base64."""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np

from partage.arrays import Ints

_PIECE = 2**24
"""Bytes that are unpacked at a time."""


def pack(values: Ints) -> str:
    """Integers as text. Shape is not kept."""
    raw = np.ascontiguousarray(values, dtype="<i8")
    return base64.b64encode(zlib.compress(raw.data, 6)).decode("ascii")


def unpack(text: str, count: int) -> Ints:
    """The integers that ``pack`` wrote. Raises ValueError unless there are exactly ``count``."""
    raw, stream = bytearray(), zlib.decompressobj()
    try:
        rest = base64.b64decode(text, validate=True)
        # in pieces, and no more than expected: a forged text could unpack to much more
        while not stream.eof and len(raw) <= 8 * count:
            piece = stream.decompress(rest, _PIECE)
            rest = stream.unconsumed_tail
            if not piece:
                break
            raw += piece
    except (binascii.Error, zlib.error, TypeError) as error:
        raise ValueError(f"not packed integers ({error})") from None
    if len(raw) != 8 * count or not stream.eof:
        raise ValueError(f"{len(raw) // 8} packed integers, expected {count}")
    return np.frombuffer(raw, dtype="<i8").astype(np.int64, copy=False)
