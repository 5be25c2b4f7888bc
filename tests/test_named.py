"""What a user names by ``module:Class``: found, made, or said in one line why not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from partage.errors import InputError
from partage.named import load_object

MODULES = {
    "named_well": "class Mine(dict):\n    pass\nclass Other:\n    pass\nready = Mine(a=1)\n",
    "named_open": "class Mine(dict):\n    pass\n(",
    "named_fails": "raise OSError('two\\nlines')",
    "named_asks": "class Mine(dict):\n    def __init__(self, more):\n        pass\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, code in MODULES.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


def test_names_that_load() -> None:
    assert load_object("named_well:Mine", "--it", dict) == {}
    assert load_object("named_well:Mine", "--it", dict) is not load_object(
        "named_well:Mine", "", dict
    )
    assert load_object("named_well:ready", "--it", dict) == {"a": 1}
    assert load_object("json:dumps", "--it", dict) is __import__("json").dumps
    assert isinstance(load_object("named_well:Other", "--it", dict), type)  # not of that base


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("named_nowhere:Mine", "ModuleNotFoundError: No module named 'named_nowhere'"),
        ("named_well:Yours", "AttributeError: module 'named_well' has no attribute 'Yours'"),
        ("named_open:Mine", "SyntaxError: '(' was never closed"),
        ("named_fails:Mine", "OSError: two lines"),
        ("named_asks:Mine", "TypeError: Mine.__init__() missing 1 required positional argument"),
        (".named_well:Mine", "TypeError: the 'package' argument is required"),
        (":Mine", "ValueError: Empty module name"),
    ],
)
def test_names_that_do_not_load(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"--it: {name!r}: {problem}")) as raised:
        load_object(name, "--it", dict)
    assert "\n" not in str(raised.value)
