"""The page in a real browser: how it fits and prints, without a mouse, a script or light."""

from __future__ import annotations

import pytest

from partage.report import units
from partage.report.html import render
from tests.report import plan_documents as documents
from tests.report.test_html import HOSTILE, hostile

pytestmark = [pytest.mark.long, pytest.mark.browser]


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", ["grown", "settled", "36 brokers"])
def test_nothing_overflows_sideways(visit, grown, what, width, scheme):
    text = {
        "grown": lambda: grown,
        "settled": lambda: render(documents.unchanged()),
        "36 brokers": lambda: render(documents.random_plan()),
    }[what]()
    page = visit(text, width=width, scheme=scheme)
    assert overflow(page) <= 0
    page.locator("details summary").first.click()
    for button in page.locator("#rows button").all()[:3]:
        button.click()
    assert overflow(page) <= 0


def test_paper_has_everything_and_no_controls(visit, grown):
    page = visit(grown)
    page.locator("#search").fill("kafka")
    page.locator("#search").fill("")
    page.locator("#rows button").first.click()
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rows tr").count() == 146 + 1  # every partition, one explained
    assert all(d.get_attribute("open") is not None for d in page.locator("details").all())
    assert page.locator("nav, input, select, #next, .on-screen").filter(visible=True).count() == 0
    assert page.locator("#movement-racks").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#rows tr").count() == 25 + 1


def test_every_control_is_reached_by_the_tabulator_key(visit, many):
    page = visit(many[1])
    seen, wanted = set(), set(page.evaluate(CONTROLS))
    assert len(wanted) > 50
    for _ in range(2 * len(wanted)):  # a date has a stop for each of its parts
        page.keyboard.press("Tab")
        seen.add(page.evaluate("window.controls.indexOf(document.activeElement)"))
        if wanted <= seen:
            break
    assert wanted <= seen


CONTROLS = """(() => {
  const all = [...document.querySelectorAll("a, button, select, summary, input")];
  window.controls = all;
  const usable = (e) => e.getClientRects().length && !e.disabled
    && !(e.type === "radio" && !e.checked);  // one stop for a group, arrows within
  return all.map((e, i) => (usable(e) ? i : -1)).filter((i) => i >= 0);
})()"""


def test_charts_follow_the_width(visit, grown):
    page = visit(grown)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.querySelector('#worst svg').viewBox.baseVal.width < 390")
    assert overflow(page) <= 0


def test_themes(visit, grown):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = visit(grown, scheme="light"), visit(grown, scheme="dark")
    colours = background(light), background(dark)
    assert colours[0] != colours[1]
    button = light.locator("#theme")
    assert button.inner_text() == "Theme: system"
    button.click()
    assert (button.inner_text(), background(light)) == ("Theme: light", colours[0])
    button.click()
    assert (button.inner_text(), background(light)) == ("Theme: dark", colours[1])
    light.reload()
    assert background(light) == colours[1]


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const seen = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = seen(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255, 255];
  };
  const worst = {};
  const chosen = "p, td, th, h1, h2, h3, a, button, del, ins, code, summary, .label, "
    + ".value, .note, .mark, .old, .cell, .choice span, .chips span, .sign, .rating > span";
  for (const e of document.querySelectorAll(chosen)) {
    if (!e.textContent.trim() || e.closest("[hidden]") || e.disabled) continue;
    if (!e.getClientRects().length) continue;
    const a = luminance(seen(getComputedStyle(e).color)), b = luminance(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const key = `${e.tagName}.${e.className}`;
    worst[key] = Math.min(worst[key] ?? 99, ratio);
  }
  return Object.entries(worst).filter(([, ratio]) => ratio < 4.5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrasts_with_its_background(visit, scheme):
    page = visit(
        render(documents.random_plan(partitions=2000), documents.comparison()), scheme=scheme
    )
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    assert page.evaluate(CONTRAST) == []
    page.locator('[data-choice="heat"] label', has_text="Change").click()
    for button in page.locator("#rows button").all():
        button.click()
    assert page.evaluate(CONTRAST) == []


def test_hostile_names_are_shown_and_not_run(visit):
    page = visit(hostile())
    names = page.locator("#rows th").all_inner_texts()
    assert sorted(names) == sorted(
        f"{name}-{p}" for name, p in zip(HOSTILE, (0, 0, 7), strict=True)
    )
    page.locator("#search").fill("<script>alert(1)")
    assert page.locator("#rows th").all_inner_texts() == [f"{HOSTILE[0]}-0"]


def test_without_a_script_the_tables_remain(visit, grown):
    page = visit(grown, script=False)
    assert page.locator("#rows tr").count() == 25
    assert [note.is_visible() for note in page.locator("noscript").all()] == [True, True]
    assert page.locator(".needs-script").filter(visible=True).count() == 0
    assert not page.locator("#theme").is_visible()
    assert page.locator("#movement-table").is_visible()


def test_script_and_python_write_numbers_alike(visit, grown):
    page = visit(grown)
    values = [0, 0.0004, 0.03, 0.0994, 0.0996, 1, 9.994, 9.996, 99.94, 99.96, 999.4, 999.6, 12345]
    values += [6_877_544_000, 999_949, 999_951, 3.21e14]
    for name, ours in (
        ("size", units.size),
        ("rate", units.rate),
        ("duration", units.duration),
    ):
        theirs = page.evaluate(f"(values) => values.map(partage.{name})", values)
        assert theirs == [ours(value) for value in values]
    assert page.evaluate("[0, 999, 1000, 1234567].map(partage.count)") == [
        "0",
        "999",
        "1,000",
        "1,234,567",
    ]


def test_a_large_page_shows_only_as_much_as_fits(visit, many):
    """What makes a page slow is how much of it there is on the screen, not in its columns."""
    small, large = visit(render(documents.random_plan())), visit(many[1])
    assert small.locator('[data-load="replicas"] rect.after').count() == 36
    assert large.locator("section *").filter(visible=True).count() < 6_000


HIDDEN_BELOW_THE_BAR = """() => {
  const bar = document.querySelector("header.top").getBoundingClientRect();
  const seen = new Set();
  for (const cell of document.querySelectorAll(".scroll.tall thead th")) {
    window.scrollTo(0, cell.getBoundingClientRect().top + window.scrollY - bar.height / 2);
    const box = cell.getBoundingClientRect(), x = box.left + 5, y = bar.height / 2;
    const top = document.elementFromPoint(Math.min(Math.max(x, 5), innerWidth - 5), y);
    seen.add(Boolean(top && top.closest("header.top")));
  }
  return [...seen];
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_table_shows_over_the_navigation(visit, grown, width):
    assert visit(grown, width=width).evaluate(HIDDEN_BELOW_THE_BAR) == [True]


def test_a_table_that_is_cut_shows_that_there_is_more(visit, grown):
    page = visit(grown, width=390)
    box = page.locator(".scroll", has=page.locator("#waves-table"))
    assert "more-right" in box.get_attribute("class")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    drawn = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(drawn)
    assert "more-right" not in box.get_attribute("class")
    wide = visit(grown, width=1280).locator(".scroll", has_text="waves/001.json")
    assert "more-right" not in wide.first.get_attribute("class")


def test_removed_replicas_are_as_large_as_those_that_stay(visit, grown):
    sizes = visit(grown, width=390).eval_on_selector_all(
        "#rows del, #rows ins", "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert len(sizes) > 20
    assert max(sizes) == min(sizes) >= 13
