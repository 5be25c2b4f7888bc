"""Kafka Connect and Kafka Streams over time: leaders that remember earlier rounds.

An assignor is a function of one round. What Connect's leader knows of workers that left, and where
the state of a Streams application is, changes between rounds: an application keeps it on the
virtual clock of a simulation, and asks for the rebalances that Connect and Streams schedule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

from partage.consumers.protocol.leader import Subscriptions
from partage.consumers.protocol.messages import Partitions
from partage.consumers.scenario import Scenario

Clock: TypeAlias = Callable[[], float]
"""The time in seconds."""


class Application(ABC):
    """The leaders of one simulated application.

    - ``assignor``: its name; ``scenario``: what is simulated, with its tasks as partitions
    - ``rejoin_after``: seconds from the last assignment to the rebalance that it scheduled, or None
    - ``details``: what the last assignment has besides active tasks, for the round's JSON
    - ``restoring``: task-seconds in which active tasks restored their state, None if unknown
    """

    assignor: ClassVar[str]
    scenario: Scenario
    rejoin_after: float | None = None
    restoring: float | None = None

    def __init__(self, scenario: Scenario, clock: Clock) -> None:
        self.scenario, self.clock = scenario, clock
        self.details: dict[str, Any] = {}

    @abstractmethod
    def lead(self, leader: str, subscriptions: Subscriptions) -> Mapping[str, Partitions]:
        """Partitions by member id, assigned by the process ``leader``."""

    def end(self) -> None:
        """The simulation is over."""
        return
