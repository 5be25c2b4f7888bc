"""Lines of ``partage watch``: an alert when leader rates become uneven, its end, and what
``--apply`` does about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partage.report import units


def line(event: Mapping[str, Any]) -> str | None:
    """An event as one line; None for events that are not printed."""
    match event["event"]:
        case "alert":
            heaviest = ", ".join(
                f"{one['partition']} {units.rate(one['bytes_per_second'])}"
                for one in event["heaviest"]
            )
            return f"{event['at']} alert: {_busiest(event)}, largest: {heaviest}{_plan(event)}"
        case "fair":
            return f"{event['at']} balanced again: {_busiest(event)}"
        case "apply":
            return f"{event['at']} {_applied(event)}"
        case "progress" if event["note"]:
            return f"applying {event['plan']}: {event['note']}"
        case "trouble":
            return f"problem: {event['problem']}"
    return None


def end(event: Mapping[str, Any]) -> str:
    """The summary in the event ``stopped``."""
    counts = event["counts"]
    period = f" from {counts['from']} to {counts['to']}" if counts["to"] else ""
    return (
        f"stopped: {units.count(counts['records'])} records in closed windows{period}, "
        f"{units.count(counts['open_records'])} in open ones, "
        f"{units.count(counts['late'])} late, {units.count(counts['rejected'])} rejected"
    )


def _busiest(event: Mapping[str, Any]) -> str:
    threshold = f"threshold {event['threshold']:g}"
    if event["fairness"] is None:
        return f"no records received ({threshold})"
    return (
        f"broker {event['broker']} receives {units.rate(event['bytes_per_second'])}, "
        f"{units.decimal(event['fairness'])} times the mean ({threshold})"
    )


def _plan(event: Mapping[str, Any]) -> str:
    if event["plan"] is not None:
        after = units.decimal(event["fairness_after"])
        return f". Plan: {event['plan']}, {after} times the mean after it"
    return "" if event["cannot"] is None else f". No plan: {event['cannot']}"


def _applied(event: Mapping[str, Any]) -> str:
    plan = event["plan"]
    match event["state"]:
        case "refused":
            return f"nothing is applied: {event['problem']}"
        case "would":
            return f"dry run: would apply {plan}: {_changes(event)}"
        case "started":
            return f"applying {plan}: {_changes(event)}"
        case "resumed":
            return f"resuming {plan}: {_changes(event)}"
        case "stopped":
            left = units.plural(event["waves_left"], "wave")
            return f"stopped {plan} with {left} left: it is resumed before anything else"
        case "failed":
            return (
                f"failed {plan}: {event['problem']}. Nothing more is applied until you remove "
                f"{event['remove']}"
            )
        case "rolled back":
            return f"{plan} was rolled back: not resumed"
    return f"applied {plan}: {_changes(event)}. Undo: partage rollback {plan}"


def _changes(event: Mapping[str, Any]) -> str:
    left = event["bytes_left"]
    budget = "" if left is None else f", {units.size(left)} left for 24 hours"
    return (
        f"{units.plural(event['moves'], 'move')}, {units.size(event['bytes'])}, "
        f"{units.plural(event['leader_changes'], 'leader change')}, "
        f"{units.decimal(event['fairness'])} → {units.decimal(event['fairness_after'])} times the "
        f"mean{budget}"
    )
