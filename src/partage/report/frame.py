"""The parts of every page: templates, assets and the content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from partage.printable import printable, printable_values


@cache
def template(name: str) -> jinja2.Template:
    """A template of ``page/`` with autoescaping."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("partage.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tight"] = _tight
    return environment.get_template(name)


@cache
def asset(name: str) -> str:
    """A style sheet or a script of ``page/``."""
    return files("partage.report").joinpath("page", name).read_text(encoding="utf-8")


def policy(css: str, script: str | None = None) -> str:
    """The content security policy that allows only this style sheet and script."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    allowed = "" if script is None else f"script-src 'sha256-{digest(script)}'; "
    return (
        f"default-src 'none'; {allowed}"
        f"style-src 'sha256-{digest(css)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element, whatever its strings contain."""
    text = json.dumps(printable_values(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _visible(value: Any) -> Any:
    """What a template prints: text of ours that is HTML already, or text from anywhere."""
    made = not isinstance(value, str) or isinstance(value, Markup)
    return value if made else printable(value, lines=True)


def _tight(text: str) -> str:
    """The text with no-break spaces between numbers and their units, and around arrows."""
    text = text.replace(" → ", "\u00a0→\u00a0")
    return re.sub(r"(?<=\d) (?=[kMGTPE]?B\b|s\b|min\b|h\b|d\b|waves?\b|%)", "\u00a0", text)
