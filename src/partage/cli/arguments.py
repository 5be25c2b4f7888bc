"""Arguments and options that several modules of commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from partage.live.admin.connection import Connection

RUNNING = "A running Kafka"
"""A section of the help: of commands, and of options."""

PICTURE_ROWS = "partition|member"
"""What the rows of a picture over time may be."""


def one_of(words: str, help: str, *names: str, **more: Any) -> Any:
    """An option that takes one of some values, ``"count|rate"``, with shell completion."""
    complete = completion_from(lambda: words.split("|"))
    return typer.Option(*names, metavar=words, help=help, autocompletion=complete, **more)


def check_choice(words: str, option: str, value: str) -> None:
    """Raise InputError for a value that the option does not take."""
    from partage.errors import InputError

    if value not in words.split("|"):
        raise InputError(option, f"{value!r}: expected {' or '.join(words.split('|'))}")


def check_present(
    paths: Iterable[str], master: str | None, check: Callable[[str, Iterable[str]], None] | None
) -> None:
    """Raise InputError, before Spark starts, for an empty path; where Spark runs on this machine
    and reads its files, also for one that does not exist and for a folder without a file.
    ``check``, if there is one, judges each path by the names of its files, without hidden ones."""
    from partage.errors import InputError
    from partage.files import check_not_empty

    paths = list(paths)
    for path in paths:
        check_not_empty(path)
    configured = os.environ.keys() & {"SPARK_REMOTE", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"}
    if configured or not (master or "local").startswith("local"):
        return
    for path in paths:
        if re.search(r"://|[*?\[{]", path):
            continue
        if not Path(path).exists():
            raise InputError(path, "no such file or directory")
        if Path(path).is_dir() and not any(one.is_file() for one in Path(path).rglob("*")):
            raise InputError(path, "holds no files")
        if check is not None:
            files = (one for one in Path(path).rglob("*") if one.is_file())
            names = (one.name for one in files if not one.name.startswith((".", "_")))
            check(path, names if Path(path).is_dir() else [path])


def skew_of(max_skew: str | None) -> float | None:
    """The fraction that ``--max-skew`` is. Raises InputError."""
    from partage.errors import read_parameter
    from partage.units import Percent

    return None if max_skew is None else float(read_parameter("max_skew", Percent.of, max_skew))


def completion_from(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A shell completion from words that are looked up when it is requested."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return complete


def strategy_names() -> list[str]:
    """The names of the strategies."""
    from partage.brokers.strategies import STRATEGIES

    return list(STRATEGIES)


def assignor_names() -> list[str]:
    """The names of the assignors."""
    from partage.consumers.assignors import ASSIGNORS, BROKER_ASSIGNORS

    return list({**ASSIGNORS, **BROKER_ASSIGNORS})


def check_tables(out: str, marker: str, overwrite: bool) -> None:
    """Raise InputError for an output of tables that could not be written, before Spark starts; a
    store is asked when Spark runs."""
    from partage.outputs import check_directory, is_store

    if not is_store(out):
        check_directory(out, marker, overwrite)


def record_columns(columns: str | None) -> dict[str, str]:
    """The values of ``--columns`` by name. Raises InputError."""
    from partage.errors import InputError

    if columns is None:
        return {}
    found: dict[str, str] = {}
    for part in columns.split(","):
        name, _, theirs = (word.strip() for word in part.partition("="))
        if not name or not theirs or name in found:
            raise InputError("--columns", f"{part!r}: expected NAME=COLUMN, each name once")
        found[name] = theirs
    return found


Table = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A table of Spark with records: catalog.db.records."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=COLUMN,…",
        help="Columns and fields of records with other names: topic=t,key=payload.id.",
    ),
]
SkipDamaged = Annotated[
    bool,
    typer.Option("--skip-damaged", help="Leave out damaged files, and count them."),
]
Picture = Annotated[
    str | None,
    typer.Option("--picture", metavar="FILE.svg", help="Draw the result to scale, as SVG."),
]
RacksFirst = Annotated[
    bool,
    typer.Option(
        "--racks-first",
        help="For sticky, cooperative-sticky and uniform: the fewest reads across racks, then the "
        "most even load.",
    ),
]
MaxSkew = Annotated[
    str | None,
    typer.Option(
        "--max-skew",
        metavar="PERCENT",
        help="For weighted and with --racks-first: accept this much above the most even load, for "
        "instance 5%.",
    ),
]
ResultPage = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE.html", help="Write the result as one HTML page."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
JsonLines = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON objects on stdout, one per line: progress, then the outcome."
    ),
]
Format = Annotated[
    str,
    typer.Option(metavar="NAME", help="Format of the tables: any that Spark can write."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the output of an earlier run.")
]
PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="A plan directory.")]
CommandConfig = Annotated[
    str | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="Client properties file, as for Kafka's tools.",
        rich_help_panel=RUNNING,
    ),
]


@dataclass(frozen=True)
class Running:
    """The options that name a running cluster."""

    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Brokers to connect to, separated by commas.",
            rich_help_panel=RUNNING,
        ),
    ] = None
    command_config: CommandConfig = None

    def connection(self, instead_of: str | None = None) -> Connection:
        """How to connect to it. ``instead_of``: the argument that could name a file, which the
        error is about where neither is given. Raises InputError."""
        from partage.errors import InputError
        from partage.live.admin.connection import Connection

        configured = os.environ.get("PARTAGE_BOOTSTRAP_SERVERS")
        if instead_of and not (self.bootstrap_server or self.command_config or configured):
            raise InputError(
                instead_of,
                "is missing: name a file, or a running cluster with `bootstrap_server` HOST:PORT",
            )
        return Connection.of(self.bootstrap_server, self.command_config)
