"""Rates of partitions from Prometheus: answers to range queries, as files or from their addresses.

Two kinds of answers, which differ by the name of the metric:

- the metrics that exporters scrape, which have a name: ``METRICS`` lists those of the JMX exporter
  (sizes and offsets of logs) and of kafka_exporter (offsets, also of groups). ``rates.py`` makes
  rates of them. A partition that several brokers report has the middle one of their growths;
- values per second that the query computed, given as ``bytes_in=ANSWER`` and so on: their mean.
  Where a series has a topic and no partition, the topic's partitions share its rate by records
  written where these are known, otherwise evenly.
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from http.client import HTTPException, InvalidURL
from typing import Annotated, Any, Literal
from urllib.error import HTTPError
from urllib.parse import unquote_to_bytes
from urllib.request import Request, urlopen

from msgspec import Meta, Struct

from partage.errors import InputError, PartageError, shown
from partage.files import MAX_BYTES, decoded, parse_json, read_text
from partage.json_input import check_json
from partage.measured_loads.rates import (
    GroupReads,
    Key,
    LogGrowth,
    LogReading,
    MeasuredRates,
    PartitionRates,
    combined,
)
from partage.redaction import redacted, split_login, without_login
from partage.units import listed

METRICS = {
    "kafka_log_log_size": "size",
    "kafka_log_log_logstartoffset": "first",
    "kafka_log_log_logendoffset": "next",
    "kafka_topic_partition_oldest_offset": "first",
    "kafka_topic_partition_current_offset": "next",
    "kafka_consumergroup_current_offset": "committed",
}
"""Names of metrics, without regard to case, and what they are."""

RATES = tuple(field.name for field in fields(PartitionRates))
LABELS = {"topic": "topic", "partition": "partition", "group": "consumergroup"}
"""What the labels of metrics are called."""

_TIMEOUT_SECONDS = 60.0

_Value = tuple[float, Annotated[str, Meta(max_length=40)]]


class _Series(Struct):
    metric: dict[str, str]
    values: list[_Value] = []
    value: _Value | None = None


class _Data(Struct, rename="camel"):
    result_type: Literal["matrix", "vector"]
    result: list[_Series]


class _Answer(Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error_type: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class _Samples:
    """A series: ``kind`` of METRICS' values or RATES; ``source``: its other labels, which name the
    broker; ``partition`` -1: of a whole topic."""

    kind: str
    topic: str
    partition: int
    group: str
    source: tuple[tuple[str, str], ...]
    times: list[float]
    values: list[float]

    @property
    def key(self) -> Key:
        return self.topic, self.partition

    def at(self, moment: float) -> float | None:
        """The last value at a moment or before it."""
        place = bisect_right(self.times, moment)
        return self.values[place - 1] if place else None


def labels_of(text: str) -> dict[str, str]:
    """``topic=kafka_topic,group=consumer_group``: LABELS with other names."""
    found = dict(LABELS)
    for part in text.split(","):
        name, equals, label = part.strip().partition("=")
        if name not in LABELS or not equals or not label.isidentifier():
            raise ValueError("expected for instance topic=NAME,partition=NAME,group=NAME")
        found[name] = label
    return found


def prometheus_rates(
    answers: Iterable[str], sizes: Mapping[Key, int | None], labels: Mapping[str, str] = LABELS
) -> MeasuredRates:
    """The rates that answers to range queries give: each a file or an address (http, https), or
    ``NAME=`` one of RATES ``=`` such an answer. ``sizes``: the partitions of the cluster, and the
    bytes of a replica of each.

    Raises InputError for what is not such an answer, PartageError where none comes.
    """
    series = [one for answer in answers for one in _read(answer, labels) if one.times]
    times = sorted({time for one in series for time in one.times})
    if not times:
        raise InputError("prometheus", "the answers have no values: check the query and the time")
    warnings = []
    found = combined(_growths(series), _reads(series), sizes)
    for name in RATES:
        given = [one for one in series if one.kind == name]
        rates, uneven = _given(given, sizes, found)
        for key, rate in rates.items():
            found[key] = replace(found.get(key, PartitionRates()), **{name: rate})
        if uneven:
            warnings.append(f"{name} has no partitions, shared evenly: {listed(uneven, 3)}")
    for keys, what in (
        (sizes.keys() - found.keys(), "no rate from Prometheus"),
        (found.keys() - sizes.keys(), "from Prometheus, but not in the cluster"),
    ):
        if keys:
            names = [f"{topic}-{number}" for topic, number in sorted(keys)]
            warnings.append(f"{what}: {listed(names, 3)}")
    seconds = times[-1] - times[0]
    return MeasuredRates(seconds, len(times), dict(sorted(found.items())), tuple(warnings))


# ---------------------------------------------------------------------- arithmetic


def _growths(series: Sequence[_Samples]) -> dict[Key, LogGrowth]:
    offsets: dict[tuple[str, Key], list[_Samples]] = defaultdict(list)
    sized: dict[Key, list[_Samples]] = defaultdict(list)
    for one in series:
        if one.kind in ("first", "next"):
            offsets[one.kind, one.key].append(one)
        elif one.kind == "size":
            sized[one.key].append(one)
    found: dict[Key, LogGrowth] = {}
    for key in {*sized, *(key for _, key in offsets)}:
        first, following = offsets["first", key], offsets["next", key]
        # without sizes, at the moments of the offsets
        clocks = sized[key] or following[:1]
        growths = [_growth(clock, first, following) for clock in clocks]
        growths.sort(key=lambda one: one.grown / one.seconds if one.seconds else 0.0)
        if growths:
            found[key] = growths[len(growths) // 2]
    return found


def _growth(clock: _Samples, first: Sequence[_Samples], following: Sequence[_Samples]) -> LogGrowth:
    """The growth of the log that one broker reports, with offsets from any."""
    readings = []
    for time, value in zip(clock.times, clock.values, strict=True):
        end = _most(following, time)
        readings.append(
            LogReading(
                replica=clock.source,
                size_at=time,
                size=round(value) if clock.kind == "size" else None,
                offsets_at=time,
                first=None if end is None else _most(first, time) or 0,
                next=end,
            )
        )
    found = LogGrowth(readings[0])
    for reading in readings[1:]:
        found.add(reading)
    return found


def _most(series: Sequence[_Samples], moment: float) -> int | None:
    values = [value for one in series if (value := one.at(moment)) is not None]
    return round(max(values)) if values else None


def _reads(series: Sequence[_Samples]) -> dict[tuple[str, Key], GroupReads]:
    found: dict[tuple[str, Key], GroupReads] = {}
    sources: dict[tuple[str, Key], tuple[tuple[str, str], ...]] = {}
    for one in series:
        name = (one.group, one.key)
        # several exporters may report the same group: one of them counts
        if one.kind != "committed" or sources.setdefault(name, one.source) != one.source:
            continue
        for time, value in zip(one.times, one.values, strict=True):
            found.setdefault(name, GroupReads(round(value), time)).add(round(value), time)
    return found


def _given(
    series: Sequence[_Samples], sizes: Mapping[Key, object], known: Mapping[Key, PartitionRates]
) -> tuple[dict[Key, float], list[str]]:
    """Mean rates by partition, and topics whose rate is shared evenly among its partitions."""
    found: dict[Key, float] = {}
    for one in series:
        if one.key in found:
            name = one.topic if one.partition < 0 else f"{one.topic}-{one.partition}"
            problem = (
                f"{name} has several series: sum them, for instance `sum by (topic, partition)`"
            )
            raise InputError(f"prometheus {one.kind}", problem)
        found[one.key] = sum(one.values) / len(one.values)
    members: dict[str, list[Key]] = defaultdict(list)
    for key in sizes:
        members[key[0]].append(key)
    uneven = []
    for topic, number in [key for key in found if key[1] < 0]:
        rate, keys = found.pop((topic, number)), members.get(topic, [])
        records = [known[key].records_in or 0.0 if key in known else 0.0 for key in keys]
        if not any(records):
            records = [1.0] * len(keys)
            uneven += [topic] if len(keys) > 1 else []
        total = sum(records)
        for key, share in zip(keys, records, strict=True):
            found.setdefault(key, rate * share / total)
    return found, sorted(uneven)


# ---------------------------------------------------------------------- reading


def _read(answer: str, labels: Mapping[str, str]) -> list[_Samples]:
    name, equals, rest = answer.partition("=")
    kind, where = (name, rest) if equals and name in RATES else (None, answer)
    text = _fetched(where) if where.startswith(("http://", "https://")) else read_text(where)
    where = redacted(where)
    read = check_json(parse_json(text, where), _Answer, where)
    if read.status != "success" or read.data is None:
        problem = f"{read.error_type or read.status}: {read.error or 'no data'}"
        raise InputError(where, f"Prometheus answered {shown(problem)}")
    return [
        _samples(one, kind, labels, where, number) for number, one in enumerate(read.data.result)
    ]


def _samples(
    one: _Series, kind: str | None, labels: Mapping[str, str], where: str, number: int
) -> _Samples:
    place = f"data.result[{number}]"
    metric = dict(one.metric)
    named = metric.pop("__name__", None)
    found = kind or METRICS.get((named or "").lower())
    if found is None:
        problem = (
            f"{shown(named)} is not a metric that is known ({', '.join(METRICS)})"
            if named
            else f"has no __name__: its values are rates, name them, for instance {RATES[0]}=ANSWER"
        )
        raise InputError(where, f"{place}: {problem}")
    topic = metric.pop(labels["topic"], None)
    partition = metric.pop(labels["partition"], None)
    group = metric.pop(labels["group"], None) if found == "committed" else ""
    for label, value in (("topic", topic), ("group", group)):
        if value is None:
            raise InputError(where, f"{place}: has no label {labels[label]}: see --labels")
    if partition is None and found not in RATES:
        raise InputError(where, f"{place}: has no label {labels['partition']}: see --labels")
    if partition is not None and not re.fullmatch(r"\d{1,7}", partition, re.ASCII):
        raise InputError(where, f"{place}: {shown(partition)} is not the number of a partition")
    times, values = [], []
    for time, value in one.values or ([one.value] if one.value else []):
        amount = _amount(value, f"{place}: {shown(value)}", where)
        if math.isfinite(amount):
            times.append(time)
            values.append(amount)
    if times != sorted(set(times)):
        raise InputError(where, f"{place}: its times do not ascend")
    return _Samples(
        found,
        str(topic),
        -1 if partition is None else int(partition),
        str(group),
        tuple(sorted(metric.items())),
        times,
        values,
    )


def _amount(text: str, place: str, where: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        raise InputError(where, f"{place} is not a number") from None
    if amount < 0 or (math.isfinite(amount) and amount > 2**62):
        raise InputError(where, f"{place}: expected 0 or more")
    return amount


def _fetched(address: str) -> str:
    """What an address answers. Prometheus gives the reason of an error as JSON, too."""
    place, login = split_login(address)
    where = redacted(place)
    try:
        request = Request(place)
        if login:  # not for the host that an answer redirects to
            encoded = b64encode(unquote_to_bytes(login)).decode()
            request.add_unredirected_header("Authorization", f"Basic {encoded}")
        try:
            with urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
                raw = answer.read(MAX_BYTES + 1)
        except HTTPError as error:
            raw = error.read(MAX_BYTES + 1)
            if not raw.lstrip().startswith(b"{"):
                raise PartageError(f"{where}: HTTP {error.code} {error.reason}") from None
    except (InvalidURL, ValueError):  # which quotes a part of the address, perhaps of a password
        problem = "not a valid URL: write special characters as %2F, %40"
        raise InputError(without_login(address), problem) from None
    except (OSError, HTTPException) as error:
        reason: Any = getattr(error, "reason", None) or error
        raise PartageError(f"{where}: {redacted(str(reason))}") from None
    if len(raw) > MAX_BYTES:
        raise InputError(where, f"has more than {MAX_BYTES:,} bytes")
    return decoded(raw, where)
