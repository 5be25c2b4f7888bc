"""Batches, killed at any write of this process: what Spark writes is seen only once it is moved."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from partage.pipeline import saving as saving_module
from partage.pipeline.watch import Settings
from partage.pipeline.watch import store as store_module
from partage.pipeline.watch import tables as tables_module
from tests.pipeline.watch.cases import WINDOW, Plain, drawn, fed, opened, written


class Killed(BaseException):
    """The process ends here."""


def tables(out: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file()
        for parts in [file.relative_to(out).parts]
        if "checkpoint" not in parts
        and file.name != "done"
        and not any(part.startswith(".") for part in parts)
    }


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize(
    ("rows_per_file", "shared", "step"),
    [(1_000_000, True, 6), (4, True, 9), (1_000_000, False, 17)],
)
def test_killed_at_any_write_it_ends_with_the_same_rows(
    spark: Any,
    tmp_path: Path,
    cluster_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_per_file: int,
    shared: bool,
    step: int,
) -> None:
    """The process ends before the n-th rename, for every n, and another one goes on."""
    for module in (store_module, tables_module, saving_module):
        monkeypatch.setattr(module, "ROWS_PER_FILE", rows_per_file)
    rng = random.Random(18)
    feed = [(batch, rng.choice([0, 0, 2])) for batch in drawn(rng, 5, each=30)]
    plain = Plain()
    for batch, _ in feed:
        plain.batch(batch)
    fed(spark, tmp_path / "whole", cluster_file, feed, told := [], shared)
    whole = tables(tmp_path / "whole")
    assert written(tmp_path / "whole") == plain.closed
    assert opened(tmp_path / "whole") == plain.open
    said = [event["event"] for event in told if event["event"] != "batch"]
    assert [event["batch"] for event in told if event["event"] == "batch"] == [*range(len(feed))]
    assert {"alert", "fair"} < set(said)
    assert ["alert", "closed", "closed"] in [said[n : n + 3] for n in range(len(said))]
    assert any(name.endswith("plan.json") for name in whole)

    real = {name: getattr(os, name) for name in ("link", "rename", "replace")}
    for kill_at in range(0, 200, step):
        left = kill_at

        def dying(name: str) -> Callable[..., None]:
            def call(*places: Any, **folders: int) -> None:
                nonlocal left
                left -= 1
                if left == -1:
                    raise Killed
                real[name](*places, **folders)

            return call

        out, events = tmp_path / f"killed-{kill_at}", []
        with store_module.opened(str(out), Settings("feed", WINDOW)):
            pass
        with monkeypatch.context() as patched:
            for name in real:
                patched.setattr(os, name, dying(name))
            try:
                fed(spark, out, cluster_file, feed, events, shared)
            except Killed:
                pass
            else:
                break
        for place, sums in written(out).items():
            assert plain.closed[place] == sums, "readable at any moment, nothing doubled"
        fed(spark, out, cluster_file, feed, events, shared)
        assert tables(out) == whole
        # said again where the kill was between the word and the commit, but never unsaid
        alerts = [event["at"] for event in events if event["event"] == "alert"]
        assert sorted(set(alerts)) == sorted(e["at"] for e in told if e["event"] == "alert")
    assert kill_at > 15, "there were so many places to end at"
