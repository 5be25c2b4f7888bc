"""The process of a command starts no threads, and ends without a search for garbage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

RUN = """
import atexit, gc, json, os, sys
def state():
    kept = {"frozen": gc.get_freeze_count(), "flags": sys.getdlopenflags()}
    return kept | {"blas": os.environ["OPENBLAS_NUM_THREADS"], "numpy": "numpy" in sys.modules}
atexit.register(lambda: json.dump(state(), sys.stderr))
sys.argv = ["partage", "plan", "small.json", "--json"]
from partage.__main__ import main
main()
"""


def state(folder: Path, **environment: str) -> dict[str, Any]:
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    ended = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(ended.stderr)
    return found


def test_the_process_of_a_command(small: str, tmp_path: Path) -> None:
    assert small == "small.json"
    found = state(tmp_path)
    assert found.pop("frozen") > 10_000
    assert found == {"flags": os.RTLD_LAZY, "blas": "1", "numpy": True}


def test_the_number_of_threads_may_be_set(small: str, tmp_path: Path) -> None:
    assert state(tmp_path, OPENBLAS_NUM_THREADS="2")["blas"] == "2"
