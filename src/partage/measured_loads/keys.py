"""The hottest keys of a topic."""

from __future__ import annotations

from dataclasses import dataclass

from partage.printable import is_printable


@dataclass(frozen=True)
class HotKey:
    """One of a topic's hottest keys. ``key`` is text to show (``0x…`` where it is not text) and
    ``share`` its part of the topic's records, 0 to 1."""

    topic: str
    rank: int
    key: str
    records: int
    bytes: int
    share: float


def shown_key(key: bytes) -> str:
    """A record's key as text: itself where it is printable UTF-8, else ``0x`` and hexadecimals."""
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{key.hex()}"
    return text if is_printable(text) else f"0x{key.hex()}"
