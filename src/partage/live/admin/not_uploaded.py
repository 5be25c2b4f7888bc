"""What a new replica copies where brokers start at the last tiered offset (KIP-1023).

With ``follower.fetch.last.tiered.offset.enable``, an empty replica of a topic with remote storage
fetches from the offset after the last one that is uploaded, instead of all that is on its leader.
Kafka reports both offsets (KIP-405, KIP-1005), but bytes only of all that is on a broker. So the
bytes are an estimate: in proportion to the offsets.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from kafka import KafkaAdminClient
from kafka.admin import OffsetSpec

from partage.live.admin.connection import describe_error
from partage.live.admin.partition_offsets import partition_offsets
from partage.live.admin.states import PartitionState
from partage.measured_loads.rates import Key


def not_uploaded(
    admin: KafkaAdminClient, partitions: Iterable[PartitionState], warnings: list[str]
) -> dict[Key, int]:
    """Bytes that are on brokers and not uploaded yet, of partitions of which some are uploaded.
    Topics that cannot be read become a warning."""
    known = {one.key: one for one in partitions if one.size_bytes and one.leader is not None}

    def refused(topic: str, error: Exception) -> None:
        warnings.append(
            f"topic {topic}: what is uploaded cannot be read, moves count all of their sizes: "
            f"{describe_error(error)}"
        )

    def offsets(spec: OffsetSpec) -> dict[Key, int]:
        found = partition_offsets(admin, spec, known, time.monotonic, refused)
        for key in known.keys() - found.keys():
            del known[key]
        return {key: offset for key, (_, offset) in found.items()}

    # the end last, so that it is not before the others
    uploaded = offsets(OffsetSpec.LATEST_TIERED)
    local, end = offsets(OffsetSpec.EARLIEST_LOCAL), offsets(OffsetSpec.LATEST)
    found = {}
    for key, one in known.items():
        held = end[key] - local[key]
        left = end[key] - max(local[key], uploaded[key] + 1)
        if uploaded[key] >= 0 and held > 0:
            size = one.sizes.get(one.leader or 0, one.size_bytes or 0)
            found[key] = -(-size * max(left, 0) // held)
    return found
