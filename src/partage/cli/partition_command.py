"""partition: which partition each key goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import output
from partage.cli.arguments import Json, completion_from, one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partage.arrays import Ints

_MOST_ROWS = 50
"""Keys that the table shows."""


def partitioner_names() -> list[str]:
    """The names of the partitioners."""
    from partage.producers.partitioners import PARTITIONERS

    return list(PARTITIONERS)


def partition(
    partitions: Annotated[int, typer.Option(metavar="N", help="Partitions of the topic.")],
    keys: Annotated[list[str] | None, typer.Argument(metavar="KEY", help="Keys as text.")] = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Keys, one per line; - reads standard input."),
    ] = None,
    partitioner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="murmur2 (Java), consistent (librdkafka), sarama, …, or module:Partitioner.",
            autocompletion=completion_from(partitioner_names),
        ),
    ] = "murmur2",
    serializer: Annotated[
        str,
        one_of(
            "string|integer|long|short|float|double|boolean|uuid|hex|base64",
            "Kafka's serializer of the keys.",
        ),
    ] = "string",
    json: Json = False,
) -> None:
    """Show which partition each key goes to. Needs no Spark.

    Examples:

        partage partition user-1 user-2 --partitions 12
        partage partition 42 --serializer long --partitions 12 --partitioner consistent
        partage partition --file keys.txt --partitions 24 --json
    """
    import numpy as np

    from partage.errors import InputError
    from partage.producers.candidates import MAX_PARTITIONS
    from partage.producers.partition import partition as partition_keys
    from partage.producers.partitioners import ignores
    from partage.producers.serializers import serialized_keys

    if bool(keys) == (file is not None):
        raise InputError("", "expected keys, either as arguments or with --file")
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise InputError("--partitions", f"{partitions}: must be between 1 and {MAX_PARTITIONS:,}")
    given = [(f"key {number}", key) for number, key in enumerate(keys or (), start=1)]
    if file is not None:
        given = list(_lines(file))
    found = serialized_keys(given, serializer)
    numbers = np.asarray(partition_keys(found, partitions, partitioner), dtype=np.int64)
    counts = np.bincount(numbers, minlength=partitions)
    if any(ignores(partitioner, key) for key in found):
        output.print_aside(
            f"! {partitioner} does not hash every one of these keys: other records with the same "
            "key go to other partitions"
        )
    if json:
        rows = [
            {"key": text, "bytes": key.hex(), "partition": number}
            for (_, text), key, number in zip(given, found, numbers.tolist(), strict=True)
        ]
        output.print_json(
            {
                "partitions": partitions,
                "partitioner": partitioner,
                "serializer": serializer,
                "keys": rows,
                "keys_per_partition": counts.tolist(),
            }
        )
        return
    _show([text for _, text in given], found, numbers, counts, serializer)


def _lines(file: str) -> Iterator[tuple[str, str]]:
    """(place, key) of each line of a file; an empty line is an empty key."""
    from partage.files import read_input

    text, where = read_input(file)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        yield f"{where} line {number}", line.removesuffix("\r")


def _show(
    texts: list[str], keys: list[bytes], numbers: Ints, counts: Ints, serializer: str
) -> None:
    from rich.text import Text

    from partage.measured_loads import shown_key
    from partage.producers.candidates import EMPTY
    from partage.report import printing, units

    table = printing.table()
    table.add_column("key", overflow="fold")
    if serializer != "string":
        table.add_column("bytes", overflow="fold")
    table.add_column("partition", justify="right")
    for text, key, number in list(zip(texts, keys, numbers.tolist(), strict=True))[:_MOST_ROWS]:
        shown = [shown_key(key) or EMPTY] if serializer == "string" else [text, key.hex()]
        table.add_row(*map(Text, shown), str(number))
    console = output.console()
    console.print(table)
    if len(keys) > _MOST_ROWS:
        output.print_line(console, f"and {len(keys) - _MOST_ROWS:,} more keys: --json lists all")
    if len(keys) > 1:
        spread = f"{units.count(int(counts.min()))} to {units.count(int(counts.max()))}"
        of = units.plural(len(counts), "partition")
        output.print_line(console, f"\n{units.plural(len(keys), 'key')} on {of}: {spread} each")
