"""Count replica lists: replicas per topic and broker, takeovers after a failure, copies.

- *After a failure*, the next live replica of its list leads a partition of the failed broker.
  ``takeover[f, s]`` counts these per pair, so survivor ``s`` leads its own partitions plus
  ``takeover[f, s]``. A partition without another live replica is ``lost``. When a rack fails, all
  of its brokers fail at once.
- *Movement*: a new replica is fetched from the partition's current leader, the first replica of
  ``before`` on a live broker. Without one, the row is "no live source".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from partage.arrays import Bools, Floats, Ints, first_where
from partage.brokers.figures import not_in, pair_counts


def positions(lists: Sequence[Sequence[int]], ids: Ints, width: int) -> Ints:
    """[P, width] positions in ``ids`` (ascending) of the brokers in each list, padded with -1."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
    table = np.full((len(lists), width), -1, dtype=np.int64)
    table[np.arange(width) < lengths[:, None]] = np.searchsorted(ids, flat)
    return table


def topic_counts(lists: Ints, topic: Ints, topics: int, brokers: int) -> Ints:
    """[T, B] replicas of each topic on each broker."""
    row, column = np.nonzero(lists >= 0)
    return pair_counts(topic[row], lists[row, column], topics, brokers)


def takeovers(lists: Ints, running: Bools, zone: Ints | None = None) -> tuple[Ints, Ints]:
    """[Z, B] leaders taken over, failed zone × survivor, and [Z] partitions lost with the zone.

    ``running`` [B]: only running brokers can fail or take over. ``zone`` [B]: brokers of the same
    number (from 0) fail together, those of -1 never; None: each broker is its own zone (Z = B).
    """
    brokers = len(running)
    zone = np.arange(brokers) if zone is None else zone
    zones = int(zone.max(initial=-1)) + 1
    leader = lists[:, 0]
    failed = np.where((leader >= 0) & running[leader], zone[leader], -1)
    live = (lists >= 0) & running[lists] & (zone[lists] != failed[:, None])
    live[:, 0] = False
    successor = first_where(lists, live)
    kept = (failed >= 0) & (successor >= 0)
    pairs = pair_counts(failed[kept], successor[kept], zones, brokers)
    lost = np.bincount(failed[(failed >= 0) & (successor < 0)], minlength=zones)
    return pairs, lost.astype(np.int64)


def worst_survivor(lists: Ints, running: Bools, zone: Ints | None = None) -> Ints:
    """[Z] the most leaders on one survivor after that zone fails, -1 where none of it is running.

    ``running`` and ``zone`` as for ``takeovers``.
    """
    brokers = len(running)
    pairs, _ = takeovers(lists, running, zone)
    zone = np.arange(brokers) if zone is None else zone
    own = np.bincount(lists[:, 0], minlength=brokers)
    fails = zone[None, :] == np.arange(len(pairs))[:, None]
    worst = np.where(running & ~fails, own[None, :] + pairs, 0).max(axis=1, initial=0)
    return np.where((fails & running).any(axis=1), worst, -1).astype(np.int64)


def movement(before: Ints, after: Ints, alive: Bools, size: Floats) -> tuple[Ints, Floats]:
    """[B + 1, B] replicas and bytes that each target fetches from each current leader.

    The last row is for partitions without a live replica.
    """
    brokers = len(alive)
    source = first_where(before, (before >= 0) & alive[before])
    source[source < 0] = brokers
    row, column = np.nonzero(not_in(after, before))
    cell = source[row] * brokers + after[row, column]
    shape = (brokers + 1, brokers)
    length = shape[0] * shape[1]
    replicas = np.bincount(cell, minlength=length).reshape(shape)
    moved = np.bincount(cell, weights=size[row], minlength=length).reshape(shape)
    return replicas.astype(np.int64), moved.astype(np.float64)
