"""plan.json as the checks read it: its columns, with nothing derived by the planner."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.check.asked import Asked
from partage.brokers.check.plan_schema import PLAN
from partage.brokers.check.racks import rows_that_break_the_rule
from partage.brokers.check.schema import MalformedError, identical, mismatch
from partage.brokers.directory import FORMAT_VERSION, MARKER
from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Lists = list[list[int]]

MAX_WEIGHT = 20_000
"""The largest load weight: of the smallest capacity, in relation to the largest."""

MAX_BYTES = 2**60
"""An exbibyte: more than a cluster holds, so that sums are exact in 64 bits."""

MAX_BROKERS = 10_000
"""What survivors lead after a failure is counted for pairs of brokers."""

MAX_DEFECTS = 20
"""Defects that a check reports, where each partition may have one."""


def read_json(root: Path, name: str) -> Any:
    """The JSON value in the file ``name`` of the plan directory. Raises as ``read_digested``."""
    return read_digested(root, name)[0]


def read_digested(root: Path, name: str) -> tuple[Any, str]:
    """The JSON value in a file of the plan directory, and the SHA-256 (hex) of its text.

    Raises MalformedError, with the name, if it is not JSON; OSError if it cannot be opened.
    """
    if not (root / name).is_fifo():
        (root / name).open("rb").close()
    try:
        text = read_text(root / name, regular=True)
        return parse_json(text, name), hashlib.sha256(text.encode()).hexdigest()
    except InputError as error:
        problem = str(error).removeprefix(f"{root / name}: ").removeprefix(f"{name}: ")
        raise MalformedError(f"{name}: {problem}") from None


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
    - ``entries``: by file, what ``read_entries`` has read of the files beside it
    """

    def __init__(self, value: Any, root: Path, digest: str | None = None) -> None:
        """Raises MalformedError."""
        self.root, self.digest = root, digest
        self.entries: dict[str, dict[str, dict[str, Any]]] = {}
        self._positions: list[tuple[Lists, Ints]] = []
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
        if any(t >= len(names) for t in topic):
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
        self.number = part["partition"]
        self.chosen = np.array(part["chosen"], dtype=np.bool_)
        self.factor = np.array(part["replication_factor"], dtype=np.int64)
        self.size = np.array([0 if s is None else s for s in part["size_bytes"]], dtype=object)
        copies = part.get("copy_bytes") or [None] * count
        pairs = zip(copies, self.size.tolist(), strict=True)
        self.copied = np.array([s if c is None else c for c, s in pairs], dtype=object)
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
        held = np.maximum(self.factor, [len(row) for row in self.before]).astype(object)
        if int((held * self.size).sum()) > MAX_BYTES:
            raise MalformedError(f"{MARKER}: partitions.size_bytes: more than an exbibyte in all")
        rows = list(zip(self.topic.tolist(), self.number, strict=True))
        if any(row >= following for row, following in pairwise(rows)):
            raise MalformedError(f"{MARKER}: partitions: must ascend by topic and number")
        self.names = [
            f"{self.topics[t]}-{p}" for t, p in zip(self.topic.tolist(), self.number, strict=True)
        ]

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
    def new_replicas(self) -> list[int]:
        """[P] replicas of each partition that a broker must newly fetch."""
        return [len(set(a) - set(b)) for b, a in zip(self.before, self.after, strict=True)]

    @property
    def moves(self) -> int:
        """Replicas that a broker must newly fetch."""
        return sum(self.new_replicas)

    @property
    def bytes_moved(self) -> int:
        """Bytes of these replicas."""
        return sum((self.copied * self.new_replicas).tolist())

    @cached_property
    def between_log_dirs(self) -> list[dict[int, tuple[int, int]]]:
        """[P] the log dirs before and after of replicas that stay on their broker and change it, by
        broker id."""
        part = self.value["partitions"]
        before, after = part.get("log_dirs_before"), part.get("log_dirs_after")
        if before is None or after is None:
            return [{} for _ in self.names]
        found = []
        for row in zip(self.before, before, self.after, after, strict=True):
            old, new = dict(zip(*row[:2], strict=True)), dict(zip(*row[2:], strict=True))
            both = ((b, (old[b], new[b])) for b in new if b in old)
            found.append({b: pair for b, pair in both if pair[0] != pair[1]})
        return found

    def changes(self) -> dict[str, list[int]]:
        """The new broker list of each partition whose list changes, or of which a replica changes
        its log dir, by partition name."""
        rows = zip(self.names, self.before, self.after, self.between_log_dirs, strict=True)
        return {name: after for name, before, after, dirs in rows if before != after or dirs}

    def positions(self, lists: Lists) -> Ints:
        """[P, R] broker positions, -1 padded."""
        for known, found in self._positions:
            if known is lists:
                return found
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        found = np.full((len(lists), int(lengths.max(initial=0))), -1, dtype=np.int64)
        flat = [self.place[b] for row in lists for b in row]
        found[np.arange(found.shape[1]) < lengths[:, None]] = flat
        self._positions.append((lists, found))
        return found

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


def pair_counts(row: Ints, column: Ints, rows: int, columns: int) -> Ints:
    """[rows, columns] how often each pair occurs."""
    count = np.bincount(row * columns + column, minlength=rows * columns)
    return count.reshape(rows, columns)


def _check_schema(value: Any) -> None:
    if not identical(value["format_version"], FORMAT_VERSION):
        raise MalformedError(
            f"{MARKER}: format_version is {value['format_version']!r}, expected {FORMAT_VERSION}"
        )
    problem = mismatch(value, PLAN)
    if problem is not None:
        raise MalformedError(f"{MARKER}: {problem}")
