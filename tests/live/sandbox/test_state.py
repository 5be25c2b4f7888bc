"""The file that lists the nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from partage.errors import InputError
from partage.live.sandbox import MARKER, Sandbox
from partage.live.sandbox.state import random_id
from tests.live.sandbox.running import state


def test_cluster_ids_have_the_form_of_kafkas() -> None:
    made = {random_id() for _ in range(2000)}
    assert len(made) == 2000
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", each) for each in made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps(state(format_version=2)),
        json.dumps(state(nodes=[])),
        json.dumps(state(nodes=[{"id": 1, "rack": None, "port": 1, "pid": None}])),
        json.dumps(state(nodes=[{"id": 0, "rack": None, "port": 1, "pid": -1}])),
        json.dumps(state(nodes=[{"id": 0, "rack": None, "port": "1", "pid": None}])),
        json.dumps(state(nodes=[{"id": 0, "role": "x"}])),
        json.dumps(state(nodes=["x"])),
        json.dumps(state(nodes=[{"id": 0, "more_ports": [-1]}])),
        json.dumps(state(folder=None)),
    ],
)
def test_a_file_that_is_not_a_state(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    for call in (Sandbox.start, Sandbox.open):
        with pytest.raises(InputError, match=r"sandbox.json: "):
            call(tmp_path)
    assert (tmp_path / MARKER).read_text() == text
