"""Logs for tests, and what really happened while the recorded ones were written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from partage.consumers.history import (
    Event,
    EventGroups,
    History,
    LogFile,
    Rejected,
    events_of,
    history_of,
    plain_text,
    unrotated,
)
from partage.consumers.history.timestamps import parse_timestamp

RECORDED = Path(__file__).parents[2] / "data" / "logs"
KIP_429 = Path(str(files("partage") / "data" / "groups" / "logs" / "kip-429"))
CASES = sorted(folder.name for folder in RECORDED.iterdir() if folder.is_dir())
"""``java-cooperative-whole`` and so on."""

Partition = tuple[str, int]
Keep = Callable[[str], bool]


def text_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def read(logs: dict[str, Sequence[str]]) -> tuple[dict[str, History], list[Rejected]]:
    """Lines by file name → the histories by group, and the rejected lines."""
    found = [one for files in files_of(logs) for one in events_of(files)]
    rejected = [one for one in found if isinstance(one, Rejected)]
    return histories(one for one in found if isinstance(one, Event)), rejected


def histories(events: Iterable[Event]) -> dict[str, History]:
    """The histories by group. Logs in any order, the events of a log in order."""
    logs: dict[str, list[Event]] = {}
    for one in events:
        logs.setdefault(unrotated(one.source), []).append(one)
    by_group: dict[str, list[Event]] = {}
    for own in logs.values():
        groups = EventGroups()
        known = [(place, groups.add(place, one), one) for place, one in enumerate(own)]
        for _, group, one in sorted([*known, *groups.rest()], key=itemgetter(0)):
            if group:
                by_group.setdefault(group, []).append(one)
    found = {group: history_of(group, by_group[group]) for group in sorted(by_group)}
    return {group: one for group, one in found.items() if one is not None}


def files_of(logs: dict[str, Sequence[str]]) -> list[list[LogFile]]:
    """The files of each log in the order of their first times; of files with equal times the longer
    name is older."""

    def order(name: str) -> tuple[int, int]:
        times = (parse_timestamp(plain_text(line)) for line in logs[name])
        return next((when.at for when in times if when is not None), 0), -len(name)

    by_log: dict[str, list[LogFile]] = {}
    for name in sorted(sorted(logs, reverse=True), key=order):
        by_log.setdefault(unrotated(name), []).append((name, enumerate(logs[name], 1)))
    return list(by_log.values())


def one_group(logs: dict[str, Sequence[str]]) -> History:
    """The history of logs with one group and no rejected line."""
    groups, rejected = read(logs)
    assert not rejected
    (history,) = groups.values()
    return history


def recorded(case: str, keep: Keep = lambda _: True) -> dict[str, Sequence[str]]:
    """The logs of a recorded group, the lines to keep."""
    return {
        path.name: [line for line in text_of(path) if keep(line)]
        for path in sorted((RECORDED / case).glob("*.log"))
    }


@dataclass(frozen=True)
class Stay:
    """A member owned a partition according to its callbacks. Times are seconds since 1970;
    ``how`` it ended: ``revoked``, ``lost`` (when it was stopped), ``ended`` (with the process)."""

    partition: Partition
    name: str
    start: float
    end: float
    how: str


@dataclass(frozen=True)
class Happened:
    """A recorded group: the owners each time it was stable, and all stays."""

    settled: list[dict[str, list[int]]]
    stays: list[Stay]


def rotated(name: str, lines: Sequence[str], cuts: Sequence[int]) -> dict[str, Sequence[str]]:
    """A log as rotated files that end before these lines."""
    bounds = [0, *cuts, len(lines)]
    ages = range(len(cuts), -1, -1)
    return {
        f"{name}.{age}" if age else name: lines[begin:end]
        for age, (begin, end) in zip(ages, pairwise(bounds), strict=True)
    }


def happened(case: str) -> Happened:
    value = json.loads((RECORDED / case / "happened.json").read_text(encoding="utf-8"))
    return Happened(value["settled"], list(_stays(value["events"])))


def _stays(events: Iterable[dict[str, Any]]) -> Iterable[Stay]:
    since: dict[tuple[str, int], float] = {}
    frozen: dict[str, float] = {}
    found = []
    for event in sorted(events, key=lambda event: event["at"]):
        name, at, kind = event["member"], event["at"], event["kind"]
        if kind == "frozen":
            frozen[name] = at
            continue
        if kind == "assigned":
            for number in event["partitions"]:
                since.setdefault((name, number), at)
            continue
        listed = event.get("partitions", [n for who, n in since if who == name])
        for number in listed:
            if (name, number) in since:
                start = since.pop((name, number))
                end = frozen[name] if kind == "lost" else at
                found.append(Stay(("orders", number), name, start, end, kind))
    assert not since
    return sorted(found, key=lambda stay: (stay.partition, stay.start))


def name_of(member: str) -> str:
    """The client id in a member id."""
    return member[: -len("-56a695ad-68c2-4e09-88a2-759e3854e366")]
