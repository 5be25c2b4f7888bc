"""The page in a real browser, offline, for the tests that look at it there."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from partage.cli import main
from partage.report.html import render
from tests.report import plan_documents as documents

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")  # open, it keeps asyncio from other modules' tests
def chromium():
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.skip("no Chromium on this machine: the page is not tried in a browser")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """Open a page's text offline; afterwards nothing may stand in the console or be overflowing."""
    contexts, complaints, requests = [], [], []

    def opened(text, *, width=1280, scheme="light", script=True):
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        if script and "dataset.ready" in text:
            page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in requests)


@pytest.fixture(scope="session")
def grown():
    return render(documents.grown(), documents.comparison(), documents.measurement())


@pytest.fixture(scope="session")
def many():
    """240 brokers in three racks, 90 topics."""
    document = documents.random_plan(240, 900, 90, waves=2)
    return document, render(document)


@pytest.fixture
def partage_run(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """A command; gives its exit code."""

    def run(words: str) -> int:
        monkeypatch.setattr("sys.argv", ["partage", *words.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return run
