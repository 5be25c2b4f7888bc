"""What the tests on the tests' own cluster have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def admin(kafka: Any) -> Iterator[Any]:
    """An admin client, as the commands have it."""
    from partage.live.connection import Connection

    with Connection.of(kafka.bootstrap_servers).admin() as client:
        yield client
