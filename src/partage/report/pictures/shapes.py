"""The shapes of pictures; ``page/picture.svg`` draws them.

A picture is a file, dark on a white card, or an element of a page, which has the page's style sheet
and draws text and lines in the page's colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from markupsafe import Markup

from partage.outputs import markup_with_checksum
from partage.report.frame import asset, template
from partage.report.printing import clipped

WIDTH, LEFT, MARGIN = 900, 120, 16
"""Width of a picture, and of its columns of names and its right margin, in SVG units."""
BOX = 30
"""Distance of two boxes."""
MANY = 60
"""Rows that are drawn; of more, only the number is shown."""

DARK, LIGHT = "#0072b2", "#8ec1e3"
_PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d31",
    "#7b61c4", "#a3c614", "#3b5b7a", "#d6616b", "#17becf", "#9c9ede",
    "#637939", "#e7969c", "#843c39", "#bcbd22",
)  # fmt: skip
_PER_ROW = 8


@dataclass(frozen=True)
class Label:
    """Text; ``look``: a class of the style sheet."""

    x: float
    y: float
    text: str
    look: str = ""
    anchor: Literal["start", "middle", "end"] = "start"


Kind = Literal["keeps", "gains", "goes"]


@dataclass(frozen=True)
class Box:
    """A replica or a partition: filled if kept, with a bold border if new, dashed if given up."""

    x: int
    y: int
    fill: str
    kind: Kind
    label: Label | None = None
    size: int = BOX - 6

    @classmethod
    def numbered(cls, x: int, y: int, fill: str, kind: Kind, number: int) -> Box:
        """A box with a number in it, white or black, whichever is easier to read there."""
        inside = "in dark" if _luminance(fill) > _MIDDLE else "in"
        look, middle = "small" if kind == "goes" else inside, (BOX - 6) / 2
        label = Label(x + middle, y + middle + 4, str(number), look, "middle")
        return cls(x, y, fill, kind, label)


@dataclass(frozen=True)
class Bar:
    """A time interval."""

    x: float
    y: int
    width: float
    height: int
    fill: str
    tooltip: str


@dataclass(frozen=True)
class Swatch:
    """A colour of a legend."""

    x: int
    y: float
    fill: str


@dataclass(frozen=True)
class Moment:
    """A dashed vertical line."""

    x: float
    top: int
    bottom: int


@dataclass(frozen=True)
class Area:
    """A polygon of (x, y), formatted."""

    points: list[tuple[str, str]]


Shape: TypeAlias = Label | Box | Bar | Swatch | Moment | Area


STYLE = "picture.css"
"""The asset that a page with pictures adds to its style sheet."""


def svg(
    title: str, shapes: Iterable[Shape], height: float, width: int = WIDTH, *, inline: bool = False
) -> str:
    """The picture of these shapes under its title: a file, or ``inline``, an element of a page."""
    heading = Label(MARGIN, 28, title, "title")
    shown = template("picture.svg").render(
        title=title,
        heading=heading,
        shapes=shapes,
        height=height,
        width=width,
        inline=inline,
        css=Markup(asset(STYLE)),
    )
    return shown if inline else markup_with_checksum(shown)


_MIDDLE = 0.179
"""The luminance on which black and white have the same contrast, 4.6 (WCAG 2.2)."""


def _luminance(fill: str) -> float:
    """The relative luminance of ``#rrggbb``, 0 to 1, as WCAG 2.2 defines it."""
    parts = (int(fill[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return sum(share * v for share, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def colour(index: int) -> str:
    """A colour of the palette."""
    return _PALETTE[index % len(_PALETTE)]


def left_out(number: int, noun: str, y: int) -> tuple[list[Shape], int]:
    """A line with the number of rows that are left out, if any, and the y below it."""
    if number <= MANY:
        return [], y
    return [Label(LEFT, y + 12, f"and {number - MANY:,} more {noun}", "small")], y + 18


def legend(entries: Iterable[tuple[str, str]], y: float) -> Iterator[Shape]:
    """Name and colour, eight in a row."""
    for i, (name, fill) in enumerate(entries):
        x, line = LEFT + i % _PER_ROW * 95, y + i // _PER_ROW * 20
        yield Swatch(x, line - 10, fill)
        yield Label(x + 17, line, clipped(name, 12), "small")


def legend_rows(entries: int) -> int:
    """Rows of a legend."""
    return -(-entries // _PER_ROW)


def kinds_legend(entries: Iterable[tuple[Kind, str, str]], spacing: int, y: int) -> Iterator[Shape]:
    """A small box of each kind (kind, fill, meaning)."""
    for i, (kind, fill, meaning) in enumerate(entries):
        x = LEFT + i * spacing
        yield Box(x, y - 6, fill, kind, size=14)
        yield Label(x + 22, y + 5, meaning, "small")
