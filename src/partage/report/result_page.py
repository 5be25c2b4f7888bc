"""The page of a result that a command prints: what the terminal shows, as one HTML file.

The functions that print a result do so here on a console that keeps what it is given instead of
writing it, so terminal and page cannot disagree. The answer comes first. The first bold line is the
headline, each later one the title of a card; tables stay tables, and where the terminal draws with
characters the page has the picture. One self-contained file; its script only shows where a table is
cut.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from markupsafe import Markup
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from partage.outputs import markup_with_checksum
from partage.report.frame import asset, policy, template
from partage.report.pictures.shapes import STYLE
from partage.report.printing import PrintableConsole

_WIDTH = 130
"""Columns of text: what a page shows without scrolling on a desk's screen."""

Tone: TypeAlias = Literal["", "good", "limit", "bad", "muted", "strong"]
_TONES: dict[str, Tone] = {"green": "good", "yellow": "limit", "red": "bad"}

Piece: TypeAlias = tuple[str, Tone]
"""A part of a text, and how it stands out."""


@dataclass(frozen=True)
class Paragraph:
    """Lines of text."""

    pieces: list[Piece]


@dataclass(frozen=True)
class Grid:
    """A table: headings (none: a list), which columns are numbers, and rows of cells."""

    headings: list[str]
    right: list[bool]
    rows: list[list[list[Piece]]]


@dataclass(frozen=True)
class Drawing:
    """A picture, as an SVG element."""

    svg: Markup


Block: TypeAlias = Paragraph | Grid | Drawing


@dataclass
class Card:
    """A titled part of the page."""

    title: str
    blocks: list[Block] = field(default_factory=list)


class PageConsole(PrintableConsole):
    """A console that keeps what is printed."""

    answer_first = True

    def __init__(self) -> None:
        super().__init__(width=_WIDTH, file=io.StringIO())
        self.cards: list[Card] = []

    def print(self, *objects: Any, style: str | Style | None = None, **options: Any) -> None:
        """Keep what a terminal would show."""
        for shown in objects:
            self._keep(shown, style)

    def draw(self, picture: Callable[[], str]) -> bool:
        """Keep a picture in place of characters."""
        self._add(Drawing(Markup(picture())))
        return True

    def _keep(self, shown: RenderableType, style: str | Style | None) -> None:
        if isinstance(shown, Padding):
            self._keep(shown.renderable, style)
        elif isinstance(shown, Table):
            self._add(_grid(self, shown))
        else:
            text = shown if isinstance(shown, Text) else Text(str(shown))
            if style is not None:
                text = Text(text.plain, style)
            self._keep_text(text)

    def _keep_text(self, text: Text) -> None:
        plain = text.plain.strip()
        if not plain:
            return
        if self.get_style(text.style).bold and "\n" not in plain:
            self.cards.append(Card(plain))
        else:
            self._add(Paragraph(list(_pieces(self, text))))

    def _add(self, block: Block) -> None:
        if not self.cards:
            self.cards.append(Card(""))
        self.cards[-1].blocks.append(block)


def page(title: str, show: Callable[[Console], None]) -> str:
    """The page of what ``show`` prints, the same bytes for the same result.

    ``title``: the command, as in ``simulate``.
    """
    console = PageConsole()
    show(console)
    css = "".join(map(asset, ("page.css", "result.css", STYLE)))
    script = asset("scripts/scroll.js")
    first, *cards = console.cards
    lead = _lead(first.blocks)
    shown = template("result.html").render(
        command=title,
        title=f"partage {title}: {first.title}",
        headline=first.title,
        lead=lead,
        cards=[Card("", [block for block in first.blocks if block not in lead]), *cards],
        css=Markup(css),
        script=Markup(script),
        policy=policy(css, script),
    )
    return markup_with_checksum(shown)


def _lead(first: list[Block]) -> list[Block]:
    """What of the first card stands below the headline: its text, but no explanation of a table. A
    card of text and lists alone would be half empty, so all of it does."""
    if not any(
        isinstance(one, Drawing) or (isinstance(one, Grid) and one.headings) for one in first
    ):
        return first
    return [
        one
        for one in first
        if isinstance(one, Paragraph) and any(tone != "muted" for _, tone in one.pieces)
    ]


def _grid(console: Console, table: Table) -> Grid:
    headings = [_plain(console, column.header) for column in table.columns]
    cells = [[_cell(console, cell) for cell in column.cells] for column in table.columns]
    return Grid(
        headings=headings if table.show_header and any(headings) else [],
        right=[column.justify == "right" for column in table.columns],
        rows=[list(row) for row in zip_longest(*cells, fillvalue=[])],
    )


def _plain(console: Console, shown: RenderableType) -> str:
    return "".join(text for text, _ in _cell(console, shown)).replace("\n", " ").strip()


def _cell(console: Console, shown: RenderableType) -> list[Piece]:
    if isinstance(shown, Text):
        return list(_pieces(console, shown))
    return [(str(shown), "")]


def _pieces(console: Console, text: Text) -> Iterator[Piece]:
    """The text in parts of one style each, without empty lines around it."""
    start = len(text.plain) - len(text.plain.lstrip("\n"))
    base = console.get_style(text.style)
    for part in text[start:].render(console, end=""):
        if part.text:
            yield part.text, _tone(base if part.style is None else part.style)


def _tone(style: Style) -> Tone:
    if style.color is not None and style.color.name in _TONES:
        return _TONES[style.color.name]
    return "muted" if style.dim else "strong" if style.bold else ""
