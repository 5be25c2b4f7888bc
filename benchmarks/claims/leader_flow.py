"""The survey's claims about Pinterest's maximum flow, the strategy ``leader-flow``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, replicas


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, trials, answers = figures.grown, figures.trials, figures.answers
    return Tool(
        "Pinterest's maximum flow",
        "leader-flow",
        "How Pinterest connects the two residue nodes is unpublished; the capacities here leave "
        "even counts unchanged.",
        (
            Claim(
                "Gave the best leader counts on some hundred test clusters.",
                f"the best counts that the replica sets allow in "
                f"{trials['leader-flow'].led} of {answers} trials",
                "in part",
                trials["leader-flow"].leaders <= trials["leader-flow"].led < answers,
            ),
            Claim(
                "Moves no data, so other tools must fill new brokers.",
                f"middle, grown: {grown['leader-flow']['moves']} moves; "
                f"{replicas(grown['leader-flow'])} replicas per broker",
                "confirmed",
                grown["leader-flow"]["moves"] == 0,
            ),
        ),
    )
