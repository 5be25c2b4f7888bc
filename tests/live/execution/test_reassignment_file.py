"""Another tool's file as a plan directory: where it is written, and whether it has begun."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.brokers.check import check
from partage.brokers.plan import Plan
from partage.cluster.reassignment import Reassignment
from partage.errors import InputError, PartageError
from partage.live.admin.states import Snapshot
from partage.live.execution.journal import Journal
from partage.live.execution.reassignment_file import default_directory, has_begun, make_plan
from tests.live.execution.builders import three_brokers


def cluster() -> Snapshot:
    """``three_brokers``, disk sizes unknown."""
    found = three_brokers()
    return replace(found, brokers=tuple(replace(b, log_dirs=()) for b in found.brokers))


def lists(*replicas: list[int]) -> Reassignment:
    """Of t-0, t-1 and so on."""
    entries = [{"topic": "t", "partition": n, "replicas": row} for n, row in enumerate(replicas)]
    return Reassignment.from_json({"version": 1, "partitions": entries}, "moves.json")


MOVES = lists([3, 1], [1, 2])
"""t-1 stays in place."""


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
def test_the_directory_is_named_after_the_file(file: str, directory: str) -> None:
    assert default_directory(file) == directory


@pytest.mark.parametrize(
    "file",
    ["plan/reassignment.json", "plan/rollback.json", "plan/plan.json", "plan/waves/001.json"],
)
def test_a_file_of_a_plan_directory(file: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partage.plan(cluster().cluster()).write("plan")
    with pytest.raises(InputError, match=f"{file}: is part of a plan: use partage apply"):
        default_directory(file)
    monkeypatch.chdir(here / file.rpartition("/")[0])
    with pytest.raises(InputError, match=r"partage rollback \.\S* to roll it back"):
        default_directory(Path(file).name)


def test_a_copy_of_a_plans_reassignment() -> None:
    made = partage.plan(cluster().cluster())
    made.write("plan")
    Path("copy.json").write_text(Path("plan/reassignment.json").read_text())
    assert default_directory("copy.json") == "copy-plan"
    again = make_plan(Reassignment.read("copy.json"), cluster())
    assert again.after.replica_lists() == made.after.replica_lists()


def test_make_plan() -> None:
    steps: list[str] = []
    made = make_plan(MOVES, cluster(), steps.append, batch=1)
    assert made.after.replica_lists() == [[3, 1], [1, 2], [1, 2]]
    assert steps[0] == "deciding (given)"
    made.write("moves-plan")
    assert check("moves-plan").sound
    assert json.loads(Path("moves-plan/plan.json").read_text())["cluster_id"] == "id"


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([1], "t-1 is being reassigned: wait until that ends, or cancel it"),
        ([0, 2], "t-0 and 1 more are being reassigned: wait until that ends, or cancel it"),
    ],
)
def test_not_while_partitions_are_being_reassigned(numbers: list[int], said: str) -> None:
    rows = [replace(p, adding=(3,) * (p.partition in numbers)) for p in cluster().partitions]
    now = replace(cluster(), partitions=tuple(rows))
    with pytest.raises(PartageError) as refused:
        make_plan(MOVES, now)
    assert str(refused.value) == said
    assert not isinstance(refused.value, InputError)


# ---------------------------------------------------------------- whether it has begun


@pytest.fixture
def written() -> Plan:
    made = make_plan(MOVES, cluster())
    made.write("moves-plan")
    return made


def begin() -> None:
    with Journal.open("moves-plan") as journal:
        journal.write("started")


def test_a_plan_that_has_not_begun(written: Plan) -> None:
    assert not has_begun("nothing-there", MOVES)
    assert not has_begun("moves-plan", MOVES)
    with Journal.open("moves-plan"):
        pass  # the operator did not confirm
    assert not has_begun("moves-plan", lists([2, 3]))
    written.write("moves-plan")


def test_a_plan_that_has_begun(written: Plan) -> None:
    begin()
    assert has_begun("moves-plan", MOVES)
    assert has_begun("moves-plan", lists([3, 1], [1, 2], [1, 2]))  # one more that stays in place
    assert has_begun("moves-plan", lists([3, 1]))


@pytest.mark.parametrize("other", [lists([3, 2]), lists([3, 1], [3, 2]), lists([1, 2])])
def test_a_plan_that_has_begun_with_other_replicas(written: Plan, other: Reassignment) -> None:
    begin()
    with pytest.raises(InputError) as refused:
        has_begun("moves-plan", other)
    assert str(refused.value) == (
        "moves.json: moves-plan has begun with another reassignment: resume that with "
        "partage apply moves-plan, or give another `out`"
    )


def test_a_plan_that_is_being_applied(written: Plan) -> None:
    with (
        Journal.open("moves-plan"),
        pytest.raises(PartageError, match="moves-plan: another partage process is applying it"),
    ):
        has_begun("moves-plan", MOVES)


def test_other_files_are_not_replaced() -> None:
    Path("moves-plan").mkdir()
    Path("moves-plan/notes.txt").write_text("mine")
    with pytest.raises(InputError, match="contains files that partage did not write"):
        has_begun("moves-plan", MOVES)


def test_a_damaged_plan_that_has_begun(written: Plan) -> None:
    begin()
    Path("moves-plan/plan.json").write_text("{}")
    with pytest.raises(InputError, match=r"moves-plan/plan\.json: "):
        has_begun("moves-plan", MOVES)
