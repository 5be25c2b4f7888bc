"""docs/notebook.ipynb: every cell runs, and prints the stored text.

Where the text of a cell has changed on purpose, ``REWRITE_DOCS=1 pytest tests/test_notebook.py``
stores the new outputs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

pytestmark = pytest.mark.long

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "notebook.ipynb"


def text_of(notebook: Any) -> list[tuple[str, str]]:
    """The source and the printed text of each code cell."""
    return [
        (
            cell.source,
            "\n".join(
                output.get("text") or output.get("data", {}).get("text/plain", "")
                for output in cell.outputs
            ),
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.fixture(scope="module")
def nbformat() -> Any:
    """Imported here, because that takes seconds."""
    return pytest.importorskip("nbformat")


@pytest.mark.spark
@pytest.mark.xdist_group("notebook")
def test_cells_print_the_stored_text(nbformat: Any, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.from_dict(stored)
    nbclient.NotebookClient(
        run,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    if os.environ.get("REWRITE_DOCS"):
        nbformat.write(_lasting(run), NOTEBOOK)
        return
    assert text_of(run) == text_of(stored)


def test_nothing_local_is_stored(nbformat: Any) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
    assert all(output.output_type in ("execute_result", "display_data") for output in outputs)
    assert "/tmp" not in str(outputs)
    assert str(Path.home()) not in str(outputs)


def _lasting(notebook: Any) -> Any:
    """The notebook without what changes from run to run, or with the version of Python."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = {}
    return notebook
