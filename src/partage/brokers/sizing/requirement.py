"""What a number of brokers must hold."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

SURVIVE = ("broker", "rack", "none")


class Requirement(Struct, frozen=True):
    """``headroom``: the share of each capacity that stays free on every broker, also on survivors
    of a failure. ``survive``: the failures, one at a time: of any broker; of any broker or rack; or
    none.

    When a broker fails, the next live replica of each list takes over what the leader sends, with
    the copies for the failed broker, which catches up when it returns. Other replicas stay where
    they are, as in Kafka.
    """

    headroom: Fraction
    survive: str = "broker"

    @property
    def failures(self) -> bool:
        """Whether any broker may fail."""
        return self.survive != "none"

    @property
    def racks_fail(self) -> bool:
        """Whether any rack may fail."""
        return self.survive == "rack"
