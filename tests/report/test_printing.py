"""What tables and lists have in common; names stay what they are, whatever is in them."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console

from partage.measured_loads import HotKey
from partage.report import printing
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
    assert printing.clipped("abcdefg", 6) == "abcde…"
    assert printing.clipped_at_a_word("ab cd efg", 7) == "ab cd …"


def test_partitions_by_topic() -> None:
    pairs = [("t", 0), ("u", 2), ("t", 7), ("t", 2), ("t", 1)]
    assert printing.partitions(pairs) == "t 0–2 7, u 2"


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
