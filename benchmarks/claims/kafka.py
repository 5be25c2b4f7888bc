"""What the survey says of kafka-reassign-partitions.sh --generate, Kafka's own."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, moves, replicas
from partage.report import units


def tool(figures: Figures) -> Tool:
    """Its claims, with their figures."""
    grown, exact = figures.grown, figures.exact
    return Tool(
        "kafka-reassign-partitions.sh",
        "generate",
        "The tool of Kafka 4.1 to 4.3; its random starts come from a fixed seed.",
        (
            Claim(
                "",
                "",
                "Does not look at today's placement: everything moves about.",
                f"middle, grown: {moves(grown['generate'])} moves, where "
                f"{units.count(exact['moves'])} are enough for the fairest share",
                "confirmed",
                grown["generate"]["moves"] > 4 * exact["moves"],
            ),
            Claim(
                "",
                "",
                "For a new broker it is enough that each old one gives a share.",
                f"middle, grown: {moves(exact)} moves fill 6 of 30 brokers with {replicas(exact)} "
                "each",
                "confirmed",
                exact["moves"] == exact["moves_lower_bound"] == 6 * 90,
            ),
        ),
    )
