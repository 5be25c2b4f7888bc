"""What a terminal, a pipe and a log get: colours, widths, signs, help."""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.main import get_command

from partage.cli import app, output, settings

Run = Callable[..., Any]

GROUPS = files("partage") / "data" / "groups"
COMMANDS = {" ".join(path): command for path, command in settings.commands(get_command(app))}


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """What a command writes to a terminal of 100 columns, stdout and stderr together."""
    ours, theirs = pty.openpty()
    ended = subprocess.Popen(
        [sys.executable, "-m", "partage", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", **environment},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    with ended:
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the last writer has gone
                break
            if not part:
                break
            said += part
    os.close(ours)
    assert ended.returncode == 0, said
    return said.decode()


# ---------------------------------------------------------------- escape codes


def test_colours_on_a_terminal(small: str, tmp_path: Path) -> None:
    said = on_a_terminal(tmp_path, "plan", small)
    assert "\x1b[1m" in said  # bold
    assert "\x1b[32m" in said  # green
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).replace("\r", "").splitlines()
    assert max(map(cell_len, lines)) <= 100
    assert any("Next: partage plan small.json -o plan/" in line for line in lines)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("words", [("plan", "small.json"), ("plan", "--help")], ids=" ".join)
def test_no_color(
    small: str, tmp_path: Path, words: tuple[str, ...], environment: dict[str, str]
) -> None:
    said = on_a_terminal(tmp_path, *words, **environment)
    assert "\x1b" not in said
    assert "partage plan" in said
    assert max(map(cell_len, said.replace("\r", "").splitlines())) <= 100


def test_a_pipe_has_colours_only_on_request(
    run: Run, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("plan", small), ("plan", "--help")):
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        assert "\x1b" not in run(*words).out
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[1m" in run(*words).out
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in run(*words).out
        monkeypatch.delenv("NO_COLOR")
        monkeypatch.setenv("TERM", "dumb")
        assert "\x1b" not in run(*words).out
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in run("plan", small, "--json").out


def test_progress_in_a_log_is_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with output.bar() as tell:
        for done in range(3):
            tell(done, 3, "reading")
        tell(0, 0, "writing")
    with output.progress() as say:
        say("planning")
    assert capsys.readouterr() == ("", "… reading\n… writing\n")
    with output.bar(quiet=True) as tell:
        for label in ("reading", "reading (no executor)", "reading (no executor)", "writing"):
            tell(0, 0, label)
    assert capsys.readouterr() == ("", "… reading (no executor)\n")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}], ids=str)
def test_progress_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with output.bar() as tell:
        tell(1, 3, "reading")
    with output.progress() as say:
        say("planning")
    assert ("\x1b" in terminal.getvalue()) is (not environment)


# ---------------------------------------------------------------- widths


def widest(text: str) -> int:
    return max(map(cell_len, text.splitlines()))


def test_output_fits_100_columns(run: Run, grown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # which a pipe has not
    group, scenario = str(GROUPS / "unequal.json"), str(GROUPS / "deploy-scenario.json")
    widths = {}
    for words in (
        ("plan", grown, "--throttle", "50MB", "--add-broker", "10:c", "-o", "p"),
        ("plan", grown, "--explain", "kafka-0"),
        ("compare", grown),
        ("check", "p"),
        ("report", "p"),
        ("assign", group, "--assignor", "sticky"),
        ("simulate", scenario, "--assignor", "range"),
        ("simulate", scenario, "--assignor", "cooperative-sticky", "--protocol", "cooperative"),
        ("doctor", "--bootstrap-server", "nonsense"),
    ):
        ended = run(*words)
        assert ended.err == "", ended
        # the last line is a command, which is never broken: people copy it
        lines = [line for line in ended.out.splitlines() if not line.startswith("Next: ")]
        widths[words[0]] = widest("\n".join(lines))
        assert widths[words[0]] <= 100, words
    assert widths["compare"] > 80


def test_a_long_command_is_not_broken(run: Run, grown: str) -> None:
    folder = "a-folder-with-a-long-name/" * 5
    lines = run("plan", grown, "-o", folder).out.splitlines()
    assert lines[-3:] == ["", f"Written: {folder}", f"Next: partage check {folder}"]


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("name", COMMANDS, ids=lambda name: name or "partage")
def test_help(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = run(*name.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert widest(ended.out) <= 80
    assert f"Usage: partage {name}".rstrip() in ended.out
    if not hasattr(COMMANDS[name], "commands"):
        lines = [line.strip() for line in ended.out.splitlines()]
        assert lines[lines.index("Examples:") + 2].startswith(f"partage {name}")


def test_help_fits_100_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "230")
    assert widest(run("plan", "--help").out) == 100
    monkeypatch.delenv("COLUMNS")
    assert widest(run("plan", "--help").out) == 100


def test_long_help_has_groups(run: Run) -> None:
    shown = run("plan", "--help").out
    parts = re.findall(r"^╭─ (.*?) ─", shown, re.M)
    assert parts == [
        *("Arguments", "Options", "What changes", "What is fair", "How much moves"),
        *("Waves", "Loads", "A running Kafka"),
    ]
    assert "Commands" not in re.findall(r"^╭─ (.*?) ─", run("--help").out, re.M)


def examples() -> list[Any]:
    return [
        pytest.param(name, line.strip(), id=line.strip())
        for name, command in COMMANDS.items()
        for line in (command.help or "").partition("Examples:")[2].replace("\\\n", "").splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize(("name", "line"), examples())
def test_the_examples_run(name: str, line: str) -> None:
    words = shlex.split(line)
    assert words[0] == "partage"
    path = " ".join(words[1:3]) if " ".join(words[1:3]) in COMMANDS else words[1]
    assert name in ("", path), f"{line} is an example of {name}"
    given = words[1 + len(path.split()) :]
    with COMMANDS[path].make_context(path, given) as context:
        assert context.params


# ---------------------------------------------------------------- other encodings


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.long)])
def test_characters_that_the_encoding_lacks(
    run: Run, grown: str, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    run("plan", grown, "-o", "p")
    run("plan", grown, "-o", "broken")
    Path("broken/rollback.json").unlink()
    scenario = str(GROUPS / "deploy-scenario.json")

    def printed(*words: str) -> tuple[int, str, str]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        code = run(*words).code
        for stream in streams:
            stream.flush()
        out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams)  # type: ignore[attr-defined]
        return code, out, err

    code, out, err = printed("check", "p")
    assert (code, err) == (0, "")
    assert out.startswith("+ fingerprint matches the cluster")
    code, out, _ = printed("check", "broken")
    assert (code, "x rollback.json: missing" in out) == (1, True)
    code, out, _ = printed("plan", grown, "--verbose")
    assert (code, "117 > 54" in out) == (0, True)
    assert "?" not in out
    for words in (
        ("compare", grown),
        ("simulate", scenario, "--assignor", "range"),
        ("doctor",),
        ("plan", "--help"),
    ):
        assert "?" not in printed(*words)[1].replace("Why?", "")
    code, _, err = printed("plan", "→.json")
    assert (code, err) == (2, "partage: >.json: no such file\n")
    code, _, err = printed("plan", "方案.json")
    assert (code, err) == (2, r"partage: \u65b9\u6848.json: no such file" + "\n")


def test_a_locale_without_utf_8(small: str, tmp_path: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run(
        [sys.executable, "-m", "partage", "plan", small, "--verbose"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode("ascii").splitlines()[0]
    assert b"Brokers, before > after" in ended.stdout
