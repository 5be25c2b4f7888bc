"""The package, sent along to where Spark's workers are.

Functions of ours that run on the workers are sent by name only, so each worker must be able to
import the package. Nobody installs it there: its source files go as one zip with the session, as a
file added by the user would. What they import in turn (numpy, pyarrow) has to be there.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import partage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def ship(spark: SparkSession) -> None:
    """Let the workers of a session import this package.

    ``session`` does so wherever it opens one away from this machine; for a session of your own it
    is up to you.
    """
    spark.addArtifacts(str(_zipped()), pyfile=True)


@cache
def _zipped() -> Path:
    """The zip of this process. It stays to the end, since workers fetch it when they begin."""
    folder = Path(tempfile.mkdtemp(prefix="partage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"partage-{partage.__version__}.zip"
    zip_package(path)
    return path


def zip_package(path: Path) -> None:
    """Write the package's source files, without its data; the same files give the same bytes."""
    root = Path(partage.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(root.rglob("*.py")):
            name = file.relative_to(root.parent).as_posix()
            zipped.writestr(
                zipfile.ZipInfo(name, _LONG_AGO), file.read_bytes(), zipfile.ZIP_DEFLATED
            )
