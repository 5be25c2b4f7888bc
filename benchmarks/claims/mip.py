"""The survey's claims about everpeace/kafka-reassign-optimizer, the strategy ``mip``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, deterministic, failure, leaders, moves, replicas


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, shrunk, scattered = figures.grown, figures.shrunk, figures.scattered
    large, exact, trials, answers = figures.large, figures.exact, figures.trials, figures.answers
    return Tool(
        "everpeace/kafka-reassign-optimizer",
        "mip",
        "HiGHS replaces lp_solve; the allowed range of loads is computed exactly.",
        (
            Claim(
                "Balances replicas per broker.",
                f"middle, shrunk: {replicas(shrunk['mip'])} per broker; even in "
                f"{trials['mip'].replicas} of {trials['mip'].answers} trials",
                "in part",
                0 < trials["mip"].replicas < trials["mip"].answers,
            ),
            Claim(
                "Ignores racks.",
                f"middle, grown: {grown['mip']['rack_violations']} partitions break the rule, none "
                "before",
                "confirmed",
                grown["mip"]["rack_violations"] > 0,
            ),
            Claim(
                "Moves few replicas.",
                f"middle, grown: {moves(grown['mip'])} moves; scattered: {moves(scattered['mip'])}",
                "confirmed",
                grown["mip"]["moves"] == exact["moves"]
                and scattered["mip"]["moves"] < scattered["exact"]["moves"],
            ),
            Claim(
                "Does not balance leaders.",
                f"middle, grown: {leaders(grown['mip'])}; no answer in "
                f"{answers - trials['mip'].answers} of {answers} trials",
                "confirmed",
                grown["mip"]["leader_changes"] == 0 and trials["mip"].answers < answers,
            ),
            deterministic(figures, "mip"),
            failure(figures, "mip", "grown"),
            Claim(
                "Runs out of memory on large clusters.",
                f"large, grown: {large['mip'].get('cannot', 'an answer')}",
                "in part",
                "variables" in large["mip"].get("cannot", ""),
            ),
        ),
    )
