"""The survey's claims about the author's three flows, the strategy ``three-flows``."""

from __future__ import annotations

from claims.claim import TESTED, Claim, Figures, Tool, moves, worst


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, scattered = figures.grown, figures.scattered
    exact, answers = figures.exact, figures.answers
    flows = figures.trials["three-flows"]
    return Tool(
        "The author's three flows",
        "three-flows",
        "The original is described, not published. Residue capacities, chains, racks and lower "
        "replication factors are designed here.",
        (
            Claim(
                "The first flow gave even replicas in all tests.",
                f"even in {flows.replicas} of {answers} trials",
                "confirmed",
                flows.replicas == answers,
            ),
            Claim(
                "Moves few replicas.",
                f"fewest in {flows.moves} of {answers} trials; middle, grown: "
                f"{moves(grown['three-flows'])}; scattered: {moves(scattered['three-flows'])}",
                "in part",
                grown["three-flows"]["moves"] == exact["moves"] and 0 < flows.moves < answers,
            ),
            Claim(
                "Respects racks (according to the summary; according to the text, not yet).",
                f"middle, scattered: {scattered['three-flows']['rack_violations']} violations, "
                f"{scattered['greedy']['rack_violations']} before",
                "confirmed",
                not any(
                    rows["three-flows"].get("rack_violations") for rows in figures.jobs.values()
                ),
            ),
            Claim(
                "The second flow balances leaders without moves.",
                f"even in {flows.leaders} of {answers} trials",
                "confirmed",
                flows.leaders == answers,
            ),
            Claim(
                "Moves again on a second run unless it first checks for balance, so its output is "
                "not deterministic.",
                f"with that check, stable in {flows.settled} of {answers} trials, but not in every "
                "job with racks; the same bytes from shuffled input in all",
                "in part",
                flows.settled == answers
                and all(rows["three-flows"]["deterministic"] for rows in figures.jobs.values()),
            ),
            Claim(
                "Raises a replication factor with one more node.",
                "the article's figure: 3, 3, 3, 3 in six moves, four of them new replicas",
                "confirmed",
                TESTED,
            ),
            Claim(
                "Cannot lower a factor if all replicas of a partition are on the sink's side.",
                "the strategy here reaches every factor with even loads",
                "confirmed",
                TESTED,
            ),
            Claim(
                "The third flow improves first followers, short of perfection.",
                f"as good as `exact` in {flows.failure} of {answers} trials; middle, grown: "
                f"{worst(grown['three-flows'])} on the worst survivor, `exact` {worst(exact)}",
                "confirmed",
                0 < flows.failure < answers and worst(grown["three-flows"]) > worst(exact),
            ),
            Claim(
                "The third flow works with more than two replicas only.",
                "two replicas, 6 brokers, 300 partitions: `exact` has 63 on the worst survivor, "
                "proven minimal; even followers alone would suggest 60",
                "confirmed",
                TESTED,
            ),
            Claim(
                "There is no proof, and extreme cases may be exceptions.",
                "there are such cases for moves, replicas, leaders and failures",
                "confirmed",
                TESTED,
            ),
        ),
    )
