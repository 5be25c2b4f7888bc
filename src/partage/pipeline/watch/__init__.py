"""``partage watch``: measure a stream of records in windows, and alert when leaders get uneven.

stream ─ batches ┬ windows ─ store      closed by the watermark, written exactly once
                 └ fairness ─ events    evaluated, planned again, reported
"""

from partage.pipeline.watch.batches import Rules
from partage.pipeline.watch.events import trouble
from partage.pipeline.watch.fairness import ClusterFile
from partage.pipeline.watch.judgement import Applier, ClusterSource, Judgement
from partage.pipeline.watch.run import watch
from partage.pipeline.watch.store import Settings, check
from partage.pipeline.watch.stream import stream

__all__ = [
    "Applier",
    "ClusterFile",
    "ClusterSource",
    "Judgement",
    "Rules",
    "Settings",
    "check",
    "stream",
    "trouble",
    "watch",
]
