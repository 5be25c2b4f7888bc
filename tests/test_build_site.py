"""scripts/build_site.py: the site links to the repository that it is built from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.report.conftest import chromium
from tests.scripts import loaded
from tests.test_docs import ROOT

__all__ = ["chromium"]

ADDRESS = "https://git.example.org/owner/name"
LINK = f'href="{ADDRESS}"'


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded(ROOT / "scripts" / "build_site.py")


@pytest.mark.parametrize(
    "origin",
    [
        ADDRESS,
        f"{ADDRESS}.git",
        f"{ADDRESS}/",
        "https://user:token@git.example.org/owner/name.git",
        "git@git.example.org:owner/name.git",
        "git@git.example.org:owner/name",
    ],
)
def test_the_address_of_a_remote(script: ModuleType, origin: str) -> None:
    assert script.web_address(origin) == ADDRESS


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "/srv/git/name.git",
        "../name",
        "file:///srv/name.git",
        "git@git.example.org:/srv/name.git",
        "host:folder/name",
        "https://git.example.org",
        "https:///owner/name",
        'https://git.example.org/"><script>',
        "javascript:alert(1)",
    ],
)
def test_other_remotes_have_no_address(script: ModuleType, origin: str) -> None:
    assert script.web_address(origin) is None


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the site is built from, as it is now, in a repository without a remote."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("docs", "scripts", "src/partage"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


def pages(clone: Path) -> Iterator[str]:
    """The text of each page of the clone's site, which is built now."""
    subprocess.run([sys.executable, clone / "scripts" / "build_site.py"], check=True)
    assert not list(clone.glob("*.zensical.toml"))
    for file in sorted((clone / "site").rglob("*.html")):
        yield file.read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.browser
def test_the_site_links_to_the_origin_of_its_clone(chromium: Any, clone: Path) -> None:
    assert not any("md-source" in text for text in pages(clone))
    origin = ["git", "-C", str(clone), "remote", "add", "origin"]
    subprocess.run([*origin, "git@git.example.org:owner/name.git"], check=True)
    found = list(pages(clone))
    assert len(found) > 30
    assert all(LINK in text for text in found)
    for width, shown in ((1280, ".md-header__source"), (390, ".md-nav__source")):
        page = chromium.new_page(viewport={"width": width, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto((clone / "site" / "index.html").as_uri())
        page.wait_for_load_state("networkidle")
        if width == 390:
            page.locator("label.md-header__button[for=__drawer]").click()
        link = page.locator(f"{shown} a")
        link.wait_for(state="visible")
        assert (link.inner_text().strip(), link.get_attribute("href")) == ("owner/name", ADDRESS)
        page.close()
        assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
