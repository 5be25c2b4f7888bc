"""Send the package to Spark's workers.

Functions that run on the workers are pickled by name, so each worker must be able to import the
package. Instead of installing it there, the session sends its source files as a zip, as with
``--py-files``. Its dependencies (numpy, pyarrow) must be installed on the workers.
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

    ``session`` does this for every session that is not local; call it for a session that you open
    yourself.
    """
    spark.addArtifacts(str(_zipped()), pyfile=True)


@cache
def _zipped() -> Path:
    """The zip of this process, kept until its end because workers fetch it when they start."""
    folder = Path(tempfile.mkdtemp(prefix="partage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"partage-{partage.__version__}.zip"
    zip_package(path)
    return path


def zip_package(path: Path) -> None:
    """Write a zip of the package's source files without its data; the same files, the same
    bytes."""
    root = Path(partage.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(root.rglob("*.py")):
            name = file.relative_to(root.parent).as_posix()
            zipped.writestr(
                zipfile.ZipInfo(name, _LONG_AGO), file.read_bytes(), zipfile.ZIP_DEFLATED
            )
