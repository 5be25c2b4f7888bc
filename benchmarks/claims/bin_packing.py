"""The survey's claims about topicmappr of DataDog/kafka-kit, the strategy ``bin-packing``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, deterministic, failure, leaders, moves, width
from partage.report import units


def tool(figures: Figures) -> Tool:
    """The claims with their figures."""
    grown, shrunk, scattered = figures.grown, figures.shrunk, figures.scattered
    exact = figures.exact
    return Tool(
        "DataDog/kafka-kit, topicmappr rebuild",
        "bin-packing",
        "Another seeded shuffle replaces Go's among equal brokers.",
        (
            Claim(
                "Packs by count or by storage.",
                f"middle, grown, fullest broker over mean: "
                f"{units.decimal(grown['bin-packing']['bytes_max_over_mean'])} by count, "
                f"{units.decimal(figures.storage['bytes_max_over_mean'])} by storage",
                "confirmed",
                figures.storage["bytes_max_over_mean"] < 1.05,
            ),
            Claim(
                "Respects racks.",
                f"middle, grown and shrunk: {grown['bin-packing']['rack_violations']} violations; "
                f"scattered: {scattered['bin-packing']['rack_violations']}, as before",
                "in part",
                grown["bin-packing"]["rack_violations"] == 0
                and shrunk["bin-packing"]["rack_violations"] == 0
                and scattered["bin-packing"]["rack_violations"] > 0,
            ),
            Claim(
                "Moves few replicas.",
                f"middle, shrunk: {moves(shrunk['bin-packing'])} moves; grown: "
                f"{moves(grown['bin-packing'])}",
                "in part",
                shrunk["bin-packing"]["moves"] <= shrunk["exact"]["moves"]
                and grown["bin-packing"]["moves"] > 4 * exact["moves"],
            ),
            Claim(
                "Balances leaders, imperfectly.",
                f"middle, shrunk: {leaders(shrunk['bin-packing'])}; grown: "
                f"{leaders(grown['bin-packing'])}",
                "confirmed",
                width(shrunk["bin-packing"], "leaders") > 1
                and width(grown["bin-packing"], "leaders") <= 1,
            ),
            deterministic(figures, "bin-packing"),
            failure(figures, "bin-packing", "shrunk"),
        ),
    )
