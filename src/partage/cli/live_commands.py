"""snapshot and groups: read a running cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from partage.cli import next_step, output
from partage.cli.arguments import RUNNING, BootstrapServer, CommandConfig, Json


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    for command in (snapshot, groups):
        app.command(rich_help_panel=RUNNING)(command)


def snapshot(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a running cluster: brokers, replicas with sizes, throttles, groups.

    The file that -o writes is a CLUSTER, the input of other commands.

    Examples:

        partage snapshot --bootstrap-server localhost:9092 -o cluster.json
        partage snapshot --bootstrap-server kafka:9093 --command-config me.properties
    """
    from partage.live.admin.connection import Connection
    from partage.live.admin.snapshot import take_snapshot
    from partage.outputs import check_file, json_with_checksum, write_file
    from partage.report.live_tables import print_snapshot

    if out is not None:
        check_file(out, "out")
    connection = Connection.of(bootstrap_server, command_config)
    with output.progress(quiet=json) as progress, connection.admin() as admin:
        found = take_snapshot(admin, progress=progress).to_json()
    if out is not None:
        write_file(out, json_with_checksum(found, indent=1))
    if json:
        output.print_json(found)
        return
    console = output.console()
    print_snapshot(found, console)
    if out is None:
        next_step.show(console, "plan", *next_step.cluster_options("plan"), "-o", "plan/")
    else:
        next_step.show(console, "plan", out, "-o", "plan/", written=out)


def groups(
    name: Annotated[
        str | None, typer.Argument(metavar="GROUP", help="Default: all groups.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Show consumer groups: members with their partitions, lag, and the exact assignment.

    Examples:

        partage groups --bootstrap-server localhost:9092
        partage groups billing --bootstrap-server localhost:9092
    """
    from partage.live.admin.connection import Connection
    from partage.live.admin.groups import read_groups
    from partage.live.admin.permissions import acl_to_see_all_topics, missing_acls
    from partage.report.group_tables import print_assignment
    from partage.report.live_tables import print_group, print_groups
    from partage.report.printing import remark

    connection = Connection.of(bootstrap_server, command_config)
    warnings: list[str] = []
    with output.progress(quiet=json) as progress, connection.admin() as admin:
        progress("groups")
        topics = [topic["name"] for topic in admin.describe_topics()]
        if missing := acl_to_see_all_topics(admin, topics):
            warnings.append(f"some topics may be hidden: {missing_acls([missing])}")
        found = read_groups(admin, warnings, None if name is None else [name])
    rows = [group.described() for group in found]
    if json:
        output.print_json({"groups": rows, "warnings": warnings})
        return
    console = output.console()
    if name is None and not rows:
        console.print("The cluster has no consumer groups.", highlight=False)
    elif name is None:
        print_groups(rows, console)
    for group, row in zip(found, rows, strict=True) if name is not None else ():
        print_group(row, console)
        exact = group.exact()
        if exact is not None:
            console.print("\nThe exact assignment, starting from this one:", highlight=False)
            print_assignment(exact, group.exact_assignor, console)
    for warning in warnings:
        remark(warning, console)
    if name is None and found:
        behind = max(found, key=lambda group: sum(group.lag.values()))
        next_step.show(console, "groups", behind.name, *next_step.cluster_options("groups"))
