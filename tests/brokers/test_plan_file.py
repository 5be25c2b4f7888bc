"""plan.json read into typed values, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import partage
from partage.brokers import plan_file
from partage.brokers.stages import StageName
from partage.errors import InputError
from tests import bundled
from tests.report import plan_documents as documents

Document = dict[str, Any]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    partage.plan(bundled.grown()).write(str(tmp_path / "plan"))
    return tmp_path / "plan"


def edit(directory: Path, change: Callable[[Document], object]) -> None:
    path = directory / "plan.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def test_a_written_plan_is_read_with_every_field(directory: Path) -> None:
    value = json.loads((directory / "plan.json").read_text(encoding="utf-8"))
    plan = plan_file.read(directory, unchanged=True)
    part = plan.partitions
    assert [(b.id, b.rack, b.added) for b in plan.brokers] == [
        (b["id"], b["rack"], b["added"]) for b in value["brokers"]
    ]
    assert (part.before, part.after) == (
        value["partitions"]["before"],
        value["partitions"]["after"],
    )
    assert plan.keys[0] == (value["topics"][0], 0)
    assert plan.figures.after.moves == value["figures"]["after"]["moves"] == 200
    assert [stage.name for stage in plan.certificate.stages] == [
        stage["stage"] for stage in value["certificate"]["stages"]
    ]
    moves = plan.stage(StageName.MOVES)
    assert moves is not None
    assert moves.proven
    assert plan.stage(StageName.BUDGET) is None
    assert [wave.moves for wave in plan.waves] == [wave["moves"] for wave in value["waves"]]


def test_an_edited_plan_is_refused_where_it_must_be_unchanged(directory: Path) -> None:
    edit(directory, lambda plan: plan["brokers"][0].update(rack="z"))
    assert plan_file.read(directory).brokers[0].rack == "z"
    with pytest.raises(InputError, match=r"plan\.json: was changed after it was planned"):
        plan_file.read(directory, unchanged=True)


def test_usable_brokers_are_alive_and_not_excluded() -> None:
    fleet = [
        documents.broker(1),
        documents.broker(2, alive=False),
        documents.broker(3, excluded=True),
    ]
    plan = plan_file.parse(documents.document(fleet, [("t", 0, [1], [1])]))
    assert [broker.usable for broker in plan.brokers] == [True, False, False]


@pytest.mark.parametrize("value", [None, 7, [], {}, "x", {"format_version": 1}])
def test_foreign_values_are_not_a_plan(value: Any) -> None:
    with pytest.raises(
        InputError, match=r"^plan\.json: (expected a plan, got |has no format_v|\w+: missing, )"
    ):
        plan_file.parse(value)


def test_another_format_is_named() -> None:
    with pytest.raises(InputError, match="format_version is 2, this partage reads 1"):
        plan_file.parse({"format_version": 2})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["partitions"]["topic"].__setitem__(3, "x"), r"partitions\.topic\[3\]: "),
        (lambda d: d["partitions"]["topic"].__setitem__(3, 7), "partitions.topic: expected pos"),
        (lambda d: d["partitions"]["chosen"].pop(), "partitions.chosen: 5 entries, expected 6"),
        (lambda d: d["partitions"]["after"].__setitem__(3, [9]), r"partitions\.after\[3\]: "),
        (lambda d: d["partitions"]["before"].__setitem__(2, []), r"partitions\.before\[2\]: "),
        (lambda d: d["brokers"].reverse(), "brokers: the ids must ascend"),
        (lambda d: d["certificate"]["stages"][0].update(stage="x"), r"stages\[0\]\.stage: "),
        (lambda d: d["waves"][1]["brokers"].__setitem__(0, 99), r"waves\[1\]\.brokers: "),
        (
            lambda d: d["waves"][1].update(file="../../x.json"),
            r"waves\[1\]\.file: expected waves/002",
        ),
        (lambda d: d["waves"][1]["bytes_in"].pop(), r"waves\[1\]\.bytes_in: \d entries"),
    ],
)
def test_damage_is_named_with_its_place(change: Callable[[Document], object], problem: str) -> None:
    rows = [("t", i, [1 + i % 3], [1 + (i + 1) % 3]) for i in range(6)]
    fleet = [documents.broker(1), documents.broker(2), documents.broker(3)]
    document = documents.document(fleet, rows, sizes=[10] * 6, waves=2)
    change(document)
    with pytest.raises(InputError, match=problem):
        plan_file.parse(document)
