"""The list of the commands, which the help and shell completion show without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from partage.cli.arguments import RUNNING


class Listed(NamedTuple):
    """A command: the module in which a function, or a tuple of functions, has its name; and the
    first line of its help."""

    module: str
    summary: str


SECTIONS: Mapping[str, Mapping[str, Listed]] = {
    "Clusters": {
        "plan": Listed(
            "cluster_commands",
            "Decide which brokers hold and lead each partition: the fairest share, the fewest "
            "moves.",
        ),
        "compare": Listed(
            "cluster_commands", "Compare the plans of all strategies for the same problem."
        ),
        "check": Listed(
            "cluster_commands",
            "Check a plan from its files: it is feasible and optimal, and its rollback restores.",
        ),
        "report": Listed(
            "cluster_commands", "Write plan/report.html again: one file that needs no network."
        ),
        "place": Listed(
            "place_command",
            "Decide where a new topic, or more partitions of one, make the cluster the most even.",
        ),
        "size": Listed(
            "size_command", "Find how few brokers a cluster needs, or how few members a group."
        ),
    },
    "Consumer groups": {
        "assign": Listed(
            "group_commands", "Decide which member of a consumer group gets which partition."
        ),
        "simulate": Listed(
            "group_commands", "Simulate a consumer group over time: its rebalances, owners and lag."
        ),
        "history": Listed(
            "history_command",
            "Read rebalances from consumers' logs, and replay them with Kafka's assignors.",
        ),
    },
    "Records, with Spark": {
        "profile": Listed(
            "record_commands",
            "Measure records with Spark: bytes, rates, key skew and windows per partition.",
        ),
        "keys": Listed(
            "record_commands",
            "Detect the partitioner of each topic, and the effect of other partition counts.",
        ),
        "partition": Listed(
            "partition_command", "Show which partition each key goes to. Needs no Spark."
        ),
        "watch": Listed(
            "watch_command",
            "Measure a stream of records, and alert with a new plan when the load gets uneven.",
        ),
        "what-if": Listed(
            "what_if_command",
            "Simulate many futures with Spark: member churn, broker failures, load growth.",
        ),
    },
    RUNNING: {
        "snapshot": Listed(
            "live_commands",
            "Show a running cluster: brokers, replicas with sizes, throttles, groups.",
        ),
        "groups": Listed(
            "live_commands",
            "Show consumer groups: members with their partitions, lag, and the exact assignment.",
        ),
        "apply": Listed(
            "execution_commands", "Apply a plan to a running cluster, wave by wave, or resume it."
        ),
        "rollback": Listed(
            "execution_commands",
            "Roll a plan back to the original placement, however far it has come.",
        ),
        "verify": Listed(
            "execution_commands", "Show how far a plan is: done, in progress, or what differs."
        ),
        "throttle": Listed(
            "execution_commands",
            "Change the throttle or the concurrency of a plan while it is being applied.",
        ),
        "sandbox": Listed(
            "sandbox_commands",
            "Run a real Kafka on this machine to try things on: without Docker, on loopback only.",
        ),
    },
    "Getting started": {
        "doctor": Listed(
            "doctor_command",
            "Check what is installed, what a cluster allows, and what to do about it.",
        ),
        "demo": Listed(
            "demo_command",
            "Run every step on bundled data: measure with Spark, compare, plan, prove, report.",
        ),
    },
}

SECTION_OF: Mapping[str, str] = {name: title for title, below in SECTIONS.items() for name in below}
"""The section of each command, in the order of the list."""
