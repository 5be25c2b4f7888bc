"""Lags from the output of Kafka 4.3's kafka-consumer-groups.sh, and weights from lags."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from partage import Group, Member, assign
from partage.errors import InputError
from partage.group.lags import read_lags

# of a group with one member, before it committed more than one partition
PRINTED = """
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                              HOST            CLIENT-ID
billing         clicks          0          0               10              10              app-9cb21355-8892-4e07-9812-b4de6d73a2b8 /127.0.0.1      app
billing         clicks          1          0               0               0               app-9cb21355-8892-4e07-9812-b4de6d73a2b8 /127.0.0.1      app
billing         orders          0          0               309             309             app-9cb21355-8892-4e07-9812-b4de6d73a2b8 /127.0.0.1      app
billing         orders          1          0               165             165             app-9cb21355-8892-4e07-9812-b4de6d73a2b8 /127.0.0.1      app
billing         orders          2          0               206             206             app-9cb21355-8892-4e07-9812-b4de6d73a2b8 /127.0.0.1      app
billing         orders          3          300             320             20              app-9cb21355-8892-4e07-9812-b4de6d73a2b8 /127.0.0.1      app
"""  # noqa: E501
VERBOSE = """
Consumer group 'billing' has no active members.

GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
billing         orders          3          0               300             320             20              -               -               -
two words       orders          0          -               -               7               -               -               -               -
two words       orders          1          -               -               -               -               -               -               -
"""  # noqa: E501
LAGS = {"clicks": {0: 10, 1: 0}, "orders": {0: 309, 1: 165, 2: 206, 3: 20}}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lag.txt"
    path.write_text(text)
    return path


def test_output_of_the_tool(tmp_path: Path) -> None:
    assert read_lags(written(tmp_path, PRINTED)) == LAGS
    packed = tmp_path / "lag.txt.gz"
    packed.write_bytes(gzip.compress(PRINTED.encode()))
    assert read_lags(packed, "billing") == LAGS


def test_one_of_several_groups(tmp_path: Path) -> None:
    path = written(tmp_path, VERBOSE)
    assert read_lags(path, "billing") == {"orders": {3: 20}}
    # nothing committed: the lag is the end offset, and unknown without one
    assert read_lags(path, "two words") == {"orders": {0: 7}}
    with pytest.raises(InputError, match="several groups, choose one: billing, two words"):
        read_lags(path)
    with pytest.raises(InputError, match="has no group 'other': billing, two words"):
        read_lags(path, "other")


def test_messages_about_groups_are_ignored(tmp_path: Path) -> None:
    """Output of ``--all-groups``, with messages from stderr."""
    messages = (
        "\nConsumer group 'g2' has no active members.\n",
        "\nError: Consumer group 'that was deleted' does not exist.\n",
        "\nWarning: Consumer group 'with a rather long name' is rebalancing.\n",
    )
    path = written(
        tmp_path, "".join([PRINTED, *messages, VERBOSE.replace("billing", "archive"), *messages])
    )
    with pytest.raises(InputError, match="several groups, choose one: archive, billing, two words"):
        read_lags(path)
    assert read_lags(path, "billing") == LAGS
    assert read_lags(path, "archive") == {"orders": {3: 20}}


def test_members_without_partitions_are_ignored(tmp_path: Path) -> None:
    idle = f"billing         {'-               ' * 5}app-2 /127.0.0.1      app\n"
    assert read_lags(written(tmp_path, PRINTED + idle)) == LAGS


def test_offset_beyond_the_end(tmp_path: Path) -> None:
    path = written(tmp_path, PRINTED.replace("20              app", "-30             app"))
    assert read_lags(path)["orders"][3] == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no lags found"),
        ("GROUP TOPIC\n", "no lags found"),
        (PRINTED.replace("309             309", "309             much"), "line 5: lag 'much'"),
        (
            PRINTED.replace("309             309", "309             9223372036854775807"),
            "line 5: lag '9223372036854775807': expected a whole number from 0 to 1125899906842624",
        ),
        (
            PRINTED.replace("orders          1", "orders          0"),
            "line 6: orders-0 is listed twice",
        ),
        (PRINTED.replace("orders          1", "orders          x"), "line 6: partition 'x'"),
        (PRINTED.replace("-OFFSET  LAG", "-OFFSET"), "no lags found"),
        ("GROUP PARTITION LOG-END-OFFSET LAG TOPIC\n", "line 1: columns missing: TOPIC"),
        (
            "GROUP PARTITION LAG TOPIC LOG-END-OFFSET\n",
            "line 1: columns missing: PARTITION, LAG",
        ),
        (
            "GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG\n"
            "g      t      0          1               2\n",
            "line 2: columns missing: LAG",
        ),
    ],
)
def test_refused_lags(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        read_lags(written(tmp_path, text))
    assert problem in str(raised.value)


def test_lags_as_weights() -> None:
    group = Group({"orders": 4, "other": 2}, [Member("a", ["orders"]), Member("b", ["orders"])])
    weighted = group.with_weights({**LAGS, "orders": {0: 300, 1: 100, 2: 200, 7: 9}})
    assert weighted.weight.tolist() == [300, 100, 200, 0, 0, 0]
    assert weighted.topics == group.topics
    assert weighted.members == group.members
    found = assign(weighted, "weighted")
    assert sorted(found.weights.tolist()) == [300, 300]
    assert group.weights is None


def test_weights_that_are_missing_or_not_in_the_group(tmp_path: Path) -> None:
    """A partition without a subscriber needs none."""
    members = [Member("a", ["clicks", "orders"])]
    group = Group({"clicks": 1, "orders": 6, "other": 2}, members)
    weighted = group.with_weights(LAGS, where="lag.txt")
    assert weighted.warnings == (
        "lag.txt: 2 partitions without a weight, counted as 0: orders-4, orders-5",
        "lag.txt: 1 partition that is not in the group, ignored: clicks-1",
    )
    assert assign(weighted, "weighted").to_json()["warnings"][:2] == list(weighted.warnings)
    assert len(group.with_weights(LAGS, byte_rates=True).warnings) == 1
    with pytest.raises(InputError) as raised:
        Group({"t": 2}, members).with_weights(LAGS, where="lag.txt")
    assert str(raised.value) == (
        "lag.txt: covers no partition of the group: has clicks-0, clicks-1, orders-0 and 3 more, "
        "expected partitions of t"
    )
    with pytest.raises(InputError, match=r"^weights: orders-0: -1: expected a whole number from 0"):
        group.with_weights({"orders": {0: -1}})


def test_topics_without_weights_in_the_file() -> None:
    members = [Member("a", ["clicks", "orders"])]
    topics = {"clicks": 4, "orders": 1, "other": 1}
    assert Group(topics, members, weights={"orders": [9]}).warnings == (
        "weights: 4 partitions without a weight, counted as 0: clicks-0, clicks-1, clicks-2 and 1 "
        "more",
    )
