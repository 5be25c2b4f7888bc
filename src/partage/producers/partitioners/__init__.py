"""The registry of partitioners. To add one, add a file to this folder and a line here.

A partitioner combines a hash for keys (``KeyHash``) with a strategy for records whose key does not
decide (``KeylessStrategy``); either may be missing. A strategy's options are listed by name. Names
from librdkafka mean what they mean there. Your own partitioner needs no line here: pass an object,
a function, or ``module:Class``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from partage.arrays import is_whole
from partage.errors import InputError
from partage.named import load_object
from partage.producers.custom import KeyFunction, Partitioner, checked
from partage.producers.hash_partitioner import HashPartitioner, KeyHash, KeylessStrategy
from partage.producers.partitioners.adaptive import Adaptive
from partage.producers.partitioners.consistent import CONSISTENT
from partage.producers.partitioners.fnv1a import FNV1A, FNV1A_REFERENCE
from partage.producers.partitioners.murmur2 import MURMUR2
from partage.producers.partitioners.random import Random
from partage.producers.partitioners.round_robin import RoundRobin
from partage.producers.partitioners.sticky import Sticky
from partage.producers.partitioners.uniform import Uniform
from partage.producers.partitioners.weighted import Weighted

IGNORE_KEYS = "ignore_keys"
"""Kafka's ``partitioner.ignore.keys``: an option of every partitioner with a keyless strategy."""


@dataclass(frozen=True)
class PartitionerSpec:
    """``keyless(seed, **options)`` creates the strategy; ``options``: the names that it accepts;
    ``uses_queues``: whether it reads ``Topic.queues``."""

    key_hash: KeyHash | None
    keyless: Callable[..., KeylessStrategy] | None = None
    options: tuple[str, ...] = ()
    empty_is_null: bool = False
    uses_queues: bool = False


_LINGER = ("linger_ms", "clock")
_BATCH = ("batch_size",)

PARTITIONERS: dict[str, PartitionerSpec] = {
    "murmur2": PartitionerSpec(MURMUR2),
    "murmur2_random": PartitionerSpec(MURMUR2, Random, _LINGER),
    "consistent": PartitionerSpec(CONSISTENT),
    "consistent_random": PartitionerSpec(CONSISTENT, Random, _LINGER, empty_is_null=True),
    "fnv1a": PartitionerSpec(FNV1A),
    "fnv1a_random": PartitionerSpec(FNV1A, Random, _LINGER),
    "sarama": PartitionerSpec(FNV1A, Random, _LINGER),
    "sarama-reference": PartitionerSpec(FNV1A_REFERENCE, Random, _LINGER),
    "random": PartitionerSpec(None, Random, _LINGER),
    "round-robin": PartitionerSpec(MURMUR2, RoundRobin),
    "sticky": PartitionerSpec(MURMUR2, Sticky, _BATCH),
    "uniform": PartitionerSpec(MURMUR2, Uniform, _BATCH),
    "adaptive": PartitionerSpec(
        MURMUR2, Adaptive, (*_BATCH, "availability_timeout_ms"), uses_queues=True
    ),
    "weighted": PartitionerSpec(MURMUR2, Weighted, (*_BATCH, "weights")),
}

ALIASES = {"roundrobin": "round-robin", "round_robin": "round-robin", "crc32": "consistent"}


def ignores(name: str, key: bytes) -> bool:
    """Whether the partitioner of this name treats a record with this key as if it had none; False
    for the user's own."""
    spec = PARTITIONERS.get(ALIASES.get(name, name))
    if spec is None:
        return False
    return spec.key_hash is None or (spec.empty_is_null and not key)


def partitioner_named(
    name: str | Partitioner | KeyFunction, seed: int = 0, **options: Any
) -> Partitioner:
    """A new partitioner for one producer; an object is returned with its state. Raises InputError
    for an unknown name or option."""
    if not is_whole(seed):
        raise InputError("seed", f"expected a whole number, got {seed!r}")
    seed = int(seed)
    if not isinstance(name, str) or ":" in name:
        if options:
            raise InputError("partitioner", f"your own takes no options: {', '.join(options)}")
        if isinstance(name, str):
            name = load_object(name, "partitioner", Partitioner)
        return checked(name)
    spec = PARTITIONERS.get(ALIASES.get(name, name))
    if spec is None:
        known = ", ".join(PARTITIONERS)
        raise InputError("partitioner", f"{name!r}: expected one of {known}, or module:Class")
    known_options = (*spec.options, IGNORE_KEYS) if spec.keyless else ()
    for option in options:
        if option not in known_options:
            known = ", ".join(known_options) or "none"
            raise InputError(name, f"has no option {option!r}: expected {known}")
    ignore_keys = options.pop(IGNORE_KEYS, False)
    if "weights" in spec.options and "weights" not in options:
        raise InputError(name, "expected the option weights: a number for each partition")
    keyless = spec.keyless(seed, **options) if spec.keyless else None
    return HashPartitioner(None if ignore_keys else spec.key_hash, keyless, spec.empty_is_null)
