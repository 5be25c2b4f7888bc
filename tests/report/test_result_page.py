"""Results as pages: what the terminal shows, no more and no less, and no markup of strangers."""

from __future__ import annotations

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
from partage.report import printing
from partage.report.group_tables import print_assignment
from partage.report.result_page import page

GROUPS = Path(partage.__file__).parent / "data" / "groups"


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
    assert 'src="data:image/svg+xml;base64,' in shown


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
    assert opened.eval_on_selector(".drawing img", "picture => picture.clientWidth") > 700
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
