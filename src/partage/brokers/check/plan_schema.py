"""The schema of plan.json: every field of docs/plan-directory.md, and its type.

Fields that a check recounts are ``ANY``: comparing them with the recount includes their type.
"""

from __future__ import annotations

from partage.brokers.check.schema import (
    ANY,
    BYTES,
    CAPACITY,
    COUNT,
    FLAG,
    FROM_1,
    IDS,
    INT_32,
    NAME,
    RATE,
    TEXT,
    WHOLE,
    OrNull,
    Schema,
)

_OPTIONS: Schema = {
    "add_broker?": [TEXT],
    "remove_broker?": [TEXT],
    "replace_broker?": [TEXT],
    "replication_factor?": [TEXT],
    "topics?": TEXT,
    "strategy?": NAME,
    "reassignment?": TEXT,
    "no_moves?": FLAG,
    "balance?": TEXT,
    "leaders?": TEXT,
    "spread?": TEXT,
    "relieve?": TEXT,
    "max_moves?": COUNT,
    "max_bytes_moved?": TEXT,
    "tolerance?": TEXT,
    "time_limit?": TEXT,
    "concurrency?": FROM_1,
    "batch?": FROM_1,
    "throttle?": TEXT,
}
_BROKER: Schema = {
    "id": INT_32,
    "rack": OrNull(NAME),
    "disk_bytes": OrNull(BYTES),
    "capacity": CAPACITY,
    "alive": FLAG,
    "excluded": FLAG,
    "added": FLAG,
    "network_in_bytes_per_second?": BYTES,
    "network_out_bytes_per_second?": BYTES,
}
_PARTITIONS: Schema = {
    "topic": [COUNT],
    "partition": [INT_32],
    "size_bytes": [OrNull(BYTES)],
    "bytes_per_second": OrNull([RATE]),
    "bytes_in_per_second?": [RATE],
    "bytes_out_per_second?": [RATE],
    "chosen": [FLAG],
    "replication_factor": [INT_32],
    "before": [IDS],
    "after": [[WHOLE]],  # check_rules does the rest
}
_BEFORE: dict[str, Schema] = {
    "replicas_per_broker": ANY,
    "leaders_per_broker": ANY,
    "leaders_after_failure": ANY,
    "leaders_after_rack_failure": ANY,
    "worst_survivor_lower_bound": ANY,
    "rack_violations": ANY,
    "topic_spread": ANY,
    "bytes_max_over_mean": ANY,
    "resources?": ANY,
}
_AFTER: Schema = _BEFORE | {
    "strategy": ANY,
    "moves": ANY,
    "moves_lower_bound": ANY,
    "bytes_moved": ANY,
    "bytes_moved_lower_bound": ANY,
    "optimal": ANY,
    "leader_changes": ANY,
    "settled": FLAG,
    "waves": ANY,
    "waves_lower_bound": ANY,
    "binding": ANY,
    "gaps": ANY,
}
_BAND: Schema = {"low": TEXT, "high": TEXT, "fair": TEXT}
_PRICES: Schema = {
    "bands?": {
        "replicas": _BAND,
        "leaders": _BAND,
        "disk": _BAND,
        "in": _BAND,
        "out": _BAND,
        "leader_in": _BAND,
    },
    "resources?": {"replicas": TEXT, "disk": TEXT, "in": TEXT},
    "weights?": {"load": WHOLE, "moves": WHOLE, "spread": WHOLE},
    "load_weights?": [WHOLE],
    "brokers?": TEXT,
    "topics?": TEXT,
    "aim?": [WHOLE],
    "limit?": TEXT,
    "fair?": TEXT,
    "within?": TEXT,
    "move_price?": WHOLE,
    "confined?": [COUNT],
    "low?": TEXT,
    "high?": TEXT,
    "pairs?": TEXT,
    "scale?": COUNT,
    "cases?": [{"broker?": COUNT, "pairs?": TEXT, "brokers?": TEXT, "scale?": COUNT}],
}
_STAGE: Schema = {
    "stage": TEXT,
    "value": WHOLE,
    "bound": WHOLE,
    "exact": FLAG,
    "prices": _PRICES,
}
_WAVE: Schema = {
    "file": ANY,
    "partitions": ANY,
    "moves": ANY,
    "bytes": ANY,
    "seconds": ANY,
    "brokers": ANY,
    "replicas_in": ANY,
    "replicas_out": ANY,
    "bytes_in": ANY,
    "bytes_out": ANY,
}
PLAN: Schema = {
    "format_version": ANY,
    "partage": TEXT,
    "strategy": TEXT,
    "cluster_id?": OrNull(TEXT),
    "topic_ids?": OrNull([OrNull(TEXT)]),
    "changes": FLAG,
    "options": _OPTIONS,
    "brokers": [_BROKER],
    "topics": [TEXT],
    "partitions": _PARTITIONS,
    "figures": {"before": _BEFORE, "after": _AFTER},
    "binding": [TEXT],
    "gaps": ANY,
    "loads": [TEXT],
    "warnings": [TEXT],
    "certificate": {"stages": [_STAGE]},
    "waves": [_WAVE],
    "fingerprint": TEXT,
}
