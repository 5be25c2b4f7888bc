"""What the command line relies on in typer's click, which typer does not export."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

from partage.cli.compat import (
    ClickException,
    Command,
    Context,
    ParameterSource,
    get_current_context,
    help_printer,
    keep_values_of_their_type,
)


def command(seen: list[Any]) -> Command:
    app = typer.Typer()

    @app.command()
    def run(name: str, count: int = 1, kind: str = "a") -> None:
        seen.append(get_current_context())

    return get_command(app)


def test_a_command_and_its_context() -> None:
    seen: list[Any] = []
    made = command(seen)
    assert isinstance(made, Command)
    made(["x", "--count", "2"], standalone_mode=False, default_map={"kind": "b"}, obj="settings")
    [context] = seen
    assert isinstance(context, Context)
    assert context.command is made
    assert context.find_root() is context
    assert context.params == {"name": "x", "count": 2, "kind": "b"}
    assert context.obj == "settings"


def test_where_a_value_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    made = command(seen)
    options = {one.name: one for one in made.params if isinstance(one, TyperOption)}
    options["kind"].envvar = ["TEST_KIND"]
    made(["x"], standalone_mode=False, default_map={"count": "3"})
    monkeypatch.setenv("TEST_KIND", "c")
    made(["x"], standalone_mode=False)
    sources = [
        [context.get_parameter_source(name) for name in ("name", "count", "kind")]
        for context in seen
    ]
    assert sources == [
        [ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP, ParameterSource.DEFAULT],
        [ParameterSource.COMMANDLINE, ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT],
    ]


def test_parameters_and_their_names() -> None:
    made = command([])
    kinds = {one.name: type(one) for one in made.params}
    assert kinds["name"] is TyperArgument
    assert kinds["count"] is TyperOption
    count = next(one for one in made.params if one.name == "count")
    assert isinstance(count, TyperOption)
    assert count.opts == ["--count"]
    assert (count.multiple, count.is_flag, count.expose_value) == (False, False, True)


def test_a_usage_error_names_the_option_and_the_problem() -> None:
    with pytest.raises(ClickException) as caught:
        command([])(["x", "--count", "many"], standalone_mode=False)
    error: Any = caught.value
    assert error.exit_code == 2
    assert "--count" in error.format_message()
    assert error.param.name == "count"
    assert isinstance(error.ctx, Context)


def test_values_of_their_type_are_kept_and_others_converted() -> None:
    app, seen = typer.Typer(), []

    @app.command()
    def run(name: str, count: int = 1, part: float = 1, flag: bool = False) -> None:
        seen.append((name, count, part, flag))

    class Light(Context):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            keep_values_of_their_type(self)

    made: Any = get_command(app)
    made.context_class = Light
    made(["x", "--flag"], standalone_mode=False, default_map={"count": 2})
    made(["y", "--part", "0.5"], standalone_mode=False, default_map={"count": "3", "flag": "no"})
    assert seen == [("x", 2, 1.0, True), ("y", 3, 0.5, False)]
    assert [type(value) for value in seen[0]] == [str, int, float, bool]
    with pytest.raises(ClickException):
        made(["z"], standalone_mode=False, default_map={"count": "many"})


LATER = """
import sys
from partage.cli.compat import help_printer
printer = help_printer()
assert printer is help_printer()
unused = {"markdown_it", "pygments", "attr", "rich.markdown", "rich.traceback", "rich.syntax"}
assert not unused & set(sys.modules), unused & set(sys.modules)
import rich.markdown, rich.traceback
from rich.console import Console
Console().print(rich.markdown.Markdown("*as usual*"))
rich.traceback.Traceback
"""


def test_what_prints_help_is_imported_without_markdown_and_tracebacks() -> None:
    ended = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.stderr) == ("as usual", "")


def test_what_prints_help_takes_its_width_and_colours(capsys: pytest.CaptureFixture[str]) -> None:
    printer, made = help_printer(), command([])
    for setting in ("COLOR_SYSTEM", "FORCE_TERMINAL", "MAX_WIDTH"):
        assert hasattr(printer, setting)
    context = Context(made, info_name="run")
    printer.rich_format_help(obj=made, ctx=context, markup_mode="rich")
    assert "Usage: run [OPTIONS]" in capsys.readouterr().out
