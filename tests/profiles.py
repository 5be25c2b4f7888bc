"""How thorough the random tests are: two Hypothesis profiles, and seeds in proportion.

``quick``, the default and that of ``make test``, is derandomised: each run tries the same examples.
``thorough``, that of ``make test-long``, tries twenty times as many from a new seed, and prints it.
A test names the number of examples that the thorough profile tries.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUICK, THOROUGH = 5, 100
"""Examples of a profile per hundred that a test asks for."""

FEWEST = 2


def register() -> None:
    """Make both profiles known to Hypothesis and load the quick one."""
    common = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
    settings.register_profile("quick", common, max_examples=QUICK, derandomize=True)
    settings.register_profile("thorough", common, max_examples=THOROUGH, print_blob=True)
    settings.load_profile("quick")


def examples(thorough: int) -> settings:
    """The settings of a property test: ``@examples(300)`` tries 300 examples in the long tier."""
    return settings(max_examples=_scaled(thorough, FEWEST))


def seeds(thorough: int, fewest: int = FEWEST) -> range:
    """Seeds of a test that makes its own random input (marker ``random``). ``fewest``: what it
    counts occurs in so many."""
    return range(_scaled(thorough, fewest))


def _scaled(thorough: int, fewest: int) -> int:
    return max(min(thorough, fewest), thorough * settings.default.max_examples // THOROUGH)
