"""Load Python objects that a user names as ``module:Class`` or ``module:function``.

Modules are found where Python finds them, and last in the working directory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from partage.errors import InputError


def load_object(name: str, where: str, base: type[Any]) -> Any:
    """The object of that name; for a subclass of ``base``, an instance made without arguments.

    ``where`` is the start of error messages. Raises InputError where the object is missing or the
    user's code fails.
    """
    found = load_attribute(name, where)
    try:
        return found() if isinstance(found, type) and issubclass(found, base) else found
    except Exception as error:  # the user's code may raise anything
        raise _failed(name, where, error) from None


def load_attribute(name: str, where: str) -> Any:
    """The object of that name, a class as it is. Raises InputError as ``load_object`` does."""
    module, _, attribute = name.partition(":")
    try:
        with _working_directory_last():
            return getattr(import_module(module), attribute)
    except Exception as error:  # importing a module may raise anything
        raise _failed(name, where, error) from None


def _failed(name: str, where: str, error: Exception) -> InputError:
    problem = " ".join(f"{type(error).__name__}: {error}".split())
    return InputError(where, f"{name!r}: {problem}")


@contextmanager
def _working_directory_last() -> Iterator[None]:
    """Import from the working directory what is installed nowhere."""
    folder = str(Path.cwd())
    invalidate_caches()
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
