"""Lists of throttled replicas."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.execution import throttles
from partage.live.execution.changes import Change


def test_a_list_that_kafka_cannot_parse_becomes_every_replica() -> None:
    changes = [Change("t", n, (1, 2), (2, 3)) for n in range(4000)]
    senders, receivers = throttles._replica_lists(changes)
    assert throttles._merged(None, senders["t"]) == "*"
    assert throttles._merged("9:9", receivers["t"]).startswith("9:9,0:3,")
    assert throttles._merged("*", receivers["t"]) == "*"
