"""Do the brokers and partitions of plan.json follow from its options?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns
from partage.brokers.directory import MARKER, fingerprint
from partage.patterns import compile_pattern, matcher


def check_fingerprint(plan: PlanColumns) -> list[str]:
    """Defects of the fingerprint and the strategy's name."""
    if plan.value["fingerprint"] != fingerprint(plan.value):
        return [f"{MARKER}: fingerprint does not match the cluster and options in plan.json"]
    expected = plan.options.get("strategy", "exact")
    if plan.value["strategy"] != expected:
        return [_by_options("strategy", plan.value["strategy"], expected)]
    return []


def check_options(plan: PlanColumns) -> list[str]:
    """Defects of the brokers added and excluded, the partitions chosen and their factors."""
    asked = _AskedBrokers.of(plan.options)
    found = [defect for entry in plan.value["brokers"] for defect in asked.defects(entry)]
    missing = asked.named - set(plan.ids)
    if missing:
        found.append(f"{MARKER}: brokers: {min(missing)} is missing, which the options name")
    return (found + _partition_defects(plan))[:MAX_DEFECTS]


@dataclass(frozen=True)
class _AskedBrokers:
    """Broker ids in the options: ``removed``, ``added`` with their racks, ``replacing`` others."""

    removed: set[int]
    added: dict[int, str | None]
    replacing: set[int]

    @classmethod
    def of(cls, options: dict[str, Any]) -> _AskedBrokers:
        replaced = [word.split("=") for word in options.get("replace_broker", [])]
        added: dict[int, str | None] = {}
        for word in options.get("add_broker", []):
            number, _, rack = word.partition(":")
            added[int(number)] = rack or None
        removed = {int(b) for b in options.get("remove_broker", [])}
        return cls(
            removed | {int(old) for old, _ in replaced}, added, {int(n) for _, n in replaced}
        )

    @property
    def named(self) -> set[int]:
        return self.removed | set(self.added) | self.replacing

    def defects(self, entry: dict[str, Any]) -> list[str]:
        """Where an entry of ``brokers`` is not as the options ask."""
        b = entry["id"]
        expected: dict[str, Any] = {"excluded": b in self.removed}
        if b in self.added:
            expected |= {"rack": self.added[b], "added": True}
        elif b not in self.replacing:  # a replacement may be new or one of the cluster's
            expected["added"] = False
        return [
            _by_options(f"broker {b}: {key}", entry[key], value)
            for key, value in expected.items()
            if entry[key] != value
        ]


def _partition_defects(plan: PlanColumns) -> list[str]:
    matches = _matching_topics(plan)
    factors = _factors(plan.options)
    # a given reassignment sets the factors, and leaves out what fits on no brokers
    given = plan.given_lists and not plan.no_moves
    lists = plan.after if given else plan.before
    found = []
    for i, name in enumerate(plan.names):
        topic = int(plan.topic[i])
        unchanged = plan.before[i] == plan.after[i]
        too_many = given and unchanged and len(plan.before[i]) > len(plan.slots)
        chosen = matches[topic] and not too_many
        if bool(plan.chosen[i]) is not chosen:
            found.append(_by_options(f"{name}: chosen", bool(plan.chosen[i]), chosen))
        factor = len(plan.before[i])
        if chosen:
            factor = factors.get(plan.topics[topic], factors.get("", len(lists[i])))
        if plan.factor[i] != factor:
            found.append(_by_options(f"{name}: replication_factor", plan.factor[i], factor))
    return found


def _matching_topics(plan: PlanColumns) -> list[bool]:
    """Whether each topic matches ``--topics``."""
    matches = matcher(compile_pattern(plan.options.get("topics", "(?s:.*)")))
    return [matches(name) for name in plan.topics]


def _factors(options: dict[str, Any]) -> dict[str, int]:
    """``--replication-factor`` by topic; the general one under an empty name."""
    words = [word.rpartition("=") for word in options.get("replication_factor", [])]
    return {topic: int(number) for topic, _, number in words}


def _by_options(what: str, stated: object, expected: object) -> str:
    return f"{MARKER}: {what} is {stated}, expected {expected} by the options"
