"""The level of vessels, by hand."""

from __future__ import annotations

import pytest

from partage.flow.water_level import water_level


def test_two_vessels() -> None:
    def held(level: float) -> float:
        return min(level, 3.0) + level / 2

    assert water_level(held, 3.0, 10.0) == pytest.approx(2.0, rel=1e-15)
    assert water_level(held, 5.0, 10.0) == pytest.approx(4.0, rel=1e-15)
    assert water_level(held, 100.0, 10.0) == 10.0
    assert water_level(held, 0.0, 0.0) == 0.0
    assert held(water_level(held, 1e-12, 1e12)) == 1e-12
