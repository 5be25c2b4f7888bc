"""What a terminal of 80 and of 100 columns shows, line by line.

``REWRITE_SCREENS=1`` writes the files in ``screens/`` again.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

import partage
from partage.report.plan_tables import print_plan
from partage.report.printing import PrintableConsole

SCREENS = Path(__file__).parent / "screens"
LINES = 40
"""Of a terminal: what a plan prints fits it, with the prompt and the next command."""


@pytest.fixture(scope="module")
def document() -> Any:
    """The plan of the bundled cluster."""
    source = Path(partage.__file__).parent / "data" / "cluster-grown.json"
    return partage.plan(partage.Cluster.read(source), throttle="50MB").document()


@pytest.mark.parametrize("width", [80, 100])
def test_plan(document: Any, width: int) -> None:
    out = io.StringIO()
    print_plan(document, PrintableConsole(file=out, width=width))
    text = "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
    kept = SCREENS / f"plan-{width}.txt"
    if os.environ.get("REWRITE_SCREENS"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES - 5
    assert max(map(len, text.splitlines())) <= width
