"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partage


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of all tests, opened when the first of them asks for it."""
    pytest.importorskip("pyspark")
    from partage.pipeline.session import session

    config = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
    with session("local[2]", short=True, config=config) as opened:
        yield opened


@pytest.fixture(scope="session")
def change_events() -> str:
    """The bundled records: 378,940 changes of files, as Parquet."""
    return str(Path(partage.__file__).parent / "data" / "change-events.parquet")
