"""The progress of ``partage watch`` as metrics: Prometheus' text format, one file.

For the textfile collector of Prometheus' node exporter: it reads the file, which is replaced after
each batch. https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

_METRICS = (
    ("batch", "gauge", "Number of the last batch."),
    ("batch_records", "gauge", "Records of the last batch."),
    ("batch_seconds", "gauge", "Duration of the last batch."),
    ("records_total", "counter", "Records in closed windows."),
    ("bytes_total", "counter", "Bytes in closed windows."),
    ("late_records_total", "counter", "Records dropped because their window was closed."),
    ("rejected_records_total", "counter", "Rows that are not valid records."),
    ("open_records", "gauge", "Records in open windows."),
    ("open_windows", "gauge", "Open windows, one per partition."),
    ("watermark_timestamp_seconds", "gauge", "Windows that end by this time are closed."),
    ("closed_timestamp_seconds", "gauge", "End of the last closed window."),
    ("fairness_ratio", "gauge", "Bytes per second of the busiest broker over the mean."),
    ("unfair", "gauge", "1 while an alert is active."),
)
"""Name without ``partage_watch_``, type, and help of each."""


def prometheus(event: Mapping[str, Any]) -> str:
    """The event ``batch`` as text; metrics without a value yet are left out."""
    counts = event["counts"]
    values = {
        "batch": event["batch"],
        "batch_records": event["records"],
        "batch_seconds": event["seconds"],
        "records_total": counts["records"],
        "bytes_total": counts["bytes"],
        "late_records_total": counts["late"],
        "rejected_records_total": counts["rejected"],
        "open_records": counts["open_records"],
        "open_windows": event["open_windows"],
        "watermark_timestamp_seconds": _seconds(counts["watermark"]),
        "closed_timestamp_seconds": _seconds(counts["to"]),
        "fairness_ratio": event["fairness"],
        "unfair": int(event["unfair"]),
    }
    lines = []
    for name, kind, help_ in _METRICS:
        if values[name] is not None:
            full = f"partage_watch_{name}"
            lines += [f"# HELP {full} {help_}", f"# TYPE {full} {kind}", f"{full} {values[name]}"]
    return "\n".join(lines) + "\n"


def _seconds(time: str | None) -> int | None:
    """ISO 8601 as seconds since 1970."""
    return None if time is None else round(datetime.fromisoformat(time).timestamp())
