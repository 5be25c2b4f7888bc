"""A schedule of members beside a constant number and a lag-based scaler, all played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from partage.consumers.lag_scaler import COOLDOWN, INTERVAL, LagScaler, usual_threshold
from partage.consumers.scaled_group import ByLag, Played, Scheduled, play
from partage.consumers.schedule import PER_SECONDS, GroupLoads, Schedule, cheapest_schedule


@dataclass(frozen=True, eq=False)
class ScheduleComparison:
    """``played``: by name, ``schedule``, ``constant``, ``lag_scaler``. ``record``: bytes of a
    record; ``lag_threshold``: records per member of the scaler."""

    schedule: Schedule
    played: Mapping[str, Played]
    record: float
    lag_threshold: int

    def to_json(self) -> dict[str, Any]:
        return {
            **self.schedule.to_json(),
            "today": len(self.schedule.loads.group.members),
            "unit": "bytes",
            "record_bytes": self.record,
            "lag_scaler": {
                "threshold": self.lag_threshold,
                "interval": INTERVAL,
                "cooldown": COOLDOWN,
                "max_members": len(self.schedule.loads.names),
            },
            "assignor": self.played["schedule"].assignor,
            "played": {name: one.to_json(self.record) for name, one in self.played.items()},
        }


def compare_schedules(
    loads: GroupLoads,
    capacity: int,
    rate: float,
    price: int,
    record: float,
    lag_threshold: int | None,
    assignor: str,
    report: Callable[[str], None] = lambda _: None,
) -> ScheduleComparison:
    """The cheapest schedule, and how it does. ``capacity``: what a member may own, in the unit of
    the loads, ``rate``: what it can process per second; ``report``: called with each step.

    Raises InputError, and CannotError where no number of members suffices.
    """
    report("finding the schedule")
    schedule = cheapest_schedule(loads, capacity, price)
    whole = loads.load.size * loads.seconds  # saves more than any rebalance could
    constant = cheapest_schedule(loads, capacity, whole)
    if lag_threshold is None:
        lag_threshold = max(1, round(usual_threshold(capacity / PER_SECONDS) / record))
    scaler = LagScaler(lag_threshold * record, max(1, len(loads.names)))
    played = {}
    for name, plan, first in (
        ("schedule", Scheduled(schedule), schedule.stretches[0].members),
        ("constant", Scheduled(constant), constant.most),
        ("lag_scaler", ByLag(scaler, loads.seconds), schedule.stretches[0].members),
    ):
        report(f"simulating: {name.replace('_', '-')}")
        played[name] = play(loads, plan, first, rate, assignor)
    return ScheduleComparison(schedule, played, record, lag_threshold)
