"""Which offsets of a topic have records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from partage.properties import Settings


@dataclass(frozen=True)
class TopicOffsets:
    """``id``: another one if the topic is deleted and created again; ``partitions``: by number, the
    first offset that is there and that of the next record."""

    id: str
    partitions: Mapping[int, tuple[int, int]]


ReadOffsets = Callable[[str, Settings, Sequence[str]], Mapping[str, TopicOffsets]]
"""Servers, client settings and topics, in which ``*`` matches anything → those that exist, by
name."""
