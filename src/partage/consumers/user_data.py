"""The user data that assignors put into a subscription, to and from bytes.

- sticky (StickyAssignorUserData): ``[topic, [partition]]``, version 1 followed by the generation
- cooperative-sticky: the generation, an int32; it only counts where the subscription itself has
  none (before version 2 of the subscription)
- failover: the priority, an int32

All numbers are big-endian, as in Kafka's protocol: arrays and integers of 4 bytes, texts with a
length of 2 bytes. Other clients may put other data there: data that cannot be read count as empty,
with a ``warning``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from partage.group.member import NO_GENERATION

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")


@dataclass(frozen=True)
class StickyUserData:
    """A member's last assignment: partition numbers by topic, and its generation, -1 unknown."""

    owned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    generation: int = NO_GENERATION
    warning: str | None = None


@dataclass(frozen=True)
class NumberUserData:
    """A generation or a priority, None where there is none."""

    value: int | None = None
    warning: str | None = None


def write_sticky(owned: Mapping[str, Sequence[int]], generation: int | None) -> bytes:
    """Version 1; version 0 without a generation (None)."""
    parts = [_INT32.pack(len(owned))]
    for topic, numbers in owned.items():
        name = topic.encode("utf-8")
        parts += [
            _INT16.pack(len(name)),
            name,
            struct.pack(f">i{len(numbers)}i", len(numbers), *numbers),
        ]
    if generation is not None:
        parts.append(_INT32.pack(generation))
    return b"".join(parts)


def read_sticky(data: bytes | None) -> StickyUserData:
    """Read version 1, version 0 or no data."""
    if not data:
        return StickyUserData()
    owned: dict[str, list[int]] = {}
    try:
        (topics,) = _INT32.unpack_from(data)
        at = 4
        if topics < 0:
            raise ValueError("negative")
        for _ in range(topics):
            (length,) = _INT16.unpack_from(data, at)
            name = data[at + 2 : at + 2 + length].decode("utf-8")
            at += 2 + length
            (count,) = _INT32.unpack_from(data, at)
            if length < 0 or count < 0 or at + 4 + 4 * count > len(data):
                raise ValueError("beyond the end")
            owned.setdefault(name, []).extend(struct.unpack_from(f">{count}i", data, at + 4))
            at += 4 + 4 * count
    except (struct.error, ValueError):
        return StickyUserData(
            warning=f"sticky user data of {len(data)} bytes cannot be read: ignored"
        )
    generation = _INT32.unpack_from(data, at)[0] if len(data) >= at + 4 else NO_GENERATION
    return StickyUserData({topic: tuple(numbers) for topic, numbers in owned.items()}, generation)


def write_generation(generation: int) -> bytes:
    """User data of cooperative-sticky."""
    return _INT32.pack(generation)


def read_generation(data: bytes | None) -> NumberUserData:
    """The generation in the user data of cooperative-sticky."""
    found = _number(data, "generation")
    if found.value is not None and found.value < NO_GENERATION:
        return NumberUserData(warning=f"user data has generation {found.value}: ignored")
    return found


def write_priority(priority: int) -> bytes:
    """User data of failover."""
    return _INT32.pack(priority)


def read_priority(data: bytes | None) -> NumberUserData:
    """The priority in the user data of failover."""
    return _number(data, "priority")


def _number(data: bytes | None, what: str) -> NumberUserData:
    if not data:
        return NumberUserData()
    if len(data) != 4:
        return NumberUserData(warning=f"user data of {len(data)} bytes is not a {what}: ignored")
    return NumberUserData(_INT32.unpack(data)[0])
