"""A cluster as columns: numpy inside, broker ids and topic names at the edge.

Brokers are in ascending order of id, partitions in ascending order of (topic, partition), so that
two descriptions of the same cluster, in whatever order, become the same arrays. Inside, a broker is
its position in ``broker_ids`` and a topic its position in ``topics``; a replica list is one row of
``replicas``, preferred leader first, padded with -1 up to the highest replication factor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from partage.arrays import Bools, Floats, Ints, sums_on
from partage.cluster.broker import (
    ANY,
    MAX_BROKER_ID,
    MAX_BROKERS,
    MAX_BYTES,
    MAX_REPLICAS,
    UNKNOWN,
    Broker,
)
from partage.cluster.log_dirs import check_log_dirs, log_dir_positions
from partage.errors import InputError
from partage.files import path_instead_of
from partage.frames import Columns, arrow_table, data_frame, html_table
from partage.kafka_names import TOPIC_RULE, is_topic
from partage.units import listed, plural

if TYPE_CHECKING:
    from partage.cluster.clients import Clients
    from partage.cluster.formats import ClusterColumns


_EXAMPLES = 3
"""How many partitions a sentence names."""


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """Brokers, partitions and replica lists, immutable.

    Shapes: B brokers, P partitions, T topics, R the highest replication factor (at least 1).

    - ``brokers``: B brokers, ids ascending
    - ``topics``: T names, ascending
    - ``topic``, ``partition``: [P] index into ``topics`` and Kafka's partition number
    - ``replicas``: [P, R] broker positions, preferred leader first, -1 after the last
    - ``size_bytes``: [P] bytes of one replica, -1 where unknown
    - ``copy_bytes``: [P] bytes that a new replica copies, where it need not copy all of them, else
      -1; None where no partition has any
    - ``bytes_in``, ``bytes_out``: [P] bytes per second that producers write and consumers read, NaN
      where unknown; None where no partition has one
    - ``cluster_id``, ``topic_ids`` (by name): Kafka's ids, where known (from a snapshot)
    - ``racks_known``: False where the file format cannot contain racks
    - ``notes``: what a reader of its file should know about it
    - ``maybe_dead``: where the file form has no place for dead brokers, ids of those that lead
      nothing and are in sync with no leader
    - ``min_insync_replicas``: of topics, where known
    - ``tiered``: topics with remote storage, and the most bytes of a partition that stay on a
      broker, None where not known
    - ``clients``: in which racks the clients of topics are; None where not known
    - ``log_dirs``: [P, R] the log dir of each replica as its position in the broker's ``log_dirs``,
      -1 where unknown; None where no broker is known to have several

    Build one with ``Cluster.read`` (a file), ``Cluster.from_json`` (the plain form as Python
    values) or ``Cluster.build``; all of them validate, and so do ``with_replicas`` and others that
    make a changed copy; the bare constructor does not. Arrays cannot be written to.
    """

    brokers: tuple[Broker, ...]
    topics: tuple[str, ...]
    topic: Ints
    partition: Ints
    replicas: Ints
    size_bytes: Ints
    cluster_id: str | None = None
    racks_known: bool = True
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    bytes_in: Floats | None = None
    bytes_out: Floats | None = None
    log_dirs: Ints | None = None
    clients: Clients | None = None
    tiered: Mapping[str, int | None] = field(default_factory=dict)
    copy_bytes: Ints | None = None
    maybe_dead: tuple[int, ...] = ()
    min_insync_replicas: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    # ------------------------------------------------------------------ reading

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        sizes: str | os.PathLike[str] | None = None,
        may_be_empty: bool = False,
    ) -> Cluster:
        """Read any CLUSTER form (plain JSON, Kafka's reassignment JSON, the text of
        ``kafka-topics.sh --describe``; ``.gz`` too) and, with ``sizes``, the replica sizes from
        ``kafka-log-dirs.sh --describe``. ``may_be_empty``: accept a cluster without partitions, for
        ``partage.place``. Raises InputError."""
        from partage.cluster import formats

        columns = formats.read_cluster_file(path)
        cluster = cls._from_columns(columns, os.fspath(path), may_be_empty)
        if sizes is None:
            return cluster
        from partage.cluster.kafka_tools import read_log_dir_sizes

        return cluster.with_sizes_of(read_log_dir_sizes(sizes), os.fspath(sizes))

    @classmethod
    def of(cls, given: Cluster | str | os.PathLike[str], *, may_be_empty: bool = False) -> Cluster:
        """A Cluster as it is, or that of a file, as ``read`` has it. Raises InputError."""
        if isinstance(given, Cluster):
            return given
        return cls.read(path_instead_of(cls, given), may_be_empty=may_be_empty)

    @classmethod
    def from_json(
        cls, value: Any, where: str = "cluster", *, may_be_empty: bool = False
    ) -> Cluster:
        """The plain form ``{"brokers": [...], "partitions": [...]}``, or Kafka's reassignment form,
        as parsed JSON; ``may_be_empty`` as for ``read``. Raises InputError that names the place."""
        from partage.cluster import formats

        return cls._from_columns(formats.parse_cluster_json(value, where), where, may_be_empty)

    @classmethod
    def _from_columns(cls, columns: ClusterColumns, where: str, may_be_empty: bool) -> Cluster:
        built = cls.build(
            columns.brokers,
            columns.topics,
            columns.partitions,
            columns.replica_lists,
            columns.sizes,
            where=where,
            bytes_in=columns.bytes_in,
            bytes_out=columns.bytes_out,
            log_dirs=columns.log_dirs,
            may_be_empty=may_be_empty,
            copy_bytes=columns.copy_bytes,
        )
        ids, tiered, least = columns.topic_ids, columns.tiered, columns.min_insync_replicas
        clients = None
        if columns.clients is not None:
            from partage.cluster.clients import Clients

            given = columns.clients.topics.items()
            shares = {topic: (one.producers, one.consumers) for topic, one in given}
            closest = columns.clients.closest_replica
            clients = Clients.of(shares, closest, built.topics, where)
        return replace(
            built,
            cluster_id=columns.cluster_id,
            racks_known=columns.racks_known,
            topic_ids={topic: ids[topic] for topic in built.topics if topic in ids},
            notes=(*columns.notes, *built._missing()),
            maybe_dead=columns.maybe_dead,
            min_insync_replicas={topic: least[topic] for topic in built.topics if topic in least},
            clients=clients,
            tiered={topic: tiered[topic] for topic in built.topics if topic in tiered},
        )

    @classmethod
    def build(
        cls,
        brokers: Iterable[Broker],
        topics: Sequence[str],
        partitions: Sequence[int],
        replica_lists: Sequence[Sequence[int]],
        sizes: Sequence[int] = (),
        *,
        where: str = "cluster",
        bytes_in: Sequence[float | None] = (),
        bytes_out: Sequence[float | None] = (),
        log_dirs: Sequence[Sequence[str] | None] = (),
        may_be_empty: bool = False,
        copy_bytes: Sequence[int] = (),
    ) -> Cluster:
        """Validate and sort: one entry per partition in each sequence, brokers named by id.
        ``sizes``, rates (``bytes_in``, ``bytes_out``), ``log_dirs`` and ``copy_bytes`` may be
        empty."""
        ordered = _checked_brokers(brokers, where)
        ids = np.array([broker.id for broker in ordered], dtype=np.int64)
        count = len(partitions)
        if count == 0 and may_be_empty:
            none = np.zeros(0, dtype=np.int64)
            return cls(ordered, (), none, none, np.zeros((0, 1), dtype=np.int64), none)
        if count == 0:
            raise InputError(where, "no partitions: nothing to plan")
        for name in sorted(set(topics)):
            if not is_topic(name):
                raise InputError(where, f"topic {name[:60]!r}: a name has {TOPIC_RULE}")
        names, topic = np.unique(np.array(topics, dtype=np.str_), return_inverse=True)
        number = np.array(partitions, dtype=np.int64)
        size = _checked_sizes(sizes if len(sizes) else np.full(count, UNKNOWN), count, where)

        def named(row: int) -> str:
            return f"{topics[row]}-{partitions[row]}"

        lengths = np.fromiter(map(len, replica_lists), dtype=np.int64, count=count)
        if lengths.min() == 0:
            raise InputError(where, f"{named(int(lengths.argmin()))}: has no replicas")
        width = int(lengths.max())
        if width > MAX_REPLICAS:
            row = int(lengths.argmax())
            raise InputError(
                where, f"{named(row)}: {width} replicas, expected up to {MAX_REPLICAS}"
            )
        if width > len(ids):
            row = int(lengths.argmax())
            raise InputError(
                where,
                f"{named(row)}: {width} replicas on {len(ids)} brokers: "
                "a broker holds at most one replica of a partition",
            )
        flat = np.fromiter((b for row in replica_lists for b in row), dtype=np.int64)
        position = np.searchsorted(ids, flat)
        known = position < len(ids)
        known[known] = ids[position[known]] == flat[known]
        if not known.all():
            first = int(np.flatnonzero(~known)[0])
            row = int(np.searchsorted(np.cumsum(lengths), first, side="right"))
            raise InputError(
                where, f"{named(row)}: replica on broker {flat[first]}, which is not listed"
            )
        replicas = np.full((count, width), -1, dtype=np.int64)
        replicas[np.arange(width) < lengths[:, None]] = position

        ordered_row = np.sort(replicas, axis=1)
        twice = (ordered_row[:, 1:] == ordered_row[:, :-1]) & (ordered_row[:, 1:] >= 0)
        if twice.any():
            row, column = (int(i) for i in np.argwhere(twice)[0])
            raise InputError(
                where, f"{named(row)}: broker {ids[ordered_row[row, column]]} holds two replicas"
            )
        _check_total(size, lengths, where)
        order = np.lexsort((number, topic))
        same = (np.diff(topic[order]) == 0) & (np.diff(number[order]) == 0)
        if same.any():
            row = int(order[int(np.flatnonzero(same)[0])])
            raise InputError(where, f"{named(row)}: listed twice")
        return cls(
            brokers=ordered,
            topics=tuple(names.tolist()),
            topic=topic.astype(np.int64)[order],
            partition=number[order],
            replicas=replicas[order],
            size_bytes=size[order],
            bytes_in=_rates(bytes_in, order, where),
            bytes_out=_rates(bytes_out, order, where),
            log_dirs=log_dir_positions(ordered, replicas, log_dirs, named, where, order),
            copy_bytes=_copies(copy_bytes, size, named, where, order),
        )

    # ------------------------------------------------------------------ shapes and columns

    @property
    def partitions(self) -> int:
        """P, the number of partitions."""
        return len(self.partition)

    @cached_property
    def broker_ids(self) -> Ints:
        """[B] Kafka's ids, ascending."""
        return np.array([broker.id for broker in self.brokers], dtype=np.int64)

    @cached_property
    def alive(self) -> Bools:
        """[B] whether the broker runs."""
        return np.array([broker.alive for broker in self.brokers], dtype=np.bool_)

    @cached_property
    def disk_bytes(self) -> Ints:
        """[B] bytes of disk, -1 where unknown."""
        return np.array(
            [UNKNOWN if b.disk_bytes is None else b.disk_bytes for b in self.brokers],
            dtype=np.int64,
        )

    @cached_property
    def copied(self) -> Ints:
        """[P] bytes that a new replica copies, 0 where unknown."""
        size = np.maximum(self.size_bytes, 0)
        if self.copy_bytes is None:
            return size
        return np.asarray(np.where(self.copy_bytes >= 0, self.copy_bytes, size))

    @cached_property
    def rack_names(self) -> tuple[str, ...]:
        """The racks, ascending; empty when the cluster has none."""
        return tuple(sorted({b.rack for b in self.brokers if b.rack is not None}))

    @cached_property
    def rack(self) -> Ints:
        """[B] position in ``rack_names``; all 0 when the cluster has no racks."""
        place = {name: i for i, name in enumerate(self.rack_names)}
        return np.array([place.get(b.rack or "", 0) for b in self.brokers], dtype=np.int64)

    @cached_property
    def replication_factor(self) -> Ints:
        """[P] number of replicas of each partition."""
        return np.asarray((self.replicas >= 0).sum(axis=1), dtype=np.int64)

    @cached_property
    def names(self) -> list[str]:
        """[P] ``topic-partition``, as Kafka's logs write it."""
        return [
            f"{self.topics[t]}-{p}"
            for t, p in zip(self.topic.tolist(), self.partition.tolist(), strict=True)
        ]

    @cached_property
    def row_of(self) -> dict[tuple[str, int], int]:
        """Row by (topic, partition number)."""
        pairs = zip(self.topic.tolist(), self.partition.tolist(), strict=True)
        return {(self.topics[topic], number): row for row, (topic, number) in enumerate(pairs)}

    def _missing(self) -> Iterator[str]:
        """A sentence about the partitions below a topic's highest number that are not there."""
        begins = np.diff(self.topic, prepend=-1) > 0
        expected = np.where(begins, 0, np.append(0, self.partition[:-1] + 1))
        lacking = self.partition - expected
        if not (count := int(lacking.sum())):
            return
        names: list[str] = []
        for row in np.flatnonzero(lacking)[:_EXAMPLES].tolist():
            first = int(expected[row])
            numbers = range(first, first + min(_EXAMPLES, int(lacking[row])))
            names += [f"{self.topics[self.topic[row]]}-{number}" for number in numbers]
        lacks = f"{plural(count, 'partition')} ({listed(names, _EXAMPLES, count)})"
        yield f"the input lacks {lacks}: what brokers hold of them does not count"

    def holds(self) -> Bools:
        """[P, B] whether the broker holds a replica of the partition."""
        held = np.zeros((self.partitions, len(self.brokers)), dtype=np.bool_)
        rows, columns = np.nonzero(self.replicas >= 0)
        held[rows, self.replicas[rows, columns]] = True
        return held

    def replica_lists(self, rows: Ints | slice = slice(None)) -> list[list[int]]:
        """Lists of broker ids of the partitions ``rows``, preferred leader first."""
        replicas = self.replicas[rows]
        ids: list[list[int]] = np.append(self.broker_ids, -1)[replicas].tolist()
        if (replicas >= 0).all():
            return ids
        lengths = self.replication_factor[rows].tolist()
        return [row[:n] for row, n in zip(ids, lengths, strict=True)]

    def broker_position(self, broker_id: int) -> int | None:
        """Position of a broker id, or None."""
        place = int(np.searchsorted(self.broker_ids, broker_id))
        return place if place < len(self.brokers) and self.broker_ids[place] == broker_id else None

    # ------------------------------------------------------------------ changed copies

    def with_replicas(self, replicas: Ints) -> Cluster:
        """The same partitions on other brokers; ``replicas`` [P, any width]: broker positions, -1
        after the last. In which log dirs is open. Raises InputError for what is not a placement of
        these partitions."""
        if replicas.ndim != 2 or len(replicas) != self.partitions:
            expected = f"expected {self.partitions:,} rows of broker positions"
            raise InputError("replicas", f"the shape is {replicas.shape}: {expected}")
        width = max(1, int((replicas >= 0).sum(axis=1).max(initial=0)))
        kept = np.array(replicas[:, :width], dtype=np.int64)
        if kept.max(initial=-1) >= len(self.brokers):
            row, column = np.argwhere(kept >= len(self.brokers))[0].tolist()
            problem = f"position {kept[row, column]} of {plural(len(self.brokers), 'broker')}"
            raise InputError("replicas", f"{self.names[row]}: {problem}")
        for apart in range(1, width):
            twice = (kept[:, apart:] == kept[:, :-apart]) & (kept[:, apart:] >= 0)
            if twice.any():
                row, column = np.argwhere(twice)[0].tolist()
                broker = self.broker_ids[kept[row, column]]
                problem = f"{self.names[row]}: broker {broker} holds two replicas"
                raise InputError("replicas", problem)
        return replace(self, replicas=kept, log_dirs=None)

    def with_sizes(self, size_bytes: Ints) -> Cluster:
        """The same cluster with other replica sizes [P], -1 where unknown; a new replica copies no
        more than that. Raises InputError."""
        size_bytes = _checked_sizes(size_bytes, self.partitions, "cluster")
        copies = None if self.copy_bytes is None else np.minimum(self.copy_bytes, size_bytes)
        return replace(self, size_bytes=size_bytes, copy_bytes=copies)

    def with_sizes_of(self, sizes: Mapping[tuple[str, int], int], where: str) -> Cluster:
        """The same cluster with these replica sizes by (topic, partition number); other partitions
        keep theirs. Raises InputError for a partition that the cluster does not have."""
        row_of = self.row_of
        size = self.size_bytes.copy()
        for (topic, number), value in sizes.items():
            row = row_of.get((topic, number))
            if row is None:
                raise InputError(
                    where, f"{topic}-{number}: a size for a partition that does not exist"
                )
            size[row] = value
        _check_total(size, self.replication_factor, where)
        return self.with_sizes(size)

    def with_brokers(self, brokers: Iterable[Broker]) -> Cluster:
        """The same placement among other brokers; every broker in use must stay listed."""
        ordered = _checked_brokers(brokers, "cluster")
        ids = np.array([broker.id for broker in ordered], dtype=np.int64)
        place = np.searchsorted(ids, self.broker_ids)
        kept = np.append(np.clip(place, 0, len(ids) - 1), -1)
        used = np.flatnonzero(np.bincount(self.replicas[self.replicas >= 0]))
        if not np.array_equal(ids[kept[used]], self.broker_ids[used]):
            listed_there = np.isin(self.broker_ids[used], ids)
            broker = int(self.broker_ids[used][listed_there.argmin()])
            raise InputError("cluster", f"broker {broker} holds replicas and is not listed")
        return replace(self, brokers=ordered, replicas=kept[self.replicas])

    def log_dir_lists(self) -> list[list[int]]:
        """P lists of log dirs, in the order of the replicas: positions, -1 where not known."""
        assert self.log_dirs is not None
        pairs = zip(self.log_dirs.tolist(), self.replication_factor.tolist(), strict=True)
        return [row[:n] for row, n in pairs]

    def has_known_log_dirs(self, broker: int) -> bool:
        """Whether the broker at this position has several log dirs, and it is known what is in
        them: all its replicas, or all but those that an offline one hides."""
        own = self.brokers[broker].log_dirs
        if len(own) < 2 or self.log_dirs is None:
            return False
        if any(one.offline is not None for one in own):
            return True
        return not ((self.replicas == broker) & (self.log_dirs < 0)).any()

    def log_dir_paths(self, row: int) -> list[str]:
        """The log dir of each replica of a partition, ``any`` where it is not known."""
        if self.log_dirs is None:
            return [ANY] * int(self.replication_factor[row])
        pairs = zip(self.replicas[row].tolist(), self.log_dirs[row].tolist(), strict=True)
        return [ANY if d < 0 else self.brokers[b].log_dirs[d].path for b, d in pairs if b >= 0]

    # ------------------------------------------------------------------ writing

    def to_json(self) -> dict[str, Any]:
        """The plain CLUSTER form as JSON values."""
        known: dict[str, Any] = {"cluster_id": self.cluster_id, "topic_ids": dict(self.topic_ids)}
        if self.clients is not None:
            known["clients"] = self.clients.to_json()
        known["min_insync_replicas"] = dict(self.min_insync_replicas)
        known["tiered_topics"] = {
            topic: {} if most is None else {"local_retention_bytes": most}
            for topic, most in self.tiered.items()
        }
        return {key: value for key, value in known.items() if value} | {
            "brokers": self.broker_entries(),
            "partitions": [
                {"topic": self.topics[t], "partition": p, "replicas": r}
                | ({} if s == UNKNOWN else {"size_bytes": s})
                | ({} if c == UNKNOWN else {"copy_bytes": c})
                | ({} if i is None else {"bytes_in_per_second": i})
                | ({} if o is None else {"bytes_out_per_second": o})
                | ({} if self.log_dirs is None else {"log_dirs": self.log_dir_paths(row)})
                for row, (t, p, r, s, c, i, o) in enumerate(
                    zip(
                        self.topic.tolist(),
                        self.partition.tolist(),
                        self.replica_lists(),
                        self.size_bytes.tolist(),
                        self.copy_list(),
                        self.rates_in(),
                        self.rates_out(),
                        strict=True,
                    )
                )
            ],
        }

    def broker_entries(self) -> list[dict[str, Any]]:
        """The brokers of the plain form."""
        return [
            {
                "id": b.id,
                "rack": b.rack,
                "disk_bytes": b.disk_bytes,
                "capacity": int(b.capacity) if b.capacity.denominator == 1 else float(b.capacity),
                "alive": b.alive,
            }
            | {
                key: value
                for key, value in (
                    ("network_in_bytes_per_second", b.network_in),
                    ("network_out_bytes_per_second", b.network_out),
                )
                if value is not None
            }
            | ({"log_dirs": [asdict(one) for one in b.log_dirs]} if b.log_dirs else {})
            for b in self.brokers
        ]

    def copy_list(self) -> list[int]:
        """What a new replica of each partition copies, ``UNKNOWN`` where that is its size."""
        return [UNKNOWN] * self.partitions if self.copy_bytes is None else self.copy_bytes.tolist()

    def rates_in(self, rows: Ints | slice = slice(None)) -> list[float | None]:
        """Bytes per second that the partitions ``rows`` receive, None where not known."""
        return self._known(self.bytes_in, rows)

    def rates_out(self, rows: Ints | slice = slice(None)) -> list[float | None]:
        """Bytes per second that consumers read of the partitions ``rows``, None where not known."""
        return self._known(self.bytes_out, rows)

    def _known(self, rates: Floats | None, rows: Ints | slice) -> list[float | None]:
        if rates is None:
            return [None] * len(self.topic[rows])
        return [None if rate != rate else rate for rate in rates[rows].tolist()]

    def identified_as(self, other: Self) -> Self:
        """This cluster under the ids of ``other`` and its topics, racks as known there."""
        return replace(
            self,
            cluster_id=other.cluster_id,
            racks_known=other.racks_known,
            topic_ids=other.topic_ids,
        )

    def to_reassignment(self, rows: Ints | None = None) -> dict[str, Any]:
        """Kafka's reassignment JSON of the partitions ``rows`` (all when None)."""
        chosen = slice(None) if rows is None else rows
        columns = self.topic[chosen].tolist(), self.partition[chosen].tolist()
        entries = [
            {"topic": self.topics[topic], "partition": number, "replicas": brokers}
            for topic, number, brokers in zip(*columns, self.replica_lists(chosen), strict=True)
        ]
        return {"version": 1, "partitions": entries}

    def named_log_dirs(self, rows: Ints, since: Cluster) -> dict[int, list[str]]:
        """By row, the log dirs that an entry of Kafka's reassignment JSON names, where it names
        any: those of replicas that are not in them in ``since``."""
        if self.log_dirs is None:
            return {}
        found = {}
        for row in rows.tolist():
            # the paths end where the padding of the replicas begins
            there = dict(zip(since.replicas[row].tolist(), since.log_dir_paths(row), strict=False))
            pairs = zip(self.replicas[row].tolist(), self.log_dir_paths(row), strict=False)
            named = [ANY if path == there.get(broker) else path for broker, path in pairs]
            if set(named) != {ANY}:
                found[row] = named
        return found

    # ------------------------------------------------------------------ in a notebook

    def __repr__(self) -> str:
        return f"<Cluster of {self._summary()}>"

    def _repr_html_(self) -> str:
        count = len(self.brokers)
        replicas = np.bincount(self.replicas[self.replicas >= 0], minlength=count).tolist()
        leaders = np.bincount(self.replicas[:, 0], minlength=count).tolist()
        held = sums_on(self.replicas, np.maximum(self.size_bytes, 0), count)
        rows = [
            [
                broker.id,
                broker.rack or "",
                f"{replicas[at]:,}",
                f"{leaders[at]:,}",
                f"{int(held[at]):,}" if self._sizes_known else "unknown",
            ]
            for at, broker in enumerate(self.brokers)
        ]
        return html_table(self._summary(), ("broker", "rack", "replicas", "leaders", "bytes"), rows)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per replica: ``topic``, ``partition``, ``broker`` (its
        id), ``rack``, ``leader`` (whether it is the preferred leader), ``bytes``; None where
        unknown. Raises PartageError where pandas is not installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> Columns:
        row, column = np.nonzero(self.replicas >= 0)
        broker = self.replicas[row, column]
        racks = np.array([one.rack for one in self.brokers], dtype=object)
        sizes = self.size_bytes[row].tolist()
        return {
            "topic": np.array(self.topics, dtype=object)[self.topic[row]].tolist(),
            "partition": self.partition[row].tolist(),
            "broker": self.broker_ids[broker].tolist(),
            "rack": racks[broker].tolist(),
            "leader": (column == 0).tolist(),
            "bytes": [None if size == UNKNOWN else size for size in sizes],
        }

    @property
    def _sizes_known(self) -> bool:
        return bool((self.size_bytes != UNKNOWN).any())

    def _summary(self) -> str:
        racks = f" in {plural(len(self.rack_names), 'rack')}" if self.rack_names else ""
        dead = int((~self.alive).sum())
        parts = [
            f"{plural(len(self.brokers), 'broker')}{racks}{f' ({dead} dead)' if dead else ''}",
            plural(len(self.topics), "topic"),
            plural(self.partitions, "partition"),
            plural(int(self.replication_factor.sum()), "replica"),
        ]
        if self._sizes_known:
            total = int(np.maximum(self.size_bytes, 0) @ self.replication_factor)
            parts.append(f"{total:,} bytes")
        return ", ".join(parts)


def _checked_brokers(brokers: Iterable[Broker], where: str) -> tuple[Broker, ...]:
    ordered = tuple(sorted(brokers, key=lambda broker: broker.id))
    if not ordered:
        raise InputError(where, "no brokers: an empty cluster")
    if len(ordered) > MAX_BROKERS:
        raise InputError(where, f"{len(ordered)} brokers, expected up to {MAX_BROKERS}")
    for one, other in pairwise(ordered):
        if one.id == other.id:
            raise InputError(where, f"broker {one.id} is listed twice")
    for broker in ordered:
        if not 0 <= broker.id <= MAX_BROKER_ID:
            raise InputError(where, f"broker {broker.id}: an id is between 0 and {MAX_BROKER_ID}")
        if broker.capacity <= 0:
            raise InputError(where, f"broker {broker.id}: capacity must be above 0")
        if broker.disk_bytes is not None and not 0 <= broker.disk_bytes <= MAX_BYTES:
            problem = f"disk_bytes {broker.disk_bytes}: must be between 0 and {MAX_BYTES}"
            raise InputError(where, f"broker {broker.id}: {problem}")
        check_log_dirs(broker, where)
    without = [broker.id for broker in ordered if broker.rack is None]
    if without and len(without) < len(ordered):
        raise InputError(
            where,
            f"broker {without[0]} has no rack but others have: give every broker a rack, or none",
        )
    return ordered


def _checked_sizes(sizes: npt.ArrayLike, count: int, where: str) -> Ints:
    """[P] bytes, in an array that nothing else refers to."""
    size = np.asarray(sizes)
    if size.dtype.kind not in "iu" or size.shape != (count,) or (size < UNKNOWN).any():
        problem = "sizes: expected a whole number of bytes for each partition, -1 where unknown"
        raise InputError(where, problem)
    return size.astype(np.int64)


def _check_total(size: Ints, factor: Ints, where: str) -> None:
    if float(np.maximum(size, 0).astype(np.float64) @ factor) > MAX_BYTES:
        raise InputError(where, "the sizes of all replicas add up to more than an exbibyte")


def _copies(
    copies: Sequence[int], size: Ints, named: Callable[[int], str], where: str, order: Ints
) -> Ints | None:
    """[P] what new replicas copy in the ``order`` of the rows; None if that is always the size."""
    if all(one == UNKNOWN for one in copies):
        return None
    found = np.array(copies, dtype=np.int64)
    if (found > size).any():
        row = int(np.flatnonzero(found > size)[0])
        limit = (
            "without size_bytes" if size[row] == UNKNOWN else f"more than size_bytes {size[row]}"
        )
        raise InputError(where, f"{named(row)}: copy_bytes {found[row]} {limit}")
    return found[order]


def _rates(rates: Sequence[float | None], order: Ints, where: str) -> Floats | None:
    """[P] rates in the ``order`` of the rows, NaN where unknown; None if all are."""
    if all(rate is None for rate in rates):
        return None
    found = np.array([np.nan if r is None else r for r in rates], dtype=np.float64)[order]
    if (found < 0).any():
        raise InputError(where, f"rates: {found[found < 0][0]:g} bytes per second is below 0")
    return found
