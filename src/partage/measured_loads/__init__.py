"""The measurements of ``partage profile``, as plans and reports read them; no Spark needed.

A profile is a directory: the marker ``profile.json`` and the Parquet tables ``partitions``,
``keys``, ``windows`` and ``rejected``, and ``sizes`` and ``lags`` where these were sampled, each a
directory of part files. Reading needs pyarrow only.
"""

from partage.measured_loads.files import FORMAT_VERSION
from partage.measured_loads.keys import HotKey, shown_key
from partage.measured_loads.model import RATES, Measured, Profile
from partage.measured_loads.places import MARKER, needs_spark
from partage.measured_loads.samples import Lags, Sizes, Windows

__all__ = [
    "FORMAT_VERSION",
    "MARKER",
    "RATES",
    "HotKey",
    "Lags",
    "Measured",
    "Profile",
    "Sizes",
    "Windows",
    "needs_spark",
    "shown_key",
]
