"""Tables of results for notebooks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import pytest

from partage.errors import PartageError
from partage.frames import HTML_ROWS, arrow_table, changed_fields, data_frame, html_table

COLUMNS = {"topic": ["t", "u"], "partition": [0, 1], "member": ["a", None]}


def test_data_frame() -> None:
    pytest.importorskip("pandas")
    frame = data_frame(COLUMNS)
    assert list(frame.columns) == ["topic", "partition", "member"]
    assert frame["partition"].tolist() == [0, 1]


def test_arrow_table() -> None:
    pytest.importorskip("pyarrow")
    assert arrow_table(COLUMNS).to_pydict() == COLUMNS


@pytest.mark.parametrize(("library", "make"), [("pandas", data_frame), ("pyarrow", arrow_table)])
def test_a_missing_library(monkeypatch: pytest.MonkeyPatch, library: str, make: object) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(PartageError, match=f"{library} is not installed: pip install {library}"):
        make(COLUMNS)  # type: ignore[operator]


def test_html_table() -> None:
    text = html_table("a < b", ["name"], [["<script>"], ["x"]])
    assert "<caption>a &lt; b</caption>" in text
    assert "<td>&lt;script&gt;</td>" in text
    long = html_table("rows", ["n"], [[n] for n in range(HTML_ROWS + 1)])
    assert long.count("<tr>") == HTML_ROWS + 1
    assert "the first 20 of 21 rows" in long


@dataclass(repr=False)
class Sample:
    id: int
    rack: str | None = None
    tags: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return changed_fields(self)


def test_repr_without_defaults() -> None:
    assert repr(Sample(1)) == "Sample(id=1)"
    assert repr(Sample(1, rack="a", tags={"b": "c"})) == "Sample(id=1, rack='a', tags={'b': 'c'})"
