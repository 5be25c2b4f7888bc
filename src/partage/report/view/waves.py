"""The waves of a plan: what each moves, and what each of its brokers receives and sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Wave:
    """One batch of the execution. ``bytes`` None: sizes are unknown; ``seconds`` None: no throttle
    was given, so no estimate. ``brokers``: positions of those that receive or send, and one
    number of each in the lists after it; None where the file does not tell."""

    file: str
    partitions: int
    moves: int
    bytes: int | None
    seconds: float | None
    brokers: tuple[int, ...] | None = None
    replicas_in: tuple[int, ...] = ()
    replicas_out: tuple[int, ...] = ()
    bytes_in: tuple[int, ...] | None = None
    bytes_out: tuple[int, ...] | None = None


def waves_of(items: Sequence[Mapping[str, Any]], ids: Sequence[int]) -> tuple[Wave, ...]:
    """The document's ``waves``; ``ids`` are those of the plan's brokers."""
    place = {broker: i for i, broker in enumerate(ids)}
    waves = []
    for item in items:
        wave = Wave(
            item["file"], item["partitions"], item["moves"], item["bytes"], item.get("seconds")
        )
        if "brokers" in item:
            known = item["bytes_in"] is not None
            wave = replace(
                wave,
                brokers=tuple(place[broker] for broker in item["brokers"]),
                replicas_in=tuple(item["replicas_in"]),
                replicas_out=tuple(item["replicas_out"]),
                bytes_in=tuple(item["bytes_in"]) if known else None,
                bytes_out=tuple(item["bytes_out"]) if known else None,
            )
        waves.append(wave)
    return tuple(waves)


def bytes_of(waves: Sequence[Wave]) -> int | None:
    """What several waves copy; None where sizes are unknown."""
    known = [wave.bytes for wave in waves if wave.bytes is not None]
    return sum(known) if len(known) == len(waves) else None
