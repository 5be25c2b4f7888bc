"""What the survey says of everpeace/kafka-reassign-optimizer, the strategy ``mip``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, deterministic, failure, leaders, moves, replicas


def tool(figures: Figures) -> Tool:
    """Its claims, with their figures."""
    grown, shrunk, scattered = figures.grown, figures.shrunk, figures.scattered
    large, exact, trials, answers = figures.large, figures.exact, figures.trials, figures.answers
    return Tool(
        "everpeace/kafka-reassign-optimizer",
        "mip",
        "HiGHS solves the program in place of lp_solve; the window of loads is worked out exactly.",
        (
            Claim(
                "storage",
                "by count",
                "Evens out replicas per broker, whatever their topic.",
                f"middle, shrunk: {replicas(shrunk['mip'])} per broker; even in "
                f"{trials['mip'].replicas} of {trials['mip'].answers} trials",
                "in part",
                "Each broker holds 0.9 to 1.0 of the average, rounded outwards, and the solver "
                "uses that.",
                0 < trials["mip"].replicas < trials["mip"].answers,
            ),
            Claim(
                "racks",
                "no",
                "Knows no racks.",
                f"middle, grown: {grown['mip']['rack_violations']} partitions break the rule, none "
                "before",
                "confirmed",
                "The program has no rows for them.",
                grown["mip"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, grown: {moves(grown['mip'])} moves; scattered: {moves(scattered['mip'])}",
                "confirmed",
                "Fewest for its own rules, proven by the solver; fewer than our bound, since ours "
                "keeps to the racks and to an even share.",
                grown["mip"]["moves"] == exact["moves"]
                and scattered["mip"]["moves"] < scattered["exact"]["moves"],
            ),
            Claim(
                "leaders",
                "no",
                "Does not balance leaders.",
                f"middle, grown: {leaders(grown['mip'])}; no answer in "
                f"{answers - trials['mip'].answers} of {answers} trials",
                "confirmed",
                "Leaders are fixed where they are; where one broker leads more than it may hold, "
                "there is no solution.",
                grown["mip"]["leader_changes"] == 0 and trials["mip"].answers < answers,
            ),
            deterministic(
                figures, "mip", "As deterministic as its solver: HiGHS has a fixed seed."
            ),
            failure(figures, "mip", "grown", "Not even leaders are balanced."),
            Claim(
                "",
                "",
                "Runs out of memory on large clusters.",
                f"large, grown: {large['mip'].get('cannot', 'an answer')}",
                "in part",
                "A variable for every partition and broker. lp_solve was not run; HiGHS takes some "
                "800 MB for the 500,000 at which we stop.",
                "variables" in large["mip"].get("cannot", ""),
            ),
        ),
    )
