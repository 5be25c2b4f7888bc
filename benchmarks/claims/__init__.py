"""The survey's claims about each tool, judged by the figures of ``article.py``.

The claims are paraphrased from the survey, one file per tool. No page is written if the figures
stop supporting a verdict.
"""

from __future__ import annotations

from claims import (
    bin_packing,
    greedy,
    kafka,
    leader_flow,
    mip,
    permutation,
    rack_greedy,
    three_flows,
)
from claims.claim import Figures, Verdict

TOOLS = (
    kafka,
    greedy,
    rack_greedy,
    bin_packing,
    mip,
    permutation,
    leader_flow,
    three_flows,
)
"""In the survey's order."""

MARKS: dict[Verdict, str] = {"confirmed": "✓", "in part": "◐", "corrected": "✗"}


def claims_block(figures: Figures) -> str:
    """A list of claims per tool. Raises ValueError if the figures do not support a verdict."""
    found = [module.tool(figures) for module in TOOLS]
    every = [claim for tool in found for claim in tool.claims]
    for claim in every:
        if not claim.holds:
            raise ValueError(f"the figures no longer support the verdict: {claim}")
    count = {v: sum(c.verdict == v for c in every) for v in ("confirmed", "in part", "corrected")}
    parts = [
        f"Of {len(every)} claims, {count['confirmed']} are confirmed (✓), {count['in part']} are "
        f"true in part (◐), and {count['corrected']} are corrected (✗).",
    ]
    for tool in found:
        parts.append(f"### {tool.name}: `{tool.strategy}`")
        parts.append(f"Difference from the original: {tool.differs}")
        parts.append(
            "\n".join(f"- {MARKS[c.verdict]} *{c.text}* {c.measured}" for c in tool.claims)
        )
    return "\n\n".join(parts)
