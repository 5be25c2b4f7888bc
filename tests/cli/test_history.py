"""history through the command line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

Run = Callable[..., Any]
KIP_429 = Path(str(files("partage") / "data" / "groups" / "logs" / "kip-429"))
GROUP = "cg_logi_kafka_test_1"


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
