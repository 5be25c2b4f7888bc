"""Partitioners of topics, and what other partition counts would change, in a terminal.

The load of the partitions is a row of bars, one per partition; of many partitions a bar shows the
fullest of its neighbours. The fullest partition has full height, so an even load is a full row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.arrays import Ints
from partage.measured_loads import shown_key
from partage.measured_loads.damaged import damaged_counted, damaged_line
from partage.printable import printable
from partage.producers.candidates import EMPTY, MEASURES, KeyReport, TopicKeys, gini, max_over_mean
from partage.report import printing, units

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24
_NAME = 20
_SHORT = 12
"""Longer names shorten the bars."""
_KEY, _BESIDE_KEY = 52, 48
_MANY = 60
_HOT = 3
_DECIDED = 4
_REASONS = 3

_SHOWN = {"sarama-reference": "fnv1a"}
_UNSURE = ("mixed", "unknown")


def print_keys(found: KeyReport, console: Console, fail_above: float | None = None) -> None:
    """Print the report; with ``fail_above`` also the candidates whose skew is above it."""

    def answer() -> None:
        _recommendations(found, console)
        if fail_above is not None:
            _gate(found, fail_above, console)

    printing.answered(console, answer, lambda: _details(found, console, fail_above))


def _details(found: KeyReport, console: Console, fail_above: float | None) -> None:
    keys = sum(topic.keys for topic in found.topics)
    console.print(
        Text(
            f"{units.plural(found.records, 'record')}, {units.size(found.bytes)}, "
            f"{units.plural(len(found.topics), 'topic')}, {units.plural(keys, 'key')}, "
            f"{units.count(found.rejected)} rejected"
        )
    )
    for one in found.reasons[:_REASONS]:
        why = f"rejected: {units.plural(one['rows'], 'row')}, {one['reason']} ({one['source']})"
        console.print(Text(printable(why)))
    if line := damaged_line(damaged_counted(found.damaged)):
        console.print(Text(line))
    shown = found.topics[:_MANY]
    _title("\nPartitioner of each topic", console)
    printing.print_fitting(console, _partitioners(shown))
    _note(
        "murmur2, crc32, fnv1a: share of keys on the partition that the hash gives; chance: share "
        "that an unrelated hash would give; null: records without a key",
        console,
    )
    unsure = [topic for topic in shown if not _plain(topic)]
    if unsure:
        console.print(_named((topic.name, f": {topic.detection.reason}") for topic in unsure))
    _title("\nOther partition counts", console)
    printing.print_fitting(
        console, _candidates(shown, fail_above), _candidates(shown, fail_above, _WIDTH // 3)
    )
    _note(
        "skew: fullest partition / mean; limit: lower bound on the skew, because of one key; "
        "move: keys that change partition; busy: consumers with work; load: bytes of "
        "the partitions",
        console,
    )
    _hot(shown, console)


def _recommendations(found: KeyReport, console: Console) -> None:
    """What to do, and the reason for each topic."""
    _title(_decision(found.topics), console)
    shown = found.topics[:_MANY]
    changed_first = sorted(shown, key=lambda topic: topic.recommended.stay)
    console.print(_named((topic.name, _recommended(topic)) for topic in changed_first))
    if len(found.topics) > len(shown):
        _note(f"and {len(found.topics) - len(shown)} more topics: --json lists all", console)


def _recommended(topic: TopicKeys) -> str:
    one = topic.recommended
    by = f" by {one.partitioner}" if _by_another(topic) else ""
    what = f": stay at {one.partitions}, which" if one.stay else f" → {one.partitions}{by}:"
    return f"{what} {one.reason}"


def _decision(topics: Sequence[TopicKeys]) -> str:
    """The recommendations in one line."""
    if len(topics) == 1:
        (one,) = topics
        number = units.plural(one.recommended.partitions, "partition")
        what = "stay at" if one.recommended.stay else f"go from {one.detection.partitions} to"
        return f"{one.name}: {what} {number}"
    changed = [one for one in topics if not one.recommended.stay]
    if not changed:
        return "All topics: stay at the partition counts of today"
    names = [f"{one.name} → {one.recommended.partitions}" for one in changed]
    rest = "; the others stay as they are" if len(changed) < len(topics) else ""
    return (
        f"Other partition counts for {len(changed)} of {units.plural(len(topics), 'topic')}: "
        f"{printing.some(names, _DECIDED)}{rest}"
    )


def _partitioners(topics: Iterable[TopicKeys]) -> Table:
    numbers = ("parts", "keys", "murmur2", "crc32", "fnv1a", "chance", "null")
    table = printing.table(("topic",), numbers)
    table.add_column("by", no_wrap=True)
    for topic in topics:
        detection, evidence = topic.detection, topic.detection.evidence
        agreement: dict[str, float] = {}
        for name, share in evidence["agreement"].items():
            column = _SHOWN.get(name, name)
            agreement[column] = max(agreement.get(column, 0.0), share)
        records = int(topic.today["records"].sum())
        table.add_row(
            Text(printing.clipped(topic.name, _NAME)),
            units.count(detection.partitions),
            units.count(topic.keys),
            *(_share(agreement.get(name)) for name in ("murmur2", "crc32", "fnv1a")),
            _share(evidence["chance"]) if agreement else units.MISSING,
            _share(evidence["null_keys"]["records"] / records),
            Text(detection.partitioner, "yellow" if detection.partitioner in _UNSURE else "green"),
        )
    return table


def _plain(topic: TopicKeys) -> bool:
    """Whether one hash explains every key, so that no remark is needed."""
    evidence = topic.detection.evidence
    return (
        topic.detection.partitioner not in (*_UNSURE, "round-robin")
        and not evidence["unexplained"]["placements"]
        and not evidence["grew"]
    )


def _by_another(topic: TopicKeys) -> bool:
    """Whether the candidates use another hash than the one that wrote the topic."""
    return {one.partitioner for one in topic.candidates} != {topic.detection.leading}


def _candidates(
    topics: Sequence[TopicKeys], fail_above: float | None, widest: int = _WIDTH
) -> Table:
    """A row per topic and partition count; ``widest``: bars of a row."""
    numbers = ("parts", "records", "bytes", "limit", "Gini", "move", "busy")
    table = printing.table(("topic",), numbers)
    table.add_column("load", no_wrap=True)
    table.columns[2].header = Text("skew:\nrecords")
    table.columns[3].header = Text("\nbytes")
    table.columns[5].header = Text("Gini\nbytes")
    longest = min(_NAME, max(len(topic.name) for topic in topics))
    width = min(widest, _WIDTH - max(0, longest - _SHORT))

    def skew(value: float) -> Text:
        above = fail_above is not None and value > fail_above
        return Text(_ratio(value), "red" if above else "")

    for topic in topics:
        now, stay = topic.detection.partitions, topic.recommended.stay
        skews = [max_over_mean(topic.today[name]) for name in MEASURES]
        table.add_row(
            Text(printing.clipped(topic.name, _NAME)),
            Text(f"{'→ ' if stay else ''}{now} now", "bold" if stay else ""),
            *map(_ratio, skews),
            "",
            units.decimal(gini(topic.today["bytes"])),
            "",
            units.decimal(now / max(skews), 1),
            bars(topic.today["bytes"], width),
        )
        for one in topic.candidates:
            chosen = topic.recommends(one)
            table.add_row(
                Text(f"  {one.partitioner}" if _by_another(topic) else "", "dim"),
                Text(f"{'→ ' if chosen else ''}{one.partitions}", "bold" if chosen else ""),
                *(skew(one.skew[name]) for name in MEASURES),
                _ratio(one.limit[one.worst]),
                units.decimal(one.gini["bytes"]),
                _share(one.moved if one.keys else None),
                units.decimal(one.busy, 1),
                bars(one.loads["bytes"], width),
            )
    return table


def bars(load: Ints, width: int = _WIDTH) -> str:
    """At most ``width`` bars, the fullest partition at full height; a space is an empty one."""
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
    """Keys that exceed the mean of a partition at the largest candidate count."""
    rows: list[tuple[str | Text, ...]] = []
    width = max(min(_KEY, console.width - _BESIDE_KEY), _SHORT)
    for topic in topics:
        hot = max(topic.candidates, key=lambda one: one.partitions).hot_keys
        for key in hot[:_HOT]:
            share = max(key.share.values())
            rows.append(
                (
                    Text(printing.clipped(topic.name, _NAME)),
                    Text(printing.clipped(shown_key(key.key) or EMPTY, width)),
                    _share(key.share["records"]),
                    _share(key.share["bytes"]),
                    f"{int(1 / share) + 1}",
                )
            )
        if len(hot) > _HOT:
            rows.append(("", f"and {len(hot) - _HOT} more", "", "", ""))
    if not rows:
        return
    _title("\nHot keys, which more partitions do not spread", console)
    table = printing.table(("topic", "key"), ("records", "bytes", "from"))
    for row in rows:
        table.add_row(*row)
    printing.print_fitting(console, table)
    _note("from: partition count at which the key alone exceeds a partition's mean", console)


def _gate(found: KeyReport, threshold: float, console: Console) -> None:
    above = found.above(threshold)
    if not above:
        console.print(Text(f"\n✓ Every skew is within {threshold:g}.", "green"))
        return
    tried = sum(len(topic.candidates) for topic in found.topics)
    topic, one = max(above, key=lambda pair: pair[1].skew[pair[1].worst])
    console.print(
        Text(
            f"\n✗ Above {threshold:g}: {len(above)} of {tried} candidates; the worst is {topic} "
            f"with {one.partitions}: {one.worst} {one.skew[one.worst]:.2f}",
            "red",
        )
    )


def _ratio(value: float) -> str:
    return units.decimal(value) if value < 1000 else units.count(value)


def _share(share: float | None) -> str:
    if share is None:
        return units.MISSING
    percent = 100 * share
    if percent in (0, 100):
        return f"{percent:.0f} %"
    return f"{min(max(percent, 0.1), 99.9):.1f} %"


def _title(text: str, console: Console) -> None:
    console.print(Text(text, "bold"))


def _note(text: str, console: Console) -> None:
    console.print(Text(text, "dim"))


def _named(items: Iterable[tuple[str, str]]) -> Table:
    """A list of names with texts; wrapped lines are indented."""
    lines = Table.grid(padding=(0, 1))
    for name, text in items:
        lines.add_row(" •", Text.assemble((name, "bold"), text))
    return lines
