"""doctor, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage import doctor
from partage.doctor import Finding
from partage.installation import adding

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]

BARE = """
import sys
from importlib import metadata

GONE = {"pyspark", "pyarrow", "pandas", "kafka", "aiokafka", "grpc", "kafka_python"}

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ImportError(name)

real = metadata.version

def version(name):
    if name.replace("-", "_") in GONE | {"grpcio"}:
        raise metadata.PackageNotFoundError(name)
    return real(name)

metadata.version = version
sys.meta_path.insert(0, Without())
sys.argv = ["partage", "doctor", *sys.argv[1:]]
from partage.cli import main
main()
"""
"""doctor where no extra is installed."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What was found, without looking."""

    def call(*states: str) -> None:
        names = ("spark", "Java", "Kafka")
        found = [
            Finding(name, state, f"[{state}]", "do this" if state == "missing" else "")  # type: ignore[arg-type]
            for name, state in zip(names, states, strict=True)
        ]
        monkeypatch.setattr(doctor, "examine", lambda *_: found)

    return call


def test_everything_is_installed(run: Run, quick: Callable[..., None]) -> None:
    quick("ok", "ok", "absent")
    ended = run("doctor")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line[0] for line in lines[:6]] == ["✓", "✓", "–", "–", "–", "✓"]
    assert lines[0].split() == ["✓", "spark", "[ok]"]
    assert lines[-1] == "Next: partage demo"
    assert max(map(len, lines)) <= 100


def test_something_is_missing(run: Run, quick: Callable[..., None]) -> None:
    quick("absent", "missing", "absent")
    ended = run("doctor")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines()[1:3] == [
        line for line in ended.out.splitlines() if "✗" in line or "do this" in line
    ]
    found = run("doctor", "--json")
    assert found.code == 1
    assert found.json["sound"] is False
    assert found.json["findings"][1] == {
        "name": "Java",
        "state": "missing",
        "found": "[missing]",
        "advice": "do this",
    }


def test_settings_in_effect(
    run: Run, quick: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick("ok", "ok", "ok")
    monkeypatch.setenv("PARTAGE_PLAN_LEADERS", "rate")
    monkeypatch.setenv("PARTAGE_SASL_JAAS_CONFIG", "geheim")
    monkeypatch.setenv("PARTAGE_PLAN_LEADER", "geheim")
    (tmp_path / "partage.toml").write_text("[plan]\nthrottle = '5MB'\n")
    found = {one["name"]: one for one in run("doctor", "--json").json["findings"]}
    assert found["partage.toml"]["found"] == "partage.toml"
    assert found["variables"]["found"] == "PARTAGE_PLAN_LEADERS, PARTAGE_SASL_JAAS_CONFIG"
    assert found["PARTAGE_PLAN_LEADER"]["advice"] == "did you mean PARTAGE_PLAN_LEADERS?"
    shown = run("doctor")
    assert shown.code == 0
    assert "geheim" not in shown.out
    (tmp_path / "partage.toml").write_text("[plan]\nthrottl = '5MB'\n")
    ended = run("doctor")
    assert (ended.code, ended.err) == (1, "")
    assert "✗ partage.toml" in ended.out
    assert "did you mean throttle?" in ended.out


def test_next_step(run: Run, quick: Callable[..., None]) -> None:
    quick("ok", "ok", "ok")
    said = run("doctor", "--bootstrap-server", "h:1").out.splitlines()[-1]
    assert said == "Next: partage snapshot --bootstrap-server h:1 -o cluster.json"
    quick("absent", "absent", "absent")
    assert run("doctor").out.splitlines()[-1] == "Next: partage plan CLUSTER -o plan/"


def test_without_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def bare(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", BARE, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    ended = bare("--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = {one["name"]: one["state"] for one in json.loads(ended.stdout)["findings"]}
    assert {found[name] for name in doctor.EXTRAS} == {"absent"}
    assert "connector" not in found
    ended = bare("--bootstrap-server", "127.0.0.1:1")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert adding("kafka") in ended.stdout
