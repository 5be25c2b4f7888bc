"""Who wrote each topic, and what other numbers of partitions would do: tables of a hundred columns.

The load of the partitions is a row of bars, one for each partition in turn as long as there are not
too many; then a bar is the fullest of its neighbours. All bars of a row are drawn against the
fullest partition, so that an even row is a full one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.producers.candidates import TopicKeys, max_over_mean
from partage.producers.detection import HASHES
from partage.profile import shown_key
from partage.report import units

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24
_NAME = 20
_KEY = 32
_MANY = 60
_HOT = 3

_SHOWN = {"sarama-reference": "fnv1a"}


def print_keys(
    topics: Sequence[TopicKeys],
    totals: tuple[int, int, int],
    console: Console,
    fail_above: float | None = None,
) -> None:
    """``totals``: records, bytes and rejected rows of all topics. With ``fail_above`` also which
    candidates are above it."""
    records, size, rejected = totals
    keys = sum(topic.keys for topic in topics)
    console.print(
        Text(
            f"{units.plural(records, 'record')}, {units.size(size)}, "
            f"{units.plural(len(topics), 'topic')}, {units.plural(keys, 'key')}, "
            f"{units.count(rejected)} rejected",
            "bold",
        )
    )
    shown = topics[:_MANY]
    console.print(Text("\nWho wrote each topic", "bold"))
    console.print(_writers(shown))
    console.print(
        Text(
            "hashes: keys on a partition that lie where the hash puts them; chance: where any "
            "other puts them",
            "dim",
        )
    )
    _remarks(shown, console)
    console.print(Text("\nWhat other numbers of partitions would do", "bold"))
    console.print(_candidates(shown, fail_above))
    console.print(
        Text(
            "skew: the fullest partition over the mean; limit: no count and no partitioner gets it "
            "lower, for one key; move: keys that change partition; busy: consumers with work; "
            "bars: bytes",
            "dim",
        )
    )
    console.print(Text("\nRecommended", "bold"))
    for topic in shown:
        one = topic.recommended
        console.print(_named(topic.name, f"{one.partitions} by {one.partitioner}: {one.reason}"))
    if len(topics) > len(shown):
        console.print(Text(f"and {len(topics) - len(shown)} topics more: --json has all", "dim"))
    _hot(shown, console)
    if fail_above is not None:
        _gate(topics, fail_above, console)


def _writers(topics: Iterable[TopicKeys]) -> Table:
    table = _table("topic", "parts", "keys", "murmur2", "crc32", "fnv1a", "chance", "null", "by")
    for topic in topics:
        verdict, evidence = topic.verdict, topic.verdict.evidence
        agreement: dict[str, float] = {}
        for name in HASHES if evidence["agreement"] else ():
            column = _SHOWN.get(name, name)
            share = evidence["agreement"][name]
            agreement[column] = max(agreement.get(column, 0.0), share)
        records = int(topic.today["records"].sum())
        sure = verdict.partitioner not in ("mixed", "unknown")
        table.add_row(
            _short(topic.name, _NAME),
            units.count(verdict.partitions),
            units.count(topic.keys),
            *(_share(agreement.get(name)) for name in ("murmur2", "crc32", "fnv1a")),
            _share(evidence["chance"]) if agreement else units.MISSING,
            _share(evidence["null_keys"]["records"] / records),
            Text(verdict.partitioner, "green" if sure else "yellow"),
        )
    return table


def _remarks(topics: Iterable[TopicKeys], console: Console) -> None:
    """The reasons, where they are not just that one hash explains all."""
    for topic in topics:
        evidence = topic.verdict.evidence
        plain = (
            topic.verdict.partitioner not in ("mixed", "unknown", "round-robin")
            and not evidence["unexplained"]["placements"]
            and not evidence["grew"]
        )
        if not plain:
            console.print(
                _named(topic.name, f"{topic.verdict.partitioner}: {topic.verdict.reason}")
            )


def _candidates(topics: Iterable[TopicKeys], fail_above: float | None) -> Table:
    several = any(len({one.partitioner for one in topic.candidates}) > 1 for topic in topics)
    columns = ("parts", "records", "bytes", "limit", "Gini", "move", "busy", "load")
    table = _table("topic", *columns)
    table.columns[2].header = Text("skew:\nrecords")
    table.columns[3].header = Text("\nbytes")
    table.columns[5].header = Text("Gini\nbytes")
    for topic in topics:
        recommended = topic.recommended
        today = topic.today
        skews = [max_over_mean(today[name]) for name in ("records", "bytes")]
        table.add_row(
            _short(topic.name, _NAME),
            f"{topic.verdict.partitions} now",
            *map(units.decimal, skews),
            "",
            "",
            "",
            units.tenth(topic.verdict.partitions / max(skews)),
            bars(today["bytes"]),
        )
        for one in topic.candidates:
            chosen = (one.partitions, one.partitioner) == (
                recommended.partitions,
                recommended.partitioner,
            )
            table.add_row(
                Text(f"  {one.partitioner}" if several else "", "dim"),
                Text(f"{'→ ' if chosen else ''}{one.partitions}", "bold" if chosen else ""),
                *(
                    Text(
                        units.decimal(one.skew[name]),
                        "red" if fail_above is not None and one.skew[name] > fail_above else "",
                    )
                    for name in ("records", "bytes")
                ),
                units.decimal(max(one.limit.values())),
                units.decimal(one.gini["bytes"]),
                f"{100 * one.moved:.0f} %" if one.keys else units.MISSING,
                units.tenth(one.parallelism),
                bars(one.loads["bytes"]),
            )
    return table


def bars(load: npt.NDArray[np.int64], width: int = _WIDTH) -> str:
    """A row of at most so many bars, the fullest partition at full height; a space is empty."""
    count = len(load)
    if count > width:
        edges = np.arange(width) * count // width
        load = np.maximum.reduceat(load, edges)
    most = int(load.max(initial=0))
    if not most:
        return " " * len(load)
    heights = [(int(value) * (len(_BARS) - 1) + most // 2) // most for value in load.tolist()]
    return "".join(
        _BARS[height] if value else " "
        for height, value in zip(heights, load.tolist(), strict=True)
    )


def _hot(topics: Iterable[TopicKeys], console: Console) -> None:
    """Keys that no number of partitions spreads, of those asked for."""
    rows: list[tuple[str | Text, ...]] = []
    for topic in topics:
        most = max((one.partitions for one in topic.candidates), default=0)
        hot = [key for key in topic.hot_keys if max(key.share.values()) * most > 1]
        for key in hot[:_HOT]:
            share = max(key.share.values())
            rows.append(
                (
                    _short(topic.name, _NAME),
                    _short(shown_key(key.key), _KEY),
                    _share(key.share["records"]),
                    _share(key.share["bytes"]),
                    f"{int(1 / share) + 1}",
                )
            )
        if len(hot) > _HOT:
            rows.append(("", f"and {len(hot) - _HOT} more", "", "", ""))
    if not rows:
        return
    console.print(Text("\nHot keys, which no number of partitions spreads", "bold"))
    table = _table("topic", "key", "records", "bytes", "from")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(
        Text("from: with so many partitions the key alone is more than a partition's mean", "dim")
    )


def _gate(topics: Sequence[TopicKeys], threshold: float, console: Console) -> None:
    above = [(topic, one) for topic in topics for one in topic.above(threshold)]
    if not above:
        console.print(Text(f"\n✓ Every skew is within {threshold:g}.", "green"))
        return
    tried = sum(len(topic.candidates) for topic in topics)
    console.print(
        Text(f"\n✗ Above {threshold:g}: {len(above)} of {tried} candidates, first", "red"),
        end=" ",
    )
    topic, one = above[0]
    console.print(
        Text(
            f"{topic.name} with {units.plural(one.partitions, 'partition')} by {one.partitioner}: "
            f"{one.worst} {one.skew[one.worst]:.2f}",
            "red",
        )
    )


def _share(share: float | None) -> str:
    if share is None:
        return units.MISSING
    percent = 100 * share
    if percent in (0, 100):
        return f"{percent:.0f} %"
    return f"{min(max(percent, 0.1), 99.9):.1f} %"


def _short(text: str, width: int) -> Text:
    return Text(text if len(text) <= width else text[: width - 1] + "…")


def _named(name: str, said: str) -> Table:
    """A line that is broken beside the bullet, not under it."""
    line = Table.grid(padding=(0, 1))
    line.add_row(" •", Text.assemble((name, "bold"), " ", said))
    return line


def _table(*names: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, header_style="dim", padding=(0, 1), pad_edge=False, show_edge=False
    )
    for name in names:
        left: dict[str, Any] = {"no_wrap": True}
        right: dict[str, Any] = {"justify": "right", "no_wrap": True}
        table.add_column(name, **(left if name in ("topic", "by", "load", "key") else right))
    return table
