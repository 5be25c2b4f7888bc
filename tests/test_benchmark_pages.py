"""The blocks of the pages equal the kept results: no figure is typed by hand."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
DOCS = ROOT / "docs"


pytestmark = pytest.mark.usefixtures("beside_the_benchmarks")

module = importlib.import_module


# ---------------------------------------------------------------- pages


@pytest.mark.parametrize(
    "name",
    [
        "docs/benchmarks.md",
        "docs/assignors-compared.md",
        "docs/kafka-reassignment-survey.md",
    ],
)
def test_page_equals_kept_results(name: str) -> None:
    pages = module("page").pages()
    assert len(pages) == 3
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = module("tables.markdown").blocks_of(text)
    for block, expected in pages[name].items():
        assert shown[block] == expected, f"{name}, {block}: make bench-page"
    assert shown.keys() == pages[name].keys()
    assert text.count("<!-- measured: ") == len(shown)


def test_no_figures_outside_the_blocks() -> None:
    """Only tables of jobs and shapes are written by hand."""
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    rest = re.sub(r"<!-- measured.*?<!-- end -->", "", text, flags=re.DOTALL)
    assert [line for line in rest.splitlines() if re.search(r"\|\s*\d+\.\d+\s*\|", line)] == []


def test_plots_show_the_kept_results() -> None:
    page, plots = module("page"), module("plots")
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    for name, chart in page.charts().items():
        assert plots.is_of(DOCS / "images" / name, chart), f"{name}: make bench-page"
        assert f"](images/{name})" in text
        assert (DOCS / "images" / name).stat().st_size < 60_000


def test_plot_has_a_bar_for_each_figure() -> None:
    plans = {"a-1": {"before": {}, "partage": tool(10, 2.0), "x": tool(25, 0.5, violations=1)}}
    plans["b-1"] = {"partage": tool(4, 1.0), "x": {"problem": "> 9 s", "limit": 9}}
    plots = module("plots")
    moves = plots._moves(plans)
    assert moves.groups == ["a\n1", "b\n1"]
    assert moves.series == {"partage": [(1.0, False)] * 2, "x": [(2.5, True), None]}
    seconds = plots._planners(plans)
    assert seconds.series == {
        "partage": [(2.0, False), (1.0, False)],
        "x": [(0.5, False), (9, True)],
    }
    assert moves.digest != dataclasses.replace(moves, start=2).digest


@pytest.mark.long
def test_drawing_again_writes_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plots = module("plots")
    chart = plots.Chart(
        "t", ["g", "h"], {"a": [(2.0, False), None], "b": [(1.0, True), (5.0, False)]}
    )
    drawn = []
    for name in ("1.svg", "2.svg"):
        plots.draw(chart, tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
        assert plots.is_of(tmp_path / name, chart)
    assert drawn[0] == drawn[1]


def tool(moves: int, seconds: float, violations: int = 0) -> dict[str, Any]:
    return {
        "moves": moves,
        "planner_seconds": seconds,
        "rack_violations": violations,
        "replicas_per_broker": [3, 4],
        "faults": 0,
    }


def test_best_peer() -> None:
    plans = {
        "job": {
            "partage": tool(100, 2.0),
            "breaks racks": tool(1, 0.5, violations=3),
            "faulty": {**tool(2, 0.1), "faults": 1},
            "right": tool(200, 4.0),
            "ended": {"problem": "> 9 s", "limit": 9},
        },
        "alone": {"partage": tool(100, 2.0)},
    }

    def jobs(seconds: float, moves: int) -> dict[str, Any]:
        return {
            "fresh": {"seconds": seconds, "moves": 9},
            "one left": {"seconds": 0.1, "moves": moves},
        }

    late = {"fresh": {"problem": "> 60", "limit": 60}, "one left": {"problem": "–"}}
    wrong = {"seconds": 1.0, "problem": "not each partition once"}
    joins = {
        "shape": {"partage": jobs(2.0, 5), "x": jobs(8.0, 7), "y": jobs(4.0, 8)},
        "slow": {"partage": jobs(3.0, 5), "x": late},
        "wrong": {"partage": {"fresh": {"seconds": 3.0}, "one left": wrong}},
    }
    found = module("tables.summary").blocks(plans, joins)
    lines = [cells(line) for line in found["summary, plans"].splitlines()[2:]]
    assert lines[0][1:4] == ["100", "200 (right)", "0.500"]
    assert lines[0][6:] == ["2.00", "0.50 (breaks racks)", "4.00"]
    assert lines[1][2:4] == ["–", "–"]
    lines = [cells(line) for line in found["summary, assignors"].splitlines()[2:]]
    assert lines[0] == ["shape", "2.000", "4.000 (y)", "0.500", "5", "7"]
    assert lines[1] == ["slow", "3.000", "> 60", "< 0.050", "5", "–"]
    assert lines[2] == ["wrong", "3.000", "–", "–", "–", "–"]


def test_job_without_a_plan_of_partage_is_not_summarised(tmp_path: Path) -> None:
    """The page lists it among the plans, but not in the summary or in a plot."""
    page, results = module("page"), module("results")
    for name in page.COMPARISONS:
        results.write(name, results.read(name), tmp_path)
    figures = results.merged(results.read("peers"))
    job, other = list(figures)[:2]
    failed = {"problem": "> 9 s", "limit": 9.0}
    results.keep("peers", {job: {"partage": failed}}, {}, {}, tmp_path)
    blocks = page.pages(tmp_path)["docs/benchmarks.md"]
    assert re.search(rf"^\| {job} .*\n\| +\| partage .*\| +> 9 s", blocks["peers, plans"], re.M)
    named = [cells(line)[0] for line in blocks["summary, plans"].splitlines()]
    assert (job in named, other in named) == (False, True)
    for name in ("benchmark-moves.svg", "benchmark-planners.svg"):
        groups = [group.replace("\n", "-") for group in page.charts(tmp_path)[name].groups]
        assert (job in groups, other in groups) == (False, True)


def cells(line: str) -> list[str]:
    return re.split(r" +\| +", line.strip("| "))


def test_filling_a_block_changes_nothing_else() -> None:
    markdown = module("tables.markdown")
    page = "a\n\n<!-- measured: x -->\n\nold\n\n<!-- end -->\n"
    page += "\nb\n\n<!-- measured: y -->\n<!-- end -->\n"
    filled = markdown.filled(page, {"y": "new", "x": r"\1"})
    assert markdown.blocks_of(filled) == {"x": r"\1", "y": "new"}
    assert markdown.filled(filled, {"x": "old", "y": ""}) == page.replace(
        "y -->\n<", "y -->\n\n\n\n<"
    )
    for wrong in ("z", "x -->\n\nold"):
        with pytest.raises(KeyError, match="expected one block"):
            markdown.filled(page, {wrong: ""})
    with pytest.raises(KeyError, match="expected one block"):
        markdown.filled(page + page, {"x": ""})


# ---------------------------------------------------------------- results


def run(when: str, figures: dict[str, dict[str, Any]]) -> Any:
    return module("results").Run(when, {"cores": 2}, {"Python": "3"}, {}, figures)


def test_only_the_last_run_keeps_a_figure(tmp_path: Path) -> None:
    results = module("results")
    first = run("2026-01-01", {"a": {"x": 1, "y": 2}, "b": {"x": 3}})
    second = run("2026-01-02", {"a": {"x": 10}, "b": {"x": 30}})
    results.write("c", [first, second], tmp_path)
    assert results.read("c", tmp_path) == [run("2026-01-01", {"a": {"y": 2}}), second]
    assert results.merged(results.read("c", tmp_path)) == {"a": {"y": 2, "x": 10}, "b": {"x": 30}}
    third = run("2026-01-03", {"a": {"x": 1, "y": 1}, "b": {"x": 1}})
    results.write("c", [*results.read("c", tmp_path), third], tmp_path)
    assert results.read("c", tmp_path) == [third]
    assert results.read("nothing", tmp_path) == []


def test_equal_runs_of_one_day_are_merged(tmp_path: Path) -> None:
    results = module("results")
    runs = [
        run("2026-01-01", {"a": {"x": 1.00000049}}),
        run("2026-01-01", {"a": {"y": 2}, "b": {"x": 3}}),
    ]
    results.write("c", runs, tmp_path)
    assert results.read("c", tmp_path) == [
        run("2026-01-01", {"a": {"x": 1.0, "y": 2}, "b": {"x": 3}})
    ]
    results.keep("c", {"a": {"x": 5}}, {"Python": "3"}, {}, tmp_path)
    kept = results.read("c", tmp_path)
    assert len(kept) == 2
    assert kept[1].machine == module("machine").facts()
    assert results.merged(kept)["a"] == {"x": 5, "y": 2}


def test_runs_list_what_they_measured() -> None:
    runs = [
        run("2026-01-01", {"a": {"x": 1}, "b": {"x": 1, "y": 2}}),
        run("2026-01-02", {"a": {"before": 0, "y": 3}}),
    ]
    measured = module("tables.runs")._measured
    assert measured(runs[0], runs) == "b; a (only x)"
    assert measured(runs[1], runs) == "a (only y)"


def test_facts_and_versions() -> None:
    machine = module("machine")
    found = machine.facts()
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 2**28
    line = module("tables.runs").machine_line(found)
    assert f"{found['cores']} cores" in line
    versions = machine.versions("Python", "partage", "Kafka", "no-such-package")
    assert versions.keys() == {"Python", "partage", "Kafka"}


def test_results_are_small_and_have_machine_and_versions() -> None:
    for name in module("page").COMPARISONS:
        file = BENCHMARKS / "results" / f"{name}.json"
        assert file.stat().st_size < 150_000
        for each in json.loads(file.read_text(encoding="utf-8")):
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", each["when"])
            assert {"cpu", "cores", "memory_bytes", "os", "kernel"} <= each["machine"].keys()
            assert {"Python", "partage"} <= each["versions"].keys()


# ---------------------------------------------------------------- bench.py


def test_every_comparison_has_minutes_for_every_size() -> None:
    bench, page = module("bench"), module("page")
    assert tuple(bench.MINUTES) == page.COMPARISONS
    for name, minutes in bench.MINUTES.items():
        assert tuple(minutes) == module("harness").SIZES
        assert (BENCHMARKS / f"{name}.py").exists()
        assert sorted(minutes.values()) == list(minutes.values())
    assert sum(minutes["medium"] for minutes in bench.MINUTES.values()) <= 60


@pytest.mark.parametrize("broken", [False, True])
def test_all_comparisons_run_even_if_one_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: bool
) -> None:
    bench = module("bench")
    commands: list[list[str]] = []

    class Ended:
        def __init__(self, command: list[str], **_: Any) -> None:
            commands.append(command[1:])
            self.returncode = int(broken and command[1].endswith("peers.py"))

    monkeypatch.setattr(bench.subprocess, "run", Ended)
    monkeypatch.setattr("sys.argv", ["bench.py", "--size", "small"])
    assert bench.main() == int(broken)
    names = ["against", *bench.MINUTES, "page"]
    assert [Path(command[0]).stem for command in commands] == names
    assert commands[0][1:] == ["--size", "small"]
    assert all(command[1:] == ["--size", "small", "--keep"] for command in commands[1:-1])
    lines = capsys.readouterr().err.splitlines()
    total = sum(minutes["small"] for minutes in bench.MINUTES.values())
    assert f"about {total:.0f} minutes" in lines[0]
    assert any(line.startswith(f"bench: [1/{len(bench.MINUTES)}] plan") for line in lines)
    assert "that of the kept figures" in lines[2]
    assert ("target not met: peers" in lines[-1]) == broken
