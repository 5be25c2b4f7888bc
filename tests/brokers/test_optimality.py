"""What is proven of a plan, in one statement."""

from __future__ import annotations

import pytest

from partage.brokers.optimality import optimality, verdict

GAP = {"leader rate": 0.00043}
BOTH = {"leader rate": 0.012, "waves": 25.0}


@pytest.mark.parametrize(
    ("optimal", "gaps", "words"),
    [
        (True, {}, "optimal"),
        (True, GAP, "optimal except leader rate (0.043 % above its bound)"),
        (
            True,
            BOTH,
            "optimal except leader rate (1.2 % above its bound), waves (2,500 % above its bound)",
        ),
        (False, {}, "not optimal"),
        (False, GAP, "not optimal"),
    ],
)
def test_words(optimal: bool, gaps: dict[str, float], words: str) -> None:
    assert optimality(optimal, gaps) == words


def test_a_bound_of_0_has_no_percentage() -> None:
    words = optimality(True, {"joint failure balance": 3.0}, ["joint failure balance"])
    assert words == "optimal except joint failure balance (its bound is 0)"


def test_a_verdict_never_calls_a_plan_with_a_gap_optimal_without_naming_it() -> None:
    assert verdict(True, {}) == (
        "The plan is valid and optimal: every exact stage meets its bound."
    )
    assert verdict(True, GAP) == (
        "The plan is valid, and optimal except leader rate (0.043 % above its bound)."
    )
    assert verdict(False, GAP) == "The plan is valid, but not optimal."
