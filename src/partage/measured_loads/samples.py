"""Values over time, as columns: sizes of log dirs, loads by window, lags of groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partage.arrays import Floats, Ints

_DAY = 86_400_000


@dataclass(frozen=True, eq=False)
class Sizes:
    """Log-dir sizes over time of Q partitions, ``names`` as (topic, number).

    - ``size_bytes`` [Q]: at the last sample; ``peak_bytes`` [Q]: the largest seen
    - ``grown_bytes``, ``deleted_bytes`` [Q]: total growth and shrinkage between samples
    - ``first``, ``last`` [Q]: the samples' times, in milliseconds
    """

    names: tuple[tuple[str, int], ...]
    size_bytes: Ints
    peak_bytes: Ints
    grown_bytes: Ints
    deleted_bytes: Ints
    first: Ints
    last: Ints

    @property
    def bytes_per_day(self) -> Floats:
        """[Q] growth, not counting deletions; 0 where there is only one sample."""
        days = (self.last - self.first) / _DAY
        return np.divide(self.grown_bytes, days, out=np.zeros(len(days)), where=days > 0)

    def after(self, days: float) -> Ints:
        """[Q] bytes expected this many days after the last of all samples.

        A log that never shrank continues to grow at its rate. Where something was deleted,
        retention limits the log, and the largest size seen is expected.
        """
        if days == 0 or not len(self.last):
            return self.size_bytes
        ahead = days + (self.last.max() - self.last) / _DAY
        growing = self.size_bytes + np.ceil(self.bytes_per_day * ahead).astype(np.int64)
        return np.where(self.deleted_bytes > 0, self.peak_bytes, growing)


@dataclass(frozen=True, eq=False)
class Windows:
    """What came into Q partitions, ``names`` as (topic, number), in W windows.

    - ``start`` [W]: when they begin, in milliseconds; ``seconds``: how long each is
    - ``bytes`` [W, Q]
    """

    names: tuple[tuple[str, int], ...]
    start: Ints
    seconds: int
    bytes: Ints


@dataclass(frozen=True, eq=False)
class Lags:
    """Lags over time: N partitions of groups, ``group`` and ``names`` as (topic, number).

    - ``lag`` [N]: records, at the last sample
    - ``consumed``, ``produced`` [N]: records from the first sample to the last
    - ``first``, ``last`` [N]: the samples' times, in milliseconds
    """

    group: tuple[str, ...]
    names: tuple[tuple[str, int], ...]
    lag: Ints
    consumed: Ints
    produced: Ints
    first: Ints
    last: Ints

    @property
    def consumed_per_second(self) -> Floats:
        """[N], 0 where there is only one sample."""
        return self._per_second(self.consumed)

    @property
    def produced_per_second(self) -> Floats:
        """[N], 0 where there is only one sample."""
        return self._per_second(self.produced)

    def _per_second(self, records: Ints) -> Floats:
        seconds = (self.last - self.first) / 1000
        return np.divide(records, seconds, out=np.zeros(len(seconds)), where=seconds > 0)
