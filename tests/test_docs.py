"""The documentation is run: every command, every Python snippet, every link.

Conventions of the pages, kept by hand and enforced here:

- A fence ``sh`` holds commands. A fence ``console`` holds commands after ``$ `` and, below each,
  what it prints: every line shown must be printed, in that order; a line ``…`` leaves lines out.
  Times that a run took may differ.
- A fence ``python`` is run. The snippets of one page share their names.
- The fences of a page run in order in one directory that has only ``src`` and ``benchmarks``, as a
  copy of the repository has: a page copies what its commands use.
- A picture that a command draws, ``NAME.svg``, is ``docs/images/NAME.svg``.
- ``<!-- exit 1 -->`` before a fence: its commands end with that code.
- ``<!-- not run: why -->`` before a fence: it is left out, and listed by a test.

Where the output of a command has changed on purpose, ``REWRITE_DOCS=1 pytest tests/test_docs.py``
puts what is printed now into the pages, line by line of what they showed.
"""

from __future__ import annotations

import html
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from partage.brokers.strategies import STRATEGIES
from partage.live.sandbox import MARKER, Sandbox
from tests.command_reference import reference

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "src" / "partage" / "data"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

GET_STARTED = ROOT / "docs" / "get-started.md"
HOW_TOS = sorted((ROOT / "docs" / "how-to").glob("*.md"))

OF_THE_SHELL = ("cp", "export", "grep")

NOT_RUN = {"make": "builds the environment or runs all tests"}
"""Programs that need no comment to be left out."""

SPARK_COMMANDS = ("profile", "keys", "demo", "what-if", "watch", "history")
KAFKA_COMMANDS = ("sandbox", "snapshot", "groups", "apply", "rollback", "verify")

_FENCE = re.compile(
    r"(?:<!-- (?P<note>[^\n]*?) -->\n+)?^(?P<indent> *)```(?P<language>\w+)\n(?P<body>.*?)^ *```",
    re.DOTALL | re.MULTILINE,
)
_SECONDS = re.compile(r" *\b\d+(?:\.\d+)? s\b")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")


@dataclass(frozen=True)
class Fence:
    """A fenced block: where it begins, what it is in, and the comment before it."""

    page: Path
    line: int
    language: str
    body: str
    note: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def left_out(self) -> str:
        """Why the fence is not run, or nothing."""
        return self.note.removeprefix("not run: ") if self.note.startswith("not run: ") else ""

    @property
    def code(self) -> int:
        """The exit code of its commands."""
        return int(self.note.removeprefix("exit ")) if self.note.startswith("exit ") else 0

    def steps(self) -> list[tuple[str, list[str]]]:
        """(command, lines of output shown) of a fence of commands."""
        lines = self.body.replace("\\\n", " ").splitlines()
        if self.language == "sh":
            return [(line, []) for line in lines if line.strip() and not line.startswith("#")]
        found: list[tuple[str, list[str]]] = []
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                assert found, f"{self.place}: output before the first command"
                found[-1][1].append(line)
        return found


def fences(page: Path) -> list[Fence]:
    text = page.read_text(encoding="utf-8")
    return [
        Fence(
            page,
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            re.sub(rf"^{match['indent']}", "", match["body"], flags=re.MULTILINE),
            match["note"] or "",
        )
        for match in _FENCE.finditer(text)
    ]


def program(command: str) -> list[str]:
    return shlex.split(command, comments=True)


def run(words: list[str]) -> tuple[int, str, str]:
    """A command in the current directory: exit code, standard output, standard error."""
    if words[0] == "partage":
        return run_partage(words)
    assert words[0] == "python", f"the pages may not run {words[0]}: mark the fence as not run"
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def run_shell(command: str) -> tuple[int, str, str]:
    """A command of the shell itself; the variables that it sets are those of the next ones."""
    shell = ["bash", "-e", "-c", f"{command}\nenv -0 > variables"]
    done = subprocess.run(shell, capture_output=True, text=True)
    if done.returncode == 0:
        pairs = (line.split("=", 1) for line in Path("variables").read_text().split("\0") if line)
        os.environ.clear()
        os.environ.update(pairs)
        Path("variables").unlink()
    return done.returncode, done.stdout, done.stderr


def run_partage(words: list[str]) -> tuple[int, str, str]:
    """The command line in this process, so that it uses the Spark session of the tests."""
    from partage.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = words
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def comparable(line: str) -> str:
    return _SECONDS.sub(" N s", line.rstrip())


def check_output(fence: Fence, shown: list[str], printed: str) -> None:
    """Every line shown is printed, in order, and no other; ``…`` leaves lines out."""
    real = [comparable(line) for line in printed.splitlines()]
    at, skip = 0, False
    for line in shown:
        if line.strip() == "…":
            skip = True
            continue
        wanted = comparable(line)
        if skip:
            assert wanted in real[at:], f"{fence.place}: not printed: {line!r} in\n{printed}"
            at = real.index(wanted, at)
        assert real[at : at + 1] == [wanted], f"{fence.place}: shown {line!r}, printed\n{printed}"
        at, skip = at + 1, False
    assert skip or at == len(real) or not shown, (
        f"{fence.place}: more is printed, show it or end with …: {real[at:]}"
    )


def rewritten(shown: list[str], printed: str) -> list[str]:
    """What to show now: the next line, or after ``…`` the one most like that shown before."""
    real = [line.rstrip() for line in printed.splitlines()]
    lines, at, skip = [], 0, False
    for line in shown:
        if line.strip() == "…":
            skip = True
            lines.append(line)
            continue
        if skip:
            alike = [SequenceMatcher(None, line, other).ratio() for other in real[at:]]
            at += alike.index(max(alike))
        lines.append(real[at])
        at, skip = at + 1, False
    return lines


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory in which a page's fences run."""
    for name in ("src", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    strategies, environment = dict(STRATEGIES), dict(os.environ)
    yield tmp_path
    os.environ.clear()
    os.environ.update(environment)
    STRATEGIES.clear()
    STRATEGIES.update(strategies)
    if (tmp_path / "sandbox" / MARKER).exists():  # a page that failed halfway
        Sandbox.open(tmp_path / "sandbox").down()


def runs_any(page: Path, commands: tuple[str, ...]) -> bool:
    return any(
        words[:1] == ["partage"] and words[1] in commands
        for fence in fences(page)
        if fence.language in ("sh", "console") and not fence.left_out
        for words in (program(command) for command, _ in fence.steps())
    )


def needs_spark(page: Path) -> bool:
    return runs_any(page, SPARK_COMMANDS)


def marks_of(page: Path) -> list[pytest.MarkDecorator]:
    """Pages that need a Kafka or Spark belong to the long tier, except the README."""
    needs = [(pytest.mark.spark, SPARK_COMMANDS), (pytest.mark.kafka, KAFKA_COMMANDS)]
    marks = [mark for mark, commands in needs if runs_any(page, commands)]
    return [*marks, pytest.mark.long] if marks and page.name != "README.md" else marks


def pages() -> list[Any]:
    """Pages with their marks. Those that take seconds and are typed into a fresh shell, too, by
    tests/test_first_run.py, are run here only to write their output again."""
    typed = () if os.environ.get("REWRITE_DOCS") else (GET_STARTED, *HOW_TOS)
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks_of(page))
        for page in PAGES
        if page not in typed or not marks_of(page)
    ]


RECORD_IT = (
    "draw it again, in a folder with cluster.json and a plan of a sandbox with some 100 MB to copy "
    "in two waves: python scripts/record_terminal.py docs/images/terminal.svg 'partage plan "
    "cluster.json -o plan/' 'partage check plan/' --watch 'partage apply sandbox-plan/ --yes …'"
)

RECORDED = ("partage plan cluster.json -o plan/", "partage check plan/")


def test_the_terminal_of_the_readme_is_of_today(folder: Path) -> None:
    """docs/images/terminal.svg shows what these commands print, then ``apply`` on a sandbox, which
    prints the lines that Get started shows."""
    shutil.copy(DATA / "cluster-grown.json", folder / "cluster.json")
    script, drawn = ROOT / "scripts" / "record_terminal.py", folder / "today.svg"
    subprocess.run([sys.executable, script, drawn, *RECORDED], check=True)
    today, shown = (
        re.findall("<text.*</text>", picture.read_text(encoding="utf-8"))
        for picture in (drawn, ROOT / "docs" / "images" / "terminal.svg")
    )
    assert shown[: len(today)] == today, RECORD_IT
    applied = [html.unescape(re.sub("<.*?>", "", line)) for line in shown[len(today) :]]
    assert applied[0].startswith("$ partage apply ")
    assert sum(line.startswith("wave ") for line in applied) > 10  # its bars
    (page,) = (
        shown
        for fence in fences(GET_STARTED)
        for command, shown in fence.steps()
        if command.startswith("partage apply ")
    )
    for line in page:
        known = re.sub(r"\d[\d.]*", "N", line).replace("in N wave:", "in N waves:")
        assert line == "…" or known in [re.sub(r"\d[\d.]*", "N", one) for one in applied], line


def test_every_test_that_a_page_names_exists() -> None:
    named = [
        (page, path, test)
        for page in PAGES
        for path, test in re.findall(
            r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8")
        )
    ]
    assert len(named) > 20
    missing = [
        f"{page.name}: {path}::{test}"
        for page, path, test in named
        if f"\ndef {test}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert missing == []


@pytest.mark.parametrize("page", pages())
def test_commands_and_snippets_run(
    page: Path, folder: Path, request: pytest.FixtureRequest
) -> None:
    if needs_spark(page):
        request.getfixturevalue("spark")
    names: dict[str, Any] = {"__name__": "snippet"}
    for fence in fences(page):
        if fence.left_out:
            continue
        if fence.language == "python":
            code = compile("\n" * fence.line + fence.body, str(fence.page), "exec")
            with redirect_stdout(io.StringIO()):
                exec(code, names)
        elif fence.language in ("sh", "console"):
            for command, shown in fence.steps():
                words = program(command)
                if words[0] in NOT_RUN:
                    continue
                code_got, out, err = run_shell(command) if words[0] in OF_THE_SHELL else run(words)
                assert code_got == fence.code, f"{fence.place}: {command}: {code_got}\n{out}{err}"
                printed = out if code_got != 2 else err
                if shown and os.environ.get("REWRITE_DOCS"):
                    old, new = ("\n".join(x) for x in (shown, rewritten(shown, printed)))
                    text = page.read_text(encoding="utf-8")
                    page.write_text(text.replace(f"{old}\n", f"{new}\n", 1), encoding="utf-8")
                else:
                    check_output(fence, shown, printed)
    check_pictures(folder)


def test_json_is_valid() -> None:
    for fence in (fence for page in PAGES for fence in fences(page)):
        if fence.language == "json" and not fence.left_out:
            json.loads(fence.body)


def check_pictures(folder: Path) -> None:
    """What a page's commands drew is what the pages show."""
    for drawn in folder.glob("*.svg"):
        shown = ROOT / "docs" / "images" / drawn.name
        if os.environ.get("REWRITE_DOCS"):
            shutil.copy(drawn, shown)
        assert shown.read_text("utf-8") == drawn.read_text("utf-8"), f"{shown} is of another run"


def test_skipped_checks_show_why(record_property: Any) -> None:
    every = [fence for page in PAGES for fence in fences(page)]
    left_out = [(fence.place, fence.left_out) for fence in every if fence.left_out]
    left_out += [
        (f"{fence.place}: {command}", NOT_RUN[program(command)[0]])
        for fence in every
        if fence.language in ("sh", "console") and not fence.left_out
        for command, _ in fence.steps()
        if program(command)[0] in NOT_RUN
    ]
    for place, why in left_out:
        print(f"{place}: not run: {why}")
        record_property(place, why)
        assert len(why) > 5, f"{place}: say why it is not run"
    for fence in every:
        assert not fence.note or fence.left_out or re.fullmatch(r"exit [012]", fence.note), (
            f"{fence.place}: what does the comment {fence.note!r} mean?"
        )


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes anchors of them."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for match in _LINK.finditer(text):
        target = match[1] or match[2]
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), f"{page.name}: {target}: no such file"
        assert to.is_relative_to(ROOT), f"{page.name}: {target}: leaves the repository"
        if anchor:
            assert anchor in anchors(to), f"{page.name}: {target}: no such heading"


def test_pictures_are_small_and_used() -> None:
    used = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.name in used, f"{picture.name} is in no page"
        assert picture.stat().st_size < 400_000, f"{picture.name} is too large"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for match in _LINK.finditer(page.read_text(encoding="utf-8")):
            target = (match[1] or match[2]).partition("#")[0]
            if target and not target.startswith("http"):
                todo.append((page.parent / target).resolve())
    assert set(PAGES) == reached


def test_every_page_is_in_the_menu_of_the_site() -> None:
    with (ROOT / "zensical.toml").open("rb") as file:
        menu = set(leaves(tomllib.load(file)["project"]["nav"]))
    assert menu == {
        str(page.relative_to(ROOT / "docs")) for page in PAGES if ROOT / "docs" in page.parents
    }


def leaves(entries: list[dict[str, Any]]) -> Iterator[str]:
    """The pages of a menu, those of its parts too."""
    for entry in entries:
        for value in entry.values():
            yield from leaves(value) if isinstance(value, list) else [value]


def test_every_option_and_strategy_is_described() -> None:
    from typer.main import get_command

    from partage.cli import app

    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name, command in commands_of(get_command(app)):
        assert f"partage {name}" in text, f"partage {name} is described nowhere"
        for parameter in command.params:
            options = [option for option in parameter.opts if option.startswith("-")]
            assert not options or any(option in text for option in options), (
                f"{options[0]} of partage {name} is described nowhere"
            )
    for name in STRATEGIES:
        assert f"`{name}`" in text


def test_every_command_in_a_sentence_exists() -> None:
    """`partage plan --topics REGEX` in a page: the command is there, and has the options."""
    from typer.main import get_command

    from partage.cli import app

    known = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in commands_of(get_command(app))
    }
    wrong = []
    for page in PAGES:
        for code in re.findall(r"`(partage [a-z][^`\n]*)`", page.read_text(encoding="utf-8")):
            words = code.replace("\\|", "|").split()
            name = next((n for n in (" ".join(words[1:3]), words[1]) if n in known), None)
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            if name is None or not options <= known[name] | {"--help"}:
                wrong.append(f"{page.name}: {code}")
    assert wrong == []


def test_the_reference_of_commands_is_their_help() -> None:
    page = ROOT / "docs" / "reference" / "commands.md"
    if os.environ.get("REWRITE_DOCS"):
        page.write_text(reference(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == reference(), "REWRITE_DOCS=1 writes it again"


def commands_of(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by name, those of groups too: ``sandbox up``."""
    for name, command in group.commands.items():
        yield f"{before}{name}", command
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{before}{name} ")


def test_every_field_of_the_files_is_described() -> None:
    import partage

    text = (ROOT / "docs" / "plan-directory.md").read_text(encoding="utf-8")
    cluster = partage.Cluster.read(DATA / "cluster-grown.json")
    for options in ({"throttle": "50MB"}, {"strategy": "generate"}):
        document = partage.plan(cluster, **options).document()
        missing = {key for key in keys_of(document) if f"`{key}`" not in text}
        assert not missing, f"docs/plan-directory.md does not describe {sorted(missing)}"


def test_every_column_of_a_profile_is_described() -> None:
    pytest.importorskip("pyspark")
    from partage.pipeline.profile import SCHEMAS

    text = (ROOT / "docs" / "plan-directory.md").read_text(encoding="utf-8")
    for table, schema in SCHEMAS.items():
        assert f"`{table}`" in text
        for column in schema.names:
            assert f"`{column}`" in text, f"{table}.{column} is not described"


def keys_of(value: Any) -> set[str]:
    """Every key of a JSON value; those of options are the user's."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value[:3])) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_of(v) for k, v in value.items() if k != "options"))
