"""The page of ``demo --live``, from figures made up: when all is well, and when not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from partage.report.live_page import Axis, checks, headline, lead, render


def told() -> dict[str, Any]:
    def pause(seconds: float) -> dict[str, Any]:
        return {"partition": "orders-1", "seconds": seconds, "at": 3.0}

    return {
        "format_version": 1,
        "partage": "0.1.0",
        "kafka": "4.3.0",
        "throttle": 5_000_000,
        "plan": {"moves": 4, "moves_lower_bound": 4, "bytes_moved": 40_000_000, "waves": 2},
        "brokers": [
            {"id": 1, "rack": "a", "added": False},
            {"id": 2, "rack": None, "added": False},
            {"id": 3, "rack": "a", "added": True},
        ],
        "replicas": {"before": [6, 6, 0], "after": [4, 4, 4]},
        "leaders": {"before": [3, 3, 0], "after": [2, 2, 2]},
        "apply": {"from": 4.0, "to": 14.0, "seconds": 10.0, "bytes_copied": 40_000_000},
        "waves": [
            {"partitions": 2, "moves": 4, "bytes": 40_000_000, "from": 4.0, "to": 12.0},
            {"partitions": 1, "moves": 0, "bytes": 0, "from": 12.0, "to": 14.0},
        ],
        "copied": [[6.0, 10_000_000], [12.0, 40_000_000]],
        "steps": [
            {"what": "broker <3> starts", "from": 1.0, "to": 4.0},
            {"what": "wave 1", "from": 4.0, "to": 12.0},
        ],
        "verified": {"state": "done", "lists_as_planned": True, "throttles_put_back": True},
        "until": 20.0,
        "members": 2,
        "assignor": "CooperativeStickyAssignor",
        "records": {"acknowledged": 1234, "read": 1234, "missing": 0, "again": 0},
        "every": 0.1,
        "pauses": {
            "producing": {"before": pause(0.1), "during": pause(1.25)},
            "consuming": {"before": pause(0.2), "during": pause(1.5)},
        },
        "per_second": {"producing": [60] * 20, "consuming": [60] * 19 + [94]},
        "seconds": 66.6,
    }


def test_the_figures_in_words() -> None:
    assert headline(told()) == "2 brokers became 3 while 1,234 records went through"
    said = lead(told())
    for figure in ("every one of them was read", "40.0 MB in 10 s (4.00 MB/s)", "1.2 s", "1.5 s"):
        assert figure in said
    assert [kind for kind, _ in checks(told())] == ["good"] * 5


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("records", "missing"), 7, "7 acknowledged records were not read"),
        (("verified", "lists_as_planned"), False, "replica lists differ from the plan"),
        (("verified", "state"), "in progress", "partage verify reports: in progress"),
        (("verified", "throttles_put_back"), False, "the throttles are not restored"),
        (("plan", "moves_lower_bound"), 3, "4 moves: not proven minimal, at least 3 needed"),
    ],
)
def test_errors_are_shown(where: tuple[str, str], value: Any, said: str) -> None:
    document = told()
    document[where[0]][where[1]] = value
    bad = [text for kind, text in checks(document) if kind == "bad"]
    assert len(bad) == 1
    assert said in bad[0]
    assert render(document).count('class="rating bad"') == 1


def test_the_page_is_one_file_without_a_script_and_escapes_what_it_is_given() -> None:
    page = render(told())
    assert page == render(told())
    assert "<script" not in page
    assert "broker &lt;3&gt; starts" in page
    assert set(re.findall(r'(?:href|src)="([^"#]+)"', page)) == {"data:,", "plan/report.html"}
    assert "script-src" not in page


def test_the_pictures_have_what_they_are_of() -> None:
    page = render(told())
    # broker, record and byte pictures: a pair of columns a broker and load, a bar a look
    assert page.count("<title>broker 3, after: 4</title>") == 1
    assert page.count("<title>broker 3, after: 2</title>") == 1
    assert "<title>4.0 to 6.0 s: 5.00 MB/s</title>" in page
    assert "<title>6.0 to 12.0 s: 5.00 MB/s</title>" in page
    lines = re.findall(r'class="line (\w+)" points="([^"]+)"', page)
    assert [(side, len(points.split())) for side, points in lines] == [
        ("producing", 20),
        ("consuming", 20),
    ]
    heights = {point.split(",")[1] for point in lines[0][1].split()}
    assert len(heights) == 1


@pytest.mark.parametrize(
    ("until", "step"), [(0, 1), (12, 1), (13, 2), (7200, 600), (7300, 1200), (90_000, 18_000)]
)
def test_the_axis_names_about_ten_moments_however_long_it_is(until: float, step: int) -> None:
    ticks = Axis(until).ticks
    assert ticks == list(range(0, int(until) + 1, step))
    assert len(ticks) <= 13
