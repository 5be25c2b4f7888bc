"""The job that a plan is asked for, as options: what plan, compare and what-if have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from partage.cli.arguments import FAIRNESS, LIMITS, LOADS, WAVES, WHAT_CHANGES, one_of

CLUSTER_HELP = "Cluster or reassignment JSON, or kafka-topics.sh --describe output; .gz too."
ClusterArgument = Annotated[str, typer.Argument(metavar="CLUSTER", help=CLUSTER_HELP)]
AddBroker = Annotated[
    list[str] | None,
    typer.Option(
        "--add-broker",
        metavar="ID:RACK",
        help="A new, empty broker; capacity and disk as most have.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
RemoveBroker = Annotated[
    list[str] | None,
    typer.Option(
        "--remove-broker", metavar="ID", help="A broker to empty.", rich_help_panel=WHAT_CHANGES
    ),
]
ReplaceBroker = Annotated[
    list[str] | None,
    typer.Option(
        "--replace-broker",
        metavar="OLD=NEW",
        help="Empty OLD; NEW, unless listed, is added in its rack.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
ReplicationFactor = Annotated[
    list[str] | None,
    typer.Option(
        "--replication-factor",
        metavar="N|TOPIC=N",
        help="Raise or lower it.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
Topics = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX",
        help="Only topics whose whole name matches; the others stay.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="DIR",
        help="Loads that partage profile measured.",
        rich_help_panel=LOADS,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="kafka-log-dirs.sh --describe output.", rich_help_panel=LOADS
    ),
]
ReassignmentOption = Annotated[
    str | None,
    typer.Option(
        "--reassignment",
        metavar="FILE",
        help="Another tool's reassignment JSON: its lists.",
        rich_help_panel=WHAT_CHANGES,
    ),
]
NoMoves = Annotated[
    bool,
    typer.Option(
        "--no-moves", help="Move no data: only who leads, and order.", rich_help_panel=WHAT_CHANGES
    ),
]
Balance = Annotated[
    str, one_of("replicas|bytes", "What the brokers share evenly.", rich_help_panel=FAIRNESS)
]
Leaders = Annotated[str, one_of("count|rate", "Balance leaders by what.", rich_help_panel=FAIRNESS)]
Spread = Annotated[
    str,
    one_of(
        "cluster|topic", "Whose spread comes first when they conflict.", rich_help_panel=FAIRNESS
    ),
]
Relieve = Annotated[
    str | None,
    typer.Option(
        metavar="80%",
        help="Only empty the disks that are fuller, moving little.",
        rich_help_panel=LIMITS,
    ),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(
        "--max-moves", metavar="N", help="The fairest that N moves reach.", rich_help_panel=LIMITS
    ),
]
MaxBytesMoved = Annotated[
    str | None,
    typer.Option(
        "--max-bytes-moved",
        metavar="SIZE",
        help="The fairest found within, say, 2TB.",
        rich_help_panel=LIMITS,
    ),
]
Tolerance = Annotated[
    str | None,
    typer.Option(
        metavar="2%", help="How far from fair is fair enough, to move less.", rich_help_panel=LIMITS
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Replicas that a broker fetches or sends at a time.",
        rich_help_panel=WAVES,
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Partitions that are reassigned at a time, at most.",
        rich_help_panel=WAVES,
    ),
]
Throttle = Annotated[
    str | None,
    typer.Option(
        metavar="RATE", help="For the time estimate, for instance 50MB.", rich_help_panel=WAVES
    ),
]
