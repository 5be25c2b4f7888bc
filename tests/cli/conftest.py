"""The command line in this process: what it prints, and its exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from partage.cli import main
from tests.matrices import cluster_json


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        assert self.code in (0, 1), self
        value = json.loads(self.out)
        assert isinstance(value, dict)
        assert self.out == self.out.strip() + "\n"
        return value


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("plan", "cluster.json", "--json")``, in a directory of its own. It does not wait long
    where no broker is reachable."""
    monkeypatch.chdir(tmp_path)
    with suppress(ImportError):
        monkeypatch.setattr("partage.live.admin.connection._BOOTSTRAP_MS", 500)

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["partage", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)

    return call


@pytest.fixture
def answered_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Live commands ask this ``FakeCluster`` from now on, and wait by its clock."""
    from partage.live.admin.connection import Connection
    from partage.live.execution import execute

    def answer(cluster: Any) -> None:
        @contextmanager
        def admin(self: Connection, **_: Any) -> Iterator[Any]:
            yield cluster.admin

        monkeypatch.setattr(Connection, "admin", admin)
        for name, value in (("clock", cluster.clock), ("sleep", cluster.sleep)):
            monkeypatch.setitem(execute.execute.__kwdefaults__, name, value)

    return answer


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of partage's own, whoever runs the tests."""
    for name in os.environ:
        if name.startswith("PARTAGE_"):
            monkeypatch.delenv(name)


@pytest.fixture
def grown(tmp_path: Path) -> str:
    """The bundled cluster that has grown, as ``cluster.json`` in the directory of the run."""
    text = files("partage.data").joinpath("cluster-grown.json").read_text(encoding="utf-8")
    (tmp_path / "cluster.json").write_text(text, encoding="utf-8")
    return "cluster.json"


@pytest.fixture
def small(tmp_path: Path) -> str:
    """Three brokers, two topics; broker 3 is nearly empty. ``small.json``."""
    matrix = "1,2/1000 2,1/2000 1,2/3000 2,1/4000 u: 1,3/1000 2,1/2000"
    value = cluster_json(matrix, "1:r1 2:r2 3:r3")
    (tmp_path / "small.json").write_text(json.dumps(value), encoding="utf-8")
    return "small.json"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def files_now(tmp_path: Path) -> Callable[[], dict[str, bytes]]:
    """What the directory of the run holds at the moment."""
    return lambda: tree(tmp_path)
