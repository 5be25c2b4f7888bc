"""Lines of logs → events. A log is one file, or several rotated ones (``app.log.1``, ``app.log``).
It may contain the lines of several clients and consumers, and other lines; each reader in
``clients`` takes the lines that it recognises, in the order of the log."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from statistics import median_low

from partage.consumers.history.clients import CLIENTS
from partage.consumers.history.events import HEARTBEATS_SEEN, ClientLog, Event, EventKind, Rejected
from partage.consumers.history.timestamps import MICROSECONDS, parse_timestamp

MARKERS = tuple(dict.fromkeys(marker for log in CLIENTS.values() for marker in log.MARKERS))
"""A line without any of these contains nothing about a group."""

_MESSAGE = ("message", "msg", "log")
_TIME = ("@timestamp", "timestamp", "time", "asctime", "timeMillis")
"""Names of the two in the JSON of common loggers and of Docker, whose ``log`` is the line."""

_PIECE = 16 * 1024
"""Bytes of a line's first piece, where a container runtime cuts it."""

_PIECE_OF_CRI = re.compile(r"\S+ std(?:out|err) P ")

_CUT = (
    "the first piece of a line that a container runtime has cut; docker logs and kubectl logs "
    "print it whole"
)

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_MIN_GAPS = 3
"""Heartbeat gaps in a row that are needed to derive the interval."""

LogFile = tuple[str, Iterable[tuple[int, str]]]
"""The name of a file and its numbered lines, not necessarily all; the last one shows how many lines
the file has, and may have no text."""


@dataclass
class _Heartbeats:
    """Thins out the SEEN events of one consumer.

    - ``last``: the last one; ``due``: whether no other event came after it
    - ``gaps``: microseconds between two of them without another event in between
    """

    last: Event | None = None
    due: bool = False
    gaps: list[int] = field(default_factory=list)

    def add(self, sign: Event) -> None:
        """Add a SEEN event."""
        if self.last is not None and self.due:
            self.gaps.append(sign.at - self.last.at)
        self.last, self.due = sign, True

    def take_last(self) -> Iterator[Event]:
        """The last one, if it is due."""
        if self.last is not None and self.due:
            self.due = False
            yield self.last

    def interval(self) -> Iterator[Event]:
        """The heartbeat interval as SETTINGS, if there are enough gaps."""
        if self.last is not None and len(self.gaps) >= _MIN_GAPS:
            settings = {HEARTBEATS_SEEN: round(median_low(self.gaps) / MICROSECONDS, 3)}
            yield replace(self.last, kind=EventKind.SETTINGS, settings=settings)


class _Places:
    """Numbers the lines of a log through all its files, and finds their files again."""

    def __init__(self) -> None:
        self._sources: list[str] = []
        self._before: list[int] = []  # lines in the log before the file

    def numbered(self, files: Iterable[LogFile]) -> Iterator[tuple[int, str]]:
        """The lines of all files that have a text."""
        end = 0
        for source, lines in files:
            before = end
            self._sources.append(source)
            self._before.append(before)
            for number, text in lines:
                end = before + number
                if text:
                    yield end, text

    def located(self, one: Event | Rejected) -> Event | Rejected:
        """With the file and the number of the line in it."""
        at = bisect_left(self._before, one.line) - 1
        return replace(one, source=self._sources[at], line=one.line - self._before[at])


def events_of(files: Iterable[LogFile]) -> Iterator[Event | Rejected]:
    """The events of one log, whose files are given in order. Of the SEEN events only the last
    before each other event is kept; an event with the last time in the log comes at the end."""
    places = _Places()
    return map(places.located, _read(places.numbered(files)))


def _read(lines: Iterable[tuple[int, str]]) -> Iterator[Event | Rejected]:
    logs: list[ClientLog] = [log() for log in CLIENTS.values()]
    heartbeats: dict[tuple[str, str, str], _Heartbeats] = {}
    last: Event | None = None
    for number, raw in lines:
        text = plain_text(raw)
        if when := parse_timestamp(text):
            last = Event(EventKind.SEEN, "", number, when.at, when.zoned, "")
        concerned = [log for log in logs if any(marker in text for marker in log.MARKERS)]
        if concerned and _is_piece(raw):
            yield Rejected("", number, text, _CUT)
            continue
        for log in concerned:
            yield from _thinned(log.feed(number, text), heartbeats)
    for log in logs:
        yield from _thinned(log.close(), heartbeats)
    for of_one in heartbeats.values():
        yield from of_one.take_last()
        yield from of_one.interval()
    if last is not None:
        yield last


def _is_piece(line: str) -> bool:
    """Whether this is a piece of a line, but not its last one: Docker leaves out the line's end,
    CRI writes P (partial) instead of F (full)."""
    if len(line) < _PIECE:
        return False
    of_docker = line.startswith('{"log":"') and r'\n","stream":"' not in line
    return of_docker or _PIECE_OF_CRI.match(line) is not None


def plain_text(line: str) -> str:
    """A line without colours and JSON."""
    return _COLOURS.sub("", _unwrapped(line.rstrip("\r\n")))


def _unwrapped(text: str) -> str:
    """The time and the message of a line that is a JSON object, also of one within Docker's; other
    lines as they are."""
    if not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    message = next((value[name] for name in _MESSAGE if isinstance(value.get(name), str)), None)
    time = next((value[name] for name in _TIME if isinstance(value.get(name), (str, int))), "")
    if message is None:
        return text
    line = message.rstrip("\r\n")
    return f"{time} {_unwrapped(line)}"


def _thinned(
    found: Iterable[Event | Rejected], heartbeats: dict[tuple[str, str, str], _Heartbeats]
) -> Iterator[Event | Rejected]:
    for one in found:
        if isinstance(one, Rejected):
            yield one
            continue
        of_one = heartbeats.setdefault((one.client, one.group, one.consumer), _Heartbeats())
        if one.kind is EventKind.SEEN:
            of_one.add(one)
        else:
            yield from of_one.take_last()
            yield one
