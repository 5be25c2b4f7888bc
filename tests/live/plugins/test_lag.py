"""A group's lag as weights, from the answers of an admin client."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import TopicPartition
from kafka.admin import OffsetSpec

from partage.errors import InputError
from partage.live.plugins import lag
from partage.live.plugins.lag import Lag


class Admin:
    """Two topics; each partition holds the records from 10 to 100."""

    def __init__(self, **_: Any) -> None:
        pass

    def list_group_offsets(self, group: str) -> Any:
        offsets = {("t", 0): 40, ("t", 1): -1, ("u", 0): 120}
        return {
            group: {TopicPartition(*at): SimpleNamespace(offset=o) for at, o in offsets.items()}
        }

    def list_partition_offsets(self, asked: Any) -> Any:
        of = {OffsetSpec.EARLIEST: 10, OffsetSpec.LATEST: 100}
        return {at: SimpleNamespace(offset=of[spec]) for at, spec in asked.items()}

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("reset", "fresh"), [("earliest", 90), ("latest", 0)])
def test_lag_without_a_committed_offset(
    monkeypatch: pytest.MonkeyPatch, reset: str, fresh: int
) -> None:
    """An offset of -1 means that none was committed."""
    monkeypatch.setattr(lag, "KafkaAdminClient", Admin)
    lags = Lag("localhost:9092", "group", reset=reset)({"t": 3, "u": 1})
    assert lags == {"t": [60, fresh, fresh], "u": [0]}


def test_an_unknown_reset() -> None:
    with pytest.raises(InputError, match="reset: 'none': expected one of earliest, latest"):
        Lag("localhost:9092", "group", reset="none")
