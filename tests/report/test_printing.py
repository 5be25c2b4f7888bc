"""What tables and lists have in common; names stay what they are, whatever is in them."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from partage.measured_loads import HotKey
from partage.printable import is_printable
from partage.report import printing
from partage.report.printing import PrintableConsole
from partage.report.profile_tables import print_profile


def console() -> Console:
    return Console(file=io.StringIO(), width=100)


def printed(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def test_lists_end_somewhere() -> None:
    assert printing.some(["a", "b"]) == "a, b"
    assert printing.some(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert printing.clipped("abcdef", 6) == "abcdef"
    assert printing.clipped("abcdefg", 6) == "abc…fg"
    assert printing.clipped("europe-west1-b", 12) == "europe…st1-b"
    assert printing.clipped("分区分区", 7) == "分 … 区"
    assert printing.clipped_at_a_word("ab cd efg", 7) == "ab cd …"


def test_partitions_by_topic() -> None:
    pairs = [("t", 0), ("u", 2), ("t", 7), ("t", 2), ("t", 1)]
    assert printing.partitions(pairs) == "t 0–2 7, u 2"
    assert printing.partitions([("a" * 50 + "b", 3), ("a" * 50 + "c", 4)]) == (
        f"{'a' * 20}…{'a' * 18}b 3, {'a' * 20}…{'a' * 18}c 4"
    )


def test_a_line_per_member() -> None:
    held = {"m2": [("t", 0)], "m1": [("t", 1), ("t", 2)]}
    assert printing.lines_of(held, 60) == "m1: t 1–2\nm2: t 0"
    assert printing.lines_of(held, 60, {"m1": "one"}, "lost ") == "lost one: t 1–2\nlost m2: t 0"
    many = {f"m{number}": [("t", number)] for number in range(10)}
    assert printing.lines_of(many, 60).splitlines()[-1] == "and 2 more members"


def test_a_remark_is_one_line_and_no_markup() -> None:
    to = console()
    printing.remark(f"group [/red]: {'long ' * 30}end", to)
    assert printed(to) == f"! group [/red]: {'long ' * 30}end\n"


def test_keys_and_topics_are_no_markup() -> None:
    """A key comes from outside: as markup ``[/red]`` would end the command with a traceback."""
    one = np.array([1])
    measured: Any = SimpleNamespace(
        totals={"records": 1, "bytes": 1, "topics": 1, "partitions": 1, "rejected": 0},
        topics=("[bold]t",),
        topic=np.array([0]),
        records=one,
        bytes=one,
        bytes_per_second=one,
        peak_bytes_per_second=one,
        outside=0,
        hot_keys=lambda _: [HotKey("[bold]t", 1, "[/red]", 1, 1, 1.0)],
        sizes=lambda: None,
        lags=lambda: None,
    )
    to = console()
    print_profile(measured, None, to)
    assert "[bold]t" in printed(to)
    assert "[/red]" in printed(to)


# rich itself drops a few control characters, among them BEL
HOSTILE = "\x1b]52;c;aGk=\x07\u202e[red]:bomb:\x00\x9b31m\u200b\ud800"
SHOWN = r"\x1b]52;c;aGk=\u202e[red]:bomb:\x00\x9b31m\u200b\ud800"


def shown(*renderables: Any, **options: Any) -> str:
    out = io.StringIO()
    PrintableConsole(file=out, width=200, **options).print(*renderables)
    return out.getvalue()


def test_every_text_is_printable_wherever_it_is() -> None:
    table = Table(title=Text(HOSTILE), caption=HOSTILE, box=None)
    table.add_column(Text(HOSTILE), footer=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Padding(Text(HOSTILE), (0, 1)))
    for one in (HOSTILE, Text(HOSTILE), Text("a ").append(HOSTILE, "bold"), table):
        out = shown(one)
        assert SHOWN[:20] in out
        assert is_printable(out.replace("\n", ""))
    assert shown(HOSTILE) == shown(Text(HOSTILE)) == f"{SHOWN}\n"
    assert shown(table).count(SHOWN[:20]) == 5


def test_an_escape_sequence_has_the_style_of_its_text() -> None:
    text = Text("a").append("\x1bb", "bold").append("c\nd")
    styled = shown(text, force_terminal=True, color_system="standard")
    assert styled == "a\x1b[1m\\x1bb\x1b[0mc\nd\n"


def test_a_cell_keeps_its_width() -> None:
    table = Table(box=None, padding=0)
    table.add_column(width=6)
    table.add_column()
    table.add_row(Text("\x1b\x1b\x1b"), "|")
    assert {line.index("|") for line in shown(table).splitlines() if "|" in line} == {6}
    assert "\\x1b" in shown(table)
