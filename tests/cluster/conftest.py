"""Fixtures: writing files, and checking how they are refused."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage import Cluster, InputError
from partage.printable import is_printable


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """Write text, bytes or a JSON value to a file (``packed``: as gzip); returns its path."""

    def write(content: Any, name: str = "cluster.json", packed: bool = False) -> str:
        if not isinstance(content, bytes):
            text = content if isinstance(content, str) else json.dumps(content)
            content = text.encode("utf-8")
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if packed else content)
        return os.fspath(path)

    return write


@pytest.fixture
def refused() -> Callable[..., str]:
    """Assert that the file is refused in one line that begins with its name; returns the rest."""

    def read(path: str, sizes: str | None = None, names: str | None = None) -> str:
        with pytest.raises(InputError) as caught:
            Cluster.read(path, sizes=sizes)
        text = str(caught.value)
        assert text.splitlines() == [text]
        assert is_printable(text)
        assert len(text) < 1000
        start = f"{names or sizes or path}: "
        assert text.startswith(start)
        return text.removeprefix(start)

    return read
