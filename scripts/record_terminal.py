"""Run commands and draw what they print as an animated SVG: a terminal that fills and scrolls.

The output is real, the times are not: a line appears every few hundredths of a second, and the
picture waits after each command. A command with bars (``--watch``) runs on a pseudo-terminal, and
is shown faster than it ran. Where motion is not wanted, the end is shown at once.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.style import Style
from rich.text import Text

ROWS, COLUMNS = 30, 100
LINE, CHARACTER, MARGIN = 18, 7.8, 16
TYPED, PRINTED, READ = 0.7, 0.04, 2.5
"""Seconds before a command's first line, between its lines, and after its last."""

SEEN_EVERY, FRAME = 0.5, 0.15
"""Seconds between two looks at a command that is watched, and how long each is shown."""

INK, PAPER, FAINT = "#d4d7dd", "#14171c", "#8b93a1"
COLOURS = {1: "#ef7c7c", 2: "#6cc38a", 3: "#e0b35c", 6: "#6fc1d4"}
"""By their number in the terminal: red, green, yellow, cyan."""


Frame = list[str]
"""The lines of a terminal at one moment, with their colours."""


@dataclass(frozen=True)
class Run:
    """A command, and what the terminal shows: one frame, or several while it changes."""

    command: str
    frames: list[Frame]


def run(command: str) -> Run:
    """Run a command to its end. Raises CalledProcessError where it fails."""
    done = subprocess.run(
        _words(command), capture_output=True, text=True, check=True, env=_environment()
    )
    return Run(command, [done.stdout.splitlines()])


def watch(command: str) -> Run:
    """Run a command on a terminal, and look at it while it changes. Raises CalledProcessError."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = _environment() | {"TERM": "xterm-256color"}
    started = subprocess.Popen(
        _words(command), stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    screen, frames, seen = Screen(), [], time.monotonic()
    decoder = codecs.getincrementaldecoder("utf-8")()
    while part := _read(ours):
        screen.write(decoder.decode(part))
        if time.monotonic() >= seen + SEEN_EVERY:
            frames.append(list(screen.lines))
            seen = time.monotonic()
    os.close(ours)
    if started.wait():
        raise subprocess.CalledProcessError(started.returncode, command, "\n".join(screen.lines))
    while screen.lines and not screen.lines[-1]:
        screen.lines.pop()
    return Run(command, [*frames, screen.lines])


class Screen:
    """The lines of a terminal whose program erases a line before it writes it again."""

    def __init__(self) -> None:
        self.lines: Frame = [""]
        self._row = 0

    def write(self, text: str) -> None:
        """What a program prints: text, ends of lines, and escape codes."""
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self._row += 1
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif part.endswith("K") and part.startswith("\x1b"):
                self.lines[self._row] = ""
            elif part.endswith("A") and part.startswith("\x1b"):
                self._row = max(0, self._row - int(part[2:-1] or 1))
            elif part != "\r" and not part.startswith("\x1b[?"):
                self.lines[self._row] += part


def _read(terminal: int) -> bytes:
    """What was printed meanwhile; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def _words(command: str) -> list[str]:
    return ["/usr/bin/env", *shlex.split(command)]


def _environment() -> dict[str, str]:
    """With colours, and ``partage`` on the PATH: the page says partage, not uv run."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("UV")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**outside, "FORCE_COLOR": "1", "PATH": path}


@dataclass
class Line:
    """A line of the picture: its row, and from when until when it is shown, in seconds."""

    row: int
    text: str
    at: float
    until: float | None = None


def shown(one: Run, top: int, at: float) -> tuple[list[Line], float]:
    """The lines of a command whose own is in the row ``top`` at this time, and the time of its last
    one. A line is shown until another frame has another one in its row."""
    lines = [Line(top, f"\x1b[32m$ \x1b[0;1m{one.command}\x1b[0m", at)]
    at += TYPED
    now: dict[int, Line] = {}
    for number, frame in enumerate(one.frames):
        at += FRAME if number else 0
        for row in range(len(frame), len(now)):
            now.pop(row).until = at
        for row, text in enumerate(frame):
            before = now.get(row)
            if before is not None and before.text == text:
                continue
            now[row] = Line(top + 1 + row, text, at)
            lines.append(now[row])
            if before is None:
                at += PRINTED
            else:
                before.until = at
    return lines, at


def drawn(runs: Sequence[Run]) -> str:
    """The picture of commands and what they printed."""
    lines: list[Line] = []
    times: list[float] = []
    at = 0.0
    for one in runs:
        found, at = shown(one, len(times), at)
        lines += found
        rows = 2 + max(map(len, one.frames))  # the command, and an empty one
        first = {line.row: line.at for line in reversed(found)}
        times += [first.get(row, at) for row in range(len(times), len(times) + rows)]
        at += PRINTED + READ
    width = round(COLUMNS * CHARACTER) + 2 * MARGIN
    height = min(ROWS, len(times)) * LINE + 2 * MARGIN
    label = "; ".join(f"{one.command}: {_headline(one)}" for one in runs)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(label)}</title>",
            f"<style>{''.join(_styles(times, at))}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
            f'<svg x="{MARGIN}" y="{MARGIN}" width="{width - 2 * MARGIN}" '
            f'height="{height - 2 * MARGIN}"><g class="page">',
            *map(_drawn, lines),
            "</g></svg></svg>\n",
        ]
    )


def _styles(times: Sequence[float], end: float) -> Iterator[str]:
    yield f"text{{font:13px ui-monospace,Menlo,Consolas,monospace;fill:{INK};white-space:pre}}"
    over = len(times) - ROWS
    yield ".gone{opacity:0}"
    yield f".page{{transform:translateY({-max(0, over) * LINE}px)}}"
    yield "@media (prefers-reduced-motion:no-preference){"
    yield "text{opacity:0;animation:in 1ms forwards}@keyframes in{to{opacity:1}}"
    yield ".gone{animation:in 1ms forwards,out 1ms forwards}@keyframes out{to{opacity:0}}"
    if over > 0:
        steps = ["0%{transform:translateY(0)}"]
        for row in range(ROWS, len(times)):
            up = -(row - ROWS + 1) * LINE
            steps.append(f"{100 * times[row] / end:.2f}%{{transform:translateY({up}px)}}")
        yield f".page{{animation:up {end:.1f}s step-end forwards}}@keyframes up{{{''.join(steps)}"
        yield f"to{{transform:translateY({-over * LINE}px)}}}}"
    yield "}"


def _headline(one: Run) -> str:
    """The first line that a command prints, or, if it was watched, what it said at the end."""
    printed = [Text.from_ansi(line).plain.strip() for line in one.frames[-1]]
    return next((line for line in printed if line.startswith("Done")), printed[0])


def _drawn(line: Line) -> str:
    parts = []
    for segment in Text.from_ansi(line.text).render(Console(width=COLUMNS)):
        text = escape(segment.text.rstrip("\n"))
        look = _look(segment.style)
        parts.append(f"<tspan{look}>{text}</tspan>" if look else text)
    gone = "" if line.until is None else ' class="gone"'
    delays = ",".join(f"{moment:.2f}s" for moment in (line.at, line.until) if moment is not None)
    y = line.row * LINE + 13
    return f'<text{gone} y="{y}" style="animation-delay:{delays}">{"".join(parts)}</text>'


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
    parser.add_argument("--watch", metavar="COMMAND", help="one with bars, run after the others")
    given = parser.parse_args()
    runs = [run(command) for command in given.commands]
    if given.watch:
        runs.append(watch(given.watch))
    given.target.write_text(drawn(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
