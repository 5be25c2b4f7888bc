"""The survey's claims about dimas/kafka-reassign-tool, the strategy ``greedy``."""

from __future__ import annotations

from claims.claim import (
    Claim,
    Figures,
    Tool,
    deterministic,
    failure,
    leaders,
    moves,
    replicas,
    width,
)


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, shrunk, scattered = figures.grown, figures.shrunk, figures.scattered
    trials, answers = figures.trials, figures.answers
    return Tool(
        "dimas/kafka-reassign-tool",
        "greedy",
        "Takes partitions in ascending order; the original takes them in the order of Kafka's "
        "output and breaks ties by hash.",
        (
            Claim(
                "Balances replicas per broker.",
                f"middle, scattered: {replicas(scattered['greedy'])} per broker before and after; "
                f"grown: {replicas(grown['greedy'])}",
                "corrected",
                grown["greedy"]["replicas_per_broker"][0] == 0
                and scattered["greedy"]["moves"] == 0,
            ),
            Claim(
                "Ignores racks.",
                f"middle, shrunk: {shrunk['greedy']['rack_violations']} partitions break the rule, "
                "none before",
                "confirmed",
                shrunk["greedy"]["rack_violations"] > 0,
            ),
            Claim(
                "Moves few replicas.",
                f"middle, grown: {moves(grown['greedy'])} moves; shrunk: {moves(shrunk['greedy'])}",
                "in part",
                grown["greedy"]["moves"] == 0
                and 0 < shrunk["greedy"]["moves"] <= shrunk["exact"]["moves"],
            ),
            Claim(
                "Balances leaders, imperfectly.",
                f"middle, scattered: {leaders(scattered['greedy'])}; even in "
                f"{trials['greedy'].leaders} of {answers} trials",
                "confirmed",
                width(scattered["greedy"], "leaders") > 1,
            ),
            deterministic(figures, "greedy"),
            failure(figures, "greedy", "scattered"),
        ),
    )
