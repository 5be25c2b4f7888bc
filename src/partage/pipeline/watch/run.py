"""Run a watch: start the query, handle signals, stop.

Ctrl-C, SIGTERM and a closed terminal finish the current batch, then stop the query. A second signal
ends the process at once, as kill -9 does, which loses nothing either.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from partage import interrupts
from partage.errors import PartageError
from partage.pipeline.session import is_connect
from partage.pipeline.spark_errors import spark_errors
from partage.pipeline.watch import events
from partage.pipeline.watch.batches import Batches, Emit, Render, Rules
from partage.pipeline.watch.judgement import Applier, ClusterSource
from partage.pipeline.watch.store import MARKER, Settings, State, opened
from partage.pipeline.watch.stream import Stream
from partage.pipeline.watch.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

_SECONDS = 0.5


def watch(
    spark: SparkSession,
    stream: Stream,
    out: str,
    cluster: ClusterSource,
    rules: Rules,
    *,
    every: int = 10,
    once: bool = False,
    emit: Emit,
    render: Render | None = None,
    applier: Applier | None = None,
    stop: threading.Event | None = None,
) -> State:
    """Follow a stream into the directory ``out`` until ``stop`` is set, or a signal comes.

    ``every``: seconds between batches; ``once``: process what is there, then stop. ``emit``
    receives the events; ``render`` turns a plan's document and directory into its report;
    ``applier`` gets each judgement, and plans instead of the alert. Returns the final state. Raises
    InputError, and PartageError for what Spark cannot do.
    """
    if is_connect(spark):
        raise PartageError(
            "watch needs Spark itself (--master local[*], spark://…, yarn): with Spark Connect "
            "each batch is processed on the server, where its tables would stay"
        )
    with _signals(stop or threading.Event()) as asked:
        frame = stream.open(spark)
        with opened(out, Settings(stream.identity, rules.window), spark) as store:
            tables = Tables.of(spark, store.folder, MARKER)
            batches = Batches(spark, stream, store, tables, cluster, rules, emit, render, applier)
            trigger = {"availableNow": True} if once else {"processingTime": f"{every} seconds"}
            writer = frame.writeStream.foreachBatch(batches).trigger(**trigger)
            with ExitStack() as stack:
                if applier is not None:
                    stack.callback(applier.end)
                    applier.begin()
                stack.enter_context(spark_errors())
                query = writer.option("checkpointLocation", store.checkpoint).start()
                stack.callback(query.stop)
                stack.callback(batches.end)
                _wait(query, batches, asked, stream)
            emit(events.stopped(batches.state))
            return batches.state


def _wait(query: StreamingQuery, batches: Batches, asked: threading.Event, stream: Stream) -> None:
    try:
        while not asked.is_set() and not query.awaitTermination(_SECONDS):
            pass
    except Exception as error:
        if batches.failure is not None:
            raise batches.failure from None
        if cause := re.search("terminated with exception: (.*)", str(error)):
            raise stream.explained(PartageError(f"Spark: {cause[1][:300]}")) from None
        raise


@contextmanager
def _signals(asked: threading.Event) -> Iterator[threading.Event]:
    """The event, set by the first signal; the second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread can set handlers
        return

    def ask(number: int, stack: Any) -> None:
        if asked.is_set():
            os._exit(128 + number)
        asked.set()

    with interrupts.handled_by(ask):
        yield asked
