"""Records that came to topics since the last run: from the offsets at which it ended.

A topic that was deleted and created again has another ID: it is read from its beginning, and the
records of the topic before stay counted. Offsets that Kafka removed before they were measured, and
those that went back, as after an unclean leader election, are named in ``profile.json``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partage.errors import InputError, PartageError
from partage.measured_loads.offsets import ReadOffsets, TopicOffsets
from partage.period import ALWAYS
from partage.pipeline.append.marks import TOPIC, Mark, New
from partage.pipeline.sources import kafka
from partage.redaction import without_login

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources import Keep

SHOWN = 20
"""Partitions that are named in ``profile.json``, in each list."""

_GONE = re.compile("UnknownReason|have been lost|out of range")
"""Spark cannot describe errors whose classes came with jars added later."""


@dataclass
class Unread:
    """What to read of topics. ``removed``: offsets that are gone; ``went_back``: offsets that are
    used again; of each, topic, partition, and from and to which offset."""

    marks: list[Mark] = field(default_factory=list)
    ranges: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    removed: list[tuple[str, int, int, int]] = field(default_factory=list)
    went_back: list[tuple[str, int, int, int]] = field(default_factory=list)
    recreated: list[str] = field(default_factory=list)

    def add(self, topic: str, now: TopicOffsets, before: Mapping[str, Mapping[int, int]]) -> None:
        """``before``: where the measured records end, by ID of the topic and partition."""
        known = before.get(now.id)
        if known is None and before:
            self.recreated.append(topic)
        for number, (first, following) in sorted(now.partitions.items()):
            # a partition that was added has been there from its beginning
            at = first if known is None else known.get(number, 0)
            if at > following:
                self.went_back.append((topic, number, at, following))
                at = following
            if at < first:
                self.removed.append((topic, number, at, first))
                at = first
            if at < following:
                self.ranges[topic, number] = (at, following)
            if known is None or known.get(number) != following:
                self.marks.append(Mark(TOPIC, topic, number, now.id, following))

    def about(self) -> dict[str, Any]:
        names = ("topic", "partition", "from", "to")
        return {
            "new_offsets": sum(end - begin for begin, end in self.ranges.values()),
            "removed_offsets": sum(to - begin for *_, begin, to in self.removed),
            "removed_partitions": [
                dict(zip(names, one, strict=True)) for one in self.removed[:SHOWN]
            ],
            "went_back": [dict(zip(names, one, strict=True)) for one in self.went_back[:SHOWN]],
            "recreated_topics": self.recreated[:SHOWN],
        }


def new_records(
    spark: SparkSession, url: str, before: Sequence[Mark], read_offsets: ReadOffsets
) -> New:
    """The records of a ``kafka://`` URL that are not in ``before``. Raises InputError, and what
    ``read_offsets`` raises."""
    parsed = kafka.parse_url(url)
    if parsed.period != ALWAYS:
        raise InputError(
            without_login(url), "`append` measures offsets: in place of from and to, use `--from`"
        )
    now = read_offsets(parsed.servers, parsed.config, parsed.topics)
    missing = [topic for topic in parsed.topics if "*" not in topic and topic not in now]
    if missing or not now:
        problem = f"topic {missing[0]} does not exist" if missing else "no topic has such a name"
        raise InputError(without_login(url), problem)
    ends: dict[str, dict[str, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for mark in before:
        if mark.kind == TOPIC and mark.partition is not None:
            ends[mark.source][mark.identity][mark.partition] = mark.position
    found = Unread()
    for topic, offsets in now.items():
        found.add(topic, offsets, ends.get(topic, {}))

    def rows(keep: Keep, _: bool) -> DataFrame:
        return keep(kafka.read_between(spark, parsed, found.ranges))

    def check() -> None:
        again = read_offsets(parsed.servers, parsed.config, sorted(now))
        for topic, offsets in now.items():
            if topic not in again or again[topic].id != offsets.id:
                problem = f"topic {topic} was deleted while it was measured: run it again"
                raise PartageError(f"{without_login(url)}: {problem}")

    return New(tuple(found.marks), rows, found.about(), check)


@contextmanager
def explained() -> Iterator[None]:
    """Explain the error of Spark where records were gone when they were read."""
    try:
        yield
    except PartageError as error:
        if not _GONE.search(str(error)):
            raise
        raise PartageError(
            "the records cannot be read: a broker does not answer, or Kafka removed them "
            "meanwhile: run it again"
        ) from None
