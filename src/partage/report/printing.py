"""The common look of everything printed: tables, titles, notes, shortened lists.

Nothing is markup: a key or a group may be called ``[red]``. Of what ``PrintableConsole`` writes, a
terminal obeys its own styles only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from rich import box
from rich.align import VerticalAlignMethod
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.protocol import rich_cast
from rich.segment import Segment
from rich.table import Table
from rich.text import Span, Text

from partage.printable import is_printable, printable
from partage.units import listed

_NAMES = 8
_LINES = 8
_SUFFIX = 8
_LEAST = 50
_TOPIC = 40


class PrintableConsole(Console):
    """A console on which every text is printable and no text is markup or an emoji's name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The segments of a renderable. rich renders each of its parts by a call of this method, so
        every text passes here, before it is wrapped and aligned."""
        renderable = rich_cast(renderable)
        if isinstance(renderable, Text):
            renderable = printable_text(renderable)
        yield from super().render(renderable, options)

    answer_first = False
    """Whether the answer is shown above its details: on a page. A terminal shows it below, because
    its first lines scroll away."""

    def draw(self, picture: Callable[[], str]) -> bool:
        """Whether this console shows the picture, an SVG element, so that nothing is drawn with
        characters: on a page, not in a terminal."""
        return False

    def render_str(self, text: str, **options: Any) -> Text:
        """A string as text, printable."""
        return printable_text(super().render_str(text, **options))


def drawn(console: Console, picture: Callable[[], str]) -> bool:
    """Whether the console shows the picture."""
    return isinstance(console, PrintableConsole) and console.draw(picture)


def answered(console: Console, answer: Callable[[], None], details: Callable[[], None]) -> None:
    """Print an answer and its details, in the order of the console."""
    if isinstance(console, PrintableConsole) and console.answer_first:
        answer()
        details()
    else:
        details()
        console.print()
        answer()


def printable_text(text: Text) -> Text:
    """The text with its styles, with escape sequences for what is not printable but line ends."""
    if is_printable(text.plain.replace("\n", "")):
        return text
    pieces = [printable(one, lines=True) for one in text.plain]
    place = [0, *accumulate(map(len, pieces))]
    found = text.blank_copy("".join(pieces))
    found.spans = [
        Span(place[span.start], place[min(span.end, len(pieces))], span.style)
        for span in text.spans
    ]
    return found


def table(
    left: Iterable[str] = (), right: Iterable[RenderableType] = (), *, bottom: bool = False
) -> Table:
    """A table of columns that are not wrapped: texts, then numbers, which are aligned right.
    ``bottom``: short headings are beside the last line of longer ones."""
    made = Table(
        box=box.SIMPLE_HEAD, header_style="dim", padding=(0, 1), pad_edge=False, show_edge=False
    )
    vertical: VerticalAlignMethod = "bottom" if bottom else "top"
    for title in left:
        made.add_column(title, no_wrap=True, vertical=vertical)
    for heading in right:
        made.add_column(heading, justify="right", no_wrap=True, vertical=vertical)
    return made


def fits(console: Console, shown: Table) -> bool:
    """Whether the console shows the table without wrapping or cutting a cell."""
    unlimited = console.options.update(max_width=1000)
    return console.measure(shown, options=unlimited).maximum <= console.width


def closer(shown: Table) -> Table:
    """The table, its columns closer together."""
    shown.padding = (0, 1, 0, 0)
    return shown


def print_fitting(console: Console, *tables: Table) -> None:
    """Print the first table that the console shows whole, each as it is or with its columns
    closer together; or the last."""
    for shown in tables:
        if fits(console, shown) or fits(console, closer(shown)):
            break
    console.print(shown)


def titled(console: Console, title: str, shown: Table, *, first: bool = False) -> None:
    """Print a table under its title; after an empty line unless it begins the output."""
    if not first:
        console.print()
    console.print(Text(title, style="bold"))
    console.print(Padding(shown, (0, 0, 0, 1), expand=False))


def note(console: Console, text: str) -> None:
    """Print an explanation below a table."""
    console.print(Padding(Text(text, style="dim"), (0, 0, 0, 1), expand=False))


def legend(console: Console, text: str) -> None:
    """Print what the colours of numbers mean, where there are colours."""
    if console.color_system is not None:
        note(console, text)


def bullet(console: Console, sign: Text, line: Text, indent: int = 1) -> None:
    """Print a line of a list; wrapped lines are indented."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(sign, line)
    console.print(Padding(grid, (0, 0, 0, indent), expand=False))


def bullets(
    console: Console, title: str, lines: Sequence[str], style: str, more_in: str = "plan.json"
) -> None:
    """Print some lines under their title, if there are any, and where the others are."""
    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines[:_LINES]:
        bullet(console, Text("•", style=style), Text(line))
    if len(lines) > _LINES:
        console.print(Text(f"   and {len(lines) - _LINES} more, in {more_in}", style="dim"))


def remark(text: str, console: Console) -> None:
    """Print a warning: in one line, which can be searched for; on a terminal wrapped."""
    line = Text(printable(text), "yellow")
    if console.is_terminal:
        bullet(console, Text("!", "yellow"), line, indent=0)
    else:
        console.print(Text("! ", "yellow").append(line), soft_wrap=True)


def some(names: Sequence[str], shown: int = _NAMES) -> str:
    """``a, b and 3 more``."""
    return listed([printable(name) for name in names[:shown]], shown, len(names))


def short_names(members: Sequence[str], common: str = "") -> dict[str, str]:
    """Short, unique names of members by id: ids without ``common`` at the start and without the
    coordinator's random suffix, or with a few characters of it where needed."""
    stems = {member: _stem(member) for member in members}
    often = Counter(stems.values())
    found: dict[str, str] = {}
    for member, stem in stems.items():
        name = f"{stem}-{member[len(stem) + 1 :][:_SUFFIX]}" if often[stem] > 1 else stem
        found[member] = name.removeprefix(common) or name
    return found if len(set(found.values())) == len(found) else {one: one for one in stems}


def _stem(member_id: str) -> str:
    """``client-a`` of ``client-a-56a695ad-68c2-4e09-88a2-759e3854e366``."""
    parts = member_id.rsplit("-", 5)
    sizes = [len(part) for part in parts[1:]]
    return parts[0] if sizes == [8, 4, 4, 4, 12] and parts[0] else member_id


def clipped(text: str, width: int) -> str:
    """A name, printable, of at most ``width`` columns. Its middle is cut: names of topics, groups
    and keys often have a common start, or a common end."""
    text = printable(text)
    if cell_len(text) <= width:
        return text
    start, end = width // 2, (width - 1) // 2
    return f"{set_cell_size(text, start)}…{set_cell_size(text[::-1], end)[::-1]}"


def clipped_at_a_word(text: str, width: int) -> str:
    """A list cut to about ``width`` characters, between two words."""
    return text if len(text) <= width else text[:width].rsplit(" ", 1)[0] + " …"


def partitions(pairs: Iterable[tuple[str, int]]) -> str:
    """``t0 0–3 7, t1 2``: partition numbers by topic, consecutive ones joined."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in pairs:
        by_topic.setdefault(topic, []).append(number)
    return ", ".join(
        f"{clipped(topic, _TOPIC)} {_runs(sorted(numbers))}" for topic, numbers in by_topic.items()
    )


def _runs(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def lines_of(
    held: Mapping[str, Sequence[tuple[str, int]]],
    width: int,
    names: Mapping[str, str] | None = None,
    what: str = "",
) -> str:
    """A line per member with its partitions, of which some are shown after a long name, too;
    ``names``: shorter names of members."""
    lines = []
    for member in sorted(held):
        name = f"{what}{printable((names or {}).get(member, member))}: "
        room = max(width - len(name), min(width, _LEAST))
        lines.append(name + clipped_at_a_word(partitions(held[member]), room))
    if len(lines) > _NAMES:
        lines = [*lines[:_NAMES], f"and {len(lines) - _NAMES} more members"]
    return "\n".join(lines)
