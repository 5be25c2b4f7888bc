"""Options about Spark that several commands share."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Annotated

import typer

from partage.errors import InputError

Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark master; by default SPARK_REMOTE, or this machine."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of Spark; overrides all others."),
]
Packages = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,…",
        help="Packages for Spark from Maven: GROUP:ARTIFACT:VERSION.",
    ),
]
AppName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of the run in Spark's UI.  [default: partage]"),
]


@dataclass(frozen=True)
class SparkOptions:
    """Where Spark runs, and how."""

    master: Master = None
    conf: Conf = None
    packages: Packages = None
    name: AppName = None

    def settings(self) -> dict[str, str]:
        """The settings of Spark by name. Raises InputError, without the value: it may be secret."""
        found: dict[str, str] = {}
        if self.packages is not None:
            if "PYSPARK_GATEWAY_PORT" in os.environ:
                raise InputError("--packages", "Spark runs already: give it to spark-submit")
            for one in self.packages.split(","):
                if not re.fullmatch(r"[^\s:]+:[^\s:]+:[^\s:]+", one):
                    raise InputError("--packages", f"{one!r}: expected GROUP:ARTIFACT:VERSION")
            found["spark.jars.packages"] = self.packages
        if self.name is not None:
            found["spark.app.name"] = self.name
        for given in self.conf or ():
            name, equals, value = given.partition("=")
            if not equals or not name.startswith("spark."):
                raise InputError("--conf", "expected spark.NAME=VALUE")
            found[name] = value
        return found
