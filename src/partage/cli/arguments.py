"""Arguments and options that commands of several rooms have, worded once."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
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
        "--bootstrap-server", metavar="HOST:PORT", help="A broker; several, separated by commas."
    ),
]
CommandConfig = Annotated[
    str | None,
    typer.Option(
        "--command-config", metavar="FILE", help="Client properties, as Kafka's tools take them."
    ),
]
