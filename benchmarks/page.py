"""Write the pages with figures from ``results/``, without measuring anything.

    python benchmarks/page.py

It fills the blocks of ``docs/benchmarks.md``, ``assignors-compared.md`` and
``kafka-reassignment-survey.md``, and redraws the plots in ``docs/images`` whose figures have
changed (needs matplotlib). The text between the blocks is written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "consumers"))

import assignors
import broker_assignors
import load
import peers
import pipeline
import plan
import plots
import results
import slope
import tables.article
import tables.assignors
import tables.broker_assignors
import tables.limits
import tables.load
import tables.peers
import tables.pipeline
import tables.plan
import tables.runs
import tables.scale
import tables.slope
import tables.summary
from tables.markdown import filled

ROOT = Path(__file__).resolve().parent.parent
NOT_SHOWN = (
    *("small, grown", "small, shrunk", "small, scattered", "large, scattered"),
    *("middle, shrunk", "middle, scattered", "large, grown", "permutation"),
    *("peers, stages", "summary, assignors", "pipeline, slopes"),
)
"""Tables that the pages leave out; the programs print them. The claims and the summary have what
matters of them."""
IN_SUMMARY = ("-110", "-1000")
"""Ends of the jobs that the summary and the plots show, but not the table of all planners."""

COMPARISONS = (
    *("plan", "peers", "load", "assignors", "broker_assignors"),
    *("slope", "pipeline", "limits", "scale", "article"),
)


def pages(folder: Path = results.FOLDER) -> dict[str, dict[str, str]]:
    """The text of every block by page (path from the root) and name."""
    runs = {name: results.read(name, folder) for name in COMPARISONS}
    found = {name: results.merged(each) for name, each in runs.items()}
    plans, joins = peers.ordered(found["peers"]), assignors.latest(found["assignors"])
    summarised = peers.compared(plans)
    clusters = {name: row.description for name, row in plan.ROWS.items()}
    found_blocks = {
        "docs/benchmarks.md": {
            **tables.runs.blocks(runs),
            **tables.summary.blocks(summarised, joins["seconds"]),
            **tables.peers.blocks(plans),
            "peers, plans": tables.peers.plans(
                {
                    job: each
                    for job, each in plans.items()
                    if job not in summarised or not job.endswith(IN_SUMMARY)
                }
            ),
            **tables.load.blocks(load.ordered(found["load"])),
            "plan": tables.plan.report(found["plan"], clusters),
            "slope": tables.slope.report(
                found["slope"], {name: job.description for name, job in slope.JOBS.items()}
            ),
            **tables.pipeline.blocks(pipeline.latest(found["pipeline"])),
            **tables.limits.blocks(found["limits"]["limits"]),
            **tables.scale.blocks(found["scale"]["scale"]),
        },
        "docs/assignors-compared.md": {
            **tables.assignors.blocks(joins),
            **tables.broker_assignors.blocks(broker_assignors.ordered(found["broker_assignors"])),
        },
        "docs/kafka-reassignment-survey.md": tables.article.blocks(found["article"]),
    }
    return {
        page: {name: text for name, text in blocks.items() if name not in NOT_SHOWN}
        for page, blocks in found_blocks.items()
    }


def charts(folder: Path = results.FOLDER) -> dict[str, plots.Chart]:
    """The charts by file name."""
    return plots.charts(
        peers.compared(peers.ordered(results.merged(results.read("peers", folder)))),
        assignors.latest(results.merged(results.read("assignors", folder)))["seconds"],
        pipeline.latest(results.merged(results.read("pipeline", folder)))["profile"],
    )


def main() -> None:
    for name, blocks in pages().items():
        page = ROOT / name
        page.write_text(filled(page.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    for name, chart in charts().items():
        plots.draw(chart, ROOT / "docs" / "images" / name)


if __name__ == "__main__":
    main()
