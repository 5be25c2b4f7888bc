"""The next useful command, with the names of this call."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import partage.cli
from partage.cli import app, next_step, settings
from partage.cli.commands import prepare
from partage.cli.compat import get_current_context

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]
GROUPS = files("partage") / "data" / "groups"


def said(ended: Any) -> list[str]:
    """What comes after ``Next:`` on the last line."""
    assert ended.err == "", ended
    _, _, command = ended.out.splitlines()[-1].partition("Next: ")
    return shlex.split(command)


def test_from_a_cluster_to_an_applied_plan(run: Run, small: str, tmp_path: Path) -> None:
    """Each command is run as the one before said it."""
    words = said(run("compare", small, "--add-broker", "4:r 1", "--strategy", "generate"))
    assert words == ["partage", "plan", small, "--add-broker", "4:r 1", "-o", "plan/"]
    words = said(run(*words[1:]))
    assert words == ["partage", "check", "plan/"]
    words = said(run(*words[1:]))
    assert words == [
        *("partage", "apply", "plan/", "--bootstrap-server", "HOST:PORT", "--throttle", "50MB")
    ]


def test_plan_without_an_output_directory(run: Run, small: str) -> None:
    options = ("--topics", "t|u", "--no-moves", "--explain", "t-0")
    assert said(run("plan", small, *options)) == [
        *("partage", "plan", small, "--topics", "t|u", "--no-moves", "-o", "plan/")
    ]


def test_the_throttle_of_the_plan(run: Run, small: str) -> None:
    run("plan", small, "--throttle", "7MB", "-o", "p")
    assert said(run("check", "p"))[-2:] == ["--throttle", "7MB"]


def test_configured_options_are_not_repeated(
    run: Run, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("plan", small, "-o", "p")
    monkeypatch.setenv("PARTAGE_SETTINGS", "partage.toml")
    (tmp_path / "partage.toml").write_text("bootstrap-server = 'h:1'\n[apply]\nthrottle = '9MB'\n")
    assert said(run("check", "p")) == ["partage", "apply", "p"]
    (tmp_path / "partage.toml").unlink()
    monkeypatch.delenv("PARTAGE_SETTINGS")
    for name in ("PARTAGE_BOOTSTRAP_SERVERS", "PARTAGE_BOOTSTRAP_SERVER"):
        with monkeypatch.context() as only_here:
            only_here.setenv(name, "h:1")
            assert said(run("check", "p")) == ["partage", "apply", "p", "--throttle", "50MB"]
    (tmp_path / "partage.toml").write_text("[plan]\nthrottle = '9MB'\n")
    assert said(run("plan", small)) == ["partage", "plan", small, "-o", "plan/"]


def test_no_next_step_without_moves(run: Run, tmp_path: Path) -> None:
    even = {"partitions": [{"topic": "t", "partition": p, "replicas": [p]} for p in range(3)]}
    (tmp_path / "even.json").write_text(json.dumps(even))
    assert "Next" not in run("plan", "even.json").out
    ended = run("plan", "even.json", "-o", "p")
    assert ended.out.splitlines()[-1] == "Written: p"
    assert "Next" not in run("check", "p").out


def test_no_next_step_after_an_incorrect_plan(run: Run, small: str, tmp_path: Path) -> None:
    run("plan", small, "-o", "p")
    (tmp_path / "p" / "rollback.json").unlink()
    assert "Next" not in run("check", "p").out


def test_groups(run: Run) -> None:
    group, scenario = str(GROUPS / "unequal.json"), str(GROUPS / "deploy-scenario.json")
    sticky = ("assign", group, "--assignor", "sticky")
    assert said(run(*sticky)) == ["partage", *sticky, "--mode", "java"]
    assert said(run(*sticky, "--mode", "java")) == ["partage", *sticky]
    assert "Next" not in run("assign", group, "--assignor", "weighted").out
    played = run("simulate", scenario, "--assignor", "sticky", "--mode", "java")
    assert said(played) == ["partage", "what-if", "churn", scenario, "--mode", "java"]


def test_only_terminals_show_the_next_step(run: Run, small: str) -> None:
    for words in (
        ("plan", small, "-o", "p"),
        ("compare", small),
        ("check", "p"),
        ("assign", str(GROUPS / "unequal.json"), "--assignor", "sticky"),
    ):
        assert "Next" not in run(*words, "--json").out


# ---------------------------------------------------------------- as commands put them together


@pytest.fixture
def within(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """``within(ask, "verify", "p")``: what ``ask`` gives while that command runs."""

    def call(ask: Callable[[], list[str]], *words: str) -> list[str]:
        command = get_command(app)
        found: list[str] = []
        for path, one in settings.commands(command):
            if not hasattr(one, "commands"):
                one.callback = lambda **_: found.extend(ask())
            prepare(path, one)
        monkeypatch.setattr(partage.cli, "_command", lambda: command)
        ended = run(*words)
        assert (ended.code, ended.err) == (0, "")
        return found

    return call


def test_where_the_cluster_is(within: Callable[..., list[str]]) -> None:
    there = lambda: next_step.cluster_options("apply")  # noqa: E731
    address = ("--bootstrap-server", "h:1", "--command-config", "me.properties")
    assert within(there, "verify", "p", *address) == list(address)
    assert within(there, "verify", "p") == ["--bootstrap-server", "HOST:PORT"]


def test_only_options_of_the_next_command_are_shown(
    within: Callable[..., list[str]],
) -> None:
    def plan() -> list[str]:
        return next_step.same_call("plan", without=("out", "strategies"), more=("-o", "plan/"))

    asked = (
        *("what-if", "failures", "c.json", "--pairs", "5", "--remove-broker", "3", "-o", "f"),
        *("--remove-broker", "4", "--strategy", "exact", "--horizon", "2", "--profile", "p q"),
    )
    expected = (
        *("plan", "c.json", "--remove-broker", "3", "--remove-broker", "4"),
        *("--profile", "p q", "--horizon", "2.0", "-o", "plan/"),
    )
    assert within(plan, *asked) == list(expected)
    keys = ("keys", "a.parquet", "b.parquet", "--partitions", "12", "--master", "local[1]")
    assert within(lambda: next_step.same_call("profile"), *keys) == [
        *("profile", "a.parquet", "b.parquet", "--master", "local[1]")
    ]


def test_the_context_is_that_of_the_call(within: Callable[..., list[str]]) -> None:
    name = lambda: [str(get_current_context().command.name)]  # noqa: E731
    assert within(name, "check", "p") == ["check"]


def test_the_program_as_this_shell_finds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    monkeypatch.setattr(sys, "argv", ["/site-packages/partage/__main__.py"])
    assert next_step.program() == ["partage"]
    script = tmp_path / "env" / "partage"
    script.parent.mkdir()
    script.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", str(script.parent))
    assert next_step.program() == ["partage"]
    monkeypatch.setenv("PATH", "/nowhere")
    assert next_step.program() == [str(script)]
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    monkeypatch.delenv("UV", raising=False)
    assert next_step.program() == ["uv", "run", "partage"]
    monkeypatch.setenv("UV", str(tmp_path / ".tools" / "bin" / "uv"))
    monkeypatch.chdir(tmp_path)
    assert next_step.program() == [".tools/bin/uv", "run", "partage"]
