"""plan.json as the checks read it: its columns, with nothing derived by the planner."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import mul, ne
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from partage.arrays import Bools, Ints
from partage.brokers.check.asked import Asked
from partage.brokers.check.plan_schema import PLAN
from partage.brokers.check.racks import rows_that_break_the_rule
from partage.brokers.check.schema import MalformedError, identical, mismatch
from partage.brokers.directory import FORMAT_VERSION, MARKER, NO_VERSION
from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text

Lists = list[list[int]]
Counted = TypeVar("Counted")

MAX_WEIGHT = 20_000
"""The largest load weight: of the smallest capacity, in relation to the largest."""

MAX_BYTES = 2**60
"""An exbibyte: more than a cluster holds, so that sums are exact in 64 bits."""

MAX_BROKERS = 10_000
"""What survivors lead after a failure is counted for pairs of brokers."""

MAX_DEFECTS = 20
"""Defects that a check reports, where each partition may have one."""


def read_json(root: Path, name: str) -> Any:
    """The JSON value in the file ``name`` of the plan directory. Raises as ``text_of``."""
    return json_of(text_of(root, name), name)


def read_digested(root: Path, name: str) -> tuple[Any, str]:
    """The JSON value in a file of the plan directory, and the SHA-256 (hex) of its text. Raises as
    ``text_of``."""
    text = text_of(root, name)
    return json_of(text, name), hashlib.sha256(text.encode()).hexdigest()


def text_of(root: Path, name: str) -> str:
    """The text of a file of the plan directory.

    Raises MalformedError, with the name, if it is not text; OSError if it cannot be opened.
    """
    if not (root / name).is_fifo():
        (root / name).open("rb").close()
    try:
        return read_text(root / name, regular=True)
    except InputError as error:
        problem = str(error).removeprefix(f"{root / name}: ")
        raise MalformedError(f"{name}: {problem}") from None


def json_of(text: str, name: str) -> Any:
    """The JSON value of this text of a file. Raises MalformedError, with the name."""
    try:
        return parse_json(text, name)
    except InputError as error:
        raise MalformedError(str(error)) from None


class PlanColumns:
    """The columns of plan.json, checked against its schema; B brokers, E usable ones, P partitions.

    - ``asked``: what the options ask for
    - ``ids``, ``rack``, ``disk``, ``capacity`` [B], ``alive``, ``usable`` [B]: neither dead nor
      excluded nor outside the broker set; ``place``: position of each broker id
    - ``slots`` [E]: positions of the usable brokers; ``slot_of`` [B + 1]: the inverse, -1 for the
      others and for padding
    - ``topics``: names; ``topic``, ``number``, ``names``, ``chosen``, ``factor`` (replicas asked
      for), ``size`` (bytes, 0 where unknown), ``copied`` (of these, by a new replica) [P];
      ``rates``: bytes per second [P] or None
    - ``bytes_in``, ``bytes_out`` [P]: bytes per second, where known, else empty
    - ``before``, ``after``: broker ids of each partition, preferred leader first
    - ``digest``: SHA-256 (hex) of plan.json, where it was read
    - ``listed``, ``row_of_text``: what ``read_listed`` has read of the files beside it
    """

    def __init__(self, value: Any, root: Path, digest: str | None = None) -> None:
        """Raises MalformedError."""
        self.root, self.digest = root, digest
        self.listed: dict[str, Any] = {}
        self.row_of_text: dict[str, dict[str, int]] = {}
        self._counted: dict[tuple[str, str], Any] = {}
        try:
            _check_schema(value)
            self.value = value
            self.asked = Asked.of(value["options"])
            self._read_brokers(value["brokers"])
            self._read_topics(value["topics"], value["partitions"]["topic"])
            self._check_topic_ids(value.get("topic_ids"))
            self._read_partitions(value["partitions"])
        except MISSHAPEN as error:
            problem = f"malformed ({type(error).__name__}: {error})"
            raise MalformedError(f"{MARKER}: {problem}") from None

    def _read_brokers(self, brokers: list[dict[str, Any]]) -> None:
        if len(brokers) > MAX_BROKERS:
            raise MalformedError(f"{MARKER}: brokers: {len(brokers)}, expected up to {MAX_BROKERS}")
        self.ids = [b["id"] for b in brokers]
        if self.ids != sorted(set(self.ids)):
            raise MalformedError(f"{MARKER}: brokers: ids must ascend")
        self.place = {b: i for i, b in enumerate(self.ids)}
        self.rack = [b["rack"] for b in brokers]
        self.disk = [b["disk_bytes"] for b in brokers]
        if None in self.rack and set(self.rack) != {None}:
            raise MalformedError(f"{MARKER}: brokers: some have a rack and others have none")
        self.capacity = [Fraction(str(b["capacity"])) for b in brokers]
        self.alive = np.array([b["alive"] for b in brokers], dtype=np.bool_)
        barred = [b["excluded"] or b.get("outside", False) for b in brokers]
        self.usable = self.alive & ~np.array(barred, dtype=np.bool_)
        self.slots = np.flatnonzero(self.usable)
        if not len(self.slots):
            raise MalformedError(f"{MARKER}: brokers: none is left, all are removed or dead")
        capacities = [self.capacity[s] for s in self.slots.tolist()]
        if max(capacities) > MAX_WEIGHT * min(capacities):
            raise MalformedError(f"{MARKER}: brokers: capacities differ by more than {MAX_WEIGHT}")
        self.slot_of = np.full(len(self.ids) + 1, -1)
        self.slot_of[self.slots] = np.arange(len(self.slots))

    def _read_topics(self, names: list[str], topic: list[int]) -> None:
        if names != sorted(set(names)):
            raise MalformedError(f"{MARKER}: topics: names must ascend")
        if max(topic, default=0) >= len(names):
            raise MalformedError(f"{MARKER}: partitions.topic: must be a position in topics")
        self.topics = names
        self.topic = np.array(topic, dtype=np.int64)

    def _check_topic_ids(self, ids: list[str | None] | None) -> None:
        if ids is not None and len(ids) != len(self.topics):
            raise MalformedError(f"{MARKER}: topic_ids: must be as many as topics")

    def _read_partitions(self, part: dict[str, Any]) -> None:
        count = len(part["partition"])
        columns = [column for column in part.values() if column is not None]
        if count == 0 or any(len(column) != count for column in columns):
            raise MalformedError(f"{MARKER}: partitions: the columns differ in length or are empty")
        self.number = np.array(part["partition"], dtype=np.int64)
        self.chosen = np.array(part["chosen"], dtype=np.bool_)
        self.factor = np.array(part["replication_factor"], dtype=np.int64)
        size = [0 if s is None else s for s in part["size_bytes"]]
        copies = part.get("copy_bytes") or [None] * count
        copied = [s if c is None else c for c, s in zip(copies, size, strict=True)]
        self.size, self.copied = (np.array(one, dtype=np.int64) for one in (size, copied))
        if (self.copied > self.size).any():
            raise MalformedError(f"{MARKER}: partitions.copy_bytes: more than size_bytes")
        self.sized = any(s is not None for s in part["size_bytes"])
        self.rates = part["bytes_per_second"]
        given = [part.get(f"bytes_{way}_per_second") for way in ("in", "out")]
        known = [column is not None for column in given]
        needed = self.asked.by_load or self.asked.prefer_zone
        if len(set(known)) > 1 or (needed and not all(known)):
            problem = "rates in and out go together, and these options need them"
            raise MalformedError(f"{MARKER}: partitions: {problem}")
        self.bytes_in, self.bytes_out = ([] if column is None else column for column in given)
        self.before: Lists = part["before"]
        self.after: Lists = part["after"]
        held = np.maximum(self.factor, lengths(self.before))
        if sum(map(mul, held.tolist(), size)) > MAX_BYTES:
            raise MalformedError(f"{MARKER}: partitions.size_bytes: more than an exbibyte in all")
        topic, number = self.topic, self.number
        ascends = (topic[1:] > topic[:-1]) | (
            (topic[1:] == topic[:-1]) & (number[1:] > number[:-1])
        )
        if not ascends.all():
            raise MalformedError(f"{MARKER}: partitions: must ascend by topic and number")

    @cached_property
    def names(self) -> list[str]:
        """[P] the names of the partitions."""
        rows = zip(self.topic.tolist(), self.number.tolist(), strict=True)
        return [f"{self.topics[topic]}-{number}" for topic, number in rows]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row of each partition, by its name."""
        return {name: row for row, name in enumerate(self.names)}

    def may_lead(self, row: int, place: int) -> bool:
        """Whether the options allow leaders of a partition in the rack of a broker."""
        every = self.asked.leader_racks.get(None)
        racks = self.asked.leader_racks.get(self.topics[self.topic[row]], every)
        return racks is None or not self.chosen[row] or self.rack[place] in racks

    @cached_property
    def rack_names(self) -> set[str]:
        """The racks of all brokers; empty without racks."""
        return {rack for rack in self.rack if rack is not None}

    @cached_property
    def rack_sizes(self) -> dict[str, int]:
        """Usable brokers of each rack, by its name; empty without racks."""
        racks = [self.rack[s] for s in self.slots.tolist()]
        return {rack: racks.count(rack) for rack in sorted({r for r in racks if r is not None})}

    @cached_property
    def stages(self) -> dict[str, Any]:
        """The certificate's stages by name."""
        return {stage["stage"]: stage for stage in self.value["certificate"]["stages"]}

    @cached_property
    def is_new(self) -> Bools:
        """[P, R] whether each replica after the plan must be newly fetched by its broker."""
        return self._only_in(self.after, self.before)

    @cached_property
    def is_gone(self) -> Bools:
        """[P, R] whether each replica before the plan is dropped by its broker."""
        return self._only_in(self.before, self.after)

    def _only_in(self, lists: Lists, others: Lists) -> Bools:
        place = self.positions(lists)
        only = place >= 0
        for other in self.positions(others).T:
            only &= place != other[:, None]
        return only

    @cached_property
    def new_replicas(self) -> Ints:
        """[P] replicas of each partition that a broker must newly fetch."""
        return np.asarray(self.is_new.sum(axis=1))

    @cached_property
    def deleted(self) -> Ints:
        """[P] by how many replicas the list of each partition gets shorter."""
        return np.asarray(np.maximum(lengths(self.before) - lengths(self.after), 0))

    @property
    def moves(self) -> int:
        """Replicas that a broker must newly fetch."""
        return int(self.new_replicas.sum())

    @property
    def bytes_moved(self) -> int:
        """Bytes of these replicas."""
        return int((self.copied * self.new_replicas).sum())

    @cached_property
    def between_log_dirs(self) -> dict[int, dict[int, tuple[int, int]]]:
        """By row and broker id, the log dirs before and after of replicas that stay on their broker
        and change it."""
        part = self.value["partitions"]
        before, after = part.get("log_dirs_before"), part.get("log_dirs_after")
        if before is None or after is None:
            return {}
        found = {}
        rows = zip(self.before, before, self.after, after, strict=True)
        for row, lists in enumerate(rows):
            old, new = dict(zip(*lists[:2], strict=True)), dict(zip(*lists[2:], strict=True))
            both = ((b, (old[b], new[b])) for b in new if b in old)
            if differing := {b: pair for b, pair in both if pair[0] != pair[1]}:
                found[row] = differing
        return found

    @cached_property
    def new_list(self) -> Bools:
        """[P] whether the list of a partition changes."""
        return np.fromiter(map(ne, self.before, self.after), dtype=np.bool_, count=len(self.topic))

    @cached_property
    def changes(self) -> Bools:
        """[P] whether the list of a partition changes, or the log dir of a replica that stays."""
        found = self.new_list.copy()
        found[list(self.between_log_dirs)] = True
        return found

    def positions(self, lists: Lists) -> Ints:
        """[P, R] broker positions, -1 padded. Raises KeyError for unknown ids."""
        return self._once("positions", self._counted_positions, lists)

    def _counted_positions(self, lists: Lists) -> Ints:
        ids, count = np.array(self.ids), lengths(lists)
        flat = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(count.sum()))
        place = np.minimum(np.searchsorted(ids, flat), len(ids) - 1)
        unknown = flat[ids[place] != flat]
        if len(unknown):
            raise KeyError(int(unknown[0]))
        found = np.full((len(lists), int(count.max(initial=0))), -1, dtype=np.int64)
        found[np.arange(found.shape[1]) < count[:, None]] = place
        return found

    def _once(self, what: str, count: Callable[[Lists], Counted], lists: Lists) -> Counted:
        """What is counted of ``before`` or ``after``, once for all checks; of other lists, now."""
        which = [name for name in ("before", "after") if lists is getattr(self, name)]
        if not which:
            return count(lists)
        key = what, which[0]
        if key not in self._counted:
            self._counted[key] = count(lists)
        found: Counted = self._counted[key]
        return found

    def topic_counts(self, lists: Lists) -> tuple[Ints, Ints, Ints]:
        """(topic, slot, replicas) of each usable broker that has replicas of a topic."""
        return self._once("topic_counts", self._counted_topics, lists)

    def _counted_topics(self, lists: Lists) -> tuple[Ints, Ints, Ints]:
        row, broker = self.pairs(lists)
        slot, usable = self.slot_of[broker], self.usable[broker]
        pairs = self.topic[row[usable]] * len(self.slots) + slot[usable]
        pair, count = np.unique(pairs, return_counts=True)
        return pair // len(self.slots), pair % len(self.slots), count

    def pairs(self, lists: Lists) -> tuple[Ints, Ints]:
        """(row, broker position) of every replica."""
        positions = self.positions(lists)
        row, column = np.nonzero(positions >= 0)
        return row, positions[row, column]

    def leaders(self, lists: Lists) -> Ints:
        """[P] slot of each preferred leader, -1 where that broker is not usable."""
        return np.asarray(self.slot_of[self.positions(lists)[:, 0]])

    @cached_property
    def rack_of(self) -> Ints:
        """[B + 1] the rack of each broker by its place in ``rack_names``, ascending; 0 without
        racks, and -1 for padding."""
        places = {name: i for i, name in enumerate(sorted(self.rack_names))}
        return np.array([0 if name is None else places[name] for name in self.rack] + [-1])

    def live(self, lists: Lists) -> Bools:
        """[P, R] whether each replica is on a live broker."""
        return np.asarray(np.append(self.alive, False)[self.positions(lists)])

    def on_usable(self, lists: Lists) -> Bools:
        """[P, R] whether each replica is on a usable broker."""
        return np.asarray(np.append(self.usable, False)[self.positions(lists)])

    def racks_of(self, lists: Lists) -> Ints:
        """[P, R] the rack of each replica by its place in ``rack_names``, ascending, -1 padded; 0
        without racks."""
        return np.asarray(self.rack_of[self.positions(lists)])

    def breaks_rack_rule(self, lists: Lists) -> Bools:
        """[P] whether a partition breaks the rack rule."""
        return self._once("breaks", self._counted_breaks, lists)

    def _counted_breaks(self, lists: Lists) -> Bools:
        if not self.rack_sizes:
            return np.zeros(len(lists), dtype=np.bool_)
        return rows_that_break_the_rule(self.racks_of(lists), self.rack_sizes.values())

    def first_followers(self, lists: Lists) -> Ints:
        """[P] position of the broker that takes over leadership: the next live replica after the
        preferred leader, or -1."""
        live = self.live(lists)
        live[:, 0] = False
        rows = np.arange(len(live))
        first = self.positions(lists)[rows, live.argmax(axis=1)]
        return np.where(live.any(axis=1), first, -1)


def lengths(lists: Lists) -> Ints:
    """[P] replicas in each list."""
    return np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))


def pair_counts(row: Ints, column: Ints, rows: int, columns: int) -> Ints:
    """[rows, columns] how often each pair occurs."""
    count = np.bincount(row * columns + column, minlength=rows * columns)
    return count.reshape(rows, columns)


def _check_schema(value: Any) -> None:
    if type(value) is not dict or "format_version" not in value:
        raise MalformedError(f"{MARKER}: {NO_VERSION}")
    if not identical(value["format_version"], FORMAT_VERSION):
        raise MalformedError(
            f"{MARKER}: format_version is {value['format_version']!r}, expected {FORMAT_VERSION}"
        )
    problem = mismatch(value, PLAN)
    if problem is not None:
        raise MalformedError(f"{MARKER}: {problem}")
