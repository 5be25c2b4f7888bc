"""An admin client that reports sizes of replicas only."""

from __future__ import annotations

from typing import Any

from kafka import errors as kafka_errors

from partage.live.admin.states import Key


class LogDirs:
    """``sizes``: bytes by broker and partition; ``unreachable`` brokers do not answer;
    ``requests``: the brokers that were asked, in order."""

    def __init__(self, sizes: dict[int, dict[Key, int]], unreachable: tuple[int, ...] = ()) -> None:
        self.sizes, self.unreachable = sizes, unreachable
        self.requests: list[int] = []

    def describe_log_dirs(self, partitions: dict[str, list[int]], brokers: list[int]) -> Any:
        (broker,) = brokers
        self.requests.append(broker)
        if broker in self.unreachable:
            raise kafka_errors.KafkaTimeoutError
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": n, "partition_size": size, "is_future_key": False}
                    for n in numbers
                    if (size := self.sizes.get(broker, {}).get((topic, n))) is not None
                ],
            }
            for topic, numbers in partitions.items()
        ]
        return [{"broker": broker, "log_dirs": [{"topics": topics}]}]
