"""A plan in a terminal: fits the width, coloured on a terminal only."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from partage.report.plan_tables import print_plan
from tests.report import plan_documents as documents
from tests.report.plan_documents import broker


def printed(document, *, width=100, **options):
    out = io.StringIO()
    print_plan(document, Console(file=out, width=width, **options), verbose=True)
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
        "unchanged": documents.unchanged(),
        "deleting": documents.deleting(),
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
    assert (
        "161 replicas move (proven minimum): 851 GB to copy in 7 waves, about 4 h 44 min." in text
    )
    assert "117 → 61" in text
    assert "7 new" in text
    assert "rack rule: rack c has 2 of 8 brokers" in text
    assert "broker 6 held 16 replicas" in text
    assert "7 waves, about 4 h 44 min" in text


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
    assert "\nNothing to do: the cluster is already as balanced as the rules allow.\n" in text
    assert "Copies, leader" not in text


def test_markup_in_names_stays_text():
    document = documents.unchanged()
    document["warnings"] = ["rack [red]a[/red] :smile: [/]"]
    assert "rack [red]a[/red] :smile: [/]" in printed(document)


def test_fair_shares_of_unequal_brokers_are_a_range():
    rows = [("t", n, [1], [1 + n % 3 // 2]) for n in range(9)]
    shown = printed(documents.document([broker(1), broker(2, capacity=2)], rows))
    (line,) = (line for line in shown.splitlines() if "fair share" in line)
    assert line.split()[:3] == ["fair", "share", "3.0–6.0"]


def test_waves_show_what_they_delete_where_the_plan_deletes_anything():
    lines = [line.split() for line in printed(documents.deleting()).splitlines()]
    start = next(i for i, words in enumerate(lines) if words[:2] == ["wave", "partitions"])
    head, row = lines[start], lines[start + 2]
    assert head[:4] == ["wave", "partitions", "moves", "deleted"]
    assert row[:4] == ["waves/001.json", "3", "1", "2"]
    assert "deleted" not in printed(documents.grown())


def test_the_rest_of_many_waves_is_summed_up_with_what_it_deletes():
    document = documents.grown()
    document["partitions"]["after"][0].pop()
    waves = document["waves"] = documents.random_plan(waves=12)["waves"]
    for wave in waves:
        wave |= {"replicas_deleted": 2, "brokers": None}
    (row,) = (line.split() for line in printed(document).splitlines() if "5 more" in line)
    assert row[4] == "10"
