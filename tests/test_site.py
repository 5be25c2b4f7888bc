"""The built site in a real browser: the search finds what readers type, and every page fits."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.report.conftest import chromium

__all__ = ["chromium"]

ROOT = Path(__file__).resolve().parent.parent
# Results of the letters typed so far show until those of the whole query replace them.
ANSWERED = (
    "([query, answer]) => [...document.activeElement.shadowRoot.querySelectorAll('a')].slice(0, 3)"
    ".map(a => new URL(a.href))"
    ".some(url => url.search === '?h=' + query && (url.pathname + url.hash).startsWith(answer))"
)

# One process builds the site and tries it: two would write the same folder.
pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site, built and served."""
    subprocess.run([sys.executable, ROOT / "scripts" / "build_site.py"], check=True)
    handler = partial(Quiet, directory=str(ROOT / "site"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("install", "/get-started.html#install"),
        ("decommission", "/how-to/remove-or-replace-a-broker.html#decommission"),
        ("under-replicated", "/how-to/inspect-a-cluster.html#under-replicated-partitions"),
        ("rebalance", "/how-to/add-brokers.html"),
        ("throttle", "/how-to/apply-a-plan.html#throttle-and-concurrency"),
        ("cruise control", "/from/cruise-control.html"),
        ("KIP-848", "/how-to/avoid-consumer-stalls.html"),
    ],
)
def test_search_answers_in_the_first_three(
    chromium: Any, site: str, query: str, answer: str
) -> None:
    page = chromium.new_page()
    page.goto(f"{site}index.html")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Control+k")
    page.wait_for_function("document.activeElement.shadowRoot?.querySelector('input')")
    page.keyboard.type(query)
    page.wait_for_function(ANSWERED, arg=[query.replace(" ", "+"), answer])
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_leads_on(chromium: Any, site: str, width: int, scheme: str) -> None:
    """No page scrolls sideways; each leads to the next or the previous; nothing is fetched from
    elsewhere."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, service_workers="block"
    )
    page = context.new_page()
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url))
    wide, ends = [], []
    for file in sorted((ROOT / "site").rglob("*.html")):
        name = str(file.relative_to(ROOT / "site"))
        if name != "404.html":
            page.goto(site + name)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append(name)
            if page.locator("a.md-footer__link").count() == 0:
                ends.append(name)
    context.close()
    assert (wide, ends) == ([], [])
    assert all(url.startswith((site, "data:", "blob:")) for url in elsewhere)


def test_the_python_reference_shows_every_option(chromium: Any, site: str) -> None:
    page = chromium.new_page()
    page.goto(f"{site}reference/python.html")
    signature = page.locator(".doc-signature").first.inner_text()
    page.close()
    for option in ("add_broker", "max_moves", "tolerance", "throttle", "profile"):
        assert f"{option}:" in signature
    assert "request" not in signature
