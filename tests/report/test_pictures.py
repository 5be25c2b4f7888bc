"""Pictures: valid SVG, to scale, and with every partition in the place that the answer gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import partage
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from partage.group import Group, Member
from partage.report.pictures import assignment_svg, placement_svg, simulation_svg
from partage.report.pictures.simulation import NO_OWNER

GROUPS = Path(partage.__file__).parent / "data" / "groups"
DIGIT = 6.2
"""Pixels of a digit in 11 px."""
SVG = "{http://www.w3.org/2000/svg}"


def rectangles(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{SVG}rect"))


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
@pytest.mark.parametrize("name", ["deploy", "failover", "restart", "push-pull"])
def test_red_is_as_long_as_partitions_wait(name: str, protocol: str) -> None:
    assignor = "cooperative-sticky" if protocol == "cooperative" else "sticky"
    scenario = Scenario.read(GROUPS / f"{name}-scenario.json")
    found = simulate(scenario, assignor, protocol)
    said = [r[0].text or "" for r in rectangles(simulation_svg(found)) if len(r)]
    spans = [text.rpartition(", ")[2].removesuffix(" s").split("–") for text in said]
    seconds = [float(end) - float(start) for start, end in spans]
    waiting = sum(s for s, text in zip(seconds, said, strict=True) if text.startswith("no owner"))
    assert waiting == pytest.approx(found.unowned, abs=0.02 * len(said))
    red = [r for r in rectangles(simulation_svg(found)) if len(r) and r.get("fill") == NO_OWNER]
    assert len(red) == sum(text.startswith("no owner") for text in said) > 0


def test_every_box_is_what_the_table_says() -> None:
    group = Group.read(GROUPS / "member-left.json")
    svg = assignment_svg(partage.assign(group, "roundrobin"), "roundrobin")
    boxes = rectangles(svg)[1:-5]  # neither the card nor the two legends
    kinds = [
        "goes" if b.get("stroke-dasharray") else "gains" if b.get("stroke") else "keeps"
        for b in boxes
    ]
    assert kinds == ["keeps", "gains", "goes", "gains", "goes", "gains"]
    assert texts(svg)[:8] == ["roundrobin: 3 moves", "C1", "0", "0", "1", "C3", "1", "0"]


def test_names_are_escaped() -> None:
    group = Group({"<t>": 1}, [Member("a&b", ["<t>"])])
    assert {"a&b", "<t>"} <= set(texts(assignment_svg(partage.assign(group, "range"), "range")))


def test_a_placement_has_what_is_fetched_and_given_up() -> None:
    lists = [[1, 2, 3], [2, 1, 4], [1, 2, 4], [2, 1, 3]]
    brokers = [{"id": broker} for broker in (1, 2, 3, 4)]
    partitions = [{"topic": "t", "partition": p, "replicas": row} for p, row in enumerate(lists)]
    plan = partage.plan(partage.Cluster.from_json({"brokers": brokers, "partitions": partitions}))
    svg = placement_svg(plan.before, plan.after, "")
    boxes = rectangles(svg)[1:-4]
    assert sum(box.get("stroke-width") == "3" for box in boxes) == plan.moves == 2
    assert sum(box.get("stroke-dasharray") is not None for box in boxes) == 2
    shown = texts(svg)
    before, after = shown.index("replicas before") + 1, shown.index("after") + 1
    assert (shown[before : before + 4], shown[after : after + 4]) == (
        ["4", "4", "2", "2"],
        ["3", "3", "3", "3"],
    )


def test_a_large_plan_is_drawn_where_it_changes(
    tmp_path: Path, partage_run: Callable[[str], int]
) -> None:
    """Of 162 partitions 60, all of which change, and every broker with its count."""
    cluster = Path(partage.__file__).parent / "data" / "cluster-grown.json"
    assert partage_run(f"plan {cluster} --picture {tmp_path}/a.svg") == 0
    svg = (tmp_path / "a.svg").read_text("utf-8")
    assert {"exact: 200 moves", "117", "54", "and 102 more partitions"} <= set(texts(svg))
    counts = [
        (float(text.get("y", "0")), float(text.get("x", "0")))
        for text in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if re.fullmatch(r"\d{2,3}", text.text or "")
    ]
    beside = [b[1] - a[1] for a, b in pairwise(sorted(counts)) if a[0] == b[0]]
    assert min(beside) >= 3 * DIGIT  # no count overprints its neighbour
    wide = [{"id": broker} for broker in range(40)]
    one = partage.Cluster.from_json(
        {"brokers": wide, "partitions": [{"topic": "t", "partition": 0, "replicas": [39]}]}
    )
    root = ElementTree.fromstring(placement_svg(one, one, ""))
    right = max(float(box.get("x", "0")) for box in root.iter(f"{SVG}rect"))
    assert right < float((root.get("viewBox") or "").split()[2])


def test_a_group_of_very_many_is_drawn_in_part() -> None:
    group = Group({"t": 5000}, [Member(f"m{n}", ["t"]) for n in range(2000)])
    svg = assignment_svg(partage.assign(group, "range"), "range")
    assert len(svg) < 100_000
    assert "and 1,940 more members" in texts(svg)
    alone = Group({"t": 5000}, [Member("m", ["t"])])
    assert "and 4,900 more" in texts(assignment_svg(partage.assign(alone, "range"), "range"))


def test_a_picture_that_cannot_be_written_is_one_line(
    tmp_path: Path, partage_run: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"assign {GROUPS}/failover.json --assignor range --json --picture {tmp_path}/none/a.svg"
    assert partage_run(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_picture_comes_beside_json(
    tmp_path: Path, partage_run: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"simulate {GROUPS}/kip-429-scenario.json --assignor sticky --json "
    assert partage_run(words + f"--picture {tmp_path}/a.svg") == 0
    assert json.loads(capsys.readouterr().out)["moved"] == 1
    assert texts((tmp_path / "a.svg").read_text("utf-8"))[0].startswith("sticky, eager: ")
