"""What the survey says of topicmappr of DataDog/kafka-kit, the strategy ``bin-packing``."""

from __future__ import annotations

from claims.claim import Claim, Figures, Tool, deterministic, failure, leaders, moves, width
from partage.report import units


def tool(figures: Figures) -> Tool:
    """Its claims, with their figures."""
    grown, shrunk, scattered = figures.grown, figures.shrunk, figures.scattered
    exact = figures.exact
    return Tool(
        "DataDog/kafka-kit, topicmappr rebuild",
        "bin-packing",
        "Go's shuffle among equal brokers is not rebuilt, another seeded one takes its place.",
        (
            Claim(
                "storage",
                "by count or bytes",
                "Packs by count or by storage, as asked.",
                f"middle, grown, fullest broker over mean: "
                f"{units.decimal(grown['bin-packing']['bytes_max_over_mean'])} by count, "
                f"{units.decimal(figures.storage['bytes_max_over_mean'])} by storage",
                "confirmed",
                figures.storage["bytes_max_over_mean"] < 1.05,
            ),
            Claim(
                "racks",
                "yes",
                "Keeps to the racks.",
                f"middle, grown and shrunk: {grown['bin-packing']['rack_violations']} violations; "
                f"scattered: {scattered['bin-packing']['rack_violations']}, as before",
                "in part",
                grown["bin-packing"]["rack_violations"] == 0
                and shrunk["bin-packing"]["rack_violations"] == 0
                and scattered["bin-packing"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, shrunk: {moves(shrunk['bin-packing'])} moves; grown: "
                f"{moves(grown['bin-packing'])}",
                "in part",
                shrunk["bin-packing"]["moves"] <= shrunk["exact"]["moves"]
                and grown["bin-packing"]["moves"] > 4 * exact["moves"],
            ),
            Claim(
                "leaders",
                "yes, not perfectly",
                "Evens out leaders, imperfectly.",
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
