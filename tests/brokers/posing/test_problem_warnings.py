"""Warnings about inputs that lack something."""

from __future__ import annotations

from tests.brokers.posing.test_resolving import BARE, RACKS, problem


def test_an_input_that_has_no_place_for_racks_is_a_warning() -> None:
    assert not any("racks" in one for one in problem(BARE).warnings)
    proposal, racks = problem({"version": 1, "partitions": BARE["partitions"]}).warnings
    assert "read as the current placement" in proposal
    assert "no place for racks" in racks
    assert racks.endswith(
        "plan from a file of partage snapshot, or from JSON that lists the brokers with their racks"
    )


def test_a_partition_whose_holders_are_all_dead_is_a_warning() -> None:
    value = BARE | {"partitions": [{"topic": "t", "partition": 0, "replicas": [3]}]}
    _, line = problem(value).warnings  # the first names the dead broker
    assert "no live replica to copy from" in line
    assert "t-0" in line


def test_sizes_that_are_known_for_some_are_a_warning() -> None:
    assert any("unknown sizes count as 0 bytes" in line for line in problem(RACKS).warnings)
