"""Plan directories to tamper with, written once."""

from __future__ import annotations

import pytest

from tests.brokers.check.plans import LIMITED, SOUND, LazyPlans


@pytest.fixture(scope="session")
def sound_plans(tmp_path_factory: pytest.TempPathFactory) -> LazyPlans:
    return LazyPlans(SOUND, tmp_path_factory.mktemp("sound"))


@pytest.fixture(scope="session")
def limited_plans(tmp_path_factory: pytest.TempPathFactory) -> LazyPlans:
    return LazyPlans(LIMITED, tmp_path_factory.mktemp("limited"))
