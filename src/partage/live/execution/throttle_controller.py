"""Keeps the throttle of a run at the rate that is right at each moment.

``rate_control.py`` decides the rate, from the wave's copy meter and the cluster's health. Here it
is set; a rate requested during the run replaces it; a throttle that others removed is set again.
Where there is no throttle, and the ACLs do not allow one, a wave cannot be slowed down: that is
reported, and the run continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from partage.errors import PartageError
from partage.live.admin.permissions import NEEDS, require_acls
from partage.live.execution.changes import Change
from partage.live.execution.cooldown import Cooldown
from partage.live.execution.copy_meter import CopyMeter
from partage.live.execution.health import Health
from partage.live.execution.overrides import Overrides
from partage.live.execution.rate_control import Observation, RateControl, rate_control
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.live.execution.throttles import ReplicationThrottles
from partage.live.execution.write_rates import replica_lag_seconds

_ACLS = NEEDS["apply --throttle"]


class ThrottleController:
    """``requested``: bytes per second, ``AUTO``, or None. ``rate``: what is set now.
    ``notify`` takes the changes in progress and a line for the operator."""

    def __init__(
        self,
        requested: int | str | None,
        admin: RetryingAdmin,
        throttles: ReplicationThrottles,
        clock: Callable[[], float],
        notify: Callable[[Sequence[Change], str], None],
    ) -> None:
        self.rate: int | None = None
        self._requested, self._admin, self._throttles = requested, admin, throttles
        self._clock, self._notify = clock, notify
        self._control = self._control_for(requested)
        self._cooldown = Cooldown(clock)

    def _control_for(self, requested: int | str | None) -> RateControl:
        admin = self._admin
        return rate_control(
            requested, lambda: replica_lag_seconds(admin.client, admin.alive_brokers())
        )

    def read_override(self, directory: str, changes: Sequence[Change]) -> None:
        """Use the rate that was requested since the run began, if any."""
        requested = Overrides.read(directory).throttle
        if requested is None or requested == self._requested:
            return
        self._requested, self._control = requested, self._control_for(requested)
        rate = f"{requested:,} bytes per second" if isinstance(requested, int) else requested
        self._notify(changes, f"the throttle is now {rate}")

    def update(
        self,
        changes: Sequence[Change],
        meter: CopyMeter,
        health: Health,
        alive: Sequence[int],
        *,
        new_wave: bool = False,
    ) -> None:
        """Set the rate that is right now for the changes that are not complete."""
        observation = Observation(
            meter.minimum_rate(changes),
            len(health.out_of_sync),
            len(health.under_min_isr),
            meter.copied(changes),
        )
        before = self._control.slowed_down
        rate = self._control.decide(self._clock(), observation)
        if rate is None:
            if self.rate is not None:
                self._admin.retry(lambda: self._throttles.restore(alive))
        elif new_wave or rate != self.rate:
            began = self._clock()
            rate = self._set(rate, changes, alive)
            self._cooldown.restart(began)  # brokers learn of it a moment later
        elif self._cooldown.is_over:
            began = self._clock()
            if self._admin.retry(lambda: self._throttles.set_again(alive)):
                self._notify(changes, "something removed the throttle: it is set again")
            self._cooldown.restart(began)
        self.rate = rate
        if rate is not None and self._control.slowed_down and not before:
            self._notify(changes, f"slowed down to {rate:,} bytes per second: {health}")
        elif before and not self._control.slowed_down:
            self._notify(changes, "all partitions are in sync again: no longer slowed down")

    def _set(self, rate: int, changes: Sequence[Change], alive: Sequence[int]) -> int | None:
        if self._requested is None and not self._is_allowed(changes):
            return None
        self._admin.retry(lambda: self._throttles.set(rate, changes, alive))
        return rate

    def _is_allowed(self, changes: Sequence[Change]) -> bool:
        """Whether the ACLs allow a throttle: not checked beforehand where none was requested."""
        topics = sorted({change.topic for change in changes})
        try:
            self._admin.retry(partial(require_acls, self._admin.client, _ACLS, topics, topics))
        except PartageError as error:
            self._notify(changes, f"cannot be slowed down: {error}")
            return False
        return True
