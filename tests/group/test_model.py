"""A group in a notebook: its text and its tables."""

from __future__ import annotations

import pytest

from partage import Group, Member

GROUP = Group(
    {"t": 3, "u": 1},
    [
        Member("a", ["t", "u"], owned=[("t", 0), ("t", 1)], generation=2, rack="r1"),
        Member("b", ["t"], owned={"t": [1, 2]}, generation=2),
    ],
    weights={"t": [5, 6, 7]},
)


def test_repr() -> None:
    assert repr(GROUP) == "<Group of 2 members, 2 topics, 4 partitions (2 owned)>"
    assert [repr(member) for member in GROUP.members] == [
        "<Member a: 2 topics, 2 partitions owned, rack r1>",
        "<Member b: 1 topic, 2 partitions owned>",
    ]


def test_html_lists_the_members() -> None:
    text = GROUP._repr_html_()
    assert "<th>member</th><th>topics</th><th>owned</th>" in text
    assert "<td>a</td><td>t, u</td><td>2</td>" in text
    names = [f"t{n}" for n in range(7)]
    wide = Group(dict.fromkeys(names, 1), [Member("a", names)])._repr_html_()
    assert "<td>t0, t1, t2, t3, t4 and 2 more</td>" in wide


def test_tables_have_names() -> None:
    pytest.importorskip("pandas")
    columns = {
        "topic": ["t", "t", "t", "u"],
        "partition": [0, 1, 2, 0],
        "owner": ["a", None, "b", None],
        "contested": [False, True, False, False],
        "weight": [5, 6, 7, 0],
    }
    assert GROUP.to_arrow().to_pydict() == columns
    assert GROUP.to_pandas()["owner"].tolist() == columns["owner"]
