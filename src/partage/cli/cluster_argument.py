"""The argument CLUSTER of commands that also take the running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import output, settings
from partage.cli.arguments import Running
from partage.cli.plan_options import CLUSTER_HELP

if TYPE_CHECKING:
    from partage.cluster import Cluster

ClusterOrRunning = Annotated[
    str | None,
    typer.Argument(metavar="CLUSTER", help=f"{CLUSTER_HELP} By default the running cluster."),
]


def cluster_or_running(
    path: str | None,
    sizes: str | None,
    running: Running,
    *,
    may_be_empty: bool = False,
) -> str | Cluster:
    """The path of the cluster's file, or without one the running cluster."""
    from partage.errors import InputError

    if path is not None:
        if settings.typed("bootstrap_server") or settings.typed("command_config"):
            raise InputError(
                "bootstrap_server", "cannot be combined with a CLUSTER: give one of them"
            )
        return path
    if sizes is not None:
        raise InputError("sizes", "a running cluster reports its sizes itself")
    connection = running.connection(instead_of="CLUSTER")
    from partage.live.admin.snapshot import take_snapshot

    with connection.admin() as admin:
        found = take_snapshot(admin, groups=False, throttles=False)
    for warning in found.warnings:
        output.print_aside(f"! {warning}")
    return found.cluster(may_be_empty)
