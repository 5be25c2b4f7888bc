"""Where new partitions go, for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from partage.brokers.new_partitions import NewPartitions
from partage.printable import printable
from partage.report import printing, units

_MANY = 20
_WORDS = {"topic": "replicas of {}", "topic_leaders": "leaders of {}"}
"""What else than its name is shown of a count; {}: the topic."""


def print_placement(found: NewPartitions, console: Console) -> None:
    """Print the brokers of each new partition, what every broker holds, and the answer."""
    new = list(enumerate(found.lists))[found.first :]
    table = printing.table()
    table.add_column("partition", justify="right")
    table.add_column("leader", justify="right")
    table.add_column("followers")
    for number, (leader, *followers) in new[:_MANY]:
        table.add_row(str(number), str(leader), Text(", ".join(map(str, followers))))
    console.print(table)
    if len(new) > _MANY:
        console.print(Text(f"and {len(new) - _MANY:,} more: --json prints all", "dim"))
    console.print()
    table = printing.table()
    table.add_column("per broker")
    for title in ("before", "after"):
        table.add_column(title, justify="right")
    for name, (before, after) in found.per_broker().items():
        words = _WORDS.get(name, name).format(printable(found.topic))
        table.add_row(Text(words), _span(before), _span(after))
    console.print(table)
    console.print()
    console.print(Text(_answer(found), "bold"))


def _answer(found: NewPartitions) -> str:
    """What was placed, and how good that is."""
    count = units.plural(len(found.lists) - found.first, "new partition")
    copies = units.plural(len(found.lists[-1]), "replica")
    mark = "✓ proven: no placement spreads the topic, and then the replicas, more evenly"
    text = f"{printable(found.topic)}: {count} with {copies}"
    return f"{text}\n{mark}" if found.proven else text


def _span(counts: list[int]) -> str:
    return units.span((min(counts), max(counts)))
