"""The page in a real browser: what it shows, and what its controls do."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

import partage
from partage.brokers.explain import explain
from partage.report import units
from partage.report.html import render
from tests import bundled
from tests.report import plan_documents as documents

pytestmark = pytest.mark.browser

NBSP = "\u00a0"
"""Between a number and its unit."""


def tiles(page):
    return {
        tile.locator(".label").inner_text(): tile.locator(".value").inner_text().replace(NBSP, " ")
        for tile in page.locator(".hero .tile").all()
    }


def test_tiles_show_the_figures(visit, grown):
    assert tiles(visit(grown)) == {
        "Moves": "161",
        "To copy": "851 GB",
        "Replicas per broker": "57–66",
        "Leaders per broker": "15–23",
        "Most leaders after a failure": "36",
        "Rack violations": "37",
        "Topic spread": "28",
        "Bytes, fullest / mean broker": "1.38",
    }


def test_with_leaders_by_rate_the_rate_is_the_first_figure_and_its_axis_has_round_numbers(visit):
    rates = [41_100 / 86_400, 20_000 / 86_400, 30_000 / 86_400, 57_900 / 86_400]
    page = visit(render(documents.small(rates=rates, options={"leaders": "rate"})))
    first, *_ = tiles(page).items()
    assert first == ("Bytes in as leader, per broker", "41.1–57.9 kB/day")
    texts = page.locator('[data-load="rate"] svg text').all_text_contents()
    assert texts[:3] == ["0", "50.0", "100"]  # the highest was 87.9
    assert "kB/day" in page.locator("#headline").inner_text()


@pytest.mark.long
def test_charts_have_a_bar_per_broker_and_a_fair_share(visit, grown):
    page = visit(grown)
    for key, before in (("replicas", 6), ("leaders", 6), ("bytes", 6), ("rate", 6)):
        chart = page.locator(f'[data-load="{key}"] svg')
        assert chart.locator("rect.after").count() == 8
        assert chart.locator("rect.before").count() == before  # 7 and 8 held nothing
        assert chart.locator("path.fair").count() == 1
    surface = page.locator('[data-load="replicas"] svg rect.slot').last
    surface.hover(position={"x": 20, "y": 60})  # the first of eight
    readout = page.locator('[data-load="replicas"] output')
    assert readout.inner_text() == "broker 1 (rack a): 117 → 61, fair 60.8"
    page.mouse.move(5, 5)
    assert readout.inner_text() == "0–117 → 57–66"


def test_heat_map_before_after_and_change(visit, grown):
    page = visit(grown)

    def row(topic):
        line = page.locator(
            "#heat tbody tr", has=page.get_by_role("rowheader", name=topic, exact=True)
        )
        return line.locator("td").all_inner_texts()

    after = row("kafka")
    assert after == ["0", "0", "0", "0", "0", "24", "24", "24"]
    page.locator('[data-choice="heat"] label', has_text="Before").click()
    before = row("kafka")
    assert before == ["24", "24", "24", "0", "0", "0", "0", "0"]
    assert page.locator("#heat-state").text_content() == "before the plan"
    page.keyboard.press("ArrowRight")  # a radio group: arrows move on to Change
    assert row("kafka") == ["−24", "−24", "−24", "·", "·", "+24", "+24", "+24"]
    assert page.locator("#change-scale").is_visible()
    page.keyboard.press("ArrowRight")
    assert row("kafka") == after


def test_a_failure_shows_the_brokers_that_take_over(visit, grown):
    page = visit(grown)
    document = documents.grown()
    ids = [b["id"] for b in document["brokers"]]
    before, after = (document["partitions"][when] for when in ("before", "after"))
    page.locator("#failed label").nth(2).click()
    said = page.locator("#failed-text").inner_text()
    led = sum(row[0] == 3 for row in after)
    assert said.startswith(f"Broker 3 fails: {led} leaders to take over;")
    for successor in ids:
        taken = sum(row[0] == 3 and row[1] == successor for row in after)
        assert (f" {successor} takes {taken}" in said) == (taken > 0)
    worst, was = (max(documents.after_failure(t, ids, 3).values()) for t in (after, before))
    assert said.endswith(f"The worst survivor then leads {worst}; before the plan {was}.")
    page.keyboard.press("ArrowRight")
    assert page.locator("#failed-text").inner_text().startswith("Broker 4 fails")


@pytest.mark.long
def test_a_click_on_any_brokers_bar_lets_it_fail(visit, grown):
    page = visit(grown)
    said, worst = page.locator("#failed-text"), page.locator("#worst svg rect.pick")
    worst.click(position={"x": 20, "y": 60})
    assert said.inner_text().startswith("Broker 1 fails")
    assert page.locator('input[name="failed"]:checked').get_attribute("value") == "0"
    bars = page.locator('[data-load="bytes"] svg rect.pick')
    bars.click(position={"x": bars.bounding_box()["width"] - 20, "y": 60})
    assert said.inner_text().startswith("Broker 8 fails")
    assert page.locator('input[name="failed"]:checked').get_attribute("value") == "7"
    assert page.locator("rect.picked").count() == 4 + 1  # in every load, and among those that fail


@pytest.mark.long
def test_a_rack_fails_as_a_whole(visit, grown):
    page = visit(grown)
    document = documents.grown()
    rack = {b["id"]: b["rack"] for b in document["brokers"]}
    page.locator("#failed label", has_text="rack b").click()
    said = page.locator("#failed-text").inner_text()
    leads, taken, lost = Counter(), Counter(), 0
    for row in document["partitions"]["after"]:
        others = [b for b in row if rack[b] != "b"]
        if rack[row[0]] != "b":
            leads[row[0]] += 1
        elif others:
            taken[others[0]] += 1
        else:
            lost += 1
    assert said.startswith(f"Rack b fails: {taken.total() + lost} leaders to take over;")
    for successor, number in taken.items():
        assert f"{successor} takes {number}" in said
    assert f"The worst survivor then leads {max((leads + taken).values())};" in said
    assert (f"{lost} partitions without another live replica." in said) == (lost > 1)
    survivors = page.locator("#survivors svg")
    assert survivors.locator("rect.after").count() == sum(name != "b" for name in rack.values())
    table = page.locator("#failures ~ details tbody tr", has_text="b")
    page.locator("#failures ~ details summary").click()
    assert table.locator("td").first.inner_text() == str(taken.total() + lost)


@pytest.mark.long
def test_movement_in_bytes_and_in_replicas(visit, grown):
    page = visit(grown)
    first = page.locator("#movement-table tbody tr").first.locator("td")
    assert first.all_inner_texts() == ["87.3 GB", "96.5 GB", "96.5 GB"]
    racks = page.locator("#movement-racks tbody td")
    page.locator('[data-choice="movement"] label', has_text="Replicas").click()
    assert sum(map(int, first.all_inner_texts())) == 53
    moves = documents.grown()["figures"]["after"]["moves"]
    assert sum(int(n) for n in racks.all_inner_texts() if n != "·") == moves


@pytest.mark.long
def test_one_brokers_movement_in_words(visit, grown):
    page = visit(grown)
    columns = documents.grown()["partitions"]
    received = sum(
        8 in new and 8 not in old
        for old, new in zip(columns["before"], columns["after"], strict=True)
    )
    page.locator("#mover").select_option(label="8")
    said = page.locator("#mover-text").inner_text()
    assert said.startswith(f"Broker 8 (rack b, new) receives {received} replicas, ")
    assert said.endswith("; sends nothing.")
    assert "from 1 (" in said


@pytest.mark.long
def test_waves_at_another_throttle_and_with_a_start(visit, grown):
    page = visit(grown)
    title, last = page.locator("#waves"), page.locator("#waves-table tbody tr").last.locator("td")
    waves = documents.grown()["waves"]
    assert (
        title.inner_text() == f"7 waves, about {units.duration(sum(w['seconds'] for w in waves))}"
    )
    page.locator("#throttle").fill("100")
    times = [math.ceil(max(w["bytes_in"] + w["bytes_out"]) / 100e6) for w in waves]
    assert title.inner_text() == f"7 waves, about {units.duration(sum(times))}"
    expected = [units.duration(times[-1]), units.duration(sum(times))]
    assert last.all_inner_texts()[-2:] == expected
    page.locator("#start").fill("2030-01-01T00:00")
    assert page.locator("#done").inner_text() == "Done at"
    assert "Jan 1" in last.last.inner_text()
    page.locator("#throttle").fill("")
    assert title.inner_text() == "7 waves"
    assert last.last.inner_text() == "–"


@pytest.mark.long
def test_the_last_of_many_waves_is_shown(visit):
    page = visit(render(documents.random_plan(36, 600, 20, waves=260)))
    rows = page.locator("#waves-table tbody tr")
    assert rows.count() == 201
    assert rows.nth(150).inner_text() == "… 60 more waves, in plan.json …"
    assert rows.last.locator("th").inner_text() == "waves/260.json"
    page.locator("#throttle").fill("1")
    assert re.fullmatch(r"\d+ d \d+ h", rows.last.locator("td").last.inner_text())


def test_of_many_brokers_the_change_is_shown_first(visit):
    page = visit(render(documents.random_plan(36, 600, 20)))
    assert page.locator('[data-choice="heat"] input:checked').get_attribute("value") == "change"
    assert page.locator("#heat tbody td").first.inner_text()[0] in "+−·"
    page.locator('[data-choice="heat"] label', has_text="After").click()
    assert page.locator("#heat tbody td").first.inner_text().isdigit()


@pytest.mark.long
def test_a_broker_is_marked_in_the_loads_once_it_is_chosen(visit, grown):
    page = visit(grown)
    key, band = page.locator("#picked-key"), page.locator('[data-load="replicas"] .slot.picked')
    assert (key.is_visible(), band.count()) == (False, 0)
    page.locator("#failed label", has_text="3").first.click()
    assert (key.inner_text(), band.count()) == ("broker 3 fails, see below", 1)
    page.locator("#failed label", has_text="rack b").click()
    assert (key.is_visible(), band.count()) == (False, 0)


def test_search_filter_order_and_pages_of_the_changes(visit, grown):
    page = visit(grown)
    shown, rows = page.locator("#shown"), page.locator("#rows tr")
    assert shown.inner_text() == "1–25 of 146 partitions"
    assert page.locator("#previous").is_disabled()
    page.locator("#next").click()
    assert shown.inner_text() == "26–50 of 146 partitions"
    page.locator("#search").fill("KAFKA-1")
    assert rows.locator("th").all_inner_texts()[:2] == ["kafka-1", "kafka-10"]
    assert page.locator("#next").is_disabled()
    page.locator("#search").fill("no such topic")
    assert shown.inner_text() == "no partition matches"
    page.locator("#search").fill("")
    page.locator("#kind").select_option("order")
    assert set(rows.locator("td:nth-child(4)").all_inner_texts()) == {"0"}
    page.locator("#kind").select_option("moves")
    page.locator("#order").select_option("copy")
    heaviest = rows.first
    columns = documents.grown()["partitions"]
    most = max(
        size * len(set(new) - set(old))
        for size, old, new in zip(
            columns["size_bytes"], columns["before"], columns["after"], strict=True
        )
    )
    assert heaviest.locator("td").last.inner_text() == units.size(most)
    assert heaviest.locator("ins").count() == int(heaviest.locator("td").nth(2).inner_text())
    page.locator("#touches").select_option(label="8")
    for row in rows.all():
        assert "8" in row.locator("td").nth(0).inner_text() + row.locator("td").nth(1).inner_text()


def test_a_row_says_what_is_deleted(visit):
    text = render(documents.deleting(sizes=[10, 20, 30]))
    cells = {
        "t-0": ["123", "12", "0", "1", "nothing"],
        "t-1": ["231", "34", "1", "1", "20 B"],
        "u-0": ["12", "21", "0", "0", "order only"],
    }

    def rows(page):
        return {
            row.locator("th").inner_text(): [
                re.sub(r"(?<=\d)\s+(?=\d)", "", cell)
                for cell in row.locator("td").all_inner_texts()
            ]
            for row in page.locator("#rows tr").all()
        }

    page = visit(text)
    assert rows(visit(text, script=False)) == rows(page) == cells
    assert page.locator("h1").inner_text().endswith("the plan deletes 2 replicas of 2 partitions.")
    for kind, found in (("moves", {"t-1"}), ("deletes", {"t-0", "t-1"}), ("order", {"u-0"})):
        page.locator("#kind").select_option(kind)
        assert set(rows(page)) == found
    page.locator("#rows button").click()
    assert page.locator("#rows .why td").get_attribute("colspan") == "6"
    heads = page.locator("#waves-table th[scope=col]").all_inner_texts()
    assert heads[1:5] == ["Partitions", "Moves", "Deleted", "To copy"]


EXPLAINED = [
    ({}, 4),
    pytest.param({}, 0, marks=pytest.mark.long),
    pytest.param({"remove_broker": [2]}, 0, marks=pytest.mark.long),
    ({"replication_factor": ["2"]}, 4),
    pytest.param({"no_moves": True}, 0, marks=pytest.mark.long),
    pytest.param({"balance": "bytes"}, 0, marks=pytest.mark.long),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("options", "dead"), EXPLAINED, ids=str)
def test_a_partition_is_explained_as_on_the_terminal(visit, options, dead):
    """Every changed partition's sentences, against those of ``plan --explain``."""
    described = bundled.bundled("cluster-grown.json")
    for broker in described["brokers"]:
        broker["alive"] = broker["id"] != dead
    made = partage.plan(partage.Cluster.from_json(described), **options)
    page = visit(render(made.document()))
    rows = page.evaluate("""() => {
      const found = [];
      for (;;) {
        document.querySelectorAll("#rows button").forEach((button) => button.click());
        for (const row of document.querySelectorAll("#rows tr.why")) {
          const text = (li, tag) => li.querySelector(tag)?.textContent ?? "";
          const item = (li) => [text(li, "b"), text(li, "em"),
            li.childNodes[3].textContent.slice(2), text(li, "small")];
          found.push([row.previousSibling.querySelector("button").textContent,
            row.querySelector("p").textContent, [...row.querySelectorAll("li")].map(item)]);
        }
        if (document.getElementById("next").disabled) return found;
        document.getElementById("next").click();
      }
    }""")
    changed = [
        name
        for name, old, new in zip(
            made.before.names, made.before.replica_lists(), made.after.replica_lists(), strict=True
        )
        if old != new
    ]
    assert [name for name, _, _ in rows] == changed
    for name, leader, replicas in rows:
        said = explain(made, name)
        assert leader == said.leader
        assert [r[:3] for r in replicas] == [[str(r.broker), r.fate, r.why] for r in said.replicas]
        for shown, reason in zip(replicas, said.replicas, strict=True):
            if reason.fate == "comes" and reason.instead is not None:
                start = f"instead, at least: broker {reason.instead.broker}: "
                assert shown[3].startswith(start) or "spread" in shown[3]
                cost = next(
                    (f"{c} {n:+d}" for c, n in reason.instead.costs.items() if n), "as good"
                )
                assert shown[3] == start + cost or "spread" in shown[3]
            else:
                assert shown[3] == ""


@pytest.mark.long
def test_leaders_by_rate_are_explained_so(visit):
    document = documents.grown()
    document["options"] = {"leaders": "rate"}
    page = visit(render(document))
    page.locator("#search").fill("kafka-")
    for button in page.locator("#rows button").all():
        button.click()
    said = page.locator("tr.why p").all_inner_texts()
    assert any("to balance bytes in per second" in sentence for sentence in said)


@pytest.mark.long
def test_an_explanation_opens_and_closes_by_keyboard(visit, grown):
    page = visit(grown)
    button = page.locator("#rows button").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.locator("#rows tr.why").count() == 1
    page.keyboard.press("Space")
    assert button.get_attribute("aria-expanded") == "false"
    assert page.locator("#rows tr.why").count() == 0


@pytest.mark.long
def test_many_brokers_are_grouped_and_opened(visit, many):
    document, text = many
    page = visit(text)
    heat = page.locator("#heat")
    ids, rack = zip(*((b["id"], b["rack"]) for b in document["brokers"]), strict=True)
    lists, topics = document["partitions"], document["topics"]
    counts = Counter(topics[t] for t in lists["topic"])
    largest = max(sorted(counts), key=counts.get)

    def line(name):
        row = heat.locator("tr", has=page.get_by_role("rowheader", name=name, exact=True))
        return [int(n) for n in row.locator("td").all_inner_texts()]

    def expected(name, brokers):
        rows = [r for t, r in zip(lists["topic"], lists["after"], strict=True) if topics[t] == name]
        held = Counter(b for row in rows for b in row)
        return [held[b] for b in brokers]

    assert heat.locator("thead th").all_inner_texts() == ["Topic", "a", "b", "c"]
    of_rack = {n: [b for b, r in zip(ids, rack, strict=True) if r == n] for n in "abc"}
    assert line(largest) == [sum(expected(largest, of_rack[n])) for n in "abc"]
    assert sum(line(f"{len(topics) - 40} other topics")) > 0
    bars = page.locator('[data-load="replicas"] rect.after').count()
    assert bars < 240
    assert "Each bar stands for" in page.locator("#grouped").inner_text()

    heat.locator("thead button", has_text="b").click()
    assert heat.locator("thead th").all_inner_texts()[1:] == [str(b) for b in of_rack["b"]]
    assert line(largest) == expected(largest, of_rack["b"])
    assert page.locator('[data-load="replicas"] rect.after').count() == 80
    assert page.evaluate("document.activeElement.className") == "scope"

    page.locator("#heat-search").fill(largest)
    assert page.locator("#heat-shown").inner_text() == "1 topic × rack b"
    page.locator("#heat-search").fill("")
    page.locator("#heat-next").click()
    assert (
        page.locator("#heat-shown").inner_text()
        == f"41–{min(80, len(topics))} of {len(topics)} topics × rack b"
    )
    page.locator("select.scope").first.select_option(label="all 240")
    assert heat.locator("thead th").count() == 4


@pytest.mark.long
def test_a_bar_of_many_brokers_opens_their_neighbours(visit, many):
    page = visit(many[1])
    bars = page.locator('[data-load="leaders"] svg rect.pick')
    bars.click(position={"x": 5, "y": 60})
    assert page.locator("select.scope").first.locator("option:checked").inner_text() == (
        "brokers 100–199"
    )
    assert page.locator('[data-load="leaders"] svg rect.slot').count() == 100 + 1
    bars.click(position={"x": 1, "y": 60})
    assert page.locator("#failed-text").inner_text().startswith("Broker 100 ")
    page.locator("#failed").select_option(label="rack c")
    assert page.locator("#failed-text").inner_text().startswith("Rack c fails")


@pytest.mark.long
def test_the_table_is_the_same_before_the_script(visit, many, grown):
    for text in (many[1], grown):
        read = "[...document.querySelectorAll('#heat tr')].map((r) => [...r.cells].map((c) => "
        read += "`${c.className} ${c.innerText}`))"
        assert visit(text, script=False).evaluate(read) == visit(text).evaluate(read)
