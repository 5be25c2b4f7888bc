"""The stages of a plan's certificate, and what each of them proves in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partage.report import units

_MEANINGS = {
    "replicas": "Under these rules no placement shares the replicas more evenly.",
    "bytes": "Under these rules no placement shares the bytes more evenly.",
    "moves": "No plan this even makes brokers fetch fewer replicas.",
    "topic spread": "With no move more, no plan spreads each topic's replicas more evenly.",
    "budget": "Within the limits asked for, no plan does better.",
    "bytes moved": "No plan within the same bands of bytes moves fewer.",
    "leaders": "On these replicas, the leaders cannot be shared more evenly.",
    "failure": "After any one broker fails, its leaders cannot fall more evenly on the others.",
    "failure balance": "No order of the lists spreads what is taken over more evenly.",
    "leader rate": "No choice of leaders lowers the rate of the busiest one.",
}


@dataclass(frozen=True)
class Stage:
    """One stage of the certificate: a value, the bound that proves it, and what that means."""

    name: str
    value: str
    bound: str
    proven: bool
    meaning: str


def stages_of(certificate: Mapping[str, Any]) -> tuple[Stage, ...]:
    """The document's ``certificate``, stage by stage."""
    stages = []
    for item in certificate.get("stages") or ():
        name = str(item.get("stage", ""))
        value, bound = item.get("value"), item.get("bound")
        stages.append(
            Stage(
                name=name,
                value=units.plain(value),
                bound=units.plain(bound),
                proven=value is not None and value == bound,
                meaning=_meaning(name, value, bound),
            )
        )
    return tuple(stages)


def _meaning(name: str, value: Any, bound: Any) -> str:
    if value == bound:
        return _MEANINGS.get(name, "The value equals a bound that no plan can beat.")
    if value is not None and bound is not None and value < bound:
        return "The bound is of plans that are as good in the stages before: this one is not."
    return "The value is above its lower bound: good, but not proven to be the best."
