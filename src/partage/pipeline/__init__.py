"""Loads measured by Spark on a cluster's own records: sources → DataFrame functions → tables."""

from partage.pipeline.measure import (
    accepted,
    by_key,
    by_window,
    keys,
    partitions,
    rejected,
    windows,
)
from partage.pipeline.profile import profile_tables, write_profile
from partage.pipeline.session import session
from partage.pipeline.sources import read_records

__all__ = [
    "accepted",
    "by_key",
    "by_window",
    "keys",
    "partitions",
    "profile_tables",
    "read_records",
    "rejected",
    "session",
    "windows",
    "write_profile",
]
