"""The command that adds an extra, for each way of installing."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from partage import installation
from partage.installation import adding, not_installed, requirements

Install = Callable[..., Path]


class Distribution:
    """The metadata of this package, as if it came from elsewhere."""

    def __init__(self, real: metadata.Distribution, origin: Any) -> None:
        self.metadata, self.requires = real.metadata, real.requires
        self._origin = origin if origin is None or isinstance(origin, str) else json.dumps(origin)

    def read_text(self, name: str) -> str | None:
        return self._origin if name == "direct_url.json" else None


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Pretend that partage was installed from ``origin``, in an environment with these files."""

    def call(origin: Any = None, *files: str, pip: bool = True) -> Path:
        environment = tmp_path / "env"
        (environment / "bin").mkdir(parents=True)
        for file in (*files, "bin/python", *["bin/pip"] * pip):
            (environment / file).touch(mode=0o755)
        monkeypatch.setattr(sys, "prefix", str(environment))
        monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
        real = metadata.distribution
        ours = Distribution(real("partage"), origin)
        monkeypatch.setattr(
            metadata, "distribution", lambda name: ours if name == "partage" else real(name)
        )
        monkeypatch.setattr(installation, "find_spec", lambda _: object() if pip else None)
        monkeypatch.setattr(
            installation, "installed_version", {"cryptography": "46", "kafka-python": "3"}.get
        )
        monkeypatch.setenv("PATH", str(environment / "bin"))
        return environment

    return call


def copy_of_the_repository(folder: Path, **more: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    return {"url": folder.as_uri(), "dir_info": more}


def test_from_a_copy_of_the_repository(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "my copy"
    install(copy_of_the_repository(copy))
    assert adding("spark") == f"pip install '{copy}[spark]'"
    monkeypatch.chdir(copy)
    assert adding("spark") == "pip install '.[spark]'"
    monkeypatch.chdir(tmp_path)
    assert adding("spark") == "pip install './my copy[spark]'"
    copy.rmdir()
    assert adding("spark") == "pip install '.[spark]' in a copy of the repository"


def test_editable(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(copy_of_the_repository(tmp_path / "copy", editable=True), pip=False)
    monkeypatch.chdir(tmp_path / "copy")
    assert adding("spark") == f"uv pip install --python {tmp_path / 'env'} -e '.[spark]'"
    monkeypatch.chdir(tmp_path)
    assert adding("spark") == "uv pip install --python ./env -e './copy[spark]'"


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "partage[spark]"),
        ("not JSON", "partage[spark]"),
        ("[]", "partage[spark]"),
        (
            {"url": "https://h/partage-1-py3-none-any.whl", "archive_info": {}},
            "partage[spark] @ https://h/partage-1-py3-none-any.whl",
        ),
        (
            {"url": "https://h/p.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "partage[spark] @ git+https://h/p.git@ab12",
        ),
    ],
)
def test_from_elsewhere(install: Install, origin: Any, requirement: str) -> None:
    install(origin)
    assert shlex.split(adding("spark")) == ["pip", "install", requirement]


def test_tools_keep_the_extras_that_they_have(install: Install, tmp_path: Path) -> None:
    environment = install(copy_of_the_repository(tmp_path / "copy"), "uv-receipt.toml")
    whole = f"'{tmp_path / 'copy'}[kafka,spark]'"
    assert adding("spark") == f"uv tool install {whole}"
    (environment / "uv-receipt.toml").rename(environment / "pipx_metadata.json")
    assert adding("spark") == f"pipx install --force {whole}"


def test_the_pip_of_another_environment_is_not_advised(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = install()
    python = environment / "bin" / "python"
    monkeypatch.setenv("PATH", "")
    assert adding("kafka") == f"{python} -m pip install 'partage[kafka]'"
    other = tmp_path / "other"
    other.mkdir()
    (other / "pip").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(other))
    assert adding("kafka") == f"{python} -m pip install 'partage[kafka]'"


def test_not_installed() -> None:
    assert not_installed("pyspark", "spark") == f"pyspark is not installed: {adding('spark')}"


def test_requirements_of_this_installation() -> None:
    kafka = {"cryptography": ">=46", "kafka-python": "<4,>=3.0.12"}
    assert dict(requirements("partage", "kafka")) == kafka
    assert "grpcio" in dict(requirements("partage", "connect"))
    assert requirements("partage", "none") == []
    assert requirements("no-such-package", "none") == []
