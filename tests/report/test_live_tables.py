"""A running cluster and its groups as tables."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage import Group, Member, assign
from partage.live.admin.groups import LiveGroup, LiveMember
from partage.live.admin.states import (
    BrokerState,
    LogDir,
    MeasuredRates,
    PartitionRates,
    PartitionState,
    Snapshot,
    Throttles,
)
from partage.printable import is_printable
from partage.report.group_tables import print_assignment
from partage.report.live_tables import (
    furthest_behind,
    member_names,
    print_group,
    print_groups,
    print_snapshot,
)
from partage.report.printing import PrintableConsole


def printed(call: Any, *given: Any, **more: Any) -> str:
    out = io.StringIO()
    call(*given, PrintableConsole(file=out, width=100, no_color=True), **more)
    return out.getvalue()


def test_a_snapshot() -> None:
    disk = (LogDir("/d", 10**9, 4 * 10**8, cordoned=True),)
    found = Snapshot(
        "id",
        datetime(2026, 1, 1, tzinfo=UTC),
        1,
        (
            BrokerState(1, "a", "h", 9, alive=True, log_dirs=disk),
            BrokerState(2, "b", "h", 9, alive=False),
        ),
        (
            PartitionState("t", 0, (1, 2), 1, (1,), sizes={1: 5_000_000}),
            PartitionState("t", 1, (2,), None, (2,), adding=(2,), removing=(1,)),
        ),
        Throttles({1: {"leader.replication.throttled.rate": "1"}}, {}),
        warnings=("broker 2: its log dirs cannot be read: away",),
    )
    text = printed(print_snapshot, found.to_json())
    assert "2 brokers, 1 topic, 2 partitions, 3 replicas, 5.00 MB" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["1", "a", "cordoned", "1", "1", "5.00", "MB", "400", "MB"] in lines
    assert any(line[:3] == ["2", "b", "dead"] for line in lines)
    assert "1 partition without a leader: t-1" in text
    assert "1 partition with replicas out of sync: t-0" in text
    assert "1 partition being reassigned: shown as after the reassignment: t-1" in text
    assert "Replication throttles are set on: 1" in text
    assert "! broker 2: its log dirs cannot be read: away" in text


def test_a_snapshot_with_several_log_dirs() -> None:
    """A row per log dir, with what is in it; which replica is where is in the JSON."""
    dirs = (
        LogDir("/d1", 10**9, 6 * 10**8, cordoned=False, replica_bytes=2 * 10**8),
        LogDir("/d2", None, None, cordoned=False, offline="KafkaStorageError"),
    )
    brokers = (
        BrokerState(1, None, "h", 9, alive=True, log_dirs=dirs),
        BrokerState(2, None, "h", 9, alive=True, log_dirs=dirs[:1]),
    )
    one = PartitionState("t", 0, (1, 2), 1, (1, 2), sizes={1: 2 * 10**8}, log_dirs={1: "/d1"})
    taken = Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, (one,), Throttles())
    assert taken.to_json()["partitions"][0]["log_dirs"] == ["/d1", "any"]
    lines = [line.split() for line in printed(print_snapshot, taken.to_json()).splitlines()]
    assert ["1", "/d1", "online", "1", "200", "MB", "25%", "600", "MB"] in lines
    assert ["1", "/d2", "offline", "0", "0", "B", "–", "–"] in lines
    assert not any(line[:2] == ["2", "/d1"] for line in lines)
    first, second = taken.cluster().brokers[0].log_dirs
    assert (first.disk_bytes, first.takes_replicas) == (8 * 10**8, True)
    assert (second.disk_bytes, second.takes_replicas) == (None, False)


def test_a_snapshot_with_rates() -> None:
    """A broker receives what is written to its replicas; its leaders send reads and copies."""
    brokers = tuple(BrokerState(b, None, "h", 9, alive=True) for b in (1, 2))
    partitions = (
        PartitionState("t", 0, (1, 2), 1, (1, 2)),
        PartitionState("t", 1, (2, 1), 2, (1, 2)),
    )
    taken = Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, partitions, Throttles())
    rates = {("t", 0): PartitionRates(4e6, 10e6), ("t", 1): PartitionRates(1e6, 0.0)}
    text = printed(print_snapshot, taken.with_rates(MeasuredRates(60, 7, rates)).to_json())
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "1 – alive 2 1 0 B – 5.00 MB/s 14.0 MB/s" in lines
    assert "2 – alive 2 1 0 B – 5.00 MB/s 1.00 MB/s" in lines
    assert "Rates of 1 min: producers write 5.00 MB/s, consumers read 10.0 MB/s" in lines
    hottest = "t-0 (in 4.00 MB/s, out 10.0 MB/s), t-1 (in 1.00 MB/s, out 0 B/s)"
    assert f"Hottest partitions: {hottest}" in lines

    unknown = {key: PartitionRates(one.bytes_in) for key, one in rates.items()}
    text = printed(print_snapshot, taken.with_rates(MeasuredRates(60, 7, unknown)).to_json())
    assert "1 – alive 2 1 0 B – 5.00 MB/s –" in [
        " ".join(line.split()) for line in text.splitlines()
    ]


def group() -> LiveGroup:
    members = (
        LiveMember("m1", "c1", "host", None, "a", ("t",), (("t", 0), ("t", 1), ("t", 2))),
        LiveMember("m2", "c2", "host", "static", None, ("t",), (("t", 3),)),
    )
    return LiveGroup(
        "billing",
        "classic",
        "Stable",
        "range",
        members,
        {"t": [[], [], [], []]},
        {("t", 0): 5, ("t", 1): None, ("t", 2): None, ("t", 3): 7},
    )


def test_groups() -> None:
    one = group()
    other = LiveGroup("new", "consumer", "Stable", None, None, lag={("t", 0): None})
    rows = [one.described(), other.described()]
    assert rows[0]["exact"]["loads"] == [2, 2]
    assert rows[0]["exact"]["moves"] == 1
    assert rows[0]["lag"] == {"t": [5, None, None, 7]}
    assert rows[1]["exact"] is None
    assert printed(print_groups, []) == "The cluster has no consumer groups.\n"
    text = printed(print_groups, rows)
    lines = [line.split() for line in text.splitlines()]
    assert ["billing", "Stable", "range", "2", "1–3", "≥12", "2", "1"] in lines
    assert ["new", "Stable", "–", "–", "–", "–", "–", "–"] in lines
    assert text.endswith(
        "\n2 consumer groups; furthest behind: billing, 12 records\n"
        "Partitions without a commit, lag unknown: billing 2, new 1\n"
    )
    text = printed(print_group, rows[0])
    lines = [line.split() for line in text.splitlines()]
    assert ["c1", "host", "a", "3", "≥5", "t-0,", "t-1,", "t-2"] in lines
    assert any(line[:2] == ["static", "host"] for line in lines)
    assert "Lag: 12 records, 2 partitions without a commit" in text
    assert lines[lines.index(["Most", "lagging", "partitions"]) + 3 :] == [
        ["t-3", "7", "static"],
        ["t-0", "5", "c1"],
    ]
    text = printed(print_group, rows[1])
    assert "Its members cannot be read" in text
    assert "Lag: unknown, 1 partition without a commit" in text


def test_lags_that_are_not_known() -> None:
    """A lag that is unknown is not shown as 0, and of groups without a known lag, that with the
    most partitions is furthest behind."""
    share = LiveGroup("sharers", "share", "Stable", "simple", ()).described()
    forbidden = LiveGroup("secret", "classic", "Stable", None, None).described()
    empty = LiveGroup("empty", "classic", "Empty", None, (), lag={}).described()
    read = LiveGroup("read", "classic", "Empty", None, (), lag={("t", 0): 0}).described()
    new = LiveGroup("new", "classic", "Empty", None, (), lag={("t", 0): None}).described()
    rows = [empty, forbidden, new, read, share]
    assert furthest_behind(rows) is new
    text = printed(print_groups, rows)
    lags = [line.split()[-3] for line in text.splitlines()[2:7]]
    assert lags == ["–", "read", "–", "0", "read"]
    assert "\n4 consumer groups, 1 share group\n" in text
    assert "lag of share groups: not read, kafka-share-groups.sh --describe prints it" in text
    shown = [printed(print_group, row).splitlines()[-1] for row in rows]
    assert shown == [
        "Lag: unknown, no commits",
        "Lag: not read",
        "Lag: unknown, 1 partition without a commit",
        "Lag: 0 records",
        "Lag: not read, kafka-share-groups.sh --describe prints it",
    ]


def named(number: int, client: str, instance: str | None = None) -> LiveMember:
    return LiveMember(f"{client}-{number:08}-uuid", client, "host", instance, None, ("t",), ())


def test_members_have_one_name_in_all_tables() -> None:
    """Equal client ids, and long ones that are cut, are told apart by the member id."""
    members = (
        named(1, "app"),
        named(2, "app"),
        named(3, "one"),
        named(4, "app", "seat"),
        named(5, "a-client-id-of-more-5-than-thirty-characters"),
        named(6, "a-client-id-of-more-6-than-thirty-characters"),
    )
    group = LiveGroup("g", "classic", "Stable", "range", members, {"t": [[]] * 6})
    row = group.described()
    names = ["app 00000001", "app 00000002", "one", "seat"]
    long_names = ["a-client-i…characters 00000005", "a-client-i…characters 00000006"]
    assert sorted(member_names(row["members"]).values()) == sorted([*names, *long_names])
    tables = (
        printed(print_group, row),
        printed(print_assignment, group.exact, "sticky", names=member_names(row["members"])),
    )
    for table in tables:
        assert all(f"\n{name}  " in table for name in (*names, *long_names))
        assert "uuid" not in table


@pytest.mark.parametrize(
    "state", ["PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"]
)
def test_a_group_that_is_rebalancing(state: str) -> None:
    row = group().described()
    said = "The group is rebalancing: partitions shown may be missing, or those of before."
    assert said in printed(print_group, row | {"state": state})
    assert said not in printed(print_group, row)


def test_co_partitioning_that_range_keeps() -> None:
    """Lost where one topic of equally many partitions is changed."""

    def live(assignor: str, topics: dict[str, int]) -> LiveGroup:
        members = [Member(name, tuple(topics)) for name in ("a", "b")]
        has = assign(Group(topics, members), "range").as_dict()
        return LiveGroup(
            "g",
            "classic",
            "Stable",
            assignor,
            tuple(
                LiveMember(one, one, "host", None, None, tuple(topics), tuple(owned))
                for one, owned in has.items()
            ),
            {topic: [[]] * count for topic, count in topics.items()},
        )

    odd = live("range", {"t": 3, "u": 3})
    assert odd.co_partitioning_lost == ("t", "u")
    assert odd.described()["exact"]["co_partitioning_lost"] == ["t", "u"]
    assert live("range", {"t": 4, "u": 4}).co_partitioning_lost == ()
    assert live("roundrobin", {"t": 3, "u": 3}).co_partitioning_lost == ()
    assert live("range", {"t": 3, "u": 1}).co_partitioning_lost == ()


def test_reads_across_racks_of_a_group() -> None:
    near = LiveMember("m1", "c1", "host", None, "a", ("t",), (("t", 3),))
    far = LiveMember("m2", "c2", "host", None, "b", ("t",), (("t", 0), ("t", 1), ("t", 2)))
    racks = {"t": [["a"], ["a"], ["a"], ["b"]]}
    one = LiveGroup("billing", "classic", "Stable", "range", (near, far), racks)
    exact = one.described()["exact"]
    assert exact["reads"]["before"] == {"within_rack": 0, "across_racks": 4, "unknown": 0}
    assert (exact["loads"], exact["reads"]["after"]["across_racks"]) == ([2, 2], 1)
    rates = {"t": dict.fromkeys(range(4), 2000000000)}
    first = replace(one, racks_first=True, bytes_in=rates)
    exact = first.described()["exact"]
    assert (exact["loads"], exact["reads"]["after"]["across_racks"]) == ([1, 3], 0)
    assert exact["reads"]["before"]["bytes_per_second"]["across_racks"] == 8e6
    text = printed(print_assignment, first.exact, "sticky")
    assert "0 of 4 partitions, 0 B/s of 8.00 MB/s (before: 4 of 4 partitions, 8.00 MB/s" in text
    skewed = replace(first, max_skew=0.0).described()["exact"]
    assert skewed["loads"] == [2, 2]
    other = replace(first, assignor="failover").described()["exact"]
    assert other["assignor"] == "failover"


FORGED = "a\n✓ all is well\r\x1b[2J\u202e[red]"
SHOWN = r"a\n✓ all is well\r\x1b[2J\u202e[red]"


def test_names_of_a_cluster_forge_no_line() -> None:
    """Kafka accepts any text as a client id, a group or a rack."""
    found = Snapshot(
        "id",
        datetime(2026, 1, 1, tzinfo=UTC),
        1,
        (BrokerState(1, FORGED, FORGED, 9, alive=True),),
        (PartitionState("t", 0, (1,), 1, (1,), sizes={1: 5_000_000}),),
        Throttles({}, {}),
        warnings=(FORGED,),
    )
    member = LiveMember(FORGED, FORGED, FORGED, None, FORGED, ("t",), (("t", 0),))
    group = LiveGroup(FORGED, "classic", "Stable", FORGED, (member,), {"t": [[]]}, {("t", 0): 3})
    text = "".join(
        (
            printed(print_snapshot, found.to_json()),
            printed(print_groups, [group.described()]),
            printed(print_group, group.described()),
            printed(print_assignment, group.exact, "sticky"),
        )
    )
    assert not any(line.startswith("✓") for line in text.splitlines())
    assert SHOWN[:8] in text
    assert is_printable(text.replace("\n", ""))
