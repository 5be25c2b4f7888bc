"""The narrowest bands in which a search finds what is asked of it.

Whether it finds it is no question of width alone, so that no width is proven to be the least:
doubled until one does, then halved back towards the widest that did not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def narrowest_width(
    tried: Callable[[float], Found | None],
    narrow: float,
    first: float,
    widest: float,
    halvings: int,
) -> Found | None:
    """What ``tried`` finds at the narrowest width at which it is not None; None where it is at all
    of ``first``, twice that and so on below ``widest``. At ``narrow`` it is None already."""
    found, wide = None, first
    while found is None and wide < widest:
        found = tried(wide)
        if found is None:
            narrow, wide = wide, 2 * wide
    for _ in range(0 if found is None else halvings):
        middle = (narrow + wide) / 2
        closer = tried(middle)
        if closer is None:
            narrow = middle
        else:
            wide, found = middle, closer
    return found
