"""A cluster that does not answer for a moment is asked again."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from kafka import errors as kafka_errors

from partage.live.execution.asking import Asking


@pytest.mark.parametrize(
    "error", [kafka_errors.KafkaConnectionError(), kafka_errors.UnknownBrokerIdError(2)]
)
def test_a_broker_that_went_away_just_now_is_no_end(error: Exception) -> None:
    pauses: list[float] = []
    asking = Asking(None, 0.5, clock=lambda: 0.0, sleep=pauses.append)

    def call() -> str:
        if len(pauses) < 2:
            raise error
        return "answered"

    assert asking.patiently(call) == "answered"
    assert pauses == [0.5, 0.5]
