"""Memory of large arrays is kept inside, and returned to the system after that."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from partage.memory import kept_memory

MEASURE = """
import resource
import numpy as np
from partage.memory import kept_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

usual = faults()
with kept_memory():
    kept = faults()
    np.ones(50_000_000)
    inside = resident()
print(usual, kept, inside, resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_freed_memory_is_used_again_and_returned_at_the_end() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", MEASURE],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={"NUMPY_MADVISE_HUGEPAGE": "0", "PYTHONPATH": ":".join(sys.path)},
    )
    usual, kept, inside, after = map(int, ended.stdout.split())
    assert kept < usual / 10
    assert after < inside - 300_000_000


def test_other_c_libraries_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    with kept_memory():
        assert np.ones(10).sum() == 10


def test_an_error_passes_through() -> None:
    with pytest.raises(ZeroDivisionError), kept_memory():
        _ = 1 // 0
