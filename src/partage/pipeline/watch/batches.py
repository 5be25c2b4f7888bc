"""One batch after the other: summed up by Spark, added to the windows, written, judged, told.

The sums come home in one job over the batch; a second one fetches the rows that are no records,
where there are any. All else is done here, on a row per partition and window.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from partage.brokers.directory import REPORT
from partage.cluster import Cluster
from partage.errors import PartageError
from partage.pipeline import measure
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.session import spark_errors
from partage.pipeline.watch import events, windows
from partage.pipeline.watch.fairness import ClusterFile, Fairness, fairness, fresh_plan
from partage.pipeline.watch.store import PLANS, REJECTED_KEPT, State, Store, stamp
from partage.pipeline.watch.stream import Stream
from partage.profile import Profile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tell = Callable[[events.Event], None]
Draw = Callable[[dict[str, Any], str], str]


@dataclass(frozen=True)
class Rules:
    """``window``, ``late`` and ``over`` in seconds; ``moves``: whether a fresh plan may move data.
    See ``partage watch``."""

    window: int
    late: int
    over: int
    alert_above: float
    moves: bool


class Batches:
    """What Spark calls with each batch. ``failure``: what ended it, where something did."""

    def __init__(
        self,
        spark: SparkSession,
        stream: Stream,
        store: Store,
        cluster: ClusterFile,
        rules: Rules,
        tell: Tell,
        draw: Draw | None,
    ) -> None:
        self.state = store.state()
        self.failure: BaseException | None = None
        self._spark, self._stream, self._store = spark, stream, store
        self._cluster, self._rules, self._tell, self._draw = cluster, rules, tell, draw
        self._busy = threading.Lock()
        self._ended = False
        self._strangers: set[str] = set()

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Take a batch; whatever goes wrong ends the query before the batch counts."""
        with self._busy:
            if self._ended:
                raise PartageError("stopped")
            try:
                self._take(frame, number)
            except PartageError as error:
                self.failure = self._stream.explained(error)
                raise
            except BaseException as error:
                self.failure = error
                raise

    def end(self) -> None:
        """Wait for the batch that is being taken, and take no other."""
        with self._busy:
            self._ended = True

    def _take(self, frame: DataFrame, number: int) -> None:
        if number == self.state.batch:
            return  # done before the last run was killed, but Spark did not hear of it
        before = self.state
        if number != before.batch + 1:
            raise PartageError(f"batch {number} does not follow on batch {before.batch}")
        sums, rejected = self._sums(frame)
        step = windows.advance(
            before.open,
            sums,
            before.watermark,
            window=self._rules.window,
            lateness=self._rules.late,
        )
        state = replace(
            before,
            batch=number,
            open=step.open,
            watermark=step.watermark,
            late=before.late + step.late,
            rejected=before.rejected + rejected.count,
            records=before.records + (pc.sum(step.closed["records"]).as_py() or 0),
            bytes=before.bytes + (pc.sum(step.closed["bytes"]).as_py() or 0),
        )
        if rejected.count:
            self._store.add_rejected(number, rejected.rows)
        if step.closed.num_rows:
            first = pc.min(windows.starts(step.closed)).as_py()
            end = pc.max(windows.ends(step.closed, self._rules.window)).as_py()
            state = replace(state, start=first if state.start is None else state.start, end=end)
            self._store.add_windows(step.closed)
        self._write_profile(state)
        if step.closed.num_rows:
            state = self._judge(state, step.closed.num_rows)
        self._store.commit(state)
        self.state = state

    def _sums(self, frame: DataFrame) -> tuple[pa.Table, _Rejected]:
        with spark_errors():
            records = self._stream.records(self._spark, frame)
            if records is None:
                return windows.SCHEMA.empty_table(), _Rejected()
            sums = records.transform(measure.by_window, self._rules.window).toArrow()
            sums = sums.select(windows.SCHEMA.names).cast(windows.SCHEMA)
            # Rows that are no records have nothing, so that they are one group, of no topic.
            none = pc.is_null(sums["topic"])
            count = pc.sum(sums.filter(none)["records"]).as_py() or 0
            if not count:
                return sums, _Rejected()
            columns = SCHEMAS["rejected"].names
            rows = records.transform(measure.rejected).sort(*columns).limit(REJECTED_KEPT)
            return sums.filter(pc.invert(none)), _Rejected(
                count, rows.toArrow().select(columns).cast(SCHEMAS["rejected"])
            )

    def _judge(self, state: State, closed: int) -> State:
        """Say what the windows closed by now say; ``closed``: how many have just been."""
        assert state.end is not None
        cluster, problem = self._cluster.now()
        if problem is not None:
            self._tell(events.trouble(problem))
        profile = Profile.read(self._store.path)
        measured = profile.aligned(cluster)
        self._tell_strangers(measured.not_in_cluster)
        found = fairness(cluster, measured.bytes_per_second)
        threshold = self._rules.alert_above
        unfair = found is not None and found.value > threshold
        if found is not None and unfair and not state.unfair:
            self._alert(state.end, found, cluster, profile)
        elif state.unfair and not unfair:
            self._tell(events.fair(state.end, threshold, found))
        state = replace(state, unfair=unfair)
        self._tell(events.closed(state, closed, found))
        return state

    def _write_profile(self, state: State) -> None:
        rules, begin, end = self._rules, state.start or 0, state.end or 0
        begin = max(begin, end - rules.over * windows.MICROSECONDS)
        recent = self._store.windows_between(begin, end)
        seconds = max((end - begin) / windows.MICROSECONDS, rules.window)
        table = windows.partitions(
            recent, self._store.partitions(), window=rules.window, seconds=seconds
        )
        self._store.write_profile(table, state, begin, end)

    def _alert(self, end: int, found: Fairness, cluster: Cluster, profile: Profile) -> None:
        path = self._store.path / PLANS / stamp(end)
        written, after, why = None, None, None
        try:
            plan, then = fresh_plan(cluster, profile, found, self._rules.moves)
            document = plan.document()
            plan.write(
                path, {} if self._draw is None else {REPORT: self._draw(document, os.fspath(path))}
            )
            written, after = os.fspath(path), then.value
        except PartageError as error:
            why = error
        self._tell(events.alert(end, self._rules.alert_above, found, written, after, why))

    def _tell_strangers(self, names: tuple[str, ...]) -> None:
        new = set(names) - self._strangers
        if new:
            self._strangers |= new
            first = min(new)
            self._tell(
                events.trouble(
                    f"{len(new)} measured partitions are not in the cluster file, first {first}"
                )
            )


@dataclass(frozen=True)
class _Rejected:
    """Rows that are no records: how many, and the first of them."""

    count: int = 0
    rows: pa.Table | None = None
