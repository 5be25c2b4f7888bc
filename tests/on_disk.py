"""Which replicas are in which log dirs, read from the folders that brokers write: no client takes
part."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_FOLDER = re.compile(r"(?P<topic>.+)-(?P<number>\d+)(\.[0-9a-f]+-(?P<copy>future|delete|stray))?")


class At(NamedTuple):
    """A replica."""

    topic: str
    partition: int
    broker: int


class OnDisk(NamedTuple):
    """The log dirs of replicas: ``now``, where each is; ``future``, where one is being copied to.
    A replica has several only while a broker changes over."""

    now: dict[At, list[str]]
    future: dict[At, list[str]]


def on_disk(log_dirs: Iterable[tuple[int, Path]]) -> OnDisk:
    """What is in these log dirs, each with its broker."""
    found = OnDisk(defaultdict(list), defaultdict(list))
    for broker, log_dir in log_dirs:
        for folder in sorted(log_dir.iterdir()) if log_dir.is_dir() else ():
            named = _FOLDER.fullmatch(folder.name)
            if named is None or named["copy"] in ("delete", "stray"):
                continue
            of = found.future if named["copy"] else found.now
            of[At(named["topic"], int(named["number"]), broker)].append(str(log_dir))
    return found
