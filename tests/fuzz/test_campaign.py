"""Damaged input ends in success or in one line, for every reader: some hundred cases in the daily
tier, more than eight thousand from the seed of the run in the long one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("kafka")
pytest.importorskip("pyspark")

from tests.fuzz.campaign import Campaign, opened, shares
from tests.fuzz.readers import READERS, Reader

DAILY, LONG = 150, 8_000
SEEDS = 10**6
"""Room for the cases of one run."""


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    with opened() as found:
        yield found


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_intact_input_is_read(campaign: Campaign, reader: Reader) -> None:
    """Otherwise no damage would be noticed."""
    for case in reader.cases:
        ended = campaign.ended(reader, case)
        assert ended.fault() is None
        unfinished = not ended.err or "is not being applied now" in ended.err
        assert ended.code == 0 or (ended.code == 1 and unfinished), ended


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_input(campaign: Campaign, reader: Reader) -> None:
    run(campaign, reader, 0, shares(DAILY)[reader.name])


@pytest.mark.long
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_input_at_length(
    campaign: Campaign, reader: Reader, pytestconfig: pytest.Config
) -> None:
    seed = int(pytestconfig.getoption("hypothesis_seed") or 1)
    run(campaign, reader, seed * SEEDS, shares(LONG)[reader.name])


def run(campaign: Campaign, reader: Reader, first: int, count: int) -> None:
    faults = [found for s in range(first, first + count) if (found := campaign.fault(reader, s))]
    repeat = f"python -m tests.fuzz.campaign --reader {reader.name!r} --cases 1 --seed SEED"
    assert not faults, "\n".join([f"{len(faults)} of {count}; repeat one: {repeat}", *faults[:20]])
