"""The rack rule as the cause of a disk that overflows."""

from __future__ import annotations

import pytest

from partage.brokers.placement.rack_disks import too_small_rack
from partage.brokers.planning import plan, problem_of
from partage.errors import CannotError
from tests.matrices import cluster_of

ROWS = "1,2/10000000000 2,1/10000000000"


@pytest.mark.parametrize("balance", ["replicas", "bytes"])
def test_a_rack_that_must_hold_more_than_its_disks(balance: str) -> None:
    small = cluster_of(ROWS, "1:a/12000000000 2:b/90000000000 3:b/90000000000")
    with pytest.raises(CannotError) as raised:
        plan(small, balance=balance)
    overflows = {
        "replicas": "overflows by 8.00 GB",
        "bytes": "would hold 20.0 GB, 8.00 GB too much",
    }
    assert str(raised.value) == (
        f"broker 1: its disk of 12.0 GB {overflows[balance]} (proven: by the rack rule, rack a "
        "must hold 20.0 GB, its disks have 12.0 GB): add disk or brokers to rack a"
    )


@pytest.mark.parametrize(
    "brokers",
    [
        "1:a/20 2:b/90 3:b/90",  # enough
        "1/12 2/90 3/90",  # no racks
        "1:a/12 2:b/15 3:b/10",  # all disks together are too small
        "1:a 2:b/90 3:b/90",  # an unknown disk
        "1:a/12 2:b/90 3:c/90",  # other racks have space
    ],
)
def test_other_causes_are_not_blamed_on_the_rule(brokers: str) -> None:
    cluster = cluster_of("1,2/10 2,1/10", brokers)
    assert too_small_rack(problem_of(cluster)) is None


def test_more_replicas_than_racks() -> None:
    full = cluster_of("1,2,3/10 1,2,3/10", "1:a/15 2:b/90 3:b/90 4:b/90")
    found = too_small_rack(problem_of(full))
    assert found is not None
    assert (found.name, found.why) == (
        "a",
        "by the rack rule, rack a must hold 20 B, its disks have 15 B",
    )
