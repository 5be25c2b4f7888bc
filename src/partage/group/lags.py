"""The lags of a group, out of what ``kafka-consumer-groups.sh --describe`` prints.

One line per partition, under a line of column names: its group, topic, offsets and lag. Where the
group has no offset yet it prints ``-``; everything up to the end of the partition counts then. One
that is beyond the end, as after a topic was made anew, lags by nothing. What the tool says of whole
groups may stand anywhere.
"""

from __future__ import annotations

import os
import re

from partage.errors import InputError
from partage.files import read_text

Lags = dict[str, dict[int, int]]

_NEEDED = ("TOPIC", "PARTITION", "LOG-END-OFFSET", "LAG")
_OF_GROUPS = ("Consumer group '", "Error: ", "Warning: ")
"""How a line begins that is of no partition: the group has no members, is rebalancing, is none."""


def read_lags(path: str | os.PathLike[str], group: str | None = None) -> Lags:
    """Records by topic and partition; ``.gz`` too. ``group`` is needed where the text has several.

    Raises InputError for what is no such text, names no such group, or says a partition twice.
    """
    where = os.fspath(path)
    by_group: dict[str, Lags] = {}
    names: list[str] = []
    start = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.startswith("GROUP ") and all(name in line.split() for name in _NEEDED):
            # a group's name may have spaces, so the columns are told from where the topic begins
            start = re.search(r" (TOPIC) ", line).start(1)  # type: ignore[union-attr]
            names = line[start:].split()
            continue
        values = line[start:].split()
        if not names or len(values) < len(_NEEDED) or line.startswith(_OF_GROUPS):
            continue
        said = dict(zip(names, values, strict=False))
        lags = by_group.setdefault(line[:start].strip(), {}).setdefault(said["TOPIC"], {})
        partition = _count(said["PARTITION"], where, number, "partition")
        end = said["LOG-END-OFFSET"] if said["LAG"] == "-" else said["LAG"]
        if partition in lags:
            raise InputError(where, f"line {number}: {said['TOPIC']}-{partition} is there twice")
        none = re.fullmatch(r"-\d*", end)
        lags[partition] = 0 if none else _count(end, where, number, "lag")
    if not by_group:
        raise InputError(where, "no output of kafka-consumer-groups.sh --describe: no lags in it")
    if group is None and len(by_group) > 1:
        raise InputError(where, f"has several groups, say which: {', '.join(sorted(by_group))}")
    if group is not None and group not in by_group:
        raise InputError(where, f"has no group {group!r}: {', '.join(sorted(by_group))}")
    return by_group[group] if group is not None else next(iter(by_group.values()))


def _count(text: str, where: str, line: int, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise InputError(where, f"line {line}: {what} {text!r}: expected a whole number")
    return int(text)
