"""Cards in a real browser: what is in them fills them, on a desk's screen and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

import partage
from partage import Group
from partage.consumers.simulation import simulate
from partage.report.group_tables import print_assignment, print_simulation
from partage.report.history_tables import print_history
from partage.report.html import render
from partage.report.keys_tables import print_keys
from partage.report.result_page import page
from tests import bundled
from tests.report import plan_documents as documents
from tests.report.test_history_tables import JAVA, history, replays_of
from tests.report.test_keys_tables import KeyReport, topic
from tests.report.test_what_if_tables import SHOWN as WHAT_IFS

pytestmark = pytest.mark.browser

GROUPS = Path(partage.__file__).parent / "data" / "groups"

ONE = history(*JAVA)


def print_topics(to):
    print_keys(KeyReport((topic("orders", "murmur2"),), records=9, bytes=900, rejected=1), to)


PAGES = {
    "bundled": lambda: render(partage.plan(bundled.grown(), throttle="50MB").document()),
    "without a throttle": lambda: render(partage.plan(bundled.grown()).document()),
    "deleting": lambda: render(
        partage.plan(bundled.grown(), replication_factor=2, throttle="50MB").document()
    ),
    "limited": lambda: render(documents.grown(), documents.comparison(), documents.measurement()),
    "assign": lambda: page(
        "assign",
        lambda to: print_assignment(
            partage.assign(Group.read(GROUPS / "five-topics.json"), "range"), "range", to
        ),
    ),
    "simulate": lambda: page(
        "simulate",
        lambda to: print_simulation(simulate(GROUPS / "crash-scenario.json", "sticky"), to),
    ),
    "keys": lambda: page("keys", print_topics),
    "history": lambda: page("history", lambda to: print_history(ONE, replays_of(ONE), to)),
    **{
        f"what-if {name}": lambda show=show, value=value: page(
            "what-if", lambda to: show(value, to)
        )
        for name, (show, value, _) in WHAT_IFS.items()
    },
}
CASES = [(what, w, s) for what in PAGES for w in (1280, 390) for s in ("light", "dark")]
DAILY = [("bundled", 1280, "light"), ("bundled", 390, "dark")]

FILLED = """() => {
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).clipPath === "none"
    && !e.closest("details:not([open]) > :not(summary)");
  const cut = (box, by) => !by ? box : {
    left: Math.max(box.left, by.left), right: Math.min(box.right, by.right),
    top: Math.max(box.top, by.top), bottom: Math.min(box.bottom, by.bottom),
  };
  const solid = "table, svg, input, select, button, code";
  const contents = (box) => {
    const found = [...box.querySelectorAll(solid)].filter(shown).map((e) =>
      cut(e.getBoundingClientRect(), e.closest(".scroll")?.getBoundingClientRect()));
    const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let text; (text = walk.nextNode());) {
      const parent = text.parentElement;
      if (!text.data.trim() || parent.closest(solid) || !shown(parent)) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      found.push(...range.getClientRects());
    }
    return found;
  };
  const covered = (boxes) => {
    let sum = 0, end = -Infinity;
    for (const { top, bottom } of [...boxes].sort((a, b) => a.top - b.top)) {
      sum += Math.max(0, bottom - Math.max(top, end));
      end = Math.max(end, bottom);
    }
    return sum;
  };
  const every = [...document.querySelectorAll(".card, .tile, .charts > *")];
  return every.filter(shown).map((element) => {
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    const left = box.left + parseFloat(style.paddingLeft);
    const right = box.right - parseFloat(style.paddingRight);
    const inside = contents(element);
    const least = (side) => Math.min(...inside.map((one) => one[side]));
    const most = (side) => Math.max(...inside.map((one) => one[side]));
    return {
      name: element.querySelector("h2, .label, figcaption")?.innerText ?? "",
      card: element.matches(".card"),
      wide: (most("right") - least("left")) / (right - left),
      high: (most("bottom") - least("top")) / box.height,
      across: covered(inside.filter((one) => one.right > (left + right) / 2)) / covered(inside),
    };
  });
}"""
"""Of each card, tile and chart: the shares of its width and height that its content spans, and of
the lines in it, the share by height that reaches its right half. A table, a picture and a control
are solid; what is stretched to the height of its neighbours is measured by what is in it."""


@pytest.mark.parametrize(
    ("what", "width", "scheme"),
    [pytest.param(*case, marks=[] if case in DAILY else pytest.mark.long) for case in CASES],
)
def test_no_card_is_half_empty(visit, what, width, scheme):
    boxes = visit(PAGES[what](), width=width, scheme=scheme).evaluate(FILLED)
    cards = [box for box in boxes if box["card"]]
    assert cards
    assert [box for box in boxes if box["high"] < (0.7 if box["card"] else 0.5)] == []
    assert [box for box in cards if box["wide"] < 0.8 or box["across"] < 0.5] == []
