"""What the terminal shows: fits the width, colours a terminal only, says what matters."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from partage.report.comparison_tables import print_compare
from partage.report.plan_tables import print_plan
from tests.report import plan_documents as documents
from tests.report.plan_documents import broker


def printed(what, show=print_plan, *, width=100, **options):
    out = io.StringIO()
    show(what, Console(file=out, width=width, **options))
    return out.getvalue()


def plans():
    many = documents.random_plan(brokers=60, partitions=600, topics=20)
    long_names = documents.document(
        [broker(1_000_000_000 + i, f"a-rack-with-a-long-name-{i}") for i in range(12)],
        [("t" * 200, 0, [1_000_000_000], [1_000_000_011])],
        sizes=[9_999_999_999],
        rates=[0.004],
        binding=["a rule " * 60],
        warnings=[f"warning {i}" for i in range(20)],
        gaps={"leader rate": 0.2},
        waves=30,
    )
    return {
        "grown": documents.grown(),
        "36 brokers": documents.random_plan(partitions=1000),
        "60 brokers": many,
        "long names": long_names,
        "settled": documents.unchanged(),
    }


@pytest.mark.parametrize("name", plans())
@pytest.mark.parametrize("width", [80, 100])
def test_fits_the_width_without_a_terminal_and_without_colour(name, width):
    text = printed(plans()[name], width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text


def test_colour_on_a_terminal_only_and_never_against_no_color():
    document = documents.grown()
    assert "\x1b[32m" in printed(document, force_terminal=True, color_system="standard")
    assert "\x1b[3" not in printed(document, force_terminal=True, no_color=True)


def test_the_story_of_a_plan():
    text = printed(documents.grown())
    assert "161 replicas move (proven minimum): 851 GB to copy in 7 waves." in text
    assert "117 → 61" in text
    assert "7 new" in text
    assert "rack rule: rack c has 2 of 8 brokers" in text
    assert "broker 6 held 16 replicas" in text
    assert "7 waves, about 4 h 44 min" in text
    assert "161 moves: proven minimum" in text


def test_movement_as_a_matrix_and_as_the_largest_pairs():
    assert "Copies, leader → target, GB" in printed(documents.grown())
    wide = printed(documents.random_plan(partitions=2000))
    assert "the largest of" in wide
    assert "others" in wide


def test_many_brokers_are_summed_up():
    text = printed(documents.random_plan(brokers=60, partitions=600, topics=20))
    assert "60 brokers, min · median · max" in text
    assert "0 · " in text
    assert len(text.splitlines()) < 75


def test_nothing_to_do():
    text = printed(documents.unchanged())
    assert text.startswith("Nothing to do: the cluster is already as balanced as the rules allow.")
    assert "Copies, leader" not in text


def test_markup_in_names_stays_text():
    document = documents.unchanged()
    document["warnings"] = ["rack [red]a[/red] :smile: [/]"]
    assert "rack [red]a[/red] :smile: [/]" in printed(document)


def test_compare():
    text = printed(documents.comparison(), print_compare)
    assert max(map(cell_len, text.splitlines())) <= 100
    assert "✗ mip cannot: no answer in 60 s" in text
    placement, leaders = (line.split() for line in text.splitlines() if "rack-greedy" in line)
    assert placement[1:] == ["54–81", "1.07", "4", "0", "133/124", "918", "GB", "9/8"]
    assert leaders[1:] == (["18–24", "61", "33/24", "42/33", "0", "yes", "no", "no", "0.02", "s"])
    legend = " ".join(text.split())
    assert "rack down: the same after any one rack fails" in legend
    assert legend.endswith("optimal: every exact stage meets its bound.")


def test_compare_on_a_wide_terminal_is_one_table():
    text = printed(documents.comparison(), print_compare, width=180)
    assert len([line for line in text.splitlines() if "rack-greedy" in line]) == 1


def test_compare_leaves_out_what_nothing_is_known_of():
    comparison = documents.comparison()
    for row in comparison["strategies"].values():
        if "moves" in row:
            row |= {"leaders_after_rack_failure": None, "bytes_moved": None, "deterministic": None}
    text = printed(comparison, print_compare)
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
    text = printed(comparison, print_compare)
    assert "123,456,789/123,456,789" in text
    assert "Strategies: placement and moves, continued" in text
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 100


def test_the_best_of_a_column_stands_out():
    text = printed(
        documents.comparison(), print_compare, force_terminal=True, color_system="standard"
    )
    placement, leaders = (line for line in text.splitlines() if "exact  " in line)
    assert "\x1b[1;32m      24/24\x1b[0m" in leaders
    assert "124/124" in placement
    assert "124/124\x1b" not in placement  # moves never do


def test_compare_when_no_strategy_can():
    text = printed({"strategies": {"mip": {"cannot": "why"}}}, print_compare)
    assert text.split() == ["✗", "mip", "cannot:", "why"]
