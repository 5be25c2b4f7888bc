"""The narrowest bands for which a search succeeds, by doubling and bisection.

Whether the search succeeds does not depend on the width only, so the result is not proven to be the
narrowest: the width is doubled until the search succeeds, then bisected towards the widest failure.
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
    """The result of ``tried`` at the narrowest width found at which it is not None. Tries
    ``first``, twice that and so on below ``widest``; None where all fail. ``narrow`` is known to
    fail."""
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
