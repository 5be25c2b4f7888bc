"""Run commands and draw what they print as an animated SVG: a terminal that fills and scrolls.

    python scripts/record_terminal.py docs/images/terminal.svg COMMAND...

The output is real, the times are not: a line appears every few hundredths of a second, and the
picture waits after each command. Where motion is not wanted, the end is shown at once.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.style import Style
from rich.text import Text

ROWS, COLUMNS = 30, 100
LINE, CHARACTER, MARGIN = 18, 7.8, 16
TYPED, PRINTED, READ = 0.7, 0.04, 2.5
"""Seconds before a command's first line, between its lines, and after its last."""

INK, PAPER, FAINT = "#d4d7dd", "#14171c", "#8b93a1"
COLOURS = {1: "#ef7c7c", 2: "#6cc38a", 3: "#e0b35c", 6: "#6fc1d4"}
"""By their number in the terminal: red, green, yellow, cyan."""


def run(command: str) -> list[Text]:
    """What a command prints, in its colours. Raises CalledProcessError where it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    outside = {name: value for name, value in os.environ.items() if not name.startswith("UV")}
    environment = {**outside, "FORCE_COLOR": "1", "PATH": path}  # the page says partage, not uv run
    words = ["/usr/bin/env", *shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return [Text.from_ansi(line) for line in done.stdout.splitlines()]


def drawn(runs: Sequence[tuple[str, Sequence[Text]]]) -> str:
    """The picture of commands and what they printed."""
    lines, at = [], 0.0
    times: list[float] = []
    for command, printed in runs:
        shown = [Text.assemble(("$ ", "green"), (command, "bold")), *printed, Text("")]
        for number, line in enumerate(shown):
            lines.append(_line(line, len(lines), at))
            times.append(at)
            at += TYPED if number == 0 else PRINTED
        at += READ
    width = round(COLUMNS * CHARACTER) + 2 * MARGIN
    height = min(ROWS, len(lines)) * LINE + 2 * MARGIN
    label = "; ".join(f"{command}: {printed[0].plain.strip()}" for command, printed in runs)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(label)}</title>",
            f"<style>{''.join(_styles(times, at))}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
            f'<svg x="{MARGIN}" y="{MARGIN}" width="{width - 2 * MARGIN}" '
            f'height="{height - 2 * MARGIN}"><g class="page">',
            *lines,
            "</g></svg></svg>\n",
        ]
    )


def _styles(times: Sequence[float], end: float) -> Iterator[str]:
    yield f"text{{font:13px ui-monospace,Menlo,Consolas,monospace;fill:{INK};white-space:pre}}"
    over = len(times) - ROWS
    yield f".page{{transform:translateY({-max(0, over) * LINE}px)}}"
    yield "@media (prefers-reduced-motion:no-preference){"
    yield "text{opacity:0;animation:in 1ms forwards}@keyframes in{to{opacity:1}}"
    if over > 0:
        steps = ["0%{transform:translateY(0)}"]
        for row in range(ROWS, len(times)):
            up = -(row - ROWS + 1) * LINE
            steps.append(f"{100 * times[row] / end:.2f}%{{transform:translateY({up}px)}}")
        yield f".page{{animation:up {end:.1f}s step-end forwards}}@keyframes up{{{''.join(steps)}"
        yield f"to{{transform:translateY({-over * LINE}px)}}}}"
    yield "}"


def _line(line: Text, row: int, at: float) -> str:
    parts = []
    for segment in line.render(Console(width=COLUMNS)):
        text = escape(segment.text.rstrip("\n"))
        look = _look(segment.style)
        parts.append(f"<tspan{look}>{text}</tspan>" if look else text)
    y = row * LINE + 13
    return f'<text y="{y}" style="animation-delay:{at:.2f}s">{"".join(parts)}</text>'


def _look(style: Style | None) -> str:
    if style is None:
        return ""
    look = ' font-weight="600"' if style.bold else ""
    if style.color is not None and style.color.number is not None:
        look += f' fill="{COLOURS.get(style.color.number % 8, INK)}"'
    elif style.dim:
        look += f' fill="{FAINT}"'
    return look


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", type=Path, help="the SVG file to write")
    parser.add_argument(
        "commands", nargs="+", metavar="COMMAND", help="each with its arguments, quoted"
    )
    given = parser.parse_args()
    runs = [(command, run(command)) for command in given.commands]
    given.target.write_text(drawn(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
