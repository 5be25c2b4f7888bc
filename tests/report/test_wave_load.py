"""The load per wave, grouped where there are many waves or brokers."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from partage.report.html import render
from partage.report.plan_tables import print_plan
from partage.report.view import view
from partage.report.wave_load import LEVELS, busiest, wave_load
from tests.report import plan_documents as documents


def sums(document: documents.Document, key: str) -> dict[int, int]:
    """Broker -> what it receives or sends in all waves, in plain loops."""
    total: dict[int, int] = {}
    for wave in document["waves"]:
        for broker, amount in zip(wave["brokers"], wave[key], strict=True):
            total[broker] = total.get(broker, 0) + amount
    return total


@pytest.mark.parametrize("groups", [60, 7, 3, 1])
def test_nothing_is_lost_by_folding_waves(groups: int) -> None:
    document = documents.grown()
    plan = view(document)
    load = wave_load(plan, groups, 100)
    assert load is not None
    assert load.received.shape == (len(load.brokers), len(load.first))
    assert len(load.first) <= groups
    assert (load.first[0], load.last[-1]) == (1, 7)
    assert (load.first[1:] == load.last[:-1] + 1).all()
    for key, table in (("bytes_in", load.received), ("bytes_out", load.sent)):
        total = sums(document, key)
        for row, broker in enumerate(load.brokers.tolist()):
            assert table[row].sum() == total[plan.brokers[broker].id]
    assert load.length.sum() == pytest.approx(plan.seconds)


def test_the_brokers_that_copy_most_are_drawn() -> None:
    plan = view(documents.random_plan(12, 300, 20, waves=5))
    every, few = wave_load(plan, 60, 100), wave_load(plan, 60, 4)
    assert every is not None
    assert few is not None
    assert few.hidden == len(every.brokers) - 4
    total = every.received.sum(axis=1) + every.sent.sum(axis=1)
    assert set(few.brokers) == set(every.brokers[np.argsort(-total)[:4]])


def test_shades_words_and_bars() -> None:
    load = wave_load(view(documents.grown()), 60, 100)
    assert load is not None
    most = max(load.received.max(), load.sent.max())
    assert [load.level(amount) for amount in (0, 1, most)] == [0, 1, LEVELS]
    assert load.title(0, 0, "1").startswith("wave 1, broker 1: receives nothing, sends ")
    assert set(load.blocks(load.received, 0)) == {"·"}
    assert "█" in "".join(load.blocks(load.sent, row) for row in range(len(load.brokers)))
    assert max(load.height(g) for g in range(len(load.first))) == 1
    assert load.heading(2) == "3"


def test_replicas_where_no_size_is_known() -> None:
    document = documents.grown()
    for wave in document["waves"]:
        wave |= {"bytes": None, "seconds": None, "bytes_in": None, "bytes_out": None}
    plan = view(document)
    load = wave_load(plan, 60, 100)
    assert load is not None
    assert not load.by_bytes
    assert load.received.sum() == document["figures"]["after"]["moves"]
    assert re.fullmatch(r"\d+ (receives|sends) \d+", busiest(plan, plan.waves[0]))
    assert "Load per wave, replicas" in printed(document)
    assert "To copy</th><td" in render(document)


def test_nothing_is_drawn_without_copies_or_without_the_load() -> None:
    assert wave_load(view(documents.unchanged()), 60, 100) is None
    silent = documents.grown()
    for wave in silent["waves"]:
        del wave["brokers"]
    assert wave_load(view(silent), 60, 100) is None
    assert busiest(view(silent), view(silent).waves[0]) == ""
    assert "Load per wave" not in render(silent)
    order_only = documents.document(
        [documents.broker(1), documents.broker(2)], [("t", 0, [1, 2], [2, 1])], sizes=[7], waves=1
    )
    assert wave_load(view(order_only), 60, 100) is None


def test_the_page_has_a_cell_per_broker_and_wave() -> None:
    text = render(documents.grown())
    card = text.split('aria-labelledby="load"')[1].split("</section>")[0]
    rows = card.split("<tr>")[2:]
    assert len(rows) == 8
    assert {row.count("<td") for row in rows} == {7}
    assert "wave 3, broker 7: receives" in card
    assert "Shown are" not in card


def test_the_page_folds_many_waves_and_brokers() -> None:
    document = documents.random_plan(60, 3000, 40, waves=170)
    card = render(document).split('aria-labelledby="load"')[1].split("</section>")[0]
    assert re.search(r"Each column is \d consecutive waves", card)
    assert re.search(r"Shown are the 24 brokers that copy most, without \d+ others", card)
    assert max(row.count("<td") for row in card.split("<tr>")) <= 60


def printed(document: documents.Document, width: int = 80) -> str:
    console = Console(width=width, record=True, file=StringIO())
    print_plan(document, console, verbose=True)
    return str(console.export_text())


@pytest.mark.parametrize("waves", [1, 7, 200])
def test_the_terminal_shows_bars(waves: int) -> None:
    document: dict[str, Any] = documents.random_plan(12, 900, 20, waves=waves)
    text = printed(document)
    part = text.split("Load per wave, bytes")[1]
    assert max(map(len, text.splitlines())) <= 80
    assert "█" in part
    assert ("waves per bar" in part) is (waves == 200)
