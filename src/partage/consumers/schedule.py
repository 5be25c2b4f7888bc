"""When a group should have how many members, over the windows of a measured time.

From one rebalance to the next, every member keeps its partitions. So it must be able to take each
of them at its highest rate of that time: windows i to j need n(i, j) members, the bins that hold
the highest rates of the partitions from i to j (``size.fewest_for``). A schedule divides the
windows into such stretches. Its cost is its member-hours plus a price for each rebalance; of
schedules that cost the same, the one with the fewest rebalances is taken.

The cheapest schedule is a shortest path over the ends of windows (dynamic programming, as in
optimal segmentation: Bellman, "On the approximation of curves by line segments using dynamic
programming", 1961): cost(j) is the least cost(i) + price + n(i, j) (j - i) over all i before j.

Bins are packed only where it matters. At first n(i, j) is the sum of the highest rates over what a
member can take, rounded up, which n(i, j) cannot be below. The stretches of the shortest path are
then packed, and what is proven for a stretch also holds for every longer one around it. This
repeats until all stretches of the shortest path are packed: no other path can be shorter. The same
path over the proven numbers is a lower bound on the cost of any schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.consumers.size import fewest_for
from partage.errors import CannotError, InputError
from partage.group import Group
from partage.measured_loads import Windows
from partage.period import shown

PER_SECONDS = 1000
"""Loads are whole numbers: what comes in during so many seconds."""

_MOST_CELLS = 1_000_000_000
"""Squared windows times partitions that are sized."""


@dataclass(frozen=True)
class Stretch:
    """``members`` from window ``first`` to before window ``end``; fewer than ``lower_bound`` could
    not own the partitions for so long. ``load``: of all partitions, each at its highest."""

    first: int
    end: int
    members: int
    lower_bound: int
    load: int


@dataclass(frozen=True, eq=False)
class GroupLoads:
    """The partitions that a group reads: ``load`` [W, P] in the windows that begin at ``start`` [W]
    (milliseconds) and last ``seconds``."""

    group: Group
    names: tuple[tuple[str, int], ...]
    start: tuple[int, ...]
    seconds: int
    load: Ints

    @classmethod
    def of(cls, group: Group, windows: Windows) -> GroupLoads:
        """Raises InputError if the members do not all subscribe to the same topics."""
        if len(group.class_topics) > 1:
            raise InputError(
                group.where, "its members subscribe to different topics: size them one by one"
            )
        read = np.flatnonzero(group.subscribes[0][group.topic]).tolist()
        names = tuple(group.named(partition) for partition in read)
        column = {name: at for at, name in enumerate(windows.names)}
        load = np.zeros((len(windows.start), len(names)), dtype=np.int64)
        for at, name in enumerate(names):
            if name in column:
                load[:, at] = -(-windows.bytes[:, column[name]] * PER_SECONDS // windows.seconds)
        return cls(group, names, tuple(windows.start.tolist()), windows.seconds, load)

    @property
    def end(self) -> int:
        """Of the last window, in milliseconds."""
        return self.start[-1] + self.seconds * 1000

    def moment(self, window: int) -> int:
        """When a window begins, or the one before it ends, in milliseconds."""
        return self.start[window] if window < len(self.start) else self.end


@dataclass(frozen=True, eq=False)
class Schedule:
    """The cheapest schedule of members that can own loads of ``capacity``; ``price``: seconds of a
    member per rebalance. No schedule costs less than ``cost_bound``, in seconds of a member."""

    loads: GroupLoads
    capacity: int
    price: int
    stretches: tuple[Stretch, ...]
    cost_bound: int

    @property
    def rebalances(self) -> int:
        return len(self.stretches) - 1

    @property
    def member_seconds(self) -> int:
        seconds = self.loads.seconds
        return sum(one.members * (one.end - one.first) for one in self.stretches) * seconds

    @property
    def cost(self) -> int:
        return self.member_seconds + self.price * self.rebalances

    @property
    def proven(self) -> bool:
        """Whether no schedule costs less."""
        return self.cost == self.cost_bound

    @property
    def most(self) -> int:
        """The most members at a time."""
        return max(one.members for one in self.stretches)

    def to_json(self) -> dict[str, Any]:
        return {
            "schedule": [
                {
                    "from": shown(self.loads.moment(one.first)),
                    "to": shown(self.loads.moment(one.end)),
                    "members": one.members,
                    "lower_bound": one.lower_bound,
                    "load": one.load / PER_SECONDS,
                }
                for one in self.stretches
            ],
            "rebalances": self.rebalances,
            "member_hours": self.member_seconds / 3600,
            "rebalance_price": self.price / 3600,
            "cost": self.cost / 3600,
            "cost_lower_bound": self.cost_bound / 3600,
            "proven": self.proven,
            "capacity": self.capacity / PER_SECONDS,
        }


def cheapest_schedule(loads: GroupLoads, capacity: int, price: int) -> Schedule:
    """The schedule with the least cost that was found. ``capacity``: what a member can own, in the
    unit of the loads; ``price``: seconds of a member that a rebalance may cost.

    Raises CannotError if one partition is more than a member can own, InputError for more windows
    than can be sized.
    """
    windows, partitions = loads.load.shape
    if windows**2 * partitions > _MOST_CELLS:
        raise InputError(
            "profile", f"has {windows:,} windows: choose fewer with `since` and `until`"
        )
    window, at = np.unravel_index(int(loads.load.argmax()), loads.load.shape)
    if loads.load[window, at] > capacity:
        topic, number = loads.names[int(at)]
        raise CannotError(
            f"{topic}-{number} alone has {loads.load[window, at] / PER_SECONDS:,.0f} a second from "
            f"{shown(loads.start[int(window)])} on, a member can own "
            f"{capacity / PER_SECONDS:,.0f}: no number of members suffices"
        )
    proven = _sums(loads.load, capacity)
    numbers = proven.copy()
    packed: dict[tuple[int, int], Stretch] = {}
    while True:
        path = _shortest(numbers, price, loads.seconds)
        if all(one in packed for one in path):
            break
        for first, end in path:
            if (first, end) not in packed:
                peak = loads.load[first:end].max(axis=0)
                members, bound = fewest_for(peak, capacity)
                bound = max(bound, int(proven[first, end]))
                packed[first, end] = Stretch(first, end, members, bound, int(peak.sum()))
                for known in (proven, numbers):  # longer ones need as many
                    around = known[: first + 1, end:]
                    np.maximum(around, bound, out=around)
                numbers[first, end] = members
    bound_path = _shortest(proven, price, loads.seconds)
    members = sum(int(proven[first, end]) * (end - first) for first, end in bound_path)
    return Schedule(
        loads,
        capacity,
        price,
        tuple(packed[one] for one in path),
        members * loads.seconds + price * (len(bound_path) - 1),
    )


def _sums(load: Ints, capacity: int) -> Ints:
    """[W, W + 1] members without which windows i to before j cannot do, by their total load."""
    windows = len(load)
    found = np.ones((windows, windows + 1), dtype=np.int64)
    for first in range(windows):
        total = np.maximum.accumulate(load[first:], axis=0).sum(axis=1)
        found[first, first + 1 :] = np.maximum(1, -(-total // capacity))
    return found


def _shortest(numbers: Ints, price: int, seconds: int) -> list[tuple[int, int]]:
    """The stretches of the cheapest schedule, of these the one with the fewest rebalances."""
    windows = len(numbers)
    scale = windows + 1  # costs count before rebalances
    cost = np.zeros(windows + 1, dtype=np.int64)
    before = np.zeros(windows + 1, dtype=np.int64)
    for end in range(1, windows + 1):
        length = np.arange(end, 0, -1)
        found = cost[:end] + numbers[:end, end] * length * seconds * scale
        found[1:] += price * scale + 1
        before[end] = found.argmin()
        cost[end] = found.min()
    path: list[tuple[int, int]] = []
    end = windows
    while end:
        first = int(before[end])
        path.append((first, end))
        end = first
    return path[::-1]
