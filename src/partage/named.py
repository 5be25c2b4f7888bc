"""What a user names by where Python finds it: ``module:Class``, ``module:function``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from partage.errors import InputError


def imported(name: str, where: str, base: type[Any]) -> Any:
    """What the name leads to; in place of a subclass of ``base`` one that is made without
    arguments. ``where``: what errors begin with.

    Raises InputError where that is nothing, or where the user's own code fails on the way.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
        return found() if isinstance(found, type) and issubclass(found, base) else found
    except Exception as error:  # a module may raise anything while it is imported
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(where, f"{name!r}: {problem}") from None
