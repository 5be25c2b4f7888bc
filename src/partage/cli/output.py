"""What every command prints with: tables on stdout, progress on stderr, or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console


def console() -> Console:
    """Where tables go. Without a terminal: 100 columns, no colour."""
    return Console() if sys.stdout.isatty() else Console(width=100, no_color=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout and nothing else; in ASCII, which every terminal and pipe takes."""
    sys.stdout.write(json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n")


@contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr that says what is being done; silent without a terminal."""
    err = Console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    with err.status("starting") as status:
        yield lambda step: status.update(step)


@contextmanager
def bar(quiet: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on stderr for (done, total, label); one line per step without a terminal."""
    err = Console(stderr=True)
    if quiet:
        yield lambda _done, _total, _label: None
        return
    if not err.is_terminal:
        seen: set[str] = set()

        def line(_done: int, _total: int, label: str) -> None:
            if label not in seen:
                seen.add(label)
                print(f"… {label}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as drawn:
        tasks: dict[str, Any] = {}

        def update(done: int, total: int, label: str) -> None:
            if label not in tasks:
                tasks[label] = drawn.add_task(label, total=None)
            drawn.update(tasks[label], completed=done, total=total or None)

        yield update
