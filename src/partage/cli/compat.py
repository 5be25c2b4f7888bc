"""The parts of click inside typer that typer does not export, used nowhere else.

tests/cli/test_compat.py holds what is relied on: after an upgrade of typer it fails first.
"""

from __future__ import annotations

from typer._click.core import Command, Context, ParameterSource
from typer._click.exceptions import ClickException
from typer._click.globals import get_current_context

__all__ = ["ClickException", "Command", "Context", "ParameterSource", "get_current_context"]
