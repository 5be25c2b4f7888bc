"""docs/reference/commands.md, written from the command line: its groups, and shared options once.

An option that several commands have with the same help is described once, in a section with the
name of its group in ``--help``. Each command lists its other options and names the shared ones.
Examples are left to ``--help`` and to the how-tos.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from typer.main import get_command
from typer.models import Context

from partage.cli import app

PLAIN = "Other options"
"""The group of options that name none."""

JSON = "--json"
"""Every command has it: it is described once, and named only where its help differs."""

Option = tuple[str, str, str]
"""Group, name and line of an option."""


def reference() -> str:
    """The whole page."""
    root = get_command(app)
    shared = _shared(root)
    parts = ["# Commands", _text(root.help or ""), *_own(root, [])]
    parts += [
        "## Options of several commands",
        f"Every command has `--help`, with examples, and `{JSON}`.",
    ]
    for group in dict.fromkeys(group for group, _, _ in shared):
        lines = [line for panel, _, line in shared if panel == group]
        parts += [f"### {group}", "\n".join(lines)]
    for group in dict.fromkeys(command.rich_help_panel for command in root.commands.values()):
        parts += [f"## {group}"]
        for name, command in root.commands.items():
            if command.rich_help_panel == group:
                parts += _command(command, f"partage {name}", "###", shared)
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str, mark: str, shared: list[Option]) -> Iterator[str]:
    yield f"{mark} `{name}`"
    yield _text(command.help or "")
    if hasattr(command, "commands"):
        for below, each in command.commands.items():
            yield from _command(each, f"{name} {below}", f"{mark}#", shared)
        return
    yield from _own(command, shared)
    yield from _shared_names(command, shared)


def _own(command: Any, shared: list[Option]) -> Iterator[str]:
    """Arguments, and the options that are not shared."""
    context = Context(command, info_name="partage")
    records = [
        parameter.get_help_record(context)
        for parameter in command.params
        if parameter.param_type_name == "argument"
    ]
    lines = [f"* `{name.partition(' <')[0]}`: {text}" for name, text in filter(None, records)]
    lines += [option[2] for option in _options(command) if option not in shared]
    if lines:
        yield "\n".join(lines)


def _shared_names(command: Any, shared: list[Option]) -> Iterator[str]:
    """Which shared options a command has: by group where it has them all, else by name."""
    has = set(_options(command))
    found = []
    for group in dict.fromkeys(group for group, _, _ in shared):
        options = [each for each in shared if each[0] == group]
        names = [each[1] for each in options if each in has and each[1] != JSON]
        link = f"[{group}](#{group.lower().replace(' ', '-')})"
        if len(names) == len(options):
            found.append(link)
        elif names:
            found.append(f"{link}: {', '.join(f'`{one}`' for one in names)}")
    if found:
        yield f"Also {'; '.join(found)}."


def _options(command: Any) -> Iterator[Option]:
    context = Context(command, info_name="partage")
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if parameter.param_type_name == "option" and record and "--help" not in parameter.opts:
            names, text = record
            group = getattr(parameter, "rich_help_panel", None) or PLAIN
            yield group, max(parameter.opts, key=len), f"* `{names}`: {text}"


def _shared(root: Any) -> list[Option]:
    """Options that more than one command has: the most frequent line of each name in a group."""
    counts = Counter(option for command in _all(root) for option in _options(command))
    found: dict[tuple[str, str], Option] = {}
    for option, count in counts.most_common():
        if count > 1:
            found.setdefault(option[:2], option)
    order = list(counts)
    return sorted(found.values(), key=lambda option: (option[0] == PLAIN, order.index(option)))


def _all(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from _all(command)
        else:
            yield command


def _text(text: str) -> str:
    """Help without its examples."""
    return text.partition("\nExamples:")[0].strip()
