"""Many of one thing in a file take time in proportion, also where the last of them is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from partage.files import parse_json
from tests.fuzz import bounded

MANY = 300_000
"""So many that comparing each with all others takes minutes; ``bounded`` allows seconds."""


def keys_and_one_twice() -> str:
    names = ",".join(f'"k{number}":0' for number in range(MANY))
    return f'{{{names},"k{MANY - 1}":1}}'


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "line"),
    [(keys_and_one_twice, f"key k{MANY - 1} is given twice")],
    ids=["a key given twice"],
)
def test_many_of_one_thing(tmp_path: Path, text: Callable[[], str], line: str) -> None:
    path = tmp_path / "many.json"
    path.write_text(text(), encoding="utf-8")
    ended = bounded.run(bounded.function(lambda: parse_json(path.read_text(), str(path))))
    assert ended.fault() is None
    assert (ended.code, line in ended.err) == (2, True), ended
