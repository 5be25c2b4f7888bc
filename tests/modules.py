"""The modules of the source, each parsed once for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import partage

SOURCE = Path(partage.__file__).parent

MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def tree(module: Path) -> ast.Module:
    """Its syntax."""
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
def nodes(module: Path) -> tuple[ast.AST, ...]:
    """All nodes of its syntax, in the order of ``ast.walk``."""
    return tuple(ast.walk(tree(module)))
