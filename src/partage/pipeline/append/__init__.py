"""``partage profile --append``: a profile that grows by what came since its last run.

``grow`` adds what is new to the tables; ``files`` and ``topics`` find it; ``marks`` has how far
each source is measured.
"""

from partage.pipeline.append.grow import append_profile

__all__ = ["append_profile"]
