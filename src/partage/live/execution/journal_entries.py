"""The lines of a journal, checked when they are read: each event has the fields below."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from partage.errors import InputError
from partage.json_input import Count, check_json

Entry = dict[str, Any]

STARTED = "started"
CLAIMED = "claimed"
THROTTLES_SAVED = "throttles saved"
THROTTLES_RESTORED = "throttles restored"
SUBMITTED = "submitted"

_BrokerKey: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9]{1,10}\Z", description="a broker id")]
_Settings: TypeAlias = dict[str, str]


class _Event(Struct):
    at: str
    event: str


class _Started(_Event):
    # older versions recorded no plan
    plan: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z", description="a SHA-256")] | None = None
    topic_ids: dict[str, str] = {}


class _Claimed(_Event):
    # the configuration of this name is removed at the end
    name: Annotated[
        str,
        Meta(
            pattern=r"\Apartage\.run\.[A-Za-z0-9-]{1,60}\.[0-9a-f]{1,16}\Z",
            description="a claim on the cluster",
        ),
    ]


class _Saved(_Event):
    brokers: dict[_BrokerKey, _Settings]
    topics: dict[str, _Settings]


class _Restored(_Event):
    brokers: list[Count]
    topics: list[str]


class _Partitions(_Event):
    partitions: list[tuple[str, Count]]


_FORMS: dict[str, type[_Event]] = {
    STARTED: _Started,
    CLAIMED: _Claimed,
    THROTTLES_SAVED: _Saved,
    THROTTLES_RESTORED: _Restored,
    SUBMITTED: _Partitions,
    "cancelled": _Partitions,
    "ended": _Event,
    "wave done": _Event,
    "leaders elected": _Event,
    "replanned": _Event,
    "note": _Event,
}
"""By event. Of the last ones only people read the other fields."""


def parse_entries(text: bytes) -> tuple[list[Entry], list[str]]:
    """The entries of complete lines, and for each line that is not one its number and why."""
    entries, damaged = [], []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entries.append(_entry(line))
        except InputError as error:
            problem = f" ({error.problem})" if error.problem else ""
            damaged.append(f"line {number}: is not a journal entry{problem}")
    return entries, damaged


def _entry(line: bytes) -> Entry:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("", "") from None
    event = check_json(value, _Event, "").event
    if event not in _FORMS:
        raise InputError("", f"unknown event {event!r}")
    check_json(value, _FORMS[event], "")
    entry: Entry = value
    return entry
