"""The contract tests of the ``compat`` modules against the newest releases on PyPI, and of
confluent-kafka what is compared with it: its partitioners and serializers.

The newest release of each library goes into a folder of its own, which shadows the locked one. A
failure announces what the next upgrade breaks; it is no defect of this release.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

TESTS = Path(__file__).parent

CONTRACTS = {
    "aiokafka": ["live/test_compat_aiokafka.py"],
    "confluent-kafka": [
        f"producers/test_{name}.py" for name in ("hashing", "partition", "serializers")
    ],
    "kafka-python": ["live/test_compat_kafka_python.py"],
    "typer": ["cli/test_compat.py"],
}
"""Contract tests by library. That of pyspark, 400 MB, is left to its upgrade."""

UNREACHABLE = ("No matching distribution", "Connection", "Temporary failure", "timed out")


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the newest release of each library and what it depends on."""
    folder = tmp_path_factory.mktemp("newest")
    venv.create(folder / "pip", with_pip=True)
    target = folder / "packages"
    pip = [folder / "pip" / "bin" / "python", "-m", "pip", "install", "--quiet", "--target", target]
    run = subprocess.run([*pip, *CONTRACTS], capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        if any(reason in run.stderr for reason in UNREACHABLE):
            pytest.skip(f"PyPI cannot be reached: {run.stderr.strip().splitlines()[-1]}")
        pytest.fail(run.stderr)
    return target


@pytest.mark.parametrize("library", CONTRACTS)
def test_the_contract_holds_for_the_newest_release(newest: Path, library: str) -> None:
    found = sorted(newest.glob(f"{library.replace('-', '_')}-*.dist-info"))
    assert len(found) == 1
    tests = [str(TESTS / file) for file in CONTRACTS[library]]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(newest)}
    run = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, f"{found[0].stem}:\n{run.stdout[-3000:]}{run.stderr[-1000:]}"
