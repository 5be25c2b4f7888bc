"""The page of ``demo --live`` in a real browser: nothing is blocked, and it fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from partage.report.live_page import render
from tests.report.test_live_page import told

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1200])
def test_it_opens_without_a_complaint_and_fits(
    chromium: Any,
    tmp_path: Path,
    width: int,
) -> None:
    file = tmp_path / "live.html"
    file.write_text(render(told()), encoding="utf-8")
    said: list[str] = []
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("h1").inner_text() == "2 brokers became 3 while 1,234 records went through"
    bars = page.locator("#brokers + p + .pair rect")
    assert bars.count() == 12
    tall = page.evaluate(
        "[...document.querySelectorAll('.pair rect.after')].map(r => r.getBoundingClientRect())"
        ".map(r => Math.round(r.height))"
    )
    assert tall[:3] == [tall[0]] * 3
    assert tall[0] > 20
    axis = page.locator(".time svg text").first.bounding_box()
    assert axis is not None
    assert axis["height"] > 10  # readable on a phone, too: the pictures scroll
    page.close()
