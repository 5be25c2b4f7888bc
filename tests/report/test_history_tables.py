"""A group's history as text."""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from partage.consumers.history import Event, History, Rejected, events_of
from partage.consumers.history.replay import cases, replay, scenario_of
from partage.printable import is_printable
from partage.report.history_tables import labels, print_history, print_rejected
from partage.report.printing import PrintableConsole
from tests.consumers.history.history_logs import histories

LOGS = Path(str(files("partage") / "data" / "groups" / "logs"))


def history(*paths: str, without: str = "nothing") -> History:
    """Of the bundled logs; without the lines that have a word."""
    found = []
    for path in paths:
        lines = enumerate((LOGS / path).read_text(encoding="utf-8").splitlines(), 1)
        kept = ((number, line) for number, line in lines if without not in line)
        found += [one for one in events_of([(path, kept)]) if isinstance(one, Event)]
    (one,) = histories(found).values()
    return one


def printed(one: History, replays: Mapping[str, Any] | None = None, by: str | None = None) -> str:
    out = io.StringIO()
    print_history(one, replays or {}, Console(file=out, width=100, no_color=True), by)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    return text


def replays_of(one: History) -> dict[str, dict[str, Any]]:
    """By assignor and protocol."""
    scenario = scenario_of(one)
    replays: dict[str, dict[str, Any]] = {}
    for assignor, protocol in cases():
        replays.setdefault(assignor, {})[protocol] = replay(scenario, assignor, protocol)
    return replays


KIP_429 = ("kip-429/client-one.log", "kip-429/client-two.log")
JAVA = ("java-eager/a.log", "java-eager/b.log", "java-eager/c.log")


def test_the_seed_s_log() -> None:
    text = printed(history(*KIP_429))
    assert text.startswith(
        "cg_logi_kafka_test_1: 2 members, 3 rounds, 1 partition moved\n3.119 part"
    )
    row = next(line for line in text.splitlines() if line.startswith("39.296 s"))
    assert row.split() == ["39.296", "s", "11", "1-6ea3c93c:", "kmo_community", "0:", "3.119", "s"]
    assert "consumer-cg_logi" not in text
    assert "client-two.log" in text


def test_members_that_crash_and_leave() -> None:
    one = history(*JAVA)
    text = printed(one, by="member")
    rows = {line.split()[0]: line for line in text.splitlines() if line.endswith(".log")}
    assert "left" in rows["b"]
    assert "gone, did not leave" in rows["c"]
    alone = printed(history(JAVA[0]))
    assert "gone" in alone
    assert "did not leave" not in alone
    assert "lost c: orders 3–5" in text
    assert labels(one) == {member.id: member.id[0] for member in one.members}


def test_the_replays_beside_what_happened() -> None:
    one = history(*JAVA)
    replays = replays_of(one)
    lines = printed(one, replays).splitlines()
    real_line = next(line for line in lines if line.startswith("as in the logs"))
    real = real_line.split()
    assert real[4:] == ["11", "19.3", "s", "5"]
    same = next(line.split() for line in lines if line.startswith("range"))
    assert same[1] == "11"
    assert float(same[2]) == pytest.approx(19.3, abs=0.5)
    # others need loads, lags, priorities or tasks, which logs do not contain
    shown = [line.split()[0] for line in lines[lines.index(real_line) + 1 :] if line]
    assert shown[:5] == ["range", "roundrobin", "sticky", "cooperative-sticky", "no"]
    assert not any(line.startswith("Not possible") for line in lines)
    # the last thing that is said, with the numbers below
    last = lines.index("without an owner")
    assert lines[last - 1].rstrip() == (
        "java-eager-whole: none of Kafka's assignors would have saved any of the 19.3 "
        "partition-seconds"
    )
    assert lines[last + 1] == "group.protocol=consumer would have saved nothing of it"
    numbers = [line.rsplit(maxsplit=2) for line in lines[last + 5 :]]
    assert [row[0].strip() for row in numbers][:3] == [
        "as in the logs",
        "of it until crashed members were removed",
        "range, the group's, replayed",
    ]
    assert [row[1:] for row in numbers[:2]] == [["19.3", "s"], ["18.0", "s"]]
    assert float(numbers[2][1]) == replays["range"]["eager"]["unowned_partition_seconds"].__round__(
        1
    )


def test_no_saving_is_shown_beside_a_replay_that_does_not_resemble_the_logs() -> None:
    one = history(*JAVA)
    replays = replays_of(one)
    replays["range"]["eager"]["unowned_partition_seconds"] = 60.0
    text = " ".join(printed(one, replays).split())
    assert "19.3 partition-seconds without an owner, but 60.0 in the replay of range" in text
    assert "range, the group's, replayed 60.0 s" in text
    assert "%" not in text
    assert "sticky, replayed" not in text


def test_a_member_without_a_name_and_without_rounds() -> None:
    text = printed(history("kip-429/client-two.log", without="DEBUG"))
    assert "0 rounds" in text
    assert "1-6ea3c93c" not in text


def test_moves_and_gaps_are_unknown_where_no_line_shows_an_owner() -> None:
    text = printed(history(*KIP_429, without="artitions"))
    assert text.startswith("cg_logi_kafka_test_1: 2 members, 3 rounds\nMoves and time without an o")
    assert "0.000" not in text.splitlines()[1]
    assert "owners: no line shows which member owned a partition" in text


def test_rejected_lines_are_counted_with_the_first() -> None:
    out = io.StringIO()
    print_rejected((), 0, Console(file=out))
    assert out.getvalue() == ""
    lines = [Rejected("a.log", 7, "text", "too odd"), Rejected("b.log", 9, "text", "cut off")]
    print_rejected(lines, 2, Console(file=out, width=100))
    assert out.getvalue() == "2 lines rejected, the first a.log:7: too odd\n"


def test_names_in_logs_are_shown_and_not_obeyed() -> None:
    """The logs of a stranger's client: escape sequences, markup, overrides in every name."""
    found = []
    for path in KIP_429:
        text = (LOGS / path).read_text(encoding="utf-8")
        for name in ("consumer-cg_logi_kafka_test_1-1", "cg_logi_kafka_test_1"):
            text = text.replace(name, f"{name}[red]\x1b[2J\u202e\x9b")
        lines = enumerate(text.split("\n"), 1)
        log = [(f"\x1b]0;{path}", lines)]
        found += [one for one in events_of(log) if isinstance(one, Event)]
    out = io.StringIO()
    for one in histories(found).values():
        print_history(one, {}, PrintableConsole(file=out, width=100))
        print_rejected(
            (Rejected("\x1b[31m", 1, "", "\u202e"),), 1, PrintableConsole(file=out, width=100)
        )
    text = out.getvalue()
    assert text
    assert is_printable(text.replace("\n", ""))
    assert r"\x1b[" in text
