"""Results as pages: what the terminal shows, no more and no less, and no markup of strangers."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

import partage
from partage import Group, Member
from partage.consumers.simulation import simulate
from partage.report import printing
from partage.report.group_tables import print_assignment, print_simulation
from partage.report.result_page import page

GROUPS = Path(partage.__file__).parent / "data" / "groups"
CRASH = GROUPS / "crash-scenario.json"


class Read(HTMLParser):
    """The text of the body, and the tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data: str) -> None:
        if self.inside not in ("style", "script"):
            self.words += data.split()


def result(console: Console) -> None:
    console.print(Text("3 members, loads 1–2", "bold"))
    console.print("as even as possible", style="dim")
    table = printing.table()
    table.add_column("member")
    table.add_column("load", justify="right")
    table.add_row(Text("a", "green"), "2")
    table.add_row("<b onclick=x>", "1")
    console.print(table)
    console.print()
    printing.titled(console, "Idle", Table("name"))
    console.print(Text("\n✗ one too many", "red"))


def test_headline_cards_tables_and_tones() -> None:
    text = page("assign", result)
    read = Read(text)
    tags = [tag for tag, _ in read.tags]
    assert (tags.count("h1"), tags.count("h2"), tags.count("table")) == (1, 1, 2)
    assert "<title>partage assign: 3 members, loads 1–2</title>" in text
    assert '<span class="muted">as even as possible</span>' in text
    assert '<span class="good">a</span>' in text
    assert '<span class="bad">✗ one too many</span>' in text
    assert '<td class="right">2</td>' in text
    assert "&lt;b onclick=x&gt;" in text
    assert "onclick" not in {name for _, given in read.tags for name in given}


def test_the_page_has_every_word_of_the_terminal() -> None:
    group = Group({"t": 7}, [Member(f"m{n}", ["t"]) for n in range(3)])
    found = partage.assign(group, "range")
    console = printing.PrintableConsole(width=160, color_system=None)
    with console.capture() as capture:
        print_assignment(found, "range", console)
    ruled = {word for word in capture.get().split() if set(word) != {"─"}}
    shown = page("assign", lambda console: print_assignment(found, "range", console))
    assert ruled <= set(Read(shown).words)
    assert shown.count("<svg") == 1


@pytest.mark.parametrize(
    "command",
    [
        f"assign {GROUPS}/failover.json --assignor sticky",
        f"simulate {GROUPS}/crash-scenario.json --assignor cooperative-sticky",
    ],
)
def test_commands_write_the_page_beside_what_they_print(
    command: str,
    tmp_path: Path,
    partage_run: Callable[[str], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert partage_run(f"{command} --json") == 0
    alone = capsys.readouterr().out
    file = tmp_path / "page.html"
    assert partage_run(f"{command} --json --report {file}") == 0
    assert capsys.readouterr().out == alone
    first = file.read_bytes()
    assert partage_run(f"{command} --report {file}") == 0  # replaces a page of its own
    assert "--report" not in capsys.readouterr().out
    assert file.read_bytes() == first


@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.long),
        pytest.param(390, "light", marks=pytest.mark.long),
    ],
)
def test_pages_fit_the_screen(visit: Any, width: int, scheme: str) -> None:
    group = Group(
        {"topic-with-a-long-name": 40},
        [Member(f"m{n}", ["topic-with-a-long-name"]) for n in range(3)],
    )
    found = partage.assign(group, "sticky")
    shown = page("assign", lambda console: print_assignment(found, "x" * 100, console))
    opened = visit(shown, width=width, scheme=scheme)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_a_phone_keeps_units_with_their_numbers_and_pictures_readable(
    visit: Any, partage_run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "simulated.html"
    partage_run(
        f"simulate {GROUPS}/deploy-scenario.json --assignor cooperative-sticky --report {file}"
    )
    opened = visit(file.read_text(encoding="utf-8"), width=390)
    lines = opened.eval_on_selector_all(
        "td.right",
        """cells => cells.filter(cell => / /.test(cell.textContent)).map(cell => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return range.getClientRects().length;
        })""",
    )
    assert lines
    assert set(lines) == {1}
    assert opened.eval_on_selector(".drawing svg", "picture => picture.clientWidth") > 700
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390


COLOURS_OF_A_PICTURE = """async (screenshot) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const pixel = (...layers) => {  // of colours with their opacity, the lowest first
    for (const [colour, opacity] of layers) {
      canvas.globalAlpha = opacity; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = (element) => getComputedStyle(element);
  const card = style(document.querySelector(".card")).backgroundColor;
  const contrasts = [...document.querySelectorAll(".drawing text")].map((text) => {
    const box = text.classList.contains("in") && text.previousElementSibling;
    const behind = pixel([card, 1], ...(box ? [[style(box).fill, 1]] : []));
    const seen = pixel([style(text).fill, Number(style(text).fillOpacity)]);
    const [a, b] = [luminance(behind), luminance(seen)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
  const expected = pixel([card, 1]);
  const shown = new Image();
  shown.src = `data:image/png;base64,${screenshot}`;
  await shown.decode();
  Object.assign(canvas.canvas, { width: shown.width, height: shown.height });
  canvas.drawImage(shown, 0, 0);
  const { data } = canvas.getImageData(0, 0, shown.width, shown.height);
  let same = 0;
  for (let i = 0; i < data.length; i += 4) {
    same += [0, 1, 2].every((k) => data[i + k] === expected[k]);
  }
  return { share: same / (data.length / 4), least: Math.min(...contrasts) };
}"""
"""The share of the picture's pixels in the colour of its card, and the least contrast of a text."""

DAILY = [("assign", 390, "dark"), ("simulate", 1280, "dark")]
EVERY = [(w, x, s) for w in ("assign", "simulate") for x in (1280, 390) for s in ("light", "dark")]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("what", "width", "scheme"),
    [pytest.param(*case, marks=[] if case in DAILY else pytest.mark.long) for case in EVERY],
)
def test_pictures_have_the_colours_of_the_page(
    visit: Any, what: str, width: int, scheme: str
) -> None:
    """Each colour of the palette has a number in a box."""
    topics = [f"t{n}" for n in range(16)]
    group = Group(dict.fromkeys(topics, 2), [Member(f"m{n}", topics) for n in range(3)])
    show: dict[str, Callable[[Console], None]] = {
        "assign": lambda to: print_assignment(partage.assign(group, "range"), "range", to),
        "simulate": lambda to: print_simulation(simulate(CRASH, "cooperative-sticky"), to),
    }
    opened = visit(page(what, show[what]), width=width, scheme=scheme)
    encoded = base64.b64encode(opened.locator(".drawing").screenshot()).decode()
    found = opened.evaluate(COLOURS_OF_A_PICTURE, encoded)
    assert found["share"] > 0.3
    assert found["least"] >= 4.5
