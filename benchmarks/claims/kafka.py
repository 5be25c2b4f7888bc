"""The survey's claims about kafka-reassign-partitions.sh --generate, the strategy ``generate``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, moves, replicas
from partage.report import units


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, exact = figures.grown, figures.exact
    return Tool(
        "kafka-reassign-partitions.sh",
        "generate",
        "Follows Kafka 4.1 to 4.3; the random starts come from a fixed seed.",
        (
            Claim(
                "Ignores the current placement, so most replicas move.",
                f"middle, grown: {moves(grown['generate'])} moves; "
                f"{units.count(exact['moves'])} are enough for even counts",
                "confirmed",
                grown["generate"]["moves"] > 4 * exact["moves"],
            ),
            Claim(
                "A new broker only needs a share of replicas from each old one.",
                f"middle, grown: {moves(exact)} moves fill 6 of 30 brokers with {replicas(exact)} "
                "each",
                "confirmed",
                exact["moves"] == exact["moves_lower_bound"] == 6 * 90,
            ),
        ),
    )
