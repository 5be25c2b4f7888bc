"""Build the site into site/, with a link to the repository that this clone is from.

No file knows that address: it is the one of the remote ``origin``, if that is on the web. Any
warning fails.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
CONFIG = "zensical.toml"


def web_address(origin: str) -> str | None:
    """``https://HOST/OWNER/NAME`` of a remote: an https address without its user, or
    ``git@HOST:OWNER/NAME``. None for any other, such as a folder."""
    over_ssh = re.fullmatch(r"git@([\w.-]+):(?!/)(.+)", origin)
    parts = urlsplit(f"https://{over_ssh[1]}/{over_ssh[2]}" if over_ssh else origin)
    path = parts.path.strip("/").removesuffix(".git")
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme != "https" or not host or not re.fullmatch(r"[\w.~/-]+", path):
        return None
    return f"https://{host}/{path}"


def repository() -> str | None:
    """The web address of this clone's ``origin``; None without one, or outside a clone."""
    ask = ["git", "--git-dir", str(ROOT / ".git"), "remote", "get-url", "origin"]
    try:
        found = subprocess.run(ask, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return web_address(found.stdout.strip()) if found.returncode == 0 else None


def configured(config: str, address: str) -> str:
    """The site's configuration with the link to ``address``."""
    name = urlsplit(address).path.strip("/")
    link = f"repo_url = {json.dumps(address)}\nrepo_name = {json.dumps(name)}\n"
    return config.replace("[project]\n", f"[project]\n{link}", 1)


def main() -> None:
    """Build the site. Its configuration has to be a file beside ``docs``."""
    address = repository()
    text = (ROOT / CONFIG).read_text(encoding="utf-8")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=ROOT, suffix=f".{CONFIG}") as file:
        file.write(text if address is None else configured(text, address))
        file.flush()
        program = Path(sys.executable).parent / "zensical"
        build = [program, "build", "--clean", "--strict", "--config-file", file.name]
        sys.exit(subprocess.run(build, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
