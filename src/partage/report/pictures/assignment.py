"""An assignment: a row per member, a box per partition, a colour per topic.

Filled: kept; bold border: gained; dashed: given up.
"""

from __future__ import annotations

from collections.abc import Mapping

from partage.consumers.assignment import Assignment
from partage.report import units
from partage.report.pictures.shapes import (
    BOX,
    LEFT,
    MANY,
    MARGIN,
    WIDTH,
    Box,
    Kind,
    Label,
    Shape,
    colour,
    kinds_legend,
    left_out,
    legend,
    svg,
)

_LINES = 4
"""Lines of boxes of a member."""
_FITTING = (WIDTH - LEFT - MARGIN) // BOX
_GREY = "#6b7885"


def assignment_svg(
    found: Assignment,
    assignor: str,
    title: str | None = None,
    *,
    names: Mapping[str, str] | None = None,
    inline: bool = False,
) -> str:
    """One round: what each member keeps, gains and gives up; ``title``: in place of the number of
    moves; ``names``: shorter names of members, by id; ``inline``: an element of a page."""
    group = found.group
    title = title or f"{assignor}: {units.plural(found.moves, 'move')}"
    claims = [set[int]() for _ in group.members]
    for member, partition in zip(*(column.tolist() for column in group.claims), strict=True):
        claims[member].add(partition)
    colours = [colour(i) for i in range(len(group.names))]
    shapes: list[Shape] = []
    y = 58
    for i, one in enumerate(group.members[:MANY]):
        shapes.append(Label(LEFT - 10, y + 17, (names or {}).get(one.id, one.id), anchor="end"))
        boxes, height = _member(found, i, claims[i], colours, y)
        shapes += boxes
        y += height
    more, y = left_out(len(group.members), "members", y)
    shapes += more
    y += 14
    shapes += legend(zip(group.names, colours, strict=True), y)
    y += 22
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("keeps", _GREY, "keeps"),
        ("gains", _GREY, "gains"),
        ("goes", _GREY, "gives up"),
    )
    shapes += kinds_legend(kinds, 100, y)
    return svg(title, shapes, y + 22, inline=inline)


def _member(
    found: Assignment, member: int, claims: set[int], colours: list[str], y: int
) -> tuple[list[Shape], int]:
    """The boxes of a member, and their height."""
    group = found.group
    owned = set(found.rows(member).tolist())
    goes = claims - set(found.target_rows(member).tolist())
    partitions = sorted(owned | goes)
    shown = partitions[: _LINES * _FITTING]
    shapes: list[Shape] = []
    for i, row in enumerate(shown):
        topic = int(group.topic[row])
        kind: Kind = "goes" if row in goes else "keeps" if row in claims else "gains"
        x, top = LEFT + i % _FITTING * BOX, y + i // _FITTING * BOX
        number = row - int(group.offset[topic])
        shapes.append(Box.numbered(x, top, colours[topic], kind, number))
    height = BOX * max(1, -(-len(shown) // _FITTING)) + 6
    if len(partitions) > len(shown):
        more = f"and {len(partitions) - len(shown):,} more"
        shapes.append(Label(LEFT, y + height + 8, more, "small"))
        height += 20
    return shapes, height
