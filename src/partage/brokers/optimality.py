"""Whether a plan is optimal, in words: one statement for the stages that meet their bound and for
those that a search leaves above theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from partage.units import percent


def optimality(
    optimal: bool, gaps: Mapping[str, float], without_bound: Collection[str] = ()
) -> str:
    """``optimal``, ``optimal except leader rate (0.043 % above its bound)`` or ``not optimal``.

    ``gaps``: by stage, the distance to its bound as a share of the bound. ``without_bound``: the
    stages whose bound is 0, so that there is no share.
    """
    if not optimal:
        return "not optimal"

    def distance(name: str) -> str:
        return (
            "its bound is 0" if name in without_bound else f"{percent(gaps[name])} above its bound"
        )

    above = ", ".join(f"{name} ({distance(name)})" for name in gaps)
    return f"optimal except {above}" if above else "optimal"


def verdict(optimal: bool, gaps: Mapping[str, float], without_bound: Collection[str] = ()) -> str:
    """A sentence about a plan in which nothing is wrong."""
    if not optimal:
        return "The plan is valid, but not optimal."
    if gaps:
        return f"The plan is valid, and {optimality(optimal, gaps, without_bound)}."
    return "The plan is valid and optimal: every exact stage meets its bound."
