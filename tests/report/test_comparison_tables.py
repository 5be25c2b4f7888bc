"""Strategies compared in a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from partage.report.comparison import COLUMNS, columns, comparison_of
from partage.report.comparison_tables import print_compare
from tests.report import plan_documents as documents


def printed(compare, *, width=100, verbose=False, **options):
    out = io.StringIO()
    print_compare(compare, Console(file=out, width=width, **options), verbose)
    return out.getvalue()


def test_one_table_shows_what_decides():
    (row,) = (
        line.split()
        for line in printed(documents.comparison(), width=80).splitlines()
        if "rack-greedy" in line
    )
    assert row[1:] == ["54–81", "0", "133/124", "918", "GB", "18–24", "33/24", "42/33", "no"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", range(40, 150, 5))
def test_a_wider_terminal_shows_no_less(width):
    comparison = documents.comparison()
    narrow, wide = (printed(comparison, width=wide).splitlines() for wide in (width, 160))
    (row,) = (line.split() for line in narrow if "rack-greedy" in line)
    (full,) = (line.split() for line in wide if "rack-greedy" in line)
    assert set(row) <= set(full)
    assert max(cell_len(line.rstrip()) for line in narrow) <= width
    known = columns(comparison_of(comparison).plans.values())
    names = {column.name for _, part in known for column in part}
    notes = " ".join(" ".join(narrow).split()).partition("Not shown: ")[2]
    notes = notes.partition("see compare")[0]
    hidden = {name for name in names if f"{name};" in notes or f"{name}:" in notes}
    assert len(names) - len(hidden) == len(row) - row.count("GB") - row.count("s") - 1


def test_compare():
    text = printed(documents.comparison(), verbose=True)
    assert max(map(cell_len, text.splitlines())) <= 100
    assert "✗ mip cannot: no answer in 60 s" in text
    placement, leaders = (line.split() for line in text.splitlines() if "rack-greedy" in line)
    assert placement[1:] == ["54–81", "1.07", "4", "0", "133/124", "918", "GB", "9/8"]
    assert leaders[1:] == (["18–24", "61", "33/24", "42/33", "0", "yes", "no", "no", "0.02", "s"])
    legend = " ".join(text.split())
    assert "rack down: the same after any one rack fails" in legend
    assert "optimal: every exact stage meets its bound. " in legend
    assert legend.endswith("exact is proven optimal: 124 moves, 856 GB to copy.")


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ({}, "133/124"),
        ({"gaps": {"moves": 0.07}}, "133/124"),
        ({"gaps": {"replicas": 0.1}}, "133"),
        ({"rack_violations": 2}, "133"),
    ],
)
def test_moves_are_compared_with_a_bound_where_the_placement_is_the_fairest(
    figures: dict[str, Any], text: str
):
    comparison = documents.comparison()
    comparison["strategies"]["rack-greedy"] |= figures
    row = comparison_of(comparison).plans["rack-greedy"]
    (moves,) = (column for column in COLUMNS if column.name == "moves / lower bound")
    assert moves.text(row) == text


def test_leaders_balanced_by_rate_are_shown_and_ranked_by_rate():
    comparison = documents.comparison()
    plans = [row for row in comparison["strategies"].values() if "cannot" not in row]
    for number, row in enumerate(plans):
        row["leader_bytes_per_second"] = [0.5, 0.7 + number]
    text = printed(comparison, width=80)
    leaders = next(column for column in COLUMNS if column.name == "leaders per broker")
    rows = comparison_of(comparison).plans.values()
    assert [leaders.rank(row) for row in rows] == [0.7 + number for number in range(len(plans))]
    assert "43.2–60.5 kB/day" in text
    assert "43.2–147 kB/day" in text


def test_a_plan_with_a_gap_is_not_called_optimal_without_naming_it():
    comparison = documents.comparison()
    comparison["strategies"]["exact"]["gaps"] = {"leader rate": 0.00043}
    text = printed(comparison)
    (row,) = (line.split() for line in text.splitlines() if line.split()[:1] == ["exact"])
    assert row[-1] == "nearly"
    assert "◆ exact: optimal except leader rate (0.043 % above its bound)" in text
    assert "nearly" not in printed(documents.comparison())
    assert text.endswith("\nNo plan is proven optimal in every stage.\n")
    comparison["strategies"]["exact"]["gaps"] = {}
    comparison["strategies"]["greedy"] |= {"optimal": True}
    assert "exact, greedy are proven optimal; exact: 124 moves" in printed(comparison)


def test_loads_are_shown_where_they_are_known():
    comparison = documents.comparison()
    load = {"min": 97, "max": 130, "fair": 100, "band": [95, 105], "bound": 100}
    after = {"after_failure": {"max": 149, "bound": 110}}
    comparison["strategies"]["exact"]["resources"] = {"disk": load, "out": load | after}
    lines = printed(comparison, verbose=True).splitlines()
    start = lines.index("Strategies: loads of the brokers, in % of the fair share")
    row = next(line.split() for line in lines[start:] if line.split()[:1] == ["exact"])
    assert row == ["exact", "97–130", "97–130", "149/110"]


def test_compare_on_a_wide_terminal_is_one_table():
    text = printed(documents.comparison(), width=180, verbose=True)
    assert len([line for line in text.splitlines() if "rack-greedy" in line]) == 1


def test_compare_leaves_out_what_nothing_is_known_of():
    comparison = documents.comparison()
    for row in comparison["strategies"].values():
        if "moves" in row:
            row |= {"leaders_after_rack_failure": None, "bytes_moved": None, "deterministic": None}
    text = printed(comparison, verbose=True)
    for name in ("rack down", "offline", "copy", "determi"):
        assert name not in text
    assert "broker down" in text


def test_compare_with_large_numbers_is_split_rather_than_cut():
    comparison = documents.comparison()
    for row in comparison["strategies"].values():
        if "moves" in row:
            row |= {
                "moves": 123_456_789,
                "moves_lower_bound": 123_456_789,
                "replicas_per_broker": [1_000_000, 2_000_000],
                "topic_spread": 1_234_567_890_123,
            }
    text = printed(comparison, verbose=True)
    assert "123,456,789/123,456,789" in text
    assert "Strategies: placement and moves, continued" in text
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 100


def test_the_best_of_a_column_is_highlighted():
    text = printed(
        documents.comparison(), force_terminal=True, color_system="standard", verbose=True
    )
    placement, leaders = (line for line in text.splitlines() if "exact  " in line)
    assert "green: the best of its column;" in text
    assert "\x1b[1;32m 24/24\x1b[0m" in leaders
    assert "124/124" in placement
    assert "124/124\x1b" not in placement  # moves never do


def test_compare_when_no_strategy_can():
    text = printed({"strategies": {"mip": {"cannot": "why"}}})
    assert text.split("\n") == [" ✗ mip cannot: why", "", "No strategy has a plan for this.", ""]


def test_a_plan_that_breaks_racks_has_no_ratio_of_moves():
    comparison = documents.comparison()
    comparison["strategies"]["rack-greedy"] |= {"rack_violations": 90, "moves": 100}
    text = printed(comparison, verbose=True)
    (placement, *_) = (line.split() for line in text.splitlines() if "rack-greedy" in line)
    assert placement[4:7] == ["✗", "90", "100"]
    assert "124/124" in text  # where the rule holds
    assert "✗: breaks the rack rule" in " ".join(text.split())
    comparison["strategies"]["exact"] |= {"rack_violations": 3}  # the least there can be
    (exact, *_) = (line for line in printed(comparison).splitlines() if "exact  " in line)
    assert "✗" not in exact
    assert "124/124" in exact


def test_deleted_replicas_are_a_column_and_part_of_the_cost():
    comparison = documents.comparison()
    for row in comparison["strategies"].values():
        if "cannot" not in row:
            row["replicas_deleted"] = 1_620
    text = printed(comparison)
    (row,) = (line.split() for line in text.splitlines() if "rack-greedy" in line)
    assert row[1:5] == ["54–81", "0", "133/124", "1,620"]
    assert "deleted: replicas that are not replaced" in " ".join(text.split())
    assert text.endswith("124 moves, 856 GB to copy, 1,620 replicas deleted.\n")
    assert "deleted" not in printed(documents.comparison(), verbose=True)
