"""Loads measured by Spark on a cluster's own records: sources → DataFrame functions → tables.

Importing it needs pyspark and pyarrow; without them it raises a PartageError that names the missing
one.
"""

from partage.errors import PartageError

try:
    from partage.pipeline.append import append_profile
    from partage.pipeline.key_report import key_report
    from partage.pipeline.measure import (
        accepted,
        by_key,
        by_window,
        keys,
        partitions,
        rejected,
        windows,
    )
    from partage.pipeline.placements import hashed, per_key, placed
    from partage.pipeline.profile import profile_tables, write_profile
    from partage.pipeline.session import session
    from partage.pipeline.shipping import ship
    from partage.pipeline.sources import read_records
    from partage.pipeline.stored_places import copied_profile
except ImportError as error:
    package = (error.name or "").partition(".")[0]
    if package not in ("pyspark", "py4j", "pyarrow"):
        raise
    from partage.installation import not_installed

    raise PartageError(not_installed(package, "spark")) from None

__all__ = [
    "accepted",
    "append_profile",
    "by_key",
    "by_window",
    "copied_profile",
    "hashed",
    "key_report",
    "keys",
    "partitions",
    "per_key",
    "placed",
    "profile_tables",
    "read_records",
    "rejected",
    "session",
    "ship",
    "windows",
    "write_profile",
]
