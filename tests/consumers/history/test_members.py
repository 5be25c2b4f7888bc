"""Which member an event belongs to: the names of rotated files."""

from __future__ import annotations

import pytest

from partage.consumers.history.members import unrotated


@pytest.mark.parametrize("name", ["app.log.2", "app.log.1", "app.log.2026-01-01.gz"])
def test_rotated_files(name: str) -> None:
    assert unrotated(name) == "app.log"
