"""The glossary: what a reader sees uses Kafka's terms and plain English.

Each entry has a pattern to avoid and what to write instead. It is looked for in the pages, the help
of every command, the string literals of the source (messages, tables, remarks), the templates of
the report, and the names of files, functions, classes and parameters. Docstrings and comments of
the source are read, too, for fewer words.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.modules import MODULES, SOURCE, nodes

pytestmark = pytest.mark.xdist_group("source")  # tests.modules parses each module once

ROOT = SOURCE.parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
TEMPLATES = sorted(
    path for path in SOURCE.rglob("*") if path.suffix in {".html", ".js", ".css", ".svg", ".jinja"}
)

GLOSSARY: dict[str, str] = {
    r"carr(?:y|ies|ied|ying)(?: \S+){0,4} out": "apply, run",
    r"(?:go|goes|gone|went|going) on with": "resume, continue with",
    r"(?:bring|brings|brought|bringing)(?: \S+){0,3} back": "roll back, restore",
    r"mend(?:s|ed|ing)?": "repair, fix",
    r"(?:is|was|were|been|be) put out": "removed, kicked out of the group",
    r"told|tells?|telling": "reported, known, shows, prints",
    r"(?:unless|if not|where not|otherwise) said": "unless given, by default",
    r"look(?:s|ed|ing)? on": "watch",
    r"a Java of": "Java 17 or later",
    r"lie(?:s)? (?:twice|on|in|at|there)": "is on, has two replicas in",
    r"binds|what binds": "limiting constraints",
    r"deals?|dealt|dealing": "assign, distribute",
    r"dealt round|round the brokers": "round robin",
    r"strik(?:e|es|ing)|struck": "remove",
    r"wish(?:es|ed)?": "run override",
    r"absences?": "failure detector",
    r"anew": "again, new",
    r"nobody|whoever": "no one, no member; the member that",
    r"shall": "should, must",
    r"to begin with": "getting started, at first",
    r"beside (?:other|those|that of)": "compared with",
    r"(?<!one )of (?:its|one's) own": "separate, its",
    r"with patience|patiently": "with retries",
    r"seats?": "member session, member",
    r"rooms?": "package (code); free capacity (brokers); space (disks)",
    r"(?<!there )(?<!which )is no (?!longer\b|more\b)[a-z]+": "is not a",
    r"in the stead|stead": "instead of",
    r"crowded|homeless|shun(?:s|ned|ning)?": "violating, uncoloured, tabu",
    r"forth": "forward",
    r"cut into waves|waves? cut": "scheduled in waves",
    r"what there is to work with": "what is installed",
    r"comes? to hand": "is found first",
    r"is at hand": "is available",
    r"whence|thence|wherein|thereof|hitherto|whereupon": "plain words",
}
"""Pattern (whole words, any case) → what to write instead."""

COMMENTS: dict[str, str] = {
    r"told|tells?|telling": "reported, known, shows",
    r"says?|said": "states, has, reports; unless given",
    r"nobody|whoever": "no one, no member; the member that",
    r"anew": "again, new",
    r"mend(?:s|ed|ing)?": "repair, fix",
    r"dealt": "assigned, distributed",
    r"carr(?:y|ies|ied|ying)(?: \S+){0,4} out": "apply, run",
    r"(?:go|goes|gone|went|going) on with": "resume, continue with",
    r"(?:is|was|were|been|be) put out": "removed, kicked out of the group",
    r"(?<!there )(?<!which )is no (?!longer\b|more\b)[a-z]+": "is not a",
    r"of (?:its|one's) own": "separate, its",
    r"shall": "should, must",
    r"lies?": "is on, is in",
    r"stead": "instead of",
    r"seats?": "member session, member",
    r"rooms?": "package (code); free capacity (brokers); space (disks)",
    r"forth": "forward",
    r"wish(?:es|ed)?": "run override",
    r"whence|thence|wherein|thereof|hitherto|whereupon": "plain words",
}
"""As the glossary, for docstrings and comments."""

IDENTIFIERS: dict[str, str] = {
    "wish": "override",
    "wishes": "overrides",
    "tell": "progress",
    "tells": "progress",
    "told": "printed, known",
    "say": "print, report",
    "says": "prints, reports",
    "said": "printed, known",
    "mend": "repair",
    "mended": "repaired",
    "anew": "again, new",
    "whoever": "member",
    "patiently": "with_retries",
    "absences": "failure_detector",
    "standing": "move_status",
    "crowded": "violating",
    "homeless": "uncoloured",
    "shun": "tabu",
    "struck": "removed",
    "strike": "remove",
    "deal": "assign, distribute",
    "dealt": "assigned",
    "dealing": "assignment",
    "seat": "session",
    "seats": "sessions",
    "recutting": "rescheduling",
    "meddled": "changed by others",
}
"""Part of a name (between underscores or capitals) → what to call it instead."""

ALLOWED: dict[str, str] = {}
"""Text around a match, exactly as it stands → why it may stay."""


@dataclass(frozen=True)
class Text:
    """A piece of text that a reader sees, and where it is."""

    place: str
    text: str


@cache
def any_of(patterns: tuple[str, ...]) -> str:
    """A pattern that matches where one of these does: tried first, since most texts have none."""
    return rf"\b(?:{'|'.join(patterns)})\b"


def found(text: Text, glossary: dict[str, str]) -> Iterator[str]:
    """What the glossary has against a text, a line for each match."""
    if not re.search(any_of(tuple(glossary)), text.text, re.I):
        return
    for pattern, instead in glossary.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text.text, re.I):
            start, end = max(0, match.start() - 40), match.end() + 40
            around = " ".join(text.text[start:end].split())
            if not any(allowed in around for allowed in ALLOWED):
                yield f"{text.place}: {match[0]!r}, write: {instead}\n    … {around} …"


def prose(page: Path) -> str:
    """A page without its code: fences, inline code, addresses of links."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "`code`", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def docstrings(module: Path) -> set[int]:
    """The ids of the string nodes that stand alone, as docstrings do."""
    return {
        id(node.value)
        for node in nodes(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def literals(module: Path) -> Iterator[Text]:
    """Every string of two words or more that is not a docstring; parts of an f-string as one."""
    skipped = docstrings(module)
    for node in nodes(module):
        if isinstance(node, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            skipped |= {id(value) for value in node.values}
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in skipped:
                continue
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield Text(f"{module.relative_to(ROOT)}:{node.lineno}", text)


def comments(module: Path) -> Iterator[Text]:
    """Every docstring, other strings that stand alone, and blocks of comments."""
    place = str(module.relative_to(ROOT))
    for node in nodes(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield Text(f"{place}:{node.lineno}", str(node.value.value))
    block: list[str] = []
    start = last = 0
    with tokenize.open(module) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type != tokenize.COMMENT:
                continue
            line = token.start[0]
            if block and line != last + 1:
                yield Text(f"{place}:{start}", " ".join(block))
                block = []
            start = start if block else line
            last = line
            block.append(token.string.lstrip("#: "))
    if block:
        yield Text(f"{place}:{start}", " ".join(block))


def names(module: Path) -> Iterator[Text]:
    """The names that a module defines: itself, classes, functions, parameters, constants."""
    place = str(module.relative_to(ROOT))
    yield Text(place, module.stem)
    for node in nodes(module):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield Text(f"{place}:{node.lineno}", node.name)
        elif isinstance(node, ast.arg):
            yield Text(f"{place}:{node.lineno}", node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Text(f"{place}:{node.lineno}", node.id)


def parts(name: str) -> list[str]:
    """``recutTheWaves`` and ``recut_the_waves`` as their words, in lower case."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def helps() -> Iterator[Text]:
    """The help of every command and option."""
    from typer.main import get_command

    from partage.cli import app

    def walk(command: Any, name: str) -> Iterator[Text]:
        yield Text(f"{name} --help", command.help or "")
        for parameter in command.params:
            yield Text(f"{name} --help: {parameter.name}", getattr(parameter, "help", "") or "")
        for key, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{name} {key}")

    yield from walk(get_command(app), "partage")


def refused(texts: Iterator[Text], glossary: dict[str, str] = GLOSSARY) -> list[str]:
    return [line for text in texts for line in found(text, glossary)]


def test_pages() -> None:
    lines = refused(Text(str(page.relative_to(ROOT)), prose(page)) for page in PAGES)
    assert not lines, "\n".join(lines)


def test_help() -> None:
    lines = refused(helps())
    assert not lines, "\n".join(lines)


def test_messages() -> None:
    lines = refused(text for module in MODULES for text in literals(module))
    assert not lines, "\n".join(lines)


def test_comments() -> None:
    lines = refused((text for module in MODULES for text in comments(module)), COMMENTS)
    assert not lines, "\n".join(lines)


def test_templates() -> None:
    lines = refused(
        Text(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in TEMPLATES
    )
    assert not lines, "\n".join(lines)


def test_names() -> None:
    lines = [
        f"{name.place}: {name.text}, call it: {IDENTIFIERS[part]}"
        for module in MODULES
        for name in names(module)
        for part in parts(name.text)
        if part in IDENTIFIERS
    ]
    assert not lines, "\n".join(lines)
