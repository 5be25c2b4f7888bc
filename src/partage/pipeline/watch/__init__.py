"""``partage watch``: a stream of records into load windows, and an alert when leaders drift apart.

stream ─ batches ┬ windows ─ store      closed by the watermark, written exactly once
                 └ fairness ─ events    judged, planned anew, told
"""

from partage.pipeline.watch.batches import Rules
from partage.pipeline.watch.fairness import ClusterFile
from partage.pipeline.watch.run import watch
from partage.pipeline.watch.store import Settings, check
from partage.pipeline.watch.stream import stream

__all__ = ["ClusterFile", "Rules", "Settings", "check", "stream", "watch"]
