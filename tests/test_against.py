"""Two versions in pairs of runs: the verdict, and a run from end to end."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("beside_the_benchmarks")


def against() -> Any:
    return importlib.import_module("against")


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([(1.0, 1.1), (2.0, 2.01), (1.0, 3.0)], "slower"),
        ([(1.1, 1.0), (2.01, 2.0), (3.0, 1.0)], "faster"),
        ([(1.0, 1.5), (1.0, 1.5), (1.0, 0.99)], "no change beyond noise"),
        ([(1.0, 1.0), (1.0, 1.5)], "no change beyond noise"),
    ],
)
def test_all_pairs_have_to_agree(pairs: list[tuple[float, float]], verdict: str) -> None:
    assert against().verdict(pairs) == verdict


def test_a_row_has_the_least_of_each_and_the_median_ratio() -> None:
    pairs = [(2.0, 3.0), (1.0, 4.0), (4.0, 8.0)]
    assert against().row("a", pairs) == ["a", "1.00", "3.00", "2.00", "1.50–4.00", "slower"]


def test_jobs_by_size() -> None:
    sizes = against().SIZE_OF
    assert {job for job, size in sizes.items() if size == "small"} == {
        *("bundled", "expansion-30", "removal-30", "racks-30", "group-50k")
    }


def test_the_version_of_another_folder_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a version that only fails, the program says so; with a copy of this one, it compares."""
    module = against()

    @contextmanager
    def here(commit: str) -> Iterator[Path]:
        assert commit == "some-commit"
        yield module.ROOT

    monkeypatch.setattr(module, "checked_out", here)
    arguments = ["bundled", "--pairs", "1", "--than", "some-commit"]
    monkeypatch.setattr(sys, "argv", ["against.py", *arguments])
    assert module.main() in (0, 1)
    out = capsys.readouterr().out
    assert "some-commit and now; pairs: 1" in out
    assert re.search(r"^\| bundled +\| +\d+\.\d\d \| +\d+\.\d\d \|", out, re.MULTILINE)

    package = tmp_path / "src" / "partage"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("raise SystemExit('broken')", encoding="utf-8")
    with pytest.raises(SystemExit, match="broken"):
        module.processor_seconds(tmp_path, ["--help"], tmp_path)


def test_an_unknown_job_or_commit_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = against()
    monkeypatch.setattr(sys, "argv", ["against.py", "no-job"])
    with pytest.raises(SystemExit):
        module.main()
    assert "no job no-job: expected bundled, " in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"^against: git "):
        module.git("rev-parse", "--verify", "no-such-commit")
