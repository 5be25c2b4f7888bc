"""place: which brokers new partitions should go to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import next_step, output
from partage.cli.arguments import Json, Running
from partage.cli.cluster_argument import ClusterOrRunning, cluster_or_running

if TYPE_CHECKING:
    from partage.brokers.new_partitions import NewPartitions


def place(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="A new topic, or one to get more partitions.")
    ],
    partitions: Annotated[
        int, typer.Option(metavar="N", help="How many partitions the topic has then.")
    ],
    cluster: ClusterOrRunning = None,
    replication_factor: Annotated[
        int | None, typer.Option(metavar="N", help="Replicas of each partition of a new topic.")
    ] = None,
    brokers: Annotated[
        str | None,
        typer.Option(metavar="ID,…", help="Only these brokers; by default all that are alive."),
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the partitions there, after asking.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Create them without asking.")] = False,
    *,
    running: Running,
    json: Json = False,
) -> None:
    """Decide where a new topic, or more partitions of one, make the cluster the most even.

    Kafka's own placement looks at racks only, not at what brokers hold already. The topic is spread
    by count, whatever the capacity of brokers: --brokers names those that should hold it.

    Examples:

        partage place orders cluster.json --partitions 12 --replication-factor 3
        partage place orders --bootstrap-server localhost:9092 --partitions 24 --create
    """
    from partage.brokers.new_partitions import place as place_partitions
    from partage.errors import InputError
    from partage.report.place_tables import print_placement

    if create and cluster is not None:
        raise InputError("--create", "needs the running cluster: leave out CLUSTER")
    with output.progress(quiet=json) as progress:
        progress("reading")
        source = cluster_or_running(cluster, None, running, may_be_empty=True)
        progress("placing")
        found = place_partitions(source, topic, partitions, replication_factor, brokers)
    if not json:
        print_placement(found, output.console())
    if create:
        if not yes:
            output.ask("Create the topic?" if found.is_new else "Create the partitions?")
        _create(found, running, json)
    if json:
        output.print_json(found.to_json() | {"created": create})
        return
    console = output.console()
    if create:
        output.print_line(console, "Created.")
    else:
        words = ["--create"] if found.is_new else ["--alter", "--partitions", str(partitions)]
        server = next_step.cluster_options("place")[:2] or ["--bootstrap-server", "HOST:PORT"]
        call = ["kafka-topics.sh", *server, *words, "--topic", topic]
        given = ["--replica-assignment", found.replica_assignment]
        output.print_line(console, f"\nWith Kafka's tool: {' '.join([*call, *given])}")


def _create(found: NewPartitions, running: Running, quiet: bool) -> None:
    from partage.live.admin.creation import create_partitions

    with output.progress(quiet=quiet) as progress:
        progress("creating")
        with running.connection().admin() as admin:
            create_partitions(admin, found.topic, found.lists, found.first)
