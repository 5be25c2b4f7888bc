"""The directory of a watch."""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.measured_loads import Profile
from partage.pipeline.watch import Settings, check
from partage.pipeline.watch import store as store_module
from tests.pipeline.watch.cases import (
    NOON,
    drawn,
    fed,
    record,
    summed,
    written,
)


def test_a_directory_is_one_watchs_alone(tmp_path: Path) -> None:
    out = tmp_path / "watch"
    settings = Settings("/records", 60)
    with store_module.opened(str(out), settings) as store:
        assert store.state() == store_module.State()
        with (
            pytest.raises(PartageError, match="another partage watch is using this directory"),
            store_module.opened(str(out), settings),
        ):
            pass
    with store_module.opened(str(out), settings):
        pass  # the first has let it go
    profile = Profile.read(out)
    assert profile.totals["records"] == 0
    assert profile.hot_keys() == []


def test_a_directory_resumes_only_with_the_same_settings(tmp_path: Path) -> None:
    out = str(tmp_path / "watch")
    with store_module.opened(out, Settings("/records", 60)):
        pass
    check(out, Settings("/records", 60))
    with pytest.raises(InputError, match="started with records /records, not /others: name"):
        check(out, Settings("/others", 60))
    with pytest.raises(
        InputError, match="started with `window` 60, not 30: name another directory"
    ):
        check(out, Settings("/records", 30))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(InputError, match=r"did not write \(no watch.json written by partage\)"):
        check(str(tmp_path / "mine"), Settings("/records", 60))


def test_a_state_without_its_checkpoint_is_refused(tmp_path: Path, cluster_file: Path) -> None:
    feed = [(batch, 0) for batch in drawn(random.Random(1), 3)]
    fed(tmp_path / "watch", cluster_file, feed, [])
    checkpoint = tmp_path / "watch" / "checkpoint"
    checkpoint.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="do not match, name another directory"):
        fed(tmp_path / "watch", cluster_file, feed, [])
    shutil.rmtree(checkpoint)
    (tmp_path / "elsewhere").rename(checkpoint)
    (tmp_path / "watch" / "state.parquet").unlink()
    with pytest.raises(
        InputError, match=r"state.parquet is of batch -1, but checkpoint/ of batch 2"
    ):
        fed(tmp_path / "watch", cluster_file, feed, [])


def test_a_file_holds_an_hour_or_sixty_windows(tmp_path: Path) -> None:
    for window, span in ((60, 3600), (1, 3600), (3600, 60 * 3600)):
        seconds = range(0, 130 * 3600, 1800)
        with store_module.opened(str(tmp_path / str(window)), Settings("r", window)) as store:
            for part in (seconds[:7], seconds[7:]):
                store.add_windows(pa.concat_tables([summed([record(second)]) for second in part]))
            names = {file.stem for file in (store.path / "windows").glob("2*.parquet")}
            begins = {(NOON + second) // span * span for second in seconds}
            assert names == {
                datetime.fromtimestamp(begin, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
                for begin in begins
            }
            assert set(written(store.path)) == {("t", 0, NOON + second) for second in seconds}
            begin, end = ((NOON + hour * 3600) * 10**6 for hour in (1, 90))
            assert pa.concat_tables(store.windows_between(begin, end)).num_rows == 89 * 2


def test_a_file_of_many_rows_is_followed_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full files are not written again, and what a killed run left is replaced."""
    monkeypatch.setattr(store_module, "ROWS_PER_FILE", 4)
    begin = NOON // 3600 * 3600 - NOON

    def minute(number: int, partitions: int) -> pa.Table:
        return summed([record(begin + 60 * number, one) for one in range(partitions)])

    def rows(folder: Path) -> dict[str, int]:
        files = sorted(folder.glob("2*.parquet"), key=lambda file: (len(file.name), file.name))
        return {file.stem[20:]: pq.read_metadata(file).num_rows for file in files}

    with store_module.opened(str(tmp_path / "watch"), Settings("r", 60)) as store:
        folder = store.path / "windows"
        store.add_windows(minute(0, 3))
        assert rows(folder) == {"": 3}
        store.add_windows(minute(1, 6))
        assert rows(folder) == {"": 4, "-1": 4, "-2": 1}
        (full,) = folder.glob("2*Z.parquet")
        before = full.stat().st_ino
        store.add_windows(
            pa.concat_tables([minute(2, 5), minute(3, 3)])
        )  # killed before the commit
        assert rows(folder) == {"": 4, "-1": 4, "-2": 4, "-3": 4, "-4": 1}
        store.add_windows(minute(2, 5))  # again, with another limit for a batch
        assert rows(folder) == {"": 4, "-1": 4, "-2": 4, "-3": 2}
        assert full.stat().st_ino == before
        assert len(written(store.path)) == 3 + 6 + 5
        for count, file in zip(
            (4, 4, 4, 2),
            store.windows_between(NOON * 10**6 - 3_600_000_000, NOON * 10**6),
            strict=True,
        ):
            assert file.num_rows == count


def test_only_the_latest_rejected_rows_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "REJECTED_KEPT", 5)
    schema = store_module.SCHEMAS["rejected"]
    with store_module.opened(str(tmp_path / "watch"), Settings("/records", 60)) as store:
        for batch in range(3):
            rows = [{"source": "s", "row": f"{batch}-{i}", "reason": "r"} for i in range(2)]
            for _ in range(2):  # as after a kill
                store.add_rejected(batch, pa.Table.from_pylist(rows, schema=schema))
        kept = pq.ParquetFile(store.path / "rejected" / "part-00000.parquet").read()
        assert kept.schema.equals(schema)
        assert kept["row"].to_pylist() == ["0-1", "1-0", "1-1", "2-0", "2-1"]


@pytest.mark.parametrize("text", [b"", b"{", b"7", b"{}", b'{"batch": "x"}', b"[" * 100_000])
def test_a_state_with_damaged_figures(tmp_path: Path, text: bytes) -> None:
    settings = Settings("/records", 60)
    with store_module.opened(str(tmp_path / "w"), settings) as opened:
        opened.commit(store_module.State())
        table = store_module.State().open.replace_schema_metadata({b"partage": text})
        pq.write_table(table, tmp_path / "w/state.parquet")
        with pytest.raises(InputError, match=r"state\.parquet: is not the state of a watch"):
            opened.state()
