"""Lines of log files → events. A file may hold the logs of several clients and consumers, and
anything else besides; every line is read on its own merits, in the order of the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from statistics import median_low

from partage.consumers.history.clients import CLIENTS
from partage.consumers.history.events import HEARTBEATS_SEEN, Event, EventKind, Log, Rejected
from partage.consumers.history.timestamps import MICROSECONDS, parse_timestamp

MARKERS = tuple(dict.fromkeys(marker for log in CLIENTS.values() for marker in log.MARKERS))
"""A line that has none of these tells nothing about a group."""


_MESSAGE = ("message", "msg")
_TIME = ("@timestamp", "timestamp", "time", "asctime", "timeMillis")
"""What loggers that write JSON call the two."""

_ENOUGH = 3
"""Heartbeats in a row, from which their interval is told."""


@dataclass
class _Signs:
    """Signs of life of one consumer: the ``last``, whether it is ``due`` (no other event came after
    it), and the microseconds between one and the next where none came in between."""

    last: Event | None = None
    due: bool = False
    gaps: list[int] = field(default_factory=list)

    def take(self, sign: Event) -> None:
        """One more."""
        if self.last is not None and self.due:
            self.gaps.append(sign.at - self.last.at)
        self.last, self.due = sign, True

    def told(self) -> Iterator[Event]:
        """The last, if it is due."""
        if self.last is not None and self.due:
            self.due = False
            yield self.last

    def interval(self) -> Iterator[Event]:
        """That of the heartbeats, if there were enough."""
        if self.last is not None and len(self.gaps) >= _ENOUGH:
            told = {HEARTBEATS_SEEN: round(median_low(self.gaps) / MICROSECONDS, 3)}
            yield replace(self.last, kind=EventKind.SETTINGS, settings=told)


def events_of(source: str, lines: Iterable[tuple[int, str]]) -> Iterator[Event | Rejected]:
    """What the numbered lines of one file tell. Signs of life are thinned out to the last before
    each other event of the file; the last time that the file shows comes at the end."""
    logs: list[Log] = [log(source) for log in CLIENTS.values()]
    signs: dict[tuple[str, str, str], _Signs] = {}
    last: Event | None = None
    for number, raw in lines:
        text = _unwrapped(raw.rstrip("\r\n"))
        if when := parse_timestamp(text):
            last = Event(EventKind.SEEN, source, number, when.at, when.zoned, "")
        for log in logs:
            if any(marker in text for marker in log.MARKERS):
                yield from _thinned(log.feed(number, text), signs)
    for log in logs:
        yield from _thinned(log.close(), signs)
    for of_one in signs.values():
        yield from of_one.told()
        yield from of_one.interval()
    if last is not None:
        yield last


def _unwrapped(text: str) -> str:
    """The time and the message of a line that is a JSON object; any other as it is."""
    if not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    message = next((value[name] for name in _MESSAGE if isinstance(value.get(name), str)), None)
    time = next((value[name] for name in _TIME if isinstance(value.get(name), (str, int))), "")
    return text if message is None else f"{time} {message}"


def _thinned(
    found: Iterable[Event | Rejected], signs: dict[tuple[str, str, str], _Signs]
) -> Iterator[Event | Rejected]:
    for one in found:
        if isinstance(one, Rejected):
            yield one
            continue
        of_one = signs.setdefault((one.client, one.group, one.consumer), _Signs())
        if one.kind is EventKind.SEEN:
            of_one.take(one)
        else:
            yield from of_one.told()
            yield one
