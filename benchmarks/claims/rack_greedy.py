"""The survey's claims about SiftScience/kafka-assigner, the strategy ``rack-greedy``."""

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
    large, trials, answers = figures.large, figures.trials, figures.answers
    return Tool(
        "SiftScience/kafka-assigner",
        "rack-greedy",
        "Takes topics by name; refuses to lower a replication factor where the original would "
        "write too many replicas.",
        (
            Claim(
                "Balances replicas per broker.",
                f"middle, grown: {replicas(grown['rack-greedy'])} per broker; even in "
                f"{trials['rack-greedy'].replicas} of {trials['rack-greedy'].answers} trials",
                "corrected",
                width(grown["rack-greedy"], "replicas") > 10,
            ),
            Claim(
                "Respects racks.",
                f"middle, scattered: {scattered['rack-greedy']['rack_violations']} violations; no "
                f"answer for middle, shrunk; for large, grown; and in "
                f"{answers - trials['rack-greedy'].answers} of {answers} trials",
                "in part",
                scattered["rack-greedy"]["rack_violations"] == 0
                and "cannot" in shrunk["rack-greedy"]
                and "cannot" in large["rack-greedy"],
            ),
            Claim(
                "Moves few replicas.",
                f"middle, scattered: {moves(scattered['rack-greedy'])} moves; grown: "
                f"{moves(grown['rack-greedy'])}, for "
                f"{replicas(grown['rack-greedy'])} replicas per broker",
                "in part",
                scattered["rack-greedy"]["moves"] > scattered["rack-greedy"]["moves_lower_bound"]
                and width(grown["rack-greedy"], "replicas") > 1,
            ),
            Claim(
                "Balances leaders, imperfectly.",
                f"middle, grown: {leaders(grown['rack-greedy'])}; even in "
                f"{trials['rack-greedy'].leaders} of {trials['rack-greedy'].answers} trials",
                "confirmed",
                width(grown["rack-greedy"], "leaders") > 1,
            ),
            deterministic(figures, "rack-greedy"),
            failure(figures, "rack-greedy", "grown"),
        ),
    )
