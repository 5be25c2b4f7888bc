"""The survey's claims about the author's earlier method, the strategy ``permutation``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, deterministic, worst


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, exact, trials, answers = figures.grown, figures.exact, figures.trials, figures.answers
    ratio = {
        n: rows["permutation"]["moves"] / rows["exact"]["moves"]
        for n, rows in figures.growth.items()
    }
    few, many = min(ratio), max(ratio)
    return Tool(
        "The author's earlier method",
        "permutation",
        "The original is unpublished. The order of replicas for factors above 2 is designed here.",
        (
            Claim(
                "Replicas are even; in the worst case slightly less than with other tools.",
                f"even in {trials['permutation'].replicas} of {answers} trials, and never more "
                f"than {trials['permutation'].widest} apart",
                "confirmed",
                trials["permutation"].widest == 3,
            ),
            Claim(
                "Ignores racks.",
                f"middle, grown: {grown['permutation']['rack_violations']} partitions break the "
                "rule, none before",
                "confirmed",
                grown["permutation"]["rack_violations"] > 0,
            ),
            Claim(
                "Moves few replicas with few brokers, many with many.",
                f"{ratio[few]:.1f} times the fewest moves when {few} brokers become {few + 1}, "
                f"{ratio[many]:.1f} times from {many} to {many + 1}",
                "confirmed",
                ratio[few] < 1.1 and ratio[many] > 4,
            ),
            Claim(
                "Balances leaders.",
                f"even in {trials['permutation'].leaders} of {answers} trials",
                "confirmed",
                trials["permutation"].leaders == answers,
            ),
            deterministic(figures, "permutation"),
            Claim(
                "Keeps leaders even after a broker's failure.",
                f"middle, grown: {worst(grown['permutation'])} on the worst survivor, `exact` "
                f"{worst(exact)}; as good as `exact` in {trials['permutation'].failure} of "
                f"{answers} trials",
                "confirmed",
                worst(grown["permutation"]) == worst(exact),
            ),
        ),
    )
