"""Notes below a profile."""

from __future__ import annotations

from rich.console import Console

from partage.report.profile_tables import print_notes, print_totals

NONE = {"in_seconds": 0, "damaged": 0, "damaged_files": []}


def test_what_happened_to_topics_between_two_runs() -> None:
    at = {"topic": "orders", "partition": 3, "from": 10, "to": 27}
    about = {
        "new_offsets": 8,
        "removed_offsets": 17,
        "removed_partitions": [at],
        "went_back": [{**at, "from": 1200, "to": 900}],
        "recreated_topics": ["payments"],
    }
    console = Console(width=200)
    with console.capture() as capture:
        print_notes({**NONE, **about}, console)
        print_notes(NONE, console)
    assert capture.get().splitlines() == [
        "Kafka removed 17 offsets before they were measured, now of orders-3",
        "topic payments was created again: its records are added to those of the one before",
        "the next offset of orders-3 went back from 1,200 to 900: records are lost in Kafka",
    ]


def test_the_bounds_of_estimates() -> None:
    console = Console(width=200)
    with console.capture() as capture:
        for share in (0.0039, 0.0):
            print_notes({**NONE, "approximate": {"distinct_keys": 0.08, "share": share}}, console)
    assert capture.get().splitlines() == [
        "distinct keys are within 8 %, shares of keys within 0.4 percentage points "
        "(four standard errors)",
        "distinct keys are within 8 % (four standard errors)",
    ]


def test_far_records_are_named_with_what_to_do() -> None:
    first, last = "1970-01-01T00:00:01Z", "2099-12-01T00:00Z"
    since, until = "2026-01-01T00:00Z", "2026-01-02T00:00Z"
    row = {"records": 2, "first": first, "last": last, "from": since, "to": until}
    console = Console(width=400)
    with console.capture() as capture:
        print_notes({**NONE, "far_records": [{**row, "topic": f"t{n}"} for n in range(5)]}, console)
    lines = capture.get().splitlines()
    assert lines[0] == (
        f"topic t0: 2 records are far from all others in time (its first record is of {first}, "
        f"its last record is of {last}), and its mean rate is over all that time: measure with "
        f"--from {since} --to {until}, or plan with --rate peak"
    )
    assert lines[3:] == ["likewise 2 more topics: t3, t4"]


def test_names_that_kafka_does_not_accept() -> None:
    console = Console(width=200)
    with console.capture() as capture:
        print_notes({**NONE, "invalid_topics": ["a/b", "c/d", "e", "f"]}, console)
    assert capture.get() == (
        "names that Kafka does not accept for topics (1 to 249 letters, digits, '.', '_' or '-'): "
        "a/b, c/d, e and 1 more\n"
    )


def test_totals_of_one() -> None:
    console = Console(width=200)
    totals = {"records": 1, "bytes": 4, "topics": 1, "partitions": 1, "rejected": 0}
    with console.capture() as capture:
        print_totals(totals, console)
    assert capture.get() == "1 record, 4 B, 1 topic, 1 partition, 0 rejected\n"
