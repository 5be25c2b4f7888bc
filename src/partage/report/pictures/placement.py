"""A placement before and after: a row per partition, a column per broker.

Dark: leader; light: follower; bold border: fetched; dashed: given up. Below: replicas per broker,
before and after.
"""

from __future__ import annotations

from collections import Counter

from partage.cluster import Cluster
from partage.report.pictures.shapes import (
    BOX,
    DARK,
    LEFT,
    LIGHT,
    MANY,
    MARGIN,
    WIDTH,
    Box,
    Kind,
    Label,
    Shape,
    kinds_legend,
    left_out,
    svg,
)

_TOP = 72
DIGIT, GAP = 7, 6
"""Width of a digit below a column, and the space between two numbers."""


def placement_svg(before: Cluster, after: Cluster, title: str) -> str:
    """The same partitions before and after; of more than 60, first those that change."""
    rows = list(zip(after.names, before.replica_lists(), after.replica_lists(), strict=True))
    held = [Counter(broker for row in rows for broker in row[side]) for side in (1, 2)]
    widest = max(len(str(n)) for n in (*after.broker_ids, *held[0].values(), *held[1].values()))
    step = max(BOX, DIGIT * widest + GAP)
    x_of = {broker.id: LEFT + i * step for i, broker in enumerate(after.brokers)}
    shapes: list[Shape] = [Label(x + 12, 62, str(b), "small", "middle") for b, x in x_of.items()]
    shapes.append(Label(LEFT - 10, 62, "broker", "small", "end"))
    if len(rows) > MANY:
        rows.sort(key=lambda row: row[1] == row[2])
    y = _TOP
    for name, old, new in rows[:MANY]:
        shapes.append(Label(LEFT - 10, y + 17, name, "", "end"))
        shapes += [_replica(x_of[b], y, b, old, new) for b in dict.fromkeys(new + old)]
        y += BOX
    more, y = left_out(len(rows), "partitions", y)
    shapes += more
    for title_of, counts in zip(("replicas before", "after"), held, strict=True):
        shapes.append(Label(LEFT - 10, y + 16, title_of, "small", "end"))
        for broker, x in x_of.items():
            shapes.append(Label(x + 12, y + 16, str(counts[broker]), "small", "middle"))
        y += 18
    y += 22
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("keeps", DARK, "leader"),
        ("keeps", LIGHT, "follower"),
        ("gains", LIGHT, "fetched"),
        ("goes", LIGHT, "given up"),
    )
    shapes += kinds_legend(kinds, 90, y)
    return svg(title, shapes, y + 22, max(WIDTH, LEFT + len(x_of) * step + MARGIN))


def _replica(x: int, y: int, broker: int, old: list[int], new: list[int]) -> Box:
    kind: Kind = "goes" if broker not in new else "keeps" if broker in old else "gains"
    leads = broker in (new[0], old[0] if kind == "goes" else None)
    return Box(x, y, DARK if leads else LIGHT, kind)
