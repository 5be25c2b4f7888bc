"""``--max-rejected``: a number of rows, or a share of them."""

from __future__ import annotations

import pytest

from partage.errors import InputError, PartageError
from partage.measured_loads.max_rejected import MaxRejected


@pytest.mark.parametrize(
    ("given", "rejected", "rows", "fails"),
    [
        ("0", 0, 10, False),
        ("0", 1, 10, True),
        (3, 3, 10, False),
        ("3", 4, 10, True),
        ("0%", 0, 10, False),
        ("10%", 1, 10, False),
        ("9.99%", 1, 10, True),
        ("100%", 10, 10, False),
    ],
)
def test_the_limit_itself_is_allowed(
    given: str | int, rejected: int, rows: int, fails: bool
) -> None:
    limit = MaxRejected.of(given)
    if not fails:
        limit.check(rejected, rows, "why")
        return
    with pytest.raises(PartageError, match=f"rejected of {rows} rows, most because why"):
        limit.check(rejected, rows, "why")


@pytest.mark.parametrize("given", ["", "-1", "1.5", "101%", "x%", "1e3", "٣", "9" * 30])
def test_anything_else_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="max_rejected"):
        MaxRejected.of(given)
