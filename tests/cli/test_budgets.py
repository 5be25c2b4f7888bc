"""``--balance bytes``, ``--relieve``, ``--tolerance``, ``--max-moves`` and ``--max-bytes-moved`` on
the command line: what is refused in one line, what cannot be done, and what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage.errors import shown
from tests.matrices import cluster_json, partitions

Run = Callable[..., Any]
Files = Callable[[], dict[str, bytes]]


@pytest.fixture
def disks(tmp_path: Path) -> str:
    """The disk of broker 1 is nine tenths full, that of broker 2 a tenth; broker 3 has none known.
    ``disks.json``."""
    text = json.dumps(cluster_json("1/10 " * 9 + "2/10", "1/100 2/100 3"))
    (tmp_path / "disks.json").write_text(text, encoding="utf-8")
    return "disks.json"


@pytest.fixture
def sizeless(tmp_path: Path) -> str:
    """Kafka's own reassignment JSON, which knows no sizes. ``lists.json``."""
    text = json.dumps({"version": 1, "partitions": partitions([[1, 2]] * 4)})
    (tmp_path / "lists.json").write_text(text, encoding="utf-8")
    return "lists.json"


def line(ended: Any, code: int) -> str:
    """The one line that a run ends with, without its start."""
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.startswith("partage: ")
    assert ended.err.endswith("\n")
    assert len(ended.err.splitlines()) == 1
    assert "Traceback" not in ended.err
    return str(ended.err.removeprefix("partage: ").rstrip("\n"))


NO_MOVES = "--no-moves: leaves nothing for "
TOPIC = "--spread topic: cannot be combined with "

REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("--no-moves", "--relieve", "80%"), f"{NO_MOVES}--relieve to do"),
    (("--no-moves", "--max-moves", "3"), f"{NO_MOVES}--max-moves to do"),
    (("--no-moves", "--max-bytes-moved", "1GB"), f"{NO_MOVES}--max-bytes-moved to do"),
    (("--no-moves", "--tolerance", "5%"), f"{NO_MOVES}--tolerance to do"),
    (("--relieve", "80%", "--balance", "bytes"), "--relieve: only keeps limits: --balance"),
    (("--relieve", "80%", "--tolerance", "5%"), "--relieve: only keeps limits: --tolerance"),
    (("--spread", "topic", "--relieve", "80%"), f"{TOPIC}--relieve"),
    (("--spread", "topic", "--max-moves", "3"), f"{TOPIC}--max-moves"),
    (("--spread", "topic", "--max-bytes-moved", "1GB"), f"{TOPIC}--max-bytes-moved"),
    (("--spread", "topic", "--tolerance", "5%"), f"{TOPIC}--tolerance"),
    (("--spread", "topic", "--balance", "bytes"), f"{TOPIC}--balance bytes"),
    *(
        ((option, text), f"{option} {shown(text)}: expected a percentage such as 2%")
        for option in ("--relieve", "--tolerance")
        for text in ("80", "", "%", "x%", "-5%", "1e2%", "5 percent", "nan%", "5%%")
    ),
    (("--tolerance", "1000%"), "--tolerance 1000%: must be at least 0% and below 1000%"),
    (("--relieve", "out=1000%"), "--relieve out=1000%: must be at least 0% and below 1000%"),
    (("--relieve", "0%"), "--relieve 0%: must be above 0% and at most 100%"),
    (("--relieve", "100.1%"), "--relieve 100.1%: must be above 0% and at most 100%"),
    (("--relieve", "0.00001%"), "--relieve 0.00001%: expected a percentage"),
    *(
        (("--max-bytes-moved", text), f"--max-bytes-moved {shown(text)}: ")
        for text in ("0", "", "much", "-1", "1e9", "2 XB", "0.0000001", "1,5GB")
    ),
    (("--max-moves", "-1"), "--max-moves -1: expected a whole number from 0"),
    (("--max-moves", "many"), "--max-moves"),
    (("--max-moves", "1.5"), "--max-moves"),
    (("--max-moves",), "--max-moves"),
    (("--balance", "size"), "--balance size: expected replicas or bytes"),
]


@pytest.mark.parametrize(("options", "problem"), REFUSED, ids=lambda v: " ".join(v)[:50])
@pytest.mark.parametrize("command", ["plan", "compare"])
def test_refused_in_one_line(
    run: Run, files_now: Files, disks: str, command: str, options: tuple[str, ...], problem: str
) -> None:
    before = files_now()
    more = ("-o", "out") if command == "plan" else ("--json",)
    assert problem in line(run(command, disks, *more, *options), 2)
    assert files_now() == before


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("--balance", "bytes"), "--balance bytes"),
        (("--relieve", "80%"), "--relieve"),
        (("--max-bytes-moved", "1GB"), "--max-bytes-moved"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "compare"])
def test_without_sizes(
    run: Run, sizeless: str, command: str, options: tuple[str, ...], asked: str
) -> None:
    said = line(run(command, sizeless, *options), 2)
    assert said == f"{asked}: the size of no partition is known: give --sizes"


def test_relief_without_a_disk(run: Run, small: str) -> None:
    said = line(run("plan", small, "--relieve", "80%"), 2)
    assert said == "--relieve: the disk_bytes of no broker are known"


IMPOSSIBLE: list[tuple[tuple[str, ...], str]] = [
    (
        ("--relieve", "40%", "--remove-broker", "3"),
        "broker 1: 40% of its disk, 40 B, would hold",
    ),
    (
        ("--max-moves", "2", "--replication-factor", "2"),
        "--max-moves 2: the rules alone force 10 moves, for replicas that must leave their broker "
        "or are added",
    ),
    (
        ("--max-bytes-moved", "10", "--remove-broker", "2", "--remove-broker", "1"),
        "--max-bytes-moved 10: the rules alone force 10 moves that copy 100, for replicas that",
    ),
    (("--relieve", "50%", "--max-moves", "3"), "--max-moves 3: the least that was found to keep"),
    (("--relieve", "50%", "--max-bytes-moved", "39"), "--max-bytes-moved 39: the least that"),
    (("--strategy", "greedy", "--relieve", "50%"), "does not support --relieve: exact does"),
    (("--strategy", "generate", "--max-moves", "3"), "does not support --max-moves: exact does"),
    (("--strategy", "mip", "--tolerance", "3%"), "does not support --tolerance: exact does"),
    (
        ("--strategy", "bin-packing", "--max-bytes-moved", "1GB"),
        "does not support --max-bytes",
    ),
    (
        ("--strategy", "leader-flow", "--balance", "bytes"),
        "does not support --balance bytes: exact",
    ),
]


@pytest.mark.parametrize(("options", "problem"), IMPOSSIBLE, ids=lambda v: " ".join(v)[:50])
def test_infeasible_budgets(
    run: Run, files_now: Files, disks: str, options: tuple[str, ...], problem: str
) -> None:
    before = files_now()
    assert problem in line(run("plan", disks, "-o", "out", *options), 1)
    assert files_now() == before


@pytest.mark.parametrize(
    "options",
    [
        ("--relieve", "50%"),
        ("--max-moves", "4"),
        ("--max-bytes-moved", "40B"),
        ("--tolerance", "20%"),
        ("--balance", "bytes"),
        ("--balance", "bytes", "--tolerance", "50%", "--max-moves", "2"),
    ],
    ids=" ".join,
)
def test_planned_checked_compared(run: Run, disks: str, options: tuple[str, ...]) -> None:
    figures = run("plan", disks, "--json", "-o", "plan", *options).json
    assert figures["bytes_moved"] == 10 * figures["moves"] > 0
    assert figures["bytes_moved_lower_bound"] is None or figures["bytes_moved_lower_bound"] > 0
    assert run("check", "plan", "--json").json["sound"]
    assert run("plan", disks, *options).code == 0  # in words
    assert run("report", "plan").code == 0
    rows = run("compare", disks, "--json", *options).json["strategies"]
    assert {name: row.get("cannot") for name, row in rows.items()}["exact"] is None
    able = {name for name, row in rows.items() if "cannot" not in row}
    plain_bytes = options == ("--balance", "bytes")
    assert able <= ({"exact", "bin-packing"} if plain_bytes else {"exact"})
    for name in set(rows) - able:
        assert rows[name]["cannot"]
    assert rows["exact"]["moves"] == figures["moves"]


@pytest.mark.parametrize("size", ["40", "40B", "0.04KB", "0.04k", " 40 "])
def test_sizes_accept_the_usual_units(run: Run, disks: str, size: str) -> None:
    assert run("plan", disks, "--json", "--max-bytes-moved", size).json["bytes_moved"] == 40


@pytest.mark.parametrize("part", ["50%", "50 %", "50.0%", " 50% "])
def test_percentages_accept_both_spellings(run: Run, disks: str, part: str) -> None:
    assert run("plan", disks, "--json", "-o", "plan", "--relieve", part).json["moves"] == 4
    assert run("check", "plan").code == 0
