"""A plan directory as a whole: what partage writes is sound; what cannot be read is bad input."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import CannotError, Cluster, InputError, plan
from partage.brokers.check import check
from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from tests.brokers.check.plans import SOUND, LazyPlans, mixed
from tests.brokers.check.tampering import (
    Value,
    judged,
)
from tests.profiles import examples
from tests.strategies import jobs


@pytest.mark.parametrize("name", SOUND)
def test_plans_are_sound(sound_plans: LazyPlans, name: str) -> None:
    verdict = judged(sound_plans[name].directory)
    assert verdict.defects == []
    assert len(verdict.held) >= 6


@examples(150)
@given(job=jobs(), rated=st.booleans(), strategy=st.sampled_from(("exact", "exact", "generate")))
def test_random_plans_are_sound(job: tuple[Value, Value], rated: bool, strategy: str) -> None:
    cluster, options = job
    asked: Value = options | {"strategy": strategy} | ({"leaders": "rate"} if rated else {})
    rates = np.array([float(p % 4) for p in range(len(cluster["partitions"]))])
    try:
        made = solve(resolve(Cluster.from_json(cluster), PlanOptions(**asked), rates))
    except (InputError, CannotError):
        return
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder) / "plan")
        verdict = judged(Path(folder) / "plan")
    assert verdict.defects == []
    assert verdict.optimal is made.optimal


@pytest.mark.parametrize(
    "name", ["plan.json", "rollback.json", "reassignment.json", "waves/001.json"]
)
@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x1f\x8b\x08broken", b"\0" * 100])
def test_files_that_are_not_text(tmp_path: Path, name: str, content: bytes) -> None:
    directory = tmp_path / "plan"
    mixed().write(directory)
    (directory / name).write_bytes(content)
    assert not judged(directory).sound


def test_a_directory_in_place_of_a_file(tmp_path: Path) -> None:
    directory = tmp_path / "plan"
    mixed().write(directory)
    (directory / "rollback.json").unlink()
    (directory / "rollback.json").mkdir()
    assert not judged(directory).sound


@pytest.mark.parametrize("name", ["plan.json", "rollback.json", "waves", "waves/001.json"])
def test_unreadable_files_are_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    directory = tmp_path / "plan"
    mixed().write(directory)

    def refusing(usual: Callable[..., Any]) -> Callable[..., Any]:
        def ask(path: Path, *args: Any, **more: Any) -> Any:
            if path == directory / name:
                raise PermissionError(13, "Permission denied", str(path))
            return usual(path, *args, **more)

        return ask

    for method in ("open", "iterdir"):
        monkeypatch.setattr(Path, method, refusing(getattr(Path, method)))
    with pytest.raises(InputError) as caught:
        check(directory)
    assert str(caught.value) == f"{directory / name}: cannot be read (Permission denied)"


def test_paths_that_are_not_plan_directories(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / ("a" * 300), Path(__file__)):
        with pytest.raises(InputError):
            check(path)


def test_result_in_a_notebook(sound_plans: LazyPlans) -> None:
    result = check(sound_plans[next(iter(SOUND))].directory)
    assert repr(result) == f"<CheckResult: {result.summary()}>"
    assert result._repr_html_().count("<td>✓</td>") == len(result.held)
    assert result._repr_html_().count("<td>not proven: ") == len(result.not_proven) > 0
    result.defects += ["plan.json: <first>", "plan.json: second"]
    assert repr(result) == (
        "<CheckResult: The plan is not valid. 2 defects, first: plan.json: <first>>"
    )
    assert "<td>✗</td><td>plan.json: &lt;first&gt;</td>" in result._repr_html_()


def test_the_bytes_between_log_dirs_are_the_fewest_where_new_replicas_go(tmp_path: Path) -> None:
    dirs = [{"path": path, "disk_bytes": 1000} for path in ("/a", "/b")]
    rows = [
        {"topic": "t", "partition": p, "replicas": [2], "size_bytes": 10, "log_dirs": ["/a"]}
        for p in range(9)
    ]
    new = {"topic": "t", "partition": 9, "replicas": [1], "size_bytes": 10, "log_dirs": ["any"]}
    brokers = [{"id": 1}, {"id": 2, "log_dirs": dirs}]
    line = "stage log dirs: that other log dirs for new replicas would not save moves"
    for name, parts, options in (
        ("still", rows, {"no_moves": True}),
        ("new", [*rows, new], {"remove_broker": 1}),
    ):
        cluster = Cluster.from_json({"brokers": brokers, "partitions": parts})
        plan(cluster, balance_disks=True, topics="t", **options).write(tmp_path / name)
        verdict = check(tmp_path / name)
        assert verdict.sound, verdict.defects
        assert (line in verdict.not_proven) == (name == "new")
