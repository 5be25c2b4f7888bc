"""Columns of numbers as compact text that a browser can unpack.

The text is a NumPy type (``i2:``, little-endian), then its bytes, compressed with zlib, in Base64;
the type is the smallest that holds the numbers.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

_WHOLE = ("u1", "i1", "u2", "i2", "u4", "i4")
"""Smallest first; larger numbers become floating-point."""


def packed(values: Any) -> str:
    """The numbers of an array in order. NaN is kept, the shape is not."""
    array = np.asarray(values)
    kind = "f8"
    if array.dtype.kind in "iub":
        array = array.astype(np.int64)
        low, high = int(array.min(initial=0)), int(array.max(initial=0))
        fitting = (k for k in _WHOLE if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
        kind = next(fitting, "f8")
    elif array.dtype == np.float32:
        kind = "f4"
    raw = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return f"{kind}:{base64.b64encode(zlib.compress(raw, 6)).decode('ascii')}"
