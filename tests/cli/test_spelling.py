"""Errors name the options of the running command, and where a value that was not typed is from."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from partage.cli.compat import Context, get_current_context
from partage.cli.settings import Settings
from partage.cli.spelling import respell, spelled
from partage.errors import CannotError, InputError, PartageError


@pytest.fixture
def context() -> Context:
    seen: list[Any] = []
    app = typer.Typer()

    @app.command()
    def run(
        group: Annotated[str, typer.Argument(metavar="GROUP")],
        max_moves: int = 1,
        strategies: Annotated[str | None, typer.Option("--strategy")] = None,
        of_group: Annotated[str | None, typer.Option("--group")] = None,
    ) -> None:
        seen.append(get_current_context())

    get_command(app)(
        ["max_moves_file"],
        standalone_mode=False,
        default_map={"max_moves": "3"},
        obj=Settings("partage.toml"),
    )
    [found] = seen
    assert isinstance(found, Context)
    return found


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("max_moves 3", "too few"), "--max-moves 3: too few (partage.toml)"),
        (InputError("strategy x", "unknown"), "--strategy x: unknown"),
        (InputError("strategies", "unknown"), "--strategy: unknown"),
        (InputError("--group", "needs --lag"), "--group: needs --lag"),
        (InputError("group x", "unknown"), "GROUP x: unknown"),
        (InputError("max_moves_file", "is empty"), "max_moves_file: is empty"),
        (InputError("cluster.json", "give `max_moves`"), "cluster.json: give --max-moves"),
        (CannotError("`max_moves` 2: the rules force 6"), "--max-moves 2: the rules force 6"),
        (PartageError("no `other_option` here"), "no --other-option here"),
    ],
    ids=str,
)
def test_an_error_names_options(context: Context, error: PartageError, text: str) -> None:
    respell(error, context)
    assert str(error) == text


def test_a_text_names_options(context: Context) -> None:
    assert spelled("`strategy` and `max_moves`", context) == "--strategy and --max-moves"
