"""What the survey says of dimas/kafka-reassign-tool, the strategy ``greedy``."""

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
    """Its claims, with their figures."""
    grown, shrunk, scattered = figures.grown, figures.shrunk, figures.scattered
    trials, answers = figures.trials, figures.answers
    return Tool(
        "dimas/kafka-reassign-tool",
        "greedy",
        "Partitions come in ascending order; the tool takes them as Kafka's tool prints them, and "
        "breaks ties by its hash.",
        (
            Claim(
                "storage",
                "by count",
                "Evens out replicas per broker, whatever their topic.",
                f"middle, scattered: {replicas(scattered['greedy'])} per broker before and after; "
                f"grown: {replicas(grown['greedy'])}",
                "corrected",
                "Its script counts by topic, and only chooses where a replica goes that must be "
                "placed. What has a place keeps it.",
                grown["greedy"]["replicas_per_broker"][0] == 0
                and scattered["greedy"]["moves"] == 0,
            ),
            Claim(
                "racks",
                "no",
                "Knows no racks.",
                f"middle, shrunk: {shrunk['greedy']['rack_violations']} partitions break the rule, "
                "none before",
                "confirmed",
                "Racks are not read.",
                shrunk["greedy"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, grown: {moves(grown['greedy'])} moves; shrunk: {moves(shrunk['greedy'])}",
                "in part",
                "A broker is emptied with as few moves as there can be, fewer than an even share "
                "within the racks takes. A new one stays empty.",
                grown["greedy"]["moves"] == 0
                and 0 < shrunk["greedy"]["moves"] <= shrunk["exact"]["moves"],
            ),
            Claim(
                "leaders",
                "yes, not perfectly",
                "Evens out leaders, not always perfectly.",
                f"middle, scattered: {leaders(scattered['greedy'])}; even in "
                f"{trials['greedy'].leaders} of {answers} trials",
                "confirmed",
                "One pass, by topic, and only below the topic's share rounded down.",
                width(scattered["greedy"], "leaders") > 1,
            ),
            deterministic(
                figures,
                "greedy",
                "But a second run may hand leaders back: what the author finds more important "
                "fails.",
            ),
            failure(figures, "greedy", "scattered", "Who follows first is left as it comes."),
        ),
    )
