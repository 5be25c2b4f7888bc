"""The verdict of ``partage check`` in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from partage.brokers.check import CheckResult
from partage.report import printing


def print_verdict(verdict: CheckResult, console: Console) -> None:
    """Print what holds, what does not, what has no proof, and the answer."""
    for sign, style, lines in (
        ("✓", "green", verdict.held),
        ("✗", "red", verdict.defects),
        ("○", "yellow", [f"not proven: {line}" for line in verdict.not_proven]),
    ):
        for line in lines:
            printing.bullet(console, Text(sign, style), Text(line), indent=0)
    console.print(Text(verdict.summary()))
