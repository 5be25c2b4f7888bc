"""The partitioners by name. A new one is one file beside this and one line here.

A partitioner is a hash for keys (``KeyHash``) and a habit for records whose key does not decide
(``Spread``), either of which may be left out; a habit that takes options by name lists them. The
names of librdkafka's mean what they mean there. One of a user's own needs no line here: an object
or a function, or where to find it, ``module:Class``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.errors import InputError
from partage.named import imported
from partage.producers.custom import KeyFunction, Partitioner, own
from partage.producers.keyed import HashPartitioner, KeyHash, Spread
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
"""Kafka's ``partitioner.ignore.keys``: an option of every partitioner that has a habit."""


@dataclass(frozen=True)
class Kind:
    """``spread(seed, **options)`` makes the habit; ``options``: the names that it takes."""

    key_hash: KeyHash | None
    spread: Callable[..., Spread] | None = None
    options: tuple[str, ...] = ()
    empty_is_null: bool = False


_LINGER = ("linger_ms", "clock")
_BATCH = ("batch_size",)

PARTITIONERS: dict[str, Kind] = {
    "murmur2": Kind(MURMUR2),
    "murmur2_random": Kind(MURMUR2, Random, _LINGER),
    "consistent": Kind(CONSISTENT),
    "consistent_random": Kind(CONSISTENT, Random, _LINGER, empty_is_null=True),
    "fnv1a": Kind(FNV1A),
    "fnv1a_random": Kind(FNV1A, Random, _LINGER),
    "sarama": Kind(FNV1A, Random, _LINGER),
    "sarama-reference": Kind(FNV1A_REFERENCE, Random, _LINGER),
    "random": Kind(None, Random, _LINGER),
    "round-robin": Kind(MURMUR2, RoundRobin),
    "sticky": Kind(MURMUR2, Sticky, _BATCH),
    "uniform": Kind(MURMUR2, Uniform, _BATCH),
    "adaptive": Kind(MURMUR2, Adaptive, (*_BATCH, "availability_timeout_ms")),
    "weighted": Kind(MURMUR2, Weighted, (*_BATCH, "weights")),
}

ALIASES = {"roundrobin": "round-robin", "round_robin": "round-robin", "crc32": "consistent"}


def partitioner_named(
    name: str | Partitioner | KeyFunction, seed: int = 0, **options: Any
) -> Partitioner:
    """A partitioner as one producer holds it, at its beginning. One that is an object already, with
    its state, stays the same. Raises InputError where the name or an option is none."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InputError("seed", f"expected a whole number, got {seed!r}")
    seed = int(seed)
    if not isinstance(name, str) or ":" in name:
        if options:
            raise InputError("partitioner", f"one of your own takes no {', '.join(options)}")
        if isinstance(name, str):
            name = imported(name, "partitioner", Partitioner)
        return own(name)
    kind = PARTITIONERS.get(ALIASES.get(name, name))
    if kind is None:
        known = ", ".join(PARTITIONERS)
        raise InputError("partitioner", f"{name!r}: expected one of {known}, or module:Class")
    known_options = (*kind.options, IGNORE_KEYS) if kind.spread else ()
    for option in options:
        if option not in known_options:
            known = ", ".join(known_options) or "none"
            raise InputError(name, f"has no option {option!r}: expected {known}")
    ignore_keys = options.pop(IGNORE_KEYS, False)
    if "weights" in kind.options and "weights" not in options:
        raise InputError(name, "expected weights, a number for each partition")
    spread = kind.spread(seed, **options) if kind.spread else None
    return HashPartitioner(None if ignore_keys else kind.key_hash, spread, kind.empty_is_null)
