"""Which member an event belongs to: the names of rotated files."""

from __future__ import annotations

import pytest

from partage.consumers.history.members import unrotated


@pytest.mark.parametrize("name", ["app.log.2", "app.log.1", "app.log.2026-01-01.gz"])
def test_rotated_files(name: str) -> None:
    assert unrotated(name) == "app.log"


def test_a_name_of_many_suffixes_is_read_at_once() -> None:
    assert unrotated("app.log" + ".20260101.1" * 300) == "app.log"
    name = "app.log" + ".20260101.1" * 300 + "x"
    assert unrotated(name) == name
