"""How long a Spark Connect server may be out of reach, by a clock of the test's own."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc")
pytest.importorskip("pyspark")

import grpc
from pyspark.sql.connect.client.retries import Retrying

from partage.pipeline.outages import SECONDS, Outages


class Away(grpc.RpcError):
    """What a call ends with if nothing listens."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def trailing_metadata(self) -> None:
        """The server sent none."""


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def called(policy: Outages, clock: Clock, back: float) -> None:
    """Make one call of a server that is away until ``back``."""
    for attempt in Retrying([policy], sleep=clock.sleep, now=clock.now):
        with attempt:
            if clock.time < back:
                raise Away


def test_a_short_outage_is_bridged_again_and_again() -> None:
    clock = Clock()
    policy = Outages(clock.now)
    for _ in range(5):
        called(policy, clock, back=clock.time + SECONDS - 3)
        clock.sleep(SECONDS + 3)


def test_after_a_long_outage_no_call_is_retried() -> None:
    clock = Clock()
    policy = Outages(clock.now)
    with pytest.raises(Away):
        called(policy, clock, back=1e9)
    assert SECONDS <= clock.time < SECONDS + 3
    ended = clock.time
    for _ in range(5):  # those that clean up
        with pytest.raises(Away):
            called(policy, clock, back=1e9)
    assert clock.time == ended


def test_other_errors_are_not_retried() -> None:
    assert not Outages().can_retry(ValueError())
