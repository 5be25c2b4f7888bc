"""The planning problem on the command line: what plan, compare and what-if have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partage.brokers.options import PlanOptions
from partage.cli.arguments import completion_from, strategy_names
from partage.cli.loads import Loads

if TYPE_CHECKING:
    from partage.brokers.problem import Problem
    from partage.cluster import Cluster

CLUSTER_HELP = "Cluster or reassignment JSON, or kafka-topics.sh --describe output; .gz too."
ClusterArgument = Annotated[str, typer.Argument(metavar="CLUSTER", help=CLUSTER_HELP)]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="Only this strategy (repeatable); all by default.",
        autocompletion=completion_from(strategy_names),
    ),
]


def problem_of(cluster: str | Cluster, options: PlanOptions, loads: Loads) -> Problem:
    """The planning problem of a cluster, or of its file. Raises InputError."""
    from partage.brokers.posing import posed
    from partage.cluster import Cluster

    profile = loads.measured()
    if not isinstance(cluster, Cluster):
        cluster = Cluster.read(cluster, sizes=loads.sizes)
    return posed(cluster, options, profile)
