"""Load Python objects that a user names as ``module:Class`` or ``module:function``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from partage.errors import InputError


def load_object(name: str, where: str, base: type[Any]) -> Any:
    """The object of that name; for a subclass of ``base``, an instance made without arguments.

    A module is also found in the working directory, after all installed ones. ``where`` is the
    start of error messages. Raises InputError where the object is missing or the
    user's code fails.
    """
    module, _, attribute = name.partition(":")
    try:
        with _working_directory_last():
            found = getattr(import_module(module), attribute)
        return found() if isinstance(found, type) and issubclass(found, base) else found
    except Exception as error:  # importing a module may raise anything
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(where, f"{name!r}: {problem}") from None


@contextmanager
def _working_directory_last() -> Iterator[None]:
    """Import from the working directory what is installed nowhere."""
    folder = str(Path.cwd())
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
