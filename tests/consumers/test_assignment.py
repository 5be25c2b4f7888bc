"""An assignment as an object: its text, and its tables for notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from partage import Assignment, Group, Member, assign


@pytest.fixture
def found() -> Assignment:
    """Three partitions of one member; a second one joins."""
    first = Member("C0", ["t"], owned=[("t", 0), ("t", 1), ("t", 2)], generation=1)
    return assign(Group({"t": 3}, [first, Member("C1", ["t"])]), "cooperative-sticky")


def test_repr_fits_a_line(found: Assignment) -> None:
    assert repr(found) == "<Assignment: 3 partitions, 2 members, 1 move>"


def test_html_lists_the_members(found: Assignment) -> None:
    text = found._repr_html_()
    assert "<th>member</th><th>partitions</th><th>kept</th>" in text
    assert "<td>C0</td><td>2</td><td>2</td><td>0</td><td>1</td>" in text


def test_tables_have_names(found: Assignment) -> None:
    pytest.importorskip("pyarrow")
    rows = found.to_arrow().to_pylist()
    withheld = [row for row in rows if row["member"] is None]
    assert len(rows) == 3
    assert len(withheld) == 1
    assert withheld[0]["topic"] == "t"
    assert withheld[0]["previous_member"] == "C0"
    assert withheld[0]["target_member"] == "C1"
    pytest.importorskip("pandas")
    assert found.to_pandas().to_dict("records") == rows


def test_partitions_without_an_owner_are_named() -> None:
    group = Group({"t": 1, "u": 4}, [Member("a", ["t"])])
    expected = "4 partitions without an owner, no member subscribes to the topic: u-0, u-1, u-2 "
    for assignor in ("sticky", "range", "weighted", "share"):
        assert assign(group, assignor).to_json()["warnings"] == [f"{expected}and 1 more"]
    nobody = np.array([-1, 0])
    given = Assignment(Group({"t": 2}, [Member("a", ["t"])]), nobody, nobody)
    assert given.warnings == (
        "1 partition without an owner, the assignor gives them to no member: t-0",
    )


def test_what_waits_for_its_next_owner_is_not_without_one(found: Assignment) -> None:
    assert found.warnings == ()


def test_a_path_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "group.json"
    path.write_text(json.dumps({"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}]}))
    assert assign(path, "range").as_dict() == {"a": [("t", 0)]}
    assert assign(str(path), "range").as_dict() == {"a": [("t", 0)]}
