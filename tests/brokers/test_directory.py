"""The text of the files of a plan, most of which is not written by ``json.dumps``."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import msgspec
import pytest

from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK, fingerprint
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.files import to_json
from tests.brokers.check.plans import LIMITED, SOUND
from tests.brokers.placement.test_log_dir_balance import a_cluster
from tests.matrices import cluster_of

PLANS = {
    **SOUND,
    **LIMITED,
    "log dirs": lambda: plan(a_cluster(random.Random(1), room=2.0), balance_disks=True),
    "new replicas in log dirs": lambda: plan(
        a_cluster(random.Random(2), room=2.0), replication_factor=1, balance_disks=True
    ),
    "other letters": lambda: plan(cluster_of("1 " * 4, "1:é 2:ß 3:\U0001f600")),
    "nothing changes": lambda: plan(cluster_of("1 2", "1 2")),
}


def the_fingerprint(value: dict[str, Any]) -> str:
    keys = ("cluster_id", "topic_ids", "clients", "brokers", "topics", "options")
    before = {
        name: column
        for name, column in value["partitions"].items()
        if name not in ("after", "log_dirs_after")
    }
    found = {key: value[key] for key in keys if key in value} | {"partitions": before}
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", PLANS)
def test_the_text_of_every_file(name: str) -> None:
    made: Plan = PLANS[name]()
    value, files = made.document(), made.files()
    assert value["fingerprint"] == fingerprint(value) == the_fingerprint(value)
    assert files[MARKER] == to_json(value)
    for file, cluster, other in (
        (REASSIGNMENT, made.after, made.before),
        (ROLLBACK, made.before, made.after),
    ):
        entries = cluster.to_reassignment(made.changed)["partitions"]
        for row, log_dirs in cluster.named_log_dirs(made.changed, other).items():
            entries[made.changed.tolist().index(row)]["log_dirs"] = log_dirs
        assert files[file] == to_json({"version": 1, "partitions": entries})
        assert msgspec.json.decode(files[file]) == {"version": 1, "partitions": entries}
