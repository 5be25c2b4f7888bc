"""Metrics of a watch."""

from __future__ import annotations

from typing import Any

from partage.report.watch_metrics import prometheus

EVENT: dict[str, Any] = {
    "event": "batch",
    "batch": 7,
    "records": 12,
    "seconds": 0.25,
    "open_windows": 3,
    "fairness": None,
    "unfair": False,
    "counts": {
        "from": None,
        "to": None,
        "watermark": "2026-09-21T14:14:00Z",
        "records": 40,
        "bytes": 4000,
        "late": 1,
        "rejected": 2,
        "open_records": 9,
    },
}


def values(event: dict[str, Any]) -> dict[str, float]:
    lines = [line for line in prometheus(event).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.split(" ") for line in lines)}


def test_every_metric_has_a_type_and_help_and_a_value() -> None:
    lines = prometheus(EVENT).splitlines()
    assert lines[:3] == [
        "# HELP partage_watch_batch Number of the last batch.",
        "# TYPE partage_watch_batch gauge",
        "partage_watch_batch 7",
    ]
    for head, kind, value in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        name = value.split(" ")[0]
        assert head.startswith(f"# HELP {name} ")
        assert kind == f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"


def test_values_that_are_not_known_yet_are_left_out() -> None:
    found = values(EVENT)
    assert found["partage_watch_watermark_timestamp_seconds"] == 1_790_000_040
    assert found["partage_watch_late_records_total"] == 1
    absent = {"partage_watch_fairness_ratio", "partage_watch_closed_timestamp_seconds"}
    assert not absent & found.keys()
    later = {**EVENT, "fairness": 1.5, "unfair": True}
    later["counts"] = {**EVENT["counts"], "to": "1970-01-01T00:01:00Z"}
    new = values(later)
    assert new.keys() - found.keys() == absent
    assert (new["partage_watch_fairness_ratio"], new["partage_watch_unfair"]) == (1.5, 1)
    assert new["partage_watch_closed_timestamp_seconds"] == 60
