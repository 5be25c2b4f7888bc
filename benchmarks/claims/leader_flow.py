"""What the survey says of Pinterest's maximum flow, the strategy ``leader-flow``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, replicas


def tool(figures: Figures) -> Tool:
    """Its claims, with their figures."""
    grown, trials, answers = figures.grown, figures.trials, figures.answers
    return Tool(
        "Pinterest's maximum flow",
        "leader-flow",
        "How Pinterest joins the two residue nodes is not known to us: our capacities leave alone "
        "what is even.",
        (
            Claim(
                "",
                "",
                "Gave the best leaders on some hundred test clusters.",
                f"the best that the replica sets allow in {trials['leader-flow'].led} of {answers} "
                "trials",
                "in part",
                trials["leader-flow"].leaders <= trials["leader-flow"].led < answers,
            ),
            Claim(
                "",
                "",
                "Moves no data, so that other tools must fill new brokers.",
                f"middle, grown: {grown['leader-flow']['moves']} moves; "
                f"{replicas(grown['leader-flow'])} replicas per broker",
                "confirmed",
                grown["leader-flow"]["moves"] == 0,
            ),
        ),
    )
