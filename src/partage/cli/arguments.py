"""Arguments and options that commands of several rooms have, worded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

BEGIN = "To begin with"
CLUSTERS = "Clusters"
GROUPS = "Consumer groups"
RECORDS = "Records, with Spark"
RUNNING = "A running Kafka"
"""Parts that commands are in."""

LINES = "partition|member"
"""What the lines of a picture over time are."""


def one_of(words: str, help: str, *names: str, **more: Any) -> Any:
    """An option that takes one of some words, ``"count|rate"``; a shell completes them."""
    complete = beginning_with(lambda: words.split("|"))
    return typer.Option(*names, metavar=words, help=help, autocompletion=complete, **more)


def must_be_one_of(words: str, option: str, value: str) -> None:
    """Raise InputError for another word than the option takes."""
    from partage.errors import InputError

    if value not in words.split("|"):
        raise InputError(option, f"{value!r}: expected {' or '.join(words.split('|'))}")


def beginning_with(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What a shell completes to, out of words that are looked up when it asks."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return complete


def strategy_names() -> list[str]:
    """The names of the strategies."""
    from partage.brokers.strategies import STRATEGIES

    return list(STRATEGIES)


def assignor_names() -> list[str]:
    """The names of the assignors."""
    from partage.consumers.assignors import ASSIGNORS

    return list(ASSIGNORS)


Picture = Annotated[
    str | None, typer.Option("--picture", metavar="FILE.svg", help="Draw it, to scale, as SVG.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="JSON objects on stdout, one a line: progress, the outcome.")
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark master; SPARK_REMOTE or this machine if none."),
]
Format = Annotated[
    str,
    typer.Option(metavar="NAME", help="How Spark writes the tables: json, csv, orc … by name."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what an earlier run wrote there.")
]
PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="A plan directory.")]
BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="A broker; several, separated by commas.",
        rich_help_panel=RUNNING,
    ),
]
CommandConfig = Annotated[
    str | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="Client properties, as Kafka's tools take them.",
        rich_help_panel=RUNNING,
    ),
]
