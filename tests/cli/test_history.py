"""history through the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from partage.consumers.history.replay import cases

pytestmark = pytest.mark.spark

Run = Callable[..., Any]
KIP_429 = Path(str(files("partage") / "data" / "groups" / "logs" / "kip-429"))
GROUP = "cg_logi_kafka_test_1"


@pytest.mark.long
def test_history(run: Run, spark: Any, tmp_path: Path) -> None:
    shutil.copytree(KIP_429, tmp_path / "logs")
    ended = run("history", str(tmp_path / "logs"), "-o", "out", "--group", GROUP, "--json")
    assert ended.code == 0
    group = ended.json["groups"][GROUP]
    assert group["generations"] == [9, 10, 11]
    assert group["unowned"] == {"kmo_community-0": 3.119}
    assert group["replay"]["sticky"]["cooperative"]["moved"] == 1
    assert ended.json["rejected"] == 0
    assert (tmp_path / "out" / "history.json").is_file()


@pytest.mark.long
def test_many_groups_with_a_small_limit_for_results(tmp_path: Path) -> None:
    """Neither events nor tables pass through the driver: together they are above its limit."""
    groups = 400
    for number in range(groups):
        for log in KIP_429.glob("*.log"):
            file = tmp_path / "logs" / f"{number}-{log.name}"
            file.parent.mkdir(exist_ok=True)
            file.write_text(log.read_text().replace(GROUP, f"group-{number:03}"))
    limits = ("spark.driver.memory=1g", "spark.driver.maxResultSize=2m")
    options = [word for limit in limits for word in ("--conf", limit)]
    subprocess.run(
        [sys.executable, "-m", "partage", "history", "logs", "-o", "out", "--json", *options],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    value = json.loads((tmp_path / "out" / "history.json").read_text())
    assert (len(value["groups"]), value["more_groups"]) == (100, groups - 100)
    for table, rows in (("rounds", 3), ("unowned", 1), ("replay", len(cases()))):
        assert pq.read_table(tmp_path / "out" / table).num_rows == groups * rows


@pytest.mark.long
def test_bad_input_is_one_line(run: Run, spark: Any, tmp_path: Path) -> None:
    log = str(KIP_429 / "client-one.log")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    for arguments in (
        ("none.log",),
        (log, "--group", "other"),
        (log, "--group", "other", "-o", "out"),
        (log, "--by", "topic"),
        (log, "-o", "notes"),
    ):
        ended = run("history", *arguments, "--json")
        assert (ended.code, ended.out) == (2, ""), arguments
        assert [line[:9] for line in ended.err.splitlines()] == ["partage: "]
    assert not (tmp_path / "out").exists()
