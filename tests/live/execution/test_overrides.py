"""Run overrides as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.brokers.directory import OVERRIDES
from partage.errors import InputError
from partage.files import to_json
from partage.live.execution.overrides import Overrides


def test_later_overrides_keep_earlier_ones(tmp_path: Path) -> None:
    where = str(tmp_path)
    assert Overrides.read(where) == Overrides()
    Overrides(throttle=5).write(where)
    Overrides(concurrency=3).write(where)
    assert Overrides.read(where) == Overrides(5, 3)
    Overrides(throttle="auto").write(where)
    assert Overrides.read(where) == Overrides("auto", 3)
    Overrides.clear(where)
    assert Overrides.read(where) == Overrides()
    (tmp_path / OVERRIDES).write_text("[]")
    with pytest.raises(InputError, match=r"overrides\.json: is not a run override"):
        Overrides.read(where)


@pytest.mark.parametrize(
    "value",
    [
        {"throttle": "fast"},
        {"throttle": 0},
        {"throttle": True},
        {"throttle": 1.5},
        {"throttle": "5"},
        {"concurrency": "auto"},
        {"concurrency": 0},
        {"concurrency": True},
    ],
    ids=str,
)
def test_damaged_overrides(tmp_path: Path, value: dict[str, Any]) -> None:
    (tmp_path / OVERRIDES).write_text(to_json(value))
    ((name, found),) = value.items()
    with pytest.raises(InputError, match=rf"is not a run override \({name}: {found!r}\)"):
        Overrides.read(str(tmp_path))
