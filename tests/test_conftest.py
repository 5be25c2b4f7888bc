"""What the processes that run the tests share."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs all tests")
def test_tests_that_share_a_session_stay_in_one_process(request: pytest.FixtureRequest) -> None:
    """xdist knows a test's group by its id, which it extends by a private attribute of pytest's."""
    assert request.node.nodeid.endswith("@" + request.node.path.as_posix())
