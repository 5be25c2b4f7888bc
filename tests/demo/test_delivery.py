"""Records and pauses counted on small examples."""

from __future__ import annotations

import pytest

from partage.demo.delivery import count_delivery, longest, pauses, per_second


def test_every_record_is_counted_once() -> None:
    sent = [(1.0, "t-0", 0, 2), (2.0, "t-1", 0, 0), (3.0, "t-0", 3, 3)]
    read = [(1.5, "t-0", 0, 1), (1.6, "t-0", 1, 2), (2.5, "t-1", 0, 0)]
    found = count_delivery(sent, read)
    assert (found.acknowledged, found.read, found.missing, found.again) == (5, 4, 1, 1)


def test_a_record_may_be_read_without_an_acknowledgement() -> None:
    found = count_delivery([(1.0, "t-0", 0, 0)], [(1.1, "t-0", 0, 1)])
    assert (found.acknowledged, found.read, found.missing) == (1, 2, 0)


def test_a_pause_is_between_two_records_or_at_an_end() -> None:
    records = [(11.0, "t-0", 0, 0), (14.0, "t-0", 1, 1), (12.0, "t-1", 0, 0), (30.0, "t-1", 9, 9)]
    found = pauses(records, ["t-0", "t-1", "t-2"], 10.0, 20.0)
    assert {name: [(one.at, one.seconds) for one in ones] for name, ones in found.items()} == {
        "t-0": [(10.0, 1.0), (11.0, 3.0), (14.0, 6.0)],
        "t-1": [(10.0, 2.0), (12.0, 8.0)],
        "t-2": [(10.0, 10.0)],
    }
    assert longest(found).partition == "t-2"
    assert found["t-1"][1].to_json(10.0) == {"partition": "t-1", "seconds": 8.0, "at": 2.0}


def test_the_order_of_records_does_not_matter() -> None:
    records = [(float(at), "t-0", at, at) for at in (5, 1, 9, 3, 7)]
    assert longest(pauses(records, ["t-0"], 0.0, 10.0)).seconds == 2.0


@pytest.mark.parametrize(
    ("records", "counts"),
    [
        ([(10.0, "t-0", 0, 0), (10.9, "t-0", 1, 3), (12.0, "t-1", 0, 0)], [4, 0, 1]),
        ([(9.9, "t-0", 0, 0), (13.5, "t-0", 1, 1)], [0, 0, 0]),
    ],
)
def test_records_of_per_second(
    records: list[tuple[float, str, int, int]], counts: list[int]
) -> None:
    assert per_second(records, 10.0, 13.4) == counts
