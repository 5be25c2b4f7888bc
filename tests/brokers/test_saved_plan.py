"""``Plan.read``: a plan directory as a plan again."""

from __future__ import annotations

from pathlib import Path

import pytest

from partage import InputError, Plan, plan
from tests.matrices import cluster_of


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_a_plan_read_back_is_the_plan(tmp_path: Path) -> None:
    made = plan(cluster_of("1,2 2,1 1,2 2,1", "1 2"), add_broker="3", throttle="1MB")
    made.write(tmp_path / "plan")
    found = Plan.read(tmp_path / "plan")
    assert found.before.replica_lists() == made.before.replica_lists()
    assert found.after.replica_lists() == made.after.replica_lists()
    assert found.before.to_json() == made.before.to_json()
    assert found.after.to_json() == made.after.to_json()
    assert (found.moves, found.lower_bound) == (made.moves, made.lower_bound)
    assert (found.optimal, found.binding, found.gaps) == (made.optimal, made.binding, made.gaps)
    assert found.warnings == made.warnings
    assert found.changed.tolist() == made.changed.tolist()
    assert [wave.moves for wave in found.waves] == [wave.moves for wave in made.waves]
    assert found.document() == made.document()
    assert found.figures == made.document()["figures"]["after"]


def test_it_writes_the_same_files(tmp_path: Path) -> None:
    plan(cluster_of("1,2 2,1 1,2 2,1", "1 2"), add_broker="3").write(tmp_path / "plan")
    Plan.read(tmp_path / "plan").write(tmp_path / "copy")
    assert files(tmp_path / "copy") == files(tmp_path / "plan")


def test_a_damaged_directory_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plan\.json: no such file"):
        Plan.read(tmp_path)
    plan(cluster_of("1,2 2,1", "1 2"), add_broker="3").write(tmp_path / "plan")
    (tmp_path / "plan" / "rollback.json").unlink()
    with pytest.raises(InputError, match=r"rollback\.json: no such file"):
        Plan.read(tmp_path / "plan")
    marker = tmp_path / "plan" / "plan.json"
    marker.write_text(marker.read_text().replace('"added":true', '"added":false'))
    with pytest.raises(InputError, match="fingerprint"):
        Plan.read(tmp_path / "plan")
