"""The page as text: whole without a network or a script, every name escaped, small, repeatable."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import subprocess
import zlib
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

import partage
from partage.report.html import render
from partage.report.page import changes, heat, movement
from partage.report.page.packed import packed
from partage.report.page.tiles import tiles
from partage.report.view import view
from partage.report.view.checking import COUNT_MOVES
from tests import bundled
from tests.report import plan_documents as documents
from tests.report.plan_documents import broker

HOSTILE = ["<script>alert(1)</script>", "</script><script>alert(2)</script>", "a&amp;\"'{{7*7}}"]


class Page(HTMLParser):
    """The elements of a page, the text outside of scripts and styles, and each script's text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.words, self.scripts, self.inside = [], [], [], None
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)
        elif self.inside != "style":
            self.words.append(data)


def hostile():
    comparison = documents.comparison()
    comparison["strategies"]["<script>alert(3)</script>"] = {"cannot": "</script><b>"}
    measured = documents.measurement()
    measured["hot_keys"][0]["key"] = HOSTILE[1]
    fleet = [
        broker(1, "<b>a</b>"),
        broker(2, "b", alive=False),
        broker(3, "c", excluded=True),
        broker(4, None, capacity=2.5, added=True),
    ]
    rows = [
        (HOSTILE[0], 0, [2], [4]),
        (HOSTILE[1], 0, [3, 2], [1, 4]),
        (HOSTILE[2], 7, [1, 3], [1, 4]),
    ]
    document = documents.document(
        fleet,
        rows,
        sizes=[10, None, 4000],
        rates=[0.0004, 0.03, 2],
        waves=1,
        binding=["<img src=x onerror=alert(1)>"],
        options={"topics": "<script>"},
        gaps={"<i>x</i>": 0.2},
    )
    return render(document, comparison, measured)


def test_the_page_makes_no_requests():
    text = render(documents.grown(), documents.comparison(), documents.measurement())
    page = Page(text)
    assert not re.search(r"(?i)(src|href|action)\s*=\s*[\"']?(https?:)?//", text)
    assert "@import" not in text
    assert "url(" not in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    links = [a["href"] for tag, a in page.elements if tag in ("a", "link")]
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert not {"img", "iframe", "object", "form"} & {tag for tag, _ in page.elements}


def test_the_policy_allows_this_style_and_this_script_only():
    text = render(documents.unchanged())
    page = Page(text)
    policy = next(
        a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    style = text.split("<style>")[1].split("</style>")[0]
    for part in (style, page.scripts[-1]):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not [
        tag for tag, a in page.elements if "style" in a or any(k.startswith("on") for k in a)
    ]


def test_links_in_the_page_lead_somewhere():
    for text in (render(documents.unchanged()), hostile()):
        page = Page(text)
        ids = {a["id"] for _, a in page.elements if "id" in a}
        assert {a["href"][1:] for tag, a in page.elements if tag == "a"} <= ids
        labels = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
        assert labels <= ids


def test_names_stay_text_everywhere():
    page = Page(hostile())
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
    assert "img" not in {tag for tag, _ in page.elements}
    for name in [*HOSTILE, "<b>a</b>", "<img src=x onerror=alert(1)>", "<script>alert(3)</script>"]:
        assert name in page.text
    data = json.loads(page.scripts[0])
    assert sorted(data["topics"]) == sorted(HOSTILE)


def test_what_is_above_a_bound_of_bytes_is_named():
    shown = view(partage.plan(bundled.grown(), balance="load").document())
    assert shown.bytes_moved > shown.bytes_bound
    (tile,) = [one for one in tiles(shown) if one.label == "Moves"]
    assert tile.note.startswith("bytes to copy: ")
    assert tile.note.endswith(" above the lower bound")


def test_the_key_figures_and_tables_are_there_without_a_script():
    text = Page(render(documents.grown(), documents.comparison(), documents.measurement())).text
    for words in (
        "161 replicas move (proven minimum): 851 GB to copy in 7 waves, about 4 h 44 min.",
        "Moves 161 ✓ proven minimum: no plan that is as balanced moves fewer",
        "Replicas per broker 57–66",
        "7 new a 0 → 60",
        "Fair share 60.8 20.2",
        "waves/007.json",
        "cannot: no answer in 60 s",
        "redpanda-data/redpanda",
        "no key",
        "No placement within these rules balances the replicas better.",
        "partage check plan Expected: → The plan is valid and optimal",
        "leaders to targets, rack by rack From \\ to a b c",
        "Failed rack Leaders that fail",
    ):
        assert words in text, words


def test_strategies_are_compared_in_two_tables():
    page = render(documents.grown(), documents.comparison())
    text = Page(page).text
    assert page.count('<table class="numbers compare">') == 2
    for words in (
        "Strategy replicas per broker bytes, fullest / mean broker",
        "rack-greedy 54–81 1.07 4 0 133/124 918 GB 9/8",
        "rack-greedy 18–24 61 33/24 42/33 0 yes no no 0.02 s",
        "No plan found ✗ mip cannot: no answer in 60 s",
        "rack down: the same after any one rack fails",
    ):
        assert words in text, words
    assert "<b>24/24</b>" in page  # the best of its column
    assert "<b>124/124</b>" not in page  # moves never are


def test_a_comparison_without_racks_or_answers_is_shorter():
    comparison = documents.comparison()
    for row in comparison["strategies"].values():
        if "moves" in row:
            row["leaders_after_rack_failure"] = None
    text = Page(render(documents.grown(), comparison)).text
    assert "broker down / lower bound" in text
    assert "rack down" not in text
    no_plan = {"strategies": {"mip": {"cannot": "why"}}}
    text = Page(render(documents.grown(), no_plan)).text
    assert "No plan found ✗ mip cannot: why" in text
    assert "Placement and moves" not in text


def test_tables_have_captions_and_headings():
    text = render(documents.grown(), documents.comparison(), documents.measurement())
    assert text.count("<table") == text.count("<caption")
    assert text.count("<h1") == 1
    assert "<th>" not in text


def test_same_input_same_bytes():
    assert render(documents.grown()) == render(documents.grown())


def test_five_thousand_partitions_stay_small():
    assert len(render(documents.random_plan()).encode()) < 600_000


def unpacked(text):
    """A packed column, read as a browser does: type, Base64, zlib."""
    kind, packed = text.split(":")
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=f"<{kind}")


def data_of(document):
    return json.loads(Page(render(document)).scripts[0])


def test_the_page_states_what_it_folds(monkeypatch):
    monkeypatch.setattr(heat, "TOPICS", 5)
    monkeypatch.setattr(heat, "BROKERS", 10)
    monkeypatch.setattr(movement, "BROKERS", 4)
    monkeypatch.setattr(changes, "LIMIT", 30)
    document = documents.random_plan(12, 300, 20, waves=3)
    page = Page(render(document))
    data = json.loads(page.scripts[0])
    assert "Topic a b c" in page.text  # 12 brokers, by rack
    assert "15 other topics" in page.text
    assert "A column is a group of brokers" in page.text
    assert "6 others" in page.text
    assert "This page contains the 30 partitions with the most to copy" in page.text
    assert len(unpacked(data["changes"]["topic"])) == 30
    moved = document["figures"]["after"]
    for table in (data["movement"]["brokers"], data["movement"]["racks"]):
        assert sum(map(sum, table["bytes"])) == moved["bytes_moved"]
        assert sum(map(sum, table["replicas"])) == moved["moves"]


def test_every_topic_and_broker_is_there_to_be_opened():
    document = documents.random_plan(12, 900, 60, waves=0)
    data = data_of(document)["heat"]
    lists, topic = document["partitions"], document["partitions"]["topic"]
    order = unpacked(data["topics"]).tolist()
    assert sorted(order) == list(range(60))
    for when in ("before", "after"):
        counts = unpacked(data[when]).reshape(60, 12)
        expected = Counter((t, b) for t, row in zip(topic, lists[when], strict=True) for b in row)
        ids = [b["id"] for b in document["brokers"]]
        for place, t in enumerate(order):
            assert counts[place].tolist() == [expected[t, b] for b in ids]
    assert data["rest"] == 0


def test_beyond_so_many_cells_small_topics_are_summed_up(monkeypatch):
    monkeypatch.setattr(heat, "CELLS", 12 * 45)
    document = documents.random_plan(12, 900, 60, waves=0)
    data = data_of(document)["heat"]
    assert (len(unpacked(data["topics"])), data["rest"]) == (45, 15)
    assert unpacked(data["after"]).sum() + unpacked(data["rest_after"]).sum() == 2700


def test_brokers_without_racks_are_grouped_by_neighbours(monkeypatch):
    monkeypatch.setattr(heat, "BROKERS", 3)
    fleet = [broker(i) for i in range(1, 9)]
    rows = [("t", i, [1 + i % 8], [1 + (i + 1) % 8]) for i in range(16)]
    page = Page(render(documents.document(fleet, rows)))
    assert "Topic 1–3 4–6 7–8 t 6 6 4" in page.text


@pytest.mark.parametrize(
    ("count", "fair", "level"),
    [(0, 3, 0), (3, 3, 4), (6, 3, 8), (60, 3, 8), (1, 0.2, 4), (1, 40, 1), (2, 4, 2)],
)
def test_shades_compare_with_the_fair_share(count, fair, level):
    assert heat.level(count, fair) == level


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0, 255],
        [-1, 127],
        [-1, 128],
        [65_535],
        [-40_000, 3],
        [2**31, 5],
        [2**40],
        [0.5, math.nan],
    ],
)
def test_packed_columns_keep_their_numbers(values):
    back = unpacked(packed(np.array(values)))
    assert np.array_equal(back, np.array(values, dtype=float), equal_nan=True)
    assert unpacked(packed(np.array(values, dtype=np.float32))).dtype == np.float32


def test_the_moves_are_counted_by_the_command_that_the_page_names(tmp_path):
    made = partage.plan(bundled.uneven_racks())
    made.write(str(tmp_path / "the plan"))
    text = render(made.document(), directory="the plan")
    page = Page(text)
    assert "partage check 'the plan' Expected: → The plan is valid and optimal" in page.text
    assert "6 × 54² + 2 × 81² Expected: → 30,618" in page.text
    command = f"cd 'the plan' && {COUNT_MOVES}"
    assert command in page.text
    run = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout == "173\n"
    assert f"{command} Expected: → 173" in page.text


def test_documents_with_little_in_them():
    bare = documents.unchanged()
    bare["certificate"] = {}
    bare["figures"]["before"] = {}
    for key in ("partage", "options", "binding", "gaps", "warnings", "waves", "fingerprint"):
        del bare[key]
    assert "Nothing to do" in render(bare, {"strategies": {}}, {})


def test_durations_have_one_format(grown):
    shown = re.sub(r"(?s)<(script|style).*?</\1>", "", grown)
    assert re.search(r"\d\s(?:min|h)\b", shown)
    assert not re.search(r"\d:\d\d|h:min", shown)


def test_deleted_replicas_are_a_key_figure_where_there_are_any():
    (deleted,) = (t for t in tiles(view(documents.deleting())) if t.label == "Replicas deleted")
    assert (deleted.value, deleted.note) == ("2", "of 2 partitions, not replaced")
    page = render(documents.grown())
    shown = re.sub(r"(?s)<(script|style).*?</\1>", "", page)
    assert "eleted" not in shown
    assert "deletes" not in shown


def test_every_key_figure_has_a_meaning():
    for document in (documents.grown(), documents.unchanged(), documents.small()):
        assert all(tile.note or tile.before for tile in tiles(view(document)))
