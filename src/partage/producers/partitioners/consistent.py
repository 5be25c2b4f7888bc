"""consistent: librdkafka's default hash, CRC32 as an unsigned number
(``rd_kafka_msg_partitioner_consistent``)."""

from __future__ import annotations

from partage.producers import hashing
from partage.producers.hash_partitioner import KeyHash

CONSISTENT = KeyHash(hashing.crc32, hashing.crc32_of)
