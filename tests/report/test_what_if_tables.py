"""What-if results as text: the answer is the headline of a page, and the end of a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from rich.console import Console

from partage.report.printing import PrintableConsole
from partage.report.result_page import Grid, PageConsole
from partage.report.what_if_tables import print_churn, print_failures, print_growth

Show = Callable[[Mapping[str, Any], Console], None]

_PLACEMENTS = ("today", "exact", "generate")


def rows(measures: Mapping[str, Sequence[float]], **case: str) -> list[dict[str, Any]]:
    """A row per measure and placement; every percentile is the same."""
    return [
        {"placement": name, **case, "measure": measure, "runs": 9, "above": min(value, 1)}
        | dict.fromkeys(("p50", "p90", "p99", "max"), value)
        for measure, values in measures.items()
        for name, value in zip(_PLACEMENTS, values, strict=True)
    ]


def failures(**of_racks: Sequence[float]) -> dict[str, Any]:
    none = dict.fromkeys(("offline", "under_min_isr", "leaders_over_mean"), (0, 0, 0))
    measures = ("bytes_per_second_over_mean", "bytes_out_per_second_over_mean")
    rates = rows(dict.fromkeys(measures, (0, 0, 0)), failure="broker")
    found = rows(none | {"leaders": (58, 21, 38)}, failure="broker") + rates
    if of_racks:
        found += rows(none | {"leaders": (59, 27, 44)} | of_racks, failure="rack")
        found += rows(dict.fromkeys(measures, (0, 0, 0)), failure="rack")
    return {"placements": _PLACEMENTS, "cannot": {}, "percentiles": found}


def growth() -> dict[str, Any]:
    even = dict.fromkeys(("leader_rate", "rate", "bytes"), (1.9, 1.25, 1.5))
    found = rows(even | {"disk": (0.4, 0.002, 0)})
    about = {"runs": 9, "factor": 2, "sigma": 0.5, "above": 1.5, "full": 0.85, "cannot": {}}
    return about | {"percentiles": found}


def churn() -> dict[str, Any]:
    found = [
        {"assignor": assignor, "protocol": protocol, "measure": measure, "runs": 9}
        | dict.fromkeys(("p50", "p90", "p99", "max"), value)
        for assignor, protocol, value in (("range", "eager", 1243), ("sticky", "cooperative", 281))
        for measure in ("moved", "unowned_partition_seconds", "rounds", "lag_peak")
    ]
    about = {"runs": 9, "scenario": "s.json", "events": 5, "violations": 0}
    return about | {"percentiles": found}


SHOWN: dict[str, tuple[Show, dict[str, Any], list[str]]] = {
    "failures": (
        print_failures,
        failures(under_min_isr=(21, 0, 3)),
        [
            "The worst broker failure leaves one survivor with 58 leaders today, 21 with exact",
            "The worst rack failure leaves 21 partitions below min ISR today, 0 with exact",
        ],
    ),
    "failures without racks": (
        print_failures,
        failures(),
        ["The worst broker failure leaves one survivor with 58 leaders today, 21 with exact"],
    ),
    "growth": (
        print_growth,
        growth(),
        [
            "In the median run the busiest broker leads 1.90 × the mean rate today, 1.25 with "
            "exact",
            "A disk is fuller than 85% in 40% of the runs today, 0% with generate",
        ],
    ),
    "churn": (
        print_churn,
        churn(),
        [
            "sticky (cooperative) pauses least: 281 partition-seconds without an owner in the "
            "median run; range (eager) most: 1,243"
        ],
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_answer_ends_the_terminal_and_begins_the_page(name: str) -> None:
    show, value, answer = SHOWN[name]
    out = io.StringIO()
    show(value, PrintableConsole(file=out, width=160))
    assert out.getvalue().splitlines()[-len(answer) :] == answer
    page = PageConsole()
    show(value, page)
    assert page.cards[0].title == answer[0]


def test_a_wide_table_is_split_on_a_page() -> None:
    """A screen of 1280 pixels shows three groups of five columns, and then the disks."""
    page = PageConsole()
    print_growth(growth(), page)
    tables = [block for block in page.cards[0].blocks if isinstance(block, Grid)]
    assert [len(table.headings) for table in tables] == [16, 6]


def test_a_violated_guarantee_is_part_of_the_answer() -> None:
    out = io.StringIO()
    print_churn(churn() | {"violations": 1}, PrintableConsole(file=out, width=160))
    assert out.getvalue().endswith("✗ 1 run violated the protocol's guarantees\n")
