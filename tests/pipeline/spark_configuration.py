"""The configuration of the one Spark session, changed for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def configured(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings, and afterwards with those that it had: it is shared by all
    tests, whatever their order."""
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
