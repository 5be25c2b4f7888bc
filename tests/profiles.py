"""How thorough the random tests are: three Hypothesis profiles, and seeds in proportion.

``quick``, the default and that of ``make test``, is derandomised: each run tries the same examples.
``thorough``, that of ``make test-long``, tries six times as many from the seed it is given;
``exhaustive`` tries all that the tests name, four times as many.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

PROFILES = {"thorough": 25, "exhaustive": 100}
"""Examples per hundred that a test names."""

QUICK = 4

FEWEST = 2


def register() -> None:
    """Make the profiles known to Hypothesis and load the quick one."""
    common = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
    settings.register_profile("quick", common, max_examples=QUICK, derandomize=True)
    for name, share in PROFILES.items():
        settings.register_profile(name, common, max_examples=share, print_blob=True)
    settings.load_profile("quick")


def examples(named: int) -> settings:
    """The settings of a property test: ``@examples(300)`` tries 75 examples in the long tier."""
    return settings(max_examples=_scaled(named, FEWEST))


def seeds(named: int, fewest: int = FEWEST) -> range:
    """Seeds of a test that makes its own random input (marker ``random``). ``fewest``: what it
    counts occurs in so many."""
    return range(_scaled(named, fewest))


def _scaled(named: int, fewest: int) -> int:
    return max(min(named, fewest), named * settings.default.max_examples // 100)
