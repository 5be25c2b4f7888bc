"""The pipeline benchmark: measuring, and keeping, judging and showing its figures."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


pytestmark = pytest.mark.usefixtures("beside_the_benchmarks")

module = importlib.import_module


def pipeline_figures(**more: Any) -> dict[str, Any]:
    """Figures as they are measured: a microsecond per record and no start-up time."""

    def skewed(peak: int | None) -> dict[str, Any]:
        return {
            "profile_seconds": 1.0,
            "keys_seconds": 2.0,
            "hashed_keys": 50,
            "distinct_keys": 50,
            "keyed_records": 990,
            "peak_bytes": peak,
        }

    def profile(records: int, executors: int) -> dict[str, Any]:
        return {
            "records": records,
            "executors": executors,
            "profile_seconds": records / executors / 1e6,
            "plain_seconds": records / executors / 1.25e6,
            "placements": records // 20,
            "file_bytes": 10 * records,
            "peak_bytes": 10**9,
        }

    rates = {"hashing": 5.1e6, "nothing": 6e6}
    return {
        "hashing": {"rows": 990, "rows_per_second": {"murmur2": rates, "all": rates}},
        "skewed": {"records": 1000, "kinds": {"even": skewed(10**9), "hot": skewed(12 * 10**8)}},
        "profile": [profile(n, at) for n in (10**6, 10**7, 5 * 10**7) for at in (1, 2)],
        **more,
    }


def met(figures: dict[str, Any]) -> list[bool | None]:
    return [reached for _, reached, _ in module("tables.pipeline").targets(figures)]


def test_slope() -> None:
    slope = module("tables.pipeline").slope
    assert slope([(1e6, 3.0), (1e7, 30.0), (5e7, 150.0)]) == pytest.approx(1)
    assert slope([(10, 1.0), (1000, 10.0)]) == pytest.approx(0.5)
    # three points not on a line: the middle one, at the mean, does not change the slope
    assert slope([(1, 1.0), (10, 50.0), (100, 100.0)]) == pytest.approx(1)
    found = module("tables.pipeline").slopes(pipeline_figures()["profile"])
    assert found == {1: pytest.approx(1), 2: pytest.approx(1)}
    assert module("tables.pipeline").slopes(pipeline_figures()["profile"][:2]) == {}


def test_targets() -> None:
    assert met(pipeline_figures()) == [True, True, True, True]
    wrong = pipeline_figures()
    wrong["hashing"]["rows_per_second"]["murmur2"] = {"hashing": 5.0e6, "nothing": 6e6}
    wrong["skewed"]["kinds"]["hot"] |= {"hashed_keys": 51, "peak_bytes": 13 * 10**8}
    wrong["profile"][-1]["plain_seconds"] = wrong["profile"][-1]["profile_seconds"] / 1.31
    assert met(wrong) == [False, False, False, False]
    # processor time, if it is known, does not depend on what else the machine does
    rates = {"hashing": 5.1e6, "nothing": 6e6}
    wrong["hashing"]["rows_per_processor_second"] = {"murmur2": rates, "all": rates}
    assert met(wrong)[0] is True
    wrong["skewed"]["kinds"]["hot"]["peak_bytes"] = None
    assert met(wrong)[3] is None
    shown = module("tables.pipeline").blocks(wrong)["pipeline, targets"]
    assert "- not judged: with half" in shown
    assert met({**wrong, "profile": wrong["profile"][:2]})[2] is None


def test_columns_of_what_was_measured() -> None:
    blocks = module("tables.pipeline").blocks
    figures = pipeline_figures()
    assert "processor" not in blocks(figures)["pipeline, hashing"]
    assert "approximate" not in blocks(figures)["pipeline, time"]
    rates = {"hashing": 1.8e6, "nothing": 2e6}
    figures["hashing"]["rows_per_processor_second"] = {"murmur2": rates, "all": rates}
    figures["profile"][-1]["approximate_seconds"] = 22.0
    shown = blocks(figures)
    assert "| share of processor time |" in shown["pipeline, hashing"]
    assert shown["pipeline, hashing"].count(" 90% |") == 2
    assert "1.10 |" in shown["pipeline, time"].splitlines()[-1]


def test_processor_time_includes_processes_that_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc")
    monkeypatch.syspath_prepend(str(BENCHMARKS / "records"))
    spent = module("processes").processor_seconds
    before = spent(os.getpid())
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert spent(os.getpid()) >= before + 0.25
    assert spent(2**30) is None


def test_extrapolation_to_a_trillion_records() -> None:
    figures = pipeline_figures()
    # 10^12 µs on 1,000 cores; three times 10 bytes a record
    shown = module("tables.pipeline").blocks(figures)
    text = shown["pipeline, extrapolation"]
    assert "proportional to records: 17 minutes" in text
    assert "20 TB of Parquet" in text
    assert "at least 50,000,000,000 rows" in text
    assert "| 1,000,000–50,000,000 |  1.00 |" in shown["pipeline, slopes"]
    # a slope of 1.1 from 25 M a core to 1,000 M
    for run in figures["profile"]:
        run["profile_seconds"] = 25 / run["executors"] * (run["records"] / 25e6) ** 1.1
    seconds = 25 / 2 * 2**1.1 * 40**1.1
    text = module("tables.pipeline").extrapolation(figures)
    assert f"per core: {seconds / 60:.0f} minutes" in text


def test_figures_are_kept_by_numbers_of_records(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Everything except Spark: runs of different sizes, and the tables of all together."""
    pipeline, results = module("pipeline"), module("results")
    made = pipeline_figures()

    def measured(job: str, data: Path, seed: int, executors: int = 2, **asked: Any) -> Any:
        if job == "generate":
            return {f"{kind}-{count}-seed-{seed}": 10 * count for kind, count in asked["wanted"]}
        if job == "hashing":
            return {**made["hashing"], "rows": asked["records"]}
        if job == "skewed":
            return made["skewed"]["kinds"][asked["kind"]]
        rate = {"profile": 1e6, "approximate": 1.1e6, "plain": 1.25e6}[asked["what"]]
        spent = {f"{asked['what']}_seconds": asked["records"] / executors / rate}
        placements = {"placements": asked["records"] // 20} if asked["what"] == "profile" else {}
        return {**spent, **placements, "peak_bytes": int(rate)}

    monkeypatch.setattr(pipeline, "measured", measured)
    keep = results.keep
    monkeypatch.setattr(results, "keep", lambda *given: keep(*given, tmp_path))
    for size in ("small", "large", "small"):
        monkeypatch.setattr("sys.argv", ["pipeline.py", "--size", size, "--keep"])
        assert pipeline.main() == 0
    assert "| 50,000,000 |" in capsys.readouterr().out
    found = pipeline.latest(results.merged(results.read("pipeline", tmp_path)))
    assert found["hashing"]["rows"] == found["skewed"]["records"] == 10**7
    timed = [(run["records"], run["executors"]) for run in found["profile"]]
    counts = (10**5, 10**6, 10**7, 5 * 10**7)
    assert timed == [(count, executors) for count in counts for executors in (1, 2)]
    assert [run for run in found["profile"] if "plain_seconds" not in run] == [found["profile"][6]]
    peaks = {run["peak_bytes"] for run in found["profile"]}
    assert peaks == {1_250_000, 1_100_000}  # the most of all that is compared
    assert module("tables.pipeline").slopes(found["profile"])[2] == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "expected"), [("10M,100k", [10**5, 10**7]), ("7", [7]), ("1M,1M", [10**6])]
)
def test_numbers_of_records(text: str, expected: list[int]) -> None:
    assert module("pipeline").numbers(text) == expected


@pytest.mark.parametrize("text", ["", "0", "1G", "1M,", "-1k"])
def test_refused_numbers_of_records(text: str) -> None:
    with pytest.raises(Exception, match="expected numbers such as 100k,1M"):
        module("pipeline").numbers(text)


def test_memory_includes_descendant_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("no /proc")
    monkeypatch.syspath_prepend(str(BENCHMARKS / "records"))
    resident, block = module("processes").resident, 200 * 10**6
    before = resident(os.getpid())
    code = f"import sys; held = bytearray({block}); print(len(held), flush=True); sys.stdin.read()"
    child = [sys.executable, "-c", code]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == block
        assert block < resident(process.pid) < resident(os.getpid())
        assert resident(os.getpid()) > before + block / 2
        process.communicate()
    assert resident(2**30) is None


@pytest.mark.long
@pytest.mark.spark
def test_pipeline_is_measured(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "records"))
    measures = module("measures")
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    # Spark's workers cannot import the module
    cloudpickle.register_pickle_by_value(measures)
    request.addfinalizer(lambda: cloudpickle.unregister_pickle_by_value(measures))

    def measured(job: str, **more: Any) -> Any:
        return measures.measured(spark, job, str(tmp_path), seed=1, **more)

    monkeypatch.setattr(measures, "WARM_UP", 500)
    wanted = [("zipf", 2000), ("hot", 2000)]
    sizes = measured("generate", wanted=wanted)
    assert sizes["hot-2000-seed-1"] > 1000
    keys = spark.read.parquet(str(tmp_path / "hot-2000-seed-1")).groupBy("key").count().collect()
    counts = sorted(row["count"] for row in keys)
    assert sum(counts) == 2000
    assert 900 < counts[-1] < 1100
    assert 90 < len(counts) <= 101
    found = measured("skewed", kind="hot", records=2000)
    assert found["hashed_keys"] == found["distinct_keys"] == len(counts) - 1
    assert found["keyed_records"] == 1980
    monkeypatch.setattr(measures, "HASHING_TIMES", 1)
    rates = measured("hashing", kind="zipf", records=2000)
    assert rates["rows"] == 1980
    assert rates["rows_per_second"].keys() == {"murmur2", "all"}
    if Path("/proc/self/stat").exists():
        assert rates["rows_per_processor_second"].keys() == {"murmur2", "all"}
    for what in ("profile", "approximate", "plain"):
        timed = measured("profile", kind="zipf", records=2000, repeat=1, what=what)
        assert timed[f"{what}_seconds"] > 0
        assert (0 < timed["placements"] <= 100) if what == "profile" else "placements" not in timed


def test_targets_by_processor_time() -> None:
    """They are judged by it where it is known, whatever the seconds are."""
    spent = {"records": 10**7, "executors": 2, "profile": 13.0, "approximate": 12.0, "plain": 10.0}
    figures = pipeline_figures(processor=[spent])
    assert met(figures) == [True, True, True, False, True]
    shown = module("tables.pipeline").blocks(figures)
    line = shown["pipeline, processor"].splitlines()[-1]
    assert [cell.strip() for cell in line.split("|")[-3:-1]] == ["1.30", "1.20"]
    assert "(1.30 at 10,000,000 records)" in shown["pipeline, targets"]


def scale_figures(**more: Any) -> dict[str, Any]:
    return {
        "kind": "zipf",
        "records": 10**7,
        "files": 0,
        "executors": 2,
        "profile_seconds": 10.0,
        "processor_seconds": 20.0,
        "shuffled_bytes": 5 * 10**7,
        "skew": 1.25,
        "placements": 10**6,
        **more,
    }


def test_scale_is_estimated_from_the_largest_run() -> None:
    runs = {
        "small": scale_figures(records=10**6, shuffled_bytes=9 * 10**7),
        "two": scale_figures(),
        "one": scale_figures(executors=1, profile_seconds=15.0),
        "hot": scale_figures(kind="hot", skew=1.75, shuffled_bytes=0),
        "files": scale_figures(files=2000, records=200_000),
    }
    shown = module("tables.scale").blocks(runs)
    estimate = shown["scale, estimate"]
    assert "2.00 s of a processor per million records: 33 minutes" in estimate
    assert "5.00 bytes shuffled per record: 5.0 TB, 5.0 GB per core" in estimate
    assert "100,000,000,000 distinct keys" in estimate
    assert "2 executors had 1.50 times the speed of one" in estimate
    assert "2,000 small files: 10 ms of a processor each" in estimate
    assert "the first to break is memory" in estimate
    lines = shown["scale"].splitlines()
    assert [line.split("|")[2].strip() for line in lines[2:]] == [
        "1,000,000",
        "10,000,000",
        "10,000,000",
        "10,000,000",
        "200,000",
    ]
    assert "1.75" in lines[5]
    few = {"two": scale_figures(shuffled_bytes=10**6)}
    assert "fit into 4 GB" in module("tables.scale").blocks(few)["scale, estimate"]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("windows", {"windows": 100_000, "rejected": 0}),
        ("rejected", {"rejected": 50_000}),
        ("keys", {"keys": 100, "rejected": 0}),
    ],
)
def test_long_tables_with_little_memory_for_the_driver(kind: str, rows: dict[str, int]) -> None:
    """Executors write all rows: no megabyte of them fits into what the driver may receive."""
    limits = ["--driver", "1g", "--result", "1m"]
    ended = subprocess.run(
        [sys.executable, BENCHMARKS / "limits.py", "--kind", kind, "--records", "100000", *limits],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    written = json.loads(ended.stdout.removeprefix(kind))["rows"]
    assert {name: written[name] for name in rows} == rows
