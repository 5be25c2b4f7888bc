"""The command that adds an extra to this installation, whatever made it.

What to install is read from the package's own metadata (PEP 610, ``direct_url.json``): a copy of
the repository, a wheel, a commit, or the name on an index. What installs it is recognised by what
it leaves in the environment: uv and pipx write a file into the environments of tools, and an
environment of uv's has no pip.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PACKAGE = "partage"

_EXTRA = re.compile(
    r"""(?P<name>[\w.-]+)(\[(?P<inner>\w+)\])?(?P<limits>[^;]*); extra == ['"](?P<extra>\w+)['"]"""
)


def adding(extra: str) -> str:
    """The shell command that adds an extra to what is installed: ``pip install '.[kafka]'``."""
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {_requirement(_with_installed(extra))}"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {_requirement(_with_installed(extra))}"
    if find_spec("pip") is None:
        python = shlex.quote(_from_here(prefix))
        return f"uv pip install --python {python} {_requirement([extra])}"
    return f"{_pip()} install {_requirement([extra])}"


def not_installed(package: str, extra: str) -> str:
    """``kafka-python is not installed: pip install '.[kafka]'``."""
    return f"{package} is not installed: {adding(extra)}"


def _with_installed(extra: str) -> list[str]:
    """This extra and those that are installed: a tool's environment is always made again."""
    every = metadata.metadata(PACKAGE).get_all("Provides-Extra") or ()
    return [
        one
        for one in every
        if one == extra
        or all(installed_version(name) is not None for name, _ in requirements(PACKAGE, one))
    ]


def requirements(package: str, extra: str) -> list[tuple[str, str]]:
    """(package, version limits) of an extra, including extras that it depends on."""
    try:
        lines = metadata.requires(package) or ()
    except metadata.PackageNotFoundError:
        return []
    found: list[tuple[str, str]] = []
    for line in lines:
        one = _EXTRA.fullmatch(line.strip())
        if one is not None and one["extra"] == extra:
            found.append((one["name"], one["limits"].strip()))
            if one["inner"]:
                found += requirements(one["name"], one["inner"])
    return found


def installed_version(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _requirement(extras: list[str]) -> str:
    """What was installed, with extras, quoted for a shell."""
    extra = f"[{','.join(extras)}]"
    origin = _origin()
    url = origin.get("url", "")
    if not url:
        return f"'{PACKAGE}{extra}'"
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        if not path.exists():
            return f"'.{extra}' in a copy of the repository"
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f"{editable}{shlex.quote(_from_here(path) + extra)}"
    commit = origin.get("vcs_info", {})
    if commit:
        url = f"{commit['vcs']}+{url}@{commit['commit_id']}"
    return shlex.quote(f"{PACKAGE}{extra} @ {url}")


def _origin() -> dict[str, Any]:
    """direct_url.json; empty for an installation from an index."""
    try:
        found = json.loads(metadata.distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _from_here(path: Path) -> str:
    """``.``, or ``./dist/a.whl`` for what is below the working directory; otherwise the path."""
    try:
        below = os.fspath(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return os.fspath(path)
    return below if below == "." else f"./{below}"


def _pip() -> str:
    """pip as this shell finds it, if that is the pip of this environment."""
    from shutil import which

    own, found = Path(sys.executable).with_name("pip"), which("pip")
    if found is not None and own.exists() and own.samefile(found):
        return "pip"
    return f"{shlex.quote(_from_here(Path(sys.executable)))} -m pip"
