"""For the site: functions that take keywords of a request are shown with the signature and the
documentation that Python shows, option by option. (mkdocstrings reads the source, without running
it, and sees the request alone.)
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe


class Signatures(griffe.Extension):
    """Replaces parameters, return type and docstring of what ``takes(…)`` decorates."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        if not any(str(decorator.value).startswith("takes(") for decorator in func.decorators):
            return
        called = griffe.dynamic_import(func.path)
        signature = inspect.signature(called)
        func.parameters = griffe.Parameters(*map(_parameter, signature.parameters.values()))
        func.returns = _shown(signature.return_annotation)
        text = (inspect.getdoc(called) or "").replace("\nOptions:\n", "\nArgs:\n")
        func.docstring = griffe.Docstring(text, parent=func)


def _parameter(one: inspect.Parameter) -> griffe.Parameter:
    kind = griffe.ParameterKind[one.kind.name.lower()]
    default = None if one.default is one.empty else repr(one.default)
    return griffe.Parameter(one.name, annotation=_shown(one.annotation), kind=kind, default=default)


def _shown(annotation: object) -> str:
    """A type without the modules of its names."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", inspect.formatannotation(annotation))
