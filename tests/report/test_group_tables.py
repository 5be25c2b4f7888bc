"""Simulations as text: what paused is the headline of a page, and the end of a terminal."""

from __future__ import annotations

import io
from importlib.resources import files

import pytest

from partage.consumers.simulation import simulate
from partage.report.group_tables import print_simulation
from partage.report.printing import PrintableConsole
from partage.report.result_page import PageConsole, Paragraph

GROUPS = files("partage") / "data" / "groups"
KEPT = "✓ No partition had two owners, and each had one whenever the group was stable."


@pytest.mark.parametrize(
    ("name", "assignor", "answer"),
    [
        (
            "short-restart",
            "cooperative-sticky",
            [
                "4.0 partition-seconds paused: 2 partitions, the longest for 2.0 s",
                "10.0 partition-seconds without an owner, with the waits for a first owner",
                "cooperative-sticky, cooperative: 2 rounds, 2 partitions moved",
                KEPT,
            ],
        ),
        (
            "strategies",
            "range",
            [
                "0.0 partition-seconds paused",
                "range, eager: 2 rounds, 2 partitions moved",
                "C2 was rejected: INCONSISTENT_GROUP_PROTOCOL: ",
                KEPT,
            ],
        ),
        (
            "streams",
            "streams",
            [
                "148.5 partition-seconds paused: 5 partitions, the longest for 46.5 s",
                "0.0 task-seconds restoring state",
                "streams, cooperative: 7 rounds, 6 partitions moved",
                KEPT,
            ],
        ),
    ],
)
def test_what_paused_ends_the_terminal_and_begins_the_page(
    name: str, assignor: str, answer: list[str]
) -> None:
    found = simulate(str(GROUPS / f"{name}-scenario.json"), assignor)
    out = io.StringIO()
    print_simulation(found, PrintableConsole(file=out, width=300))
    ended = out.getvalue().splitlines()[-len(answer) - 1 :]
    assert ended[0] == ""
    assert all(map(str.startswith, ended[1:], answer))
    page = PageConsole()
    print_simulation(found, page)
    assert page.cards[0].title == answer[0]
    lead = [block for block in page.cards[0].blocks if isinstance(block, Paragraph)]
    texts = ["".join(text for text, _ in block.pieces) for block in lead]
    assert all(map(str.startswith, texts, answer[1:]))
