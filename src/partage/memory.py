"""Keep freed memory for the arrays that follow.

The C library returns the memory of every large array to the system when the array is freed, and the
system has to clear it before it can be used again. Where arrays of many megabytes come and go by
the thousand, that is a fifth of the time, and more in a virtual machine. ``mallopt`` of glibc
changes it; other C libraries have no such function, and nothing happens there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
"""The parameters of ``mallopt`` in malloc.h."""

_NEVER = -1
_USUAL_MMAPS = 65_536
_LARGE, _TWICE = 2**25, 2**26
"""Where glibc's own adjustment of both thresholds ends after large arrays, in bytes."""


@contextmanager
def kept_memory() -> Iterator[None]:
    """Memory that is freed meanwhile is returned to the system at the end, all at once."""
    c: Any = ctypes.CDLL(None)
    if not hasattr(c, "mallopt"):
        yield
        return
    c.mallopt(_MMAP_MAX, 0)
    c.mallopt(_TRIM_THRESHOLD, _NEVER)
    try:
        yield
    finally:
        c.mallopt(_MMAP_MAX, _USUAL_MMAPS)
        c.mallopt(_MMAP_THRESHOLD, _LARGE)
        c.mallopt(_TRIM_THRESHOLD, _TWICE)
        c.malloc_trim(0)
