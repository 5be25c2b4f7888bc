"""Lines of log files → events. A file may hold the logs of several clients and consumers, and
anything else besides; every line is read on its own merits, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from partage.consumers.history.clients import CLIENTS
from partage.consumers.history.events import Event, Kind, Log, Rejected
from partage.consumers.history.stamps import stamp

MARKERS = tuple(dict.fromkeys(marker for log in CLIENTS.values() for marker in log.MARKERS))
"""A line that has none of these tells nothing about a group."""


def events_of(source: str, lines: Iterable[tuple[int, str]]) -> Iterator[Event | Rejected]:
    """What the numbered lines of one file tell. Signs of life are thinned out to the last before
    each other event of the file; the last time that the file shows comes at the end."""
    logs: list[Log] = [log(source) for log in CLIENTS.values()]
    seen: dict[tuple[str, str, str], Event] = {}
    last: Event | None = None
    for number, raw in lines:
        text = raw.rstrip("\r\n")
        if when := stamp(text):
            last = Event(Kind.SEEN, source, number, when.at, when.zoned, "")
        for log in logs:
            if any(marker in text for marker in log.MARKERS):
                yield from _thinned(log.feed(number, text), seen)
    for log in logs:
        yield from _thinned(log.close(), seen)
    yield from seen.values()
    if last is not None:
        yield last


def _thinned(
    found: Iterable[Event | Rejected], seen: dict[tuple[str, str, str], Event]
) -> Iterator[Event | Rejected]:
    for one in found:
        if isinstance(one, Rejected):
            yield one
            continue
        key = (one.client, one.group, one.consumer)
        if one.kind is Kind.SEEN:
            seen[key] = one
            continue
        if before := seen.pop(key, None):
            yield before
        yield one
