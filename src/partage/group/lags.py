"""The lags of a group, from the output of ``kafka-consumer-groups.sh --describe``.

One line per partition, below a line of column names: group, topic, offsets and lag. Where the group
has no committed offset the lag is ``-``; then all records up to the end of the partition count, and
where the end is ``-``, too, the partition has no lag. An offset beyond the end, as after a topic
was recreated, is a lag of 0. Lines about whole groups may appear anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container

from partage.errors import InputError
from partage.files import read_text
from partage.group.model import MAX_WEIGHT
from partage.kafka_names import TOPIC_RULE, is_topic
from partage.units import MAX_COUNT

Lags = dict[str, dict[int, int]]

_NEEDED = ("TOPIC", "PARTITION", "LOG-END-OFFSET", "LAG")
_OF_GROUPS = ("Consumer group '", "Error: ", "Warning: ")
"""Prefixes of lines about a whole group: it has no members, is rebalancing, does not exist."""


def read_lags(path: str | os.PathLike[str], group: str | None = None) -> Lags:
    """Records by topic and partition; ``.gz`` too. ``group`` is needed where the text has several.

    Raises InputError for other text, an unknown group, or a partition that is listed twice.
    """
    where = os.fspath(path)
    by_group: dict[str, Lags] = {}
    names: list[str] = []
    start = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.startswith("GROUP ") and all(name in line.split() for name in _NEEDED):
            # a group's name may have spaces, so columns are counted from where the topic starts
            start = line.find(" TOPIC ") + 1
            names = line[start:].split()
            _check_columns(names if start else [], where, number)
            continue
        values = line[start:].split()
        if not names or len(values) < len(_NEEDED) or line.startswith(_OF_GROUPS):
            continue
        row = dict(zip(names, values, strict=False))
        _check_columns(row, where, number)
        if row["PARTITION"] == "-":  # a member without partitions
            continue
        if not is_topic(row["TOPIC"]):
            raise InputError(where, f"line {number}: topic {row['TOPIC']!r}: expected {TOPIC_RULE}")
        lags = by_group.setdefault(line[:start].strip(), {}).setdefault(row["TOPIC"], {})
        partition = _count(row["PARTITION"], where, number, "partition", MAX_COUNT)
        lag = row["LOG-END-OFFSET"] if row["LAG"] == "-" else row["LAG"]
        if partition in lags:
            raise InputError(where, f"line {number}: {row['TOPIC']}-{partition} is listed twice")
        if lag != "-":
            beyond = re.fullmatch(r"-\d+", lag)
            lags[partition] = 0 if beyond else _count(lag, where, number, "lag", MAX_WEIGHT)
    if not by_group:
        raise InputError(
            where, "not the output of kafka-consumer-groups.sh --describe: no lags found"
        )
    if group is None and len(by_group) > 1:
        raise InputError(where, f"has several groups, choose one: {', '.join(sorted(by_group))}")
    if group is not None and group not in by_group:
        raise InputError(where, f"has no group {group!r}: {', '.join(sorted(by_group))}")
    return by_group[group] if group is not None else next(iter(by_group.values()))


def _check_columns(found: Container[str], where: str, line: int) -> None:
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise InputError(where, f"line {line}: columns missing: {', '.join(missing)}")


def _count(text: str, where: str, line: int, what: str, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > most:
        expected = f"expected a whole number from 0 to {most}"
        raise InputError(where, f"line {line}: {what} {text!r}: {expected}")
    return int(text)
