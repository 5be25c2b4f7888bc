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


def worst(failure: str, fails: Sequence[str], *costs: Sequence[int]) -> list[dict[str, Any]]:
    """The worst run of each placement. ``costs``: of each, partitions offline, those below min ISR,
    and what broker 7 leads."""
    return [
        {"placement": name, "failure": failure, "fails": lost, "offline": offline}
        | {"under_min_isr": under, "leaders": leaders, "survivor": 7 if leaders else None}
        for name, lost, (offline, under, leaders) in zip(_PLACEMENTS, fails, costs, strict=True)
    ]


def failures(**of_racks: Sequence[float]) -> dict[str, Any]:
    none = dict.fromkeys(("offline", "under_min_isr", "leaders_over_mean"), (0, 0, 0))
    measures = ("bytes_per_second_over_mean", "bytes_out_per_second_over_mean")
    rates = rows(dict.fromkeys(measures, (0, 0, 0)), failure="broker")
    found = rows(none | {"leaders": (58, 21, 38)}, failure="broker") + rates
    if of_racks:
        found += rows(none | {"leaders": (59, 27, 44)} | of_racks, failure="rack")
        found += rows(dict.fromkeys(measures, (0, 0, 0)), failure="rack")
    lost = worst("broker", "214", (0, 0, 58), (0, 0, 21), (0, 0, 38))
    if of_racks:
        lost += worst("rack", "bac", (0, 21, 59), (0, 0, 27), (0, 3, 44))
    about: dict[str, Any] = {"placements": _PLACEMENTS, "cannot": {}, "worst": lost}
    about["min_isr_assumed"] = 2
    return about | {"percentiles": found, "survivors": survivors()}


def survivors(**more: Any) -> list[dict[str, Any]]:
    """Brokers 1 and 2 of each placement: what they lead, and send with ``more``."""
    loads = {"leaders": (10, 21, None), "out": (40e6, 90e6, "t-4")} if more else {}
    return [
        {"placement": name, "failure": "broker", "broker": broker, "load": load}
        | {"before": before / broker, "after": after / broker, "fair": before, "hottest": hottest}
        | {"fails": str(3 - broker), "band": None, "headroom": None}
        | (more if load == "out" else {})
        for name in _PLACEMENTS
        for load, (before, after, hottest) in (loads or {"leaders": (10, 21, None)}).items()
        for broker in (1, 2)
    ]


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
        for measure in ("moved", "paused_partition_seconds", "rounds", "lag_peak")
    ]
    about = {"runs": 9, "scenario": "s.json", "events": 5, "violations": 0}
    return about | {"percentiles": found}


_BROKERS = [
    "Today the worst broker to lose is 2: broker 7 then leads 58 partitions",
    "With exact it is 1: broker 7 then leads 21 partitions",
]

SHOWN: dict[str, tuple[Show, dict[str, Any], list[str]]] = {
    "failures": (
        print_failures,
        failures(under_min_isr=(21, 0, 3)),
        [
            *_BROKERS,
            "Today the worst rack to lose is b: 21 partitions below min ISR, broker 7 then leads "
            "59",
            "With exact it is a: broker 7 then leads 27 partitions",
        ],
    ),
    "failures without racks": (
        print_failures,
        failures(),
        _BROKERS,
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
            "sticky (cooperative) pauses least: 281 partition-seconds in the median run; range "
            "(eager) most: 1,243"
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


@pytest.mark.parametrize(
    ("costs", "answer"),
    [
        (
            [(4, 9, 0), (1, 9, 7), (1, 8, 9)],
            [
                "Today the worst broker to lose is 2: 4 partitions offline",
                "With generate it is 4: 1 partition offline, broker 7 then leads 9",
            ],
        ),
        ([(0, 0, 0)] * 3, []),
    ],
)
def test_what_the_worst_failure_costs(costs: list[Any], answer: list[str]) -> None:
    out = io.StringIO()
    value = failures() | {"worst": worst("broker", "214", *costs)}
    print_failures(value, PrintableConsole(file=out, width=160))
    assert out.getvalue().rpartition("\n\n")[2].splitlines() == answer


def test_what_survivors_lead_after_the_worst_failure() -> None:
    out = io.StringIO()
    value = failures() | {"survivors": survivors(band=[38e6, 42e6], headroom=0.1)}
    print_failures(value, PrintableConsole(file=out, width=120))
    _, _, shown = out.getvalue().partition("Brokers if another one fails: exact")
    lines = [" ".join(line.split()) for line in shown.splitlines() if line.strip()]
    assert lines[0] == (
        "broker leaders bytes out MB/s highest band fails hottest partition headroom"
    )
    assert lines[2:4] == [
        "1 10 → 21 40.0 → 90.0 bytes out 225 95–105 2 t-4 10 %",
        "2 5 → 10 20.0 → 45.0 bytes out 112 95–105 1 t-4 10 %",
    ]
    assert "Brokers if another one fails: generate" not in out.getvalue()
    assert "what is then free of the network" in " ".join(out.getvalue().split())


def test_without_rates_only_leaders_are_shown() -> None:
    out = io.StringIO()
    print_failures(failures(), PrintableConsole(file=out, width=120))
    _, _, shown = out.getvalue().partition("Brokers if another one fails: exact")
    lines = [" ".join(line.split()) for line in shown.splitlines() if line.strip()]
    assert lines[0] == "broker leaders highest fails"
    assert lines[2] == "1 10 → 21 leaders 210 2"
    assert "hottest" not in out.getvalue()


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
