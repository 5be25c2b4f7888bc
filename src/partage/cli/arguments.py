"""Arguments and options that commands of several rooms have, worded once."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark master; SPARK_REMOTE or this machine if none."),
]
PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="A plan directory.")]
