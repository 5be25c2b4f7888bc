"""Another tool's file as a plan directory: where it goes, and when it is begun."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.brokers.check import check
from partage.brokers.plan import Plan
from partage.cluster.reassignment import Reassignment
from partage.errors import InputError, PartageError
from partage.live.admin.states import BrokerState, PartitionState, Snapshot, Throttles
from partage.live.execution.journal import Journal
from partage.live.execution.wrapping import directory_of, is_begun, wrap


def snapshot() -> Snapshot:
    """Brokers 1 and 2 have everything, 3 is empty."""
    brokers = tuple(BrokerState(b, None, "h", 9, alive=True) for b in (1, 2, 3))
    partitions = tuple(PartitionState("t", n, (1, 2), 1, (1, 2), sizes={1: 9}) for n in range(3))
    return Snapshot("id", datetime(2026, 1, 1, tzinfo=UTC), 1, brokers, partitions, Throttles())


def lists(*replicas: list[int]) -> Reassignment:
    """Of t-0, t-1 and so on."""
    entries = [{"topic": "t", "partition": n, "replicas": row} for n, row in enumerate(replicas)]
    return Reassignment.from_json({"version": 1, "partitions": entries}, "moves.json")


MOVES = lists([3, 1], [1, 2])
"""t-1 is there already."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "directory"),
    [
        ("moves.json", "moves-plan"),
        ("some/moves.json", "some/moves-plan"),
        ("proposal.txt", "proposal-plan"),
        ("moves.json.gz", "moves-plan"),
        ("moves", "moves-plan"),
        ("reassignment.json", "reassignment-plan"),
    ],
)
def test_the_directory_is_called_after_the_file(file: str, directory: str) -> None:
    assert directory_of(file) == directory


@pytest.mark.parametrize(
    "file",
    ["plan/reassignment.json", "plan/rollback.json", "plan/plan.json", "plan/waves/001.json"],
)
def test_a_part_of_a_plan_is_carried_out_as_that_plan(
    file: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partage.plan(snapshot().cluster()).write("plan")
    with pytest.raises(InputError, match=f"{file}: is part of a plan: partage apply plan carries"):
        directory_of(file)
    monkeypatch.chdir(here / file.rpartition("/")[0])
    with pytest.raises(InputError, match=r"partage rollback \.\S* brings back"):
        directory_of(Path(file).name)


def test_a_copy_of_partages_own_reassignment_is_a_file_like_any_other() -> None:
    made = partage.plan(snapshot().cluster())
    made.write("plan")
    Path("copy.json").write_text(Path("plan/reassignment.json").read_text())
    assert directory_of("copy.json") == "copy-plan"
    again = wrap(Reassignment.read("copy.json"), snapshot())
    assert again.after.replica_lists() == made.after.replica_lists()


def test_wrapped() -> None:
    told: list[str] = []
    made = wrap(MOVES, snapshot(), told.append, batch=1)
    assert made.after.replica_lists() == [[3, 1], [1, 2], [1, 2]]
    assert told[0] == "deciding (given)"
    made.write("moves-plan")
    assert check("moves-plan").sound
    assert json.loads(Path("moves-plan/plan.json").read_text())["cluster_id"] == "id"


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([1], "t-1 is being reassigned: let that finish, or cancel it"),
        ([0, 2], "t-0 and 1 more are being reassigned: let that finish, or cancel it"),
    ],
)
def test_not_while_partitions_are_on_their_way(numbers: list[int], said: str) -> None:
    rows = [replace(p, adding=(3,) * (p.partition in numbers)) for p in snapshot().partitions]
    now = replace(snapshot(), partitions=tuple(rows))
    with pytest.raises(PartageError) as refused:
        wrap(MOVES, now)
    assert str(refused.value) == said
    assert not isinstance(refused.value, InputError)


# ---------------------------------------------------------------- begun, or not


@pytest.fixture
def written() -> Plan:
    made = wrap(MOVES, snapshot())
    made.write("moves-plan")
    return made


def begin() -> None:
    with Journal.open("moves-plan") as journal:
        journal.write("begun")


def test_not_begun_is_made_anew(written: Plan) -> None:
    assert not is_begun("nothing-there", MOVES)
    assert not is_begun("moves-plan", MOVES)
    with Journal.open("moves-plan"):
        pass  # somebody was asked, and said no
    assert not is_begun("moves-plan", lists([2, 3]))
    written.write("moves-plan")


def test_begun_goes_on_whatever_the_cluster_is_now(written: Plan) -> None:
    begin()
    assert is_begun("moves-plan", MOVES)
    assert is_begun("moves-plan", lists([3, 1], [1, 2], [1, 2]))  # one more that is in place
    assert is_begun("moves-plan", lists([3, 1]))


@pytest.mark.parametrize("other", [lists([3, 2]), lists([3, 1], [3, 2]), lists([1, 2])])
def test_begun_with_other_lists(written: Plan, other: Reassignment) -> None:
    begin()
    with pytest.raises(InputError) as refused:
        is_begun("moves-plan", other)
    assert str(refused.value) == (
        "moves.json: is not what moves-plan was begun with: go on with partage apply moves-plan, "
        "or name another directory with -o"
    )


def test_another_run_has_it(written: Plan) -> None:
    with (
        Journal.open("moves-plan"),
        pytest.raises(PartageError, match="moves-plan: another partage is carrying it out"),
    ):
        is_begun("moves-plan", MOVES)


def test_foreign_files_are_left_alone() -> None:
    Path("moves-plan").mkdir()
    Path("moves-plan/notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds files that partage did not write"):
        is_begun("moves-plan", MOVES)


def test_a_begun_directory_without_a_readable_plan(written: Plan) -> None:
    begin()
    Path("moves-plan/plan.json").write_text("{}")
    with pytest.raises(InputError, match=r"moves-plan/plan\.json: is no plan \(KeyError"):
        is_begun("moves-plan", MOVES)
