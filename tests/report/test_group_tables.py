"""Simulations as text: what paused is the headline of a page, and the end of a terminal."""

from __future__ import annotations

import io
from importlib.resources import files

import pytest

from partage import Group, Member, assign
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from partage.report.group_tables import print_assignment, print_simulation
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


def test_long_names_are_shown_whole_where_they_differ() -> None:
    """The ids that a broker gives to members begin alike, and so do many topics' names."""
    client, topic = "consumer-billing-service-1", "prod.billing.invoices.public.events.v1"
    ids = [f"{client}-{n}6a695ad-68c2-4e09-88a2-759e3854e366" for n in range(2)]
    group = Group({topic: 4}, [Member(one, [topic]) for one in ids])
    out = io.StringIO()
    print_assignment(assign(group, "range"), "range", PrintableConsole(file=out, width=80))
    rows = out.getvalue().splitlines()[4:]
    columns = ["".join(row[at:end].strip() for row in rows) for at, end in ((0, 30), (44, 80))]
    assert "…" not in out.getvalue()
    assert columns[0].startswith(f"{client}-06a695ad{client}-16a695ad")
    assert columns[1].replace(" ", "") == f"{topic}0–1{topic}2–3"


def printed(value: dict[str, object], assignor: str) -> list[str]:
    found = simulate(Scenario.from_json({"topics": {"t": 4}, "until": 200, **value}), assignor)
    out = io.StringIO()
    print_simulation(found, PrintableConsole(file=out, width=300))
    return out.getvalue().splitlines()


def test_one_member_per_partition() -> None:
    found = assign(Group({"t": 2}, [Member("a", ["t"]), Member("b", ["t"])]), "share")
    out = io.StringIO()
    print_assignment(found, "share", PrintableConsole(file=out, width=80))
    assert out.getvalue().splitlines()[0].endswith(", 1 member per partition")


LONG = {
    "topics": {"prod.billing.invoices.events": 2},
    "members": [
        {"id": f"consumer-billing-service-1-{n}6a695ad", "topics": ["prod.billing.invoices.events"]}
        for n in range(2)
    ],
}


def test_rounds_show_partitions_after_long_names() -> None:
    lines = printed(LONG, "range")
    for n in range(2):
        expected = f"consumer-billing-service-1-{n}6a695ad: prod.billing.invoices.events {n}"
        assert any(expected in line for line in lines)


def test_the_timeline_shows_the_end_of_long_names() -> None:
    found = simulate(Scenario.from_json({**LONG, "until": 200}), "range")
    for by, labels in (
        ("partition", ["prod.bil….events-0", "prod.bil….events-1"]),
        ("member", ["cons…ce-1-06a695ad", "cons…ce-1-16a695ad"]),
    ):
        out = io.StringIO()
        print_simulation(found, PrintableConsole(file=out, width=80), by)
        lines = out.getvalue().splitlines()
        assert [line[:18] for line in lines if line[:18] in labels] == labels


def test_while_no_member_runs_partitions_pause() -> None:
    away = [{"id": "a", "topics": ["t"], "restarts": [{"at": 60, "back_at": 120}]}]
    lines = printed({"members": away}, "cooperative-sticky")
    assert "240.0 partition-seconds paused: 4 partitions, the longest for 60.0 s" in lines
    assert "0.0 partition-seconds without an owner, while a member was running" in lines


def test_where_all_members_are_rejected_nothing_was_kept() -> None:
    both = {"assignors": ["cooperative-sticky", "range"], "client": "librdkafka"}
    lines = printed({"members": [{"id": "a", "topics": ["t"], **both}]}, "range")
    assert "No member was ever assigned a partition." in lines
    assert KEPT not in lines
