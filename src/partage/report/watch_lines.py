"""Lines of ``partage watch``: an alert when leader rates become uneven, and its end."""

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
            return f"{event['at']} alert: {_busiest(event)}, largest: {heaviest}. {_plan(event)}"
        case "fair":
            return f"{event['at']} balanced again: {_busiest(event)}"
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
    if event["plan"] is None:
        return f"No plan: {event['cannot']}"
    return (
        f"Plan: {event['plan']}, {units.decimal(event['fairness_after'])} times the mean after it"
    )
