"""The directory of a watch."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.measured_loads import Profile
from partage.pipeline.watch import Settings, check
from partage.pipeline.watch import store as store_module
from partage.pipeline.watch import windows as windows_module
from partage.pipeline.watch.folder import LocalFolder
from tests.pipeline.watch.cases import (
    NOON,
    WINDOW,
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


def test_a_state_without_its_checkpoint_is_refused(tmp_path: Path) -> None:
    with store_module.opened(str(tmp_path / "watch"), Settings("/records", 60)) as store:
        offsets = path_of(store) / "checkpoint" / "offsets"
        offsets.mkdir()
        for batch in range(3):
            (offsets / str(batch)).touch()
        store.commit(store_module.State(batch=2))
        assert store.state().batch == 2
        offsets.rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="do not match, name another directory"):
            store.state()
        (tmp_path / "elsewhere").rename(offsets)
        (path_of(store) / "state.json").unlink()
        with pytest.raises(
            InputError, match=r"state.json is of batch -1, but checkpoint/ of batch 2"
        ):
            store.state()


def path_of(store: store_module.Store) -> Path:
    assert isinstance(store.folder, LocalFolder)
    return store.folder.path


def put(store: store_module.Store, rows: pa.Table) -> None:
    """Add windows as a batch does, without Spark."""
    starts = windows_module.starts(rows)
    first = pc.min(starts).as_py()
    extended = None
    if found := store.windows_to_extend(first, rows.num_rows):
        extended, count = found
        earlier = pq.ParquetFile(path_of(store) / extended).read()
        kept = earlier.filter(pc.less(windows_module.starts(earlier), first))
        assert kept.num_rows == count
        rows = pa.concat_tables([kept, rows])
    with store.new() as folder:
        (path_of(store) / folder / "windows").mkdir()
        files = []
        for number, at in enumerate(range(0, rows.num_rows, store_module.ROWS_PER_FILE)):
            files.append(f"{folder}/windows/part-{number}.parquet")
            pq.write_table(rows.slice(at, store_module.ROWS_PER_FILE), path_of(store) / files[-1])
        store.put_windows(files, first, extended)


def test_a_file_holds_an_hour_or_sixty_windows(tmp_path: Path) -> None:
    for window, span in ((60, 3600), (1, 3600), (3600, 60 * 3600)):
        seconds = [hour * 3600 + more for hour in range(0, 130, 10) for more in (0, 1800)]
        with store_module.opened(str(tmp_path / str(window)), Settings("r", window)) as store:
            for second in seconds:
                put(store, summed([record(second)]))
            names = {file.stem for file in (path_of(store) / "windows").glob("2*.parquet")}
            firsts: dict[int, int] = {}
            for second in seconds:
                start = (NOON + second) // WINDOW * WINDOW
                firsts.setdefault(start // span, start)
            assert names == {
                datetime.fromtimestamp(first, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
                for first in firsts.values()
            }
            assert set(written(path_of(store))) == {("t", 0, NOON + second) for second in seconds}
            begin, end = ((NOON + hour * 3600) * 10**6 for hour in (10, 90))
            assert pa.concat_tables(store.windows_between(begin, end)).num_rows == 8 * 2


def test_a_file_of_many_rows_is_followed_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full files are not written again, and what a killed run left is replaced."""
    monkeypatch.setattr(store_module, "ROWS_PER_FILE", 4)
    begin = NOON // 3600 * 3600 - NOON

    def minute(number: int, partitions: int) -> pa.Table:
        return summed([record(begin + 60 * number, one) for one in range(partitions)])

    def rows(folder: Path) -> dict[str, int]:
        files = sorted(folder.glob("2*.parquet"), key=lambda file: file.name)
        return {file.stem[14:]: pq.read_metadata(file).num_rows for file in files}

    with store_module.opened(str(tmp_path / "watch"), Settings("r", 60)) as store:
        folder = path_of(store) / "windows"
        put(store, minute(0, 3))
        assert rows(folder) == {"00-00Z": 3}
        put(store, minute(1, 1))
        assert rows(folder) == {"00-00Z": 4}
        put(store, minute(2, 5))
        assert rows(folder) == {"00-00Z": 4, "02-00Z": 4, "02-00Z-1": 1}
        (full,) = folder.glob("*00-00Z.parquet")
        before = full.stat().st_ino
        put(store, pa.concat_tables([minute(3, 2), minute(4, 9)]))  # killed before the commit
        assert rows(folder)["03-00Z-2"] == 3
        put(store, minute(3, 2))  # again, with another limit for a batch
        assert rows(folder) == {"00-00Z": 4, "02-00Z": 4, "02-00Z-1": 3}
        assert full.stat().st_ino == before
        assert len(written(path_of(store))) == 3 + 1 + 5 + 2
        hour = NOON // 3600 * 3600 * 10**6
        tables = list(store.windows_between(hour + 120_000_000, hour + 180_000_000))
        assert [table.num_rows for table in tables] == [4, 1]


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
        kept = pq.ParquetFile(path_of(store) / "rejected" / "part-00000.parquet").read()
        assert kept.schema.equals(schema)
        assert kept["row"].to_pylist() == ["0-1", "1-0", "1-1", "2-0", "2-1"]


DAMAGED = ["", "{", "7", "{}x", '{"batch": "x"}', '{"batch": 1, "bytes": 2.5}', "[" * 100_000]
DAMAGED += ['{"end": 9285142000000000000}', '{"watermark": -99999999999999999}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_state(tmp_path: Path, text: str) -> None:
    settings = Settings("/records", 60)
    with store_module.opened(str(tmp_path / "w"), settings) as opened:
        opened.commit(store_module.State())
        (tmp_path / "w/state.json").write_text(text)
        with pytest.raises(InputError, match=r"state\.json: is not the state of a watch"):
            opened.state()


def test_a_login_in_the_address_of_the_records_is_not_written(tmp_path: Path) -> None:
    settings = Settings("ftp://me:Canary@h/x", 60)
    for _ in range(2):  # and once more
        with store_module.opened(str(tmp_path / "w"), settings) as opened:
            opened.commit(store_module.State())
    files = [file.read_text("latin-1") for file in tmp_path.rglob("*") if file.is_file()]
    assert any("ftp://***@h/x" in text for text in files)
    assert not any("Canary" in text for text in files)


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    with store_module.opened(str(tmp_path / "w"), Settings("/records", 60)) as opened:
        opened.commit(store_module.State())
        (file,) = (tmp_path / "w/partitions").iterdir()
        schema = opened.partitions().schema
        topic = pa.array([b"\xe9"]).view(pa.string())
        wrong = pa.table({name: topic if name == "topic" else [0] for name in schema.names})
        pq.write_table(wrong, file)
        with pytest.raises(InputError, match=r"is not a readable table .*UTF8"):
            opened.partitions()
        pq.write_table(wrong.select(["partition"]), file, store_schema=False)
        file.write_bytes(file.read_bytes().replace(b"partition", b"parti\xe9ion"))
        with pytest.raises(InputError, match=r"is not a readable table .*utf-8"):
            opened.partitions()


def test_open_windows_that_are_missing(tmp_path: Path) -> None:
    with store_module.opened(str(tmp_path / "w"), Settings("/records", 60)) as opened:
        state = store_module.State(open_batch=3, open_files=10**18)
        with pytest.raises(InputError, match=r"open/00000003-0\.parquet: is missing: name another"):
            opened.open_files(state)
