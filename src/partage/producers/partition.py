"""``partage.partition``: the partitions of keys, by any partitioner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from partage.arrays import Ints
from partage.errors import InputError
from partage.producers.custom import KeyFunction, Partitioner, Partitions
from partage.producers.keys import BYTES, Keys, as_bytes
from partage.producers.model import SerializedRecord, Topic
from partage.producers.partitioners import PARTITIONERS, partitioner_named
from partage.producers.partitioners.weighted import Weights

RECORD_BYTES = 1024
"""Bytes of a record if no size is given."""


@overload
def partition(
    keys: bytes | bytearray | memoryview | None,
    partitions: int,
    partitioner: str | Partitioner | KeyFunction = ...,
    *,
    seed: int = ...,
    sizes: int | Iterable[int] = ...,
    available: Sequence[int] | None = ...,
    queues: Sequence[int] | None = ...,
    ignore_keys: bool = ...,
    batch_size: int | None = ...,
    weights: Weights | None = ...,
    linger_ms: float | None = ...,
    availability_timeout_ms: float | None = ...,
) -> int: ...


@overload
def partition(
    keys: Any,
    partitions: int,
    partitioner: str | Partitioner | KeyFunction = ...,
    *,
    seed: int = ...,
    sizes: int | Iterable[int] = ...,
    available: Sequence[int] | None = ...,
    queues: Sequence[int] | None = ...,
    ignore_keys: bool = ...,
    batch_size: int | None = ...,
    weights: Weights | None = ...,
    linger_ms: float | None = ...,
    availability_timeout_ms: float | None = ...,
) -> Partitions: ...


def partition(
    keys: Any,
    partitions: int,
    partitioner: str | Partitioner | KeyFunction = "murmur2",
    *,
    seed: int = 0,
    sizes: int | Iterable[int] = RECORD_BYTES,
    available: Sequence[int] | None = None,
    queues: Sequence[int] | None = None,
    ignore_keys: bool = False,
    batch_size: int | None = None,
    weights: Weights | None = None,
    linger_ms: float | None = None,
    availability_timeout_ms: float | None = None,
) -> int | Partitions:
    """The partition of each key, 0 to ``partitions`` - 1: [N] int32, or a number for one key.

    - ``keys``: one key (bytes or None), or many: a pyarrow array of binaries, a numpy array, or a
      sequence of bytes and None
    - ``partitioner``: a name of ``partage.producers.partitioners``, ``module:Class``, a function of
      (key, number of partitions), or a ``Partitioner``. A named one starts again with each call,
      from its ``seed``; an object keeps its state.

    For records without a key:

    - ``sizes``: bytes of each record, one number or [N]
    - ``available``: the partitions with a live leader; None: all
    - ``ignore_keys``: treat all records as if they had no key (Java's ``partitioner.ignore.keys``)
    - ``batch_size``: bytes until sticky, uniform, adaptive and weighted change the partition
    - ``weights``: of weighted: a number per partition, or these by topic
    - ``queues``: of adaptive: [partitions] batches that wait to be sent
    - ``availability_timeout_ms``: of adaptive: avoid a partition whose queue waits longer
    - ``linger_ms``: of random: keep the partition for so long

    Raises InputError for arguments that are not accepted or that the partitioner does not use,
    PartageError if a user's partitioner returns a partition that does not exist.
    """
    given = {
        "ignore_keys": ignore_keys or None,
        "batch_size": batch_size,
        "weights": weights,
        "linger_ms": linger_ms,
        "availability_timeout_ms": availability_timeout_ms,
    }
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(partitions, np.integer):
        partitions = int(partitions)
    topic = Topic(partitions, available=_ascending(available), queues=_listed("queues", queues))
    chosen = partitioner_named(partitioner, seed, **options)
    _check_queues(partitioner, queues)
    if hasattr(keys, "as_py"):  # a pyarrow scalar
        keys = keys.as_py()
    if keys is None or isinstance(keys, BYTES):
        size = int(_sizes(sizes, 1)[0])
        key = as_bytes(keys)
        return chosen.partition(SerializedRecord(key_bytes=key, key=key, size=size), topic)
    columns = Keys.of(keys)
    return chosen.partitions(columns, topic, _sizes(sizes, len(columns)))


def _check_queues(partitioner: object, queues: object) -> None:
    """Raise InputError for queues that a named partitioner would ignore."""
    spec = PARTITIONERS.get(partitioner) if isinstance(partitioner, str) else None
    if queues is not None and spec is not None and not spec.uses_queues:
        users = ", ".join(name for name, one in PARTITIONERS.items() if one.uses_queues)
        raise InputError("queues", f"{partitioner} does not use them: expected {users}")


def _ascending(available: Sequence[int] | None) -> Sequence[int] | None:
    available = _listed("available", available)
    if available is None:
        return None
    if not all(isinstance(number, (int, np.integer)) for number in available):
        raise InputError("available", f"expected the numbers of partitions, got {available!r}")
    return sorted({int(number) for number in available})


def _listed(where: str, numbers: Iterable[int] | None) -> list[int] | None:
    if numbers is not None and not isinstance(numbers, Iterable):
        raise InputError(where, f"expected numbers, got {numbers!r}")
    return None if numbers is None else list(numbers)


def _sizes(sizes: int | Iterable[int], count: int) -> Ints:
    """[count] the bytes of each record."""
    try:
        given = np.asarray(sizes if isinstance(sizes, (int, np.ndarray)) else list(sizes))
        found = np.broadcast_to(given.astype(np.int64, casting="same_kind"), count)
    except (TypeError, ValueError):
        raise InputError("sizes", f"expected a number of bytes, or {count} of them") from None
    if count and found.min() < 0:
        raise InputError("sizes", f"expected 0 bytes or more, got {found.min()}")
    return found
