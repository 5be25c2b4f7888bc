"""What a live demonstration does now. The run sets it; another thread reads it."""

from __future__ import annotations

from dataclasses import dataclass

from partage.demo.traffic import Traffic


@dataclass
class Status:
    """``step``: what happens now; ``copied``: bytes on new replicas so far, of ``to_copy``, which
    is 0 before there is a plan; ``traffic``: once it has started."""

    step: str = "starting"
    copied: int = 0
    to_copy: int = 0
    traffic: Traffic | None = None

    def records(self) -> tuple[int, int]:
        """How many records were acknowledged, and how many read, so far."""
        if self.traffic is None:
            return 0, 0
        producer = self.traffic.producer
        written = 0 if producer is None else producer.records
        return written, sum(member.records for member in list(self.traffic.members))
