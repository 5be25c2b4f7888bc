"""Every command that writes, with something of the user's in its way: it stays, and one line tells.

The commands and their paths come from the command line itself: a new path must be added to
``READ`` or ``WRITTEN``, and a new command that takes a plan directory to ``PLAN_READ`` or
``PLAN_WRITTEN``.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperArgument
from typer.main import get_command

pytest.importorskip("kafka")
pytest.importorskip("pyspark")

import partage
from partage.brokers.directory import JOURNAL, OVERRIDES, REPORT
from partage.cli import app, settings
from partage.live.execution.journal import Journal
from partage.outputs import new_directory
from partage.testing import FakeCluster
from tests.cli.conftest import Ended
from tests.live.described_groups import member, of_groups
from tests.outputs.test_file import full_disk, mode, umask

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Ended]
Way = tuple[str, ...]

READ = {
    *("cluster", "command-config", "file", "lag", "lags", "profile", "reassignment", "sizes"),
    *("CLUSTER", "CLUSTER|GROUP", "GROUP", "LOGS...", "RECORDS", "SCENARIO"),
}
"""Options by name and arguments by metavar that name input."""

NO_PATHS = {"ID", "KEY", "RATE|auto", "TOPIC"}

PLAN_READ = {("check",), ("verify",)}
PLAN_WRITTEN: dict[Way, tuple[str, ...]] = {
    ("report",): (REPORT,),
    ("apply",): (JOURNAL, OVERRIDES),
    ("rollback",): (JOURNAL, OVERRIDES),
    ("throttle",): (OVERRIDES,),
}
"""What a command writes in the plan directory that it is given."""

GROUPS = files("partage") / "data" / "groups"
GROUP, SCENARIO = GROUPS / "two-by-three.json", GROUPS / "kip-429-scenario.json"
CLUSTER = files("partage") / "data" / "cluster-grown.json"
SANDBOX = ("--dir", "out")


@dataclass(frozen=True)
class Output:
    """How to have it written to ``out``; ``marker``: of a directory, "" for a file."""

    words: tuple[str, ...]
    marker: str = ""
    quick: bool = True
    """Whether it can be written without Spark or Kafka."""
    resumed: bool = False
    """Whether an existing one is resumed: it may hold files that the command does not write."""


WRITTEN: dict[tuple[Way, str], Output] = {
    (("plan",), "out"): Output(("small.json", "-o", "out"), "plan.json"),
    (("plan",), "picture"): Output(("small.json", "--picture", "out")),
    (("assign",), "picture"): Output((f"{GROUP}", "--assignor", "range", "--picture", "out")),
    (("assign",), "report"): Output((f"{GROUP}", "--assignor", "range", "--report", "out")),
    (("simulate",), "report"): Output((f"{SCENARIO}", "--assignor", "range", "--report", "out")),
    (("simulate",), "picture"): Output((f"{SCENARIO}", "--assignor", "range", "--picture", "out")),
    (("size",), "report"): Output(("group.json", "--member-rate", "9", "--report", "out")),
    (("size",), "out"): Output((f"{CLUSTER}", "-o", "out"), "plan.json"),
    (("groups",), "report"): Output(("--bootstrap-server", "h:1", "--report", "out")),
    (("snapshot",), "out"): Output(("--bootstrap-server", "h:1", "-o", "out")),
    (("groups",), "out"): Output(("billing", "--bootstrap-server", "h:1", "-o", "out")),
    (("profile",), "out"): Output(
        ("events.parquet", "--overwrite", "-o", "out"), "profile.json", quick=False
    ),
    (("history",), "out"): Output(("logs", "--overwrite", "-o", "out"), "history.json", False),
    (("watch",), "out"): Output(
        ("feed", "--cluster", "small.json", "-o", "out"), "watch.json", False, resumed=True
    ),
    (("watch",), "metrics"): Output(
        ("feed", "--cluster", "small.json", "-o", "watch", "--metrics", "out"), quick=False
    ),
    (("demo",), "out"): Output(("-o", "out"), "profile/profile.json", False),
    (("what-if", "churn"), "out"): Output(
        (f"{SCENARIO}", "--overwrite", "-o", "out"), "what-if.json", False
    ),
    (("what-if", "failures"), "out"): Output(
        ("small.json", "--overwrite", "-o", "out"), "what-if.json", False
    ),
    (("what-if", "growth"), "out"): Output(
        ("small.json", "--profile", "none", "--overwrite", "-o", "out"), "what-if.json", False
    ),
    (("keys",), "report"): Output(
        ("events.parquet", "--partitions", "2", "--report", "out"), quick=False
    ),
    (("history",), "report"): Output(("logs", "--report", "out"), quick=False),
    (("what-if", "churn"), "report"): Output((f"{SCENARIO}", "--report", "out"), quick=False),
    (("what-if", "failures"), "report"): Output(("small.json", "--report", "out"), quick=False),
    (("what-if", "growth"), "report"): Output(
        ("small.json", "--profile", "none", "--report", "out"), quick=False
    ),
    (("apply",), "out"): Output(
        ("moves.json", "--bootstrap-server", "h:1", "--yes", "-o", "out"), "plan.json"
    ),
    (("sandbox", "up"), "dir"): Output(SANDBOX, "sandbox.json", False, resumed=True),
    (("sandbox", "down"), "dir"): Output(SANDBOX, "sandbox.json", False, resumed=True),
    (("sandbox", "add"), "dir"): Output(SANDBOX, "sandbox.json", False, resumed=True),
    (("sandbox", "stop"), "dir"): Output(("1", *SANDBOX), "sandbox.json", False, resumed=True),
    (("sandbox", "start"), "dir"): Output(("1", *SANDBOX), "sandbox.json", False, resumed=True),
}
LIVE_DEMO = (("demo", "--live"), "out"), Output(("-o", "out"), "live.json", False)

CASES = [
    pytest.param(way, output, id=f"{' '.join(way)} {name}")
    for (way, name), output in [*WRITTEN.items(), LIVE_DEMO]
]
QUICK = [case for case in CASES if case.values[1].quick]
DIRECTORIES = [case for case in CASES if case.values[1].marker]
REPLACED = [case for case in DIRECTORIES if not case.values[1].resumed]


def test_every_path_of_every_command_is_known() -> None:
    written, plans = set(), set()
    for way, command in settings.commands(get_command(app)):
        if hasattr(command, "commands"):
            continue
        for name, option in settings.options(command).items():
            if settings.PATH.fullmatch(option.metavar or "") and name not in READ:
                written.add((way, name))
        for one in command.params:
            if isinstance(one, TyperArgument) and one.metavar not in READ | NO_PATHS:
                assert one.metavar in ("PLAN", "PLAN|FILE"), f"{way}: {one.metavar}"
                plans.add(way)
    assert written == WRITTEN.keys()
    assert plans == PLAN_READ | PLAN_WRITTEN.keys()


# ---------------------------------------------------------------- surroundings


@pytest.fixture
def here(
    run: Run, small: str, tmp_path: Path, answered_by: Callable[[FakeCluster], None]
) -> FakeCluster:
    """The input of all commands, and a cluster that answers at once; two brokers are empty."""
    cluster = FakeCluster({("t", n): (1, 2) for n in range(4)}, brokers=[1, 2, 3, 4])
    moves = [{"topic": "t", "partition": 0, "replicas": [3, 4]}]
    (tmp_path / "moves.json").write_text(json.dumps({"version": 1, "partitions": moves}))
    group = {
        "topics": {"t": 4},
        "members": [{"id": "a", "topics": ["t"]}],
        "weights": {"t": [5, 5, 5, 5]},
    }
    (tmp_path / "group.json").write_text(json.dumps(group))
    cluster.commit("billing", ("t", 0), 0)
    of_groups(cluster, {"billing": {"members": [member(1, {"t": [0]})]}})
    (tmp_path / "feed").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_text("no line of a consumer\n")
    partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)).write("plan")

    answered_by(cluster)
    return cluster


def seen(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a folder: kind, mode, time of the last change, content or target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content: Any = None
        if path.is_symlink():
            content = os.readlink(path)  # noqa: PTH115
        elif stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        changed = None if path.is_dir() else about.st_mtime_ns  # a trial changes that of a folder
        found[path.relative_to(folder).as_posix()] = (about.st_mode, changed, content)
    return found


def refused(ended: Ended, before: dict[str, Any], folder: Path) -> None:
    assert ended.code == 2, ended
    assert ended.out == ""
    assert re.match(r"partage: (out|fixed/out)\b", ended.err), ended.err
    assert ended.err.count("\n") == 1, ended.err
    assert seen(folder) == before


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """No file can be made in the folder; root needs a mount for that."""
    with ExitStack() as after:
        if os.geteuid() == 0:
            for words in (("--bind", folder, folder), ("-o", "remount,ro,bind", folder)):
                mounted = subprocess.run(["mount", *words], capture_output=True)
                if mounted.returncode:
                    pytest.skip("root cannot mount here")
                if words[0] == "--bind":
                    after.callback(subprocess.run, ["umount", folder], check=True)
        else:
            folder.chmod(0o555)
            after.callback(folder.chmod, 0o755)
        yield


# ---------------------------------------------------------------- a path for output


def a_link_to_a_file(out: Path, theirs: Path) -> None:
    out.symlink_to(theirs / "notes")


def a_link_to_a_folder(out: Path, theirs: Path) -> None:
    out.symlink_to(theirs)


def a_link_to_an_empty_folder(out: Path, theirs: Path) -> None:
    (theirs / "empty").mkdir()
    out.symlink_to(theirs / "empty")


def a_link_to_nothing(out: Path, theirs: Path) -> None:
    out.symlink_to(theirs / "nothing")


def a_file(out: Path, theirs: Path) -> None:
    out.write_text("mine")


def a_picture(out: Path, theirs: Path) -> None:
    out.write_text("<svg>mine</svg>")


def a_cluster(out: Path, theirs: Path) -> None:
    out.write_text('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}')


def a_folder(out: Path, theirs: Path) -> None:
    (out / "sub").mkdir(parents=True)
    (out / "sub/notes").write_text("mine")


def a_folder_with_markers(out: Path, theirs: Path) -> None:
    out.mkdir()
    for output in WRITTEN.values():
        if output.marker and "/" not in output.marker:
            (out / output.marker).write_text('{"partage": "0.1.0"}')
    for part, name in (("profile", "profile.json"), ("plan", "plan.json")):
        (out / part).mkdir()
        (out / part / name).write_text('{"partage": "0.1.0"}')


def a_pipe(out: Path, theirs: Path) -> None:
    os.mkfifo(out)


OBSTACLES = [
    *(a_link_to_a_file, a_link_to_a_folder, a_link_to_an_empty_folder, a_link_to_nothing),
    *(a_file, a_picture, a_cluster, a_folder, a_folder_with_markers, a_pipe),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("way", "output"), CASES)
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_something_else_at_the_place(
    here: FakeCluster,
    run: Run,
    tmp_path: Path,
    way: Way,
    output: Output,
    obstacle: Callable[[Path, Path], None],
) -> None:
    if way == ("demo",) and obstacle is a_folder:
        pytest.skip("demo writes two directories in it, and leaves the others")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "notes").write_text("mine")
    obstacle(tmp_path / "out", theirs)
    before = seen(tmp_path)
    refused(run(*way, *output.words), before, tmp_path)
    assert not here.requests


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("way", "output"), REPLACED)
@pytest.mark.parametrize("place", ["notes", "sub/notes", "sub/deep", "sub/ours", "marker", "link"])
def test_something_else_in_a_directory_of_ours(
    here: FakeCluster, run: Run, tmp_path: Path, way: Way, output: Output, place: str
) -> None:
    """Added, edited, or a link in place of a file."""
    marker = Path("out") / output.marker
    with new_directory(marker.parent, marker.name) as new:
        (new / marker.name).write_text("{}")
        (new / "sub").mkdir()
        (new / "sub/ours").write_text("written")
    if place == "marker":
        marker.write_text("mine")
    elif place == "link":
        (marker.parent / "sub/ours").unlink()
        (marker.parent / "sub/ours").symlink_to(tmp_path / "moves.json")
    elif place == "sub/deep":
        (marker.parent / place).mkdir()
    else:
        (marker.parent / place).write_text("mine")
    before = seen(tmp_path)
    ended = run(*way, *output.words)
    refused(ended, before, tmp_path)
    assert "partage did not write" in ended.err or "was changed since" in ended.err


@pytest.mark.parametrize(("way", "output"), CASES)
def test_a_place_that_cannot_be_written(
    here: FakeCluster, run: Run, tmp_path: Path, way: Way, output: Output
) -> None:
    if way[0] == "sandbox" and way[1] != "up":
        pytest.skip("needs a sandbox there")
    (tmp_path / "fixed").mkdir()
    words = ["fixed/out" if word == "out" else word for word in output.words]
    before = seen(tmp_path)
    with read_only(tmp_path / "fixed"):
        ended = run(*way, *words)
    refused(ended, before, tmp_path)
    assert not here.requests


# ---------------------------------------------------------------- what can be written at once


def written(out: Path) -> list[Path]:
    return [out, *out.rglob("*")] if out.is_dir() else [out]


@pytest.mark.parametrize(("way", "output"), QUICK)
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_modes(
    here: FakeCluster, run: Run, tmp_path: Path, way: Way, output: Output, mask: int
) -> None:
    """What is new has what the umask leaves; what is replaced keeps its own."""
    out = tmp_path / "out"
    with umask(mask):
        assert run(*way, *output.words).code == 0
        for path in written(out):
            assert mode(path) == (0o777 if path.is_dir() else 0o666) & ~mask, path
        if way == ("apply",):
            return  # a plan that was applied stays
        inside = next(path for path in written(out) if path.is_file())
        out.chmod(0o750 if out.is_dir() else 0o640)
        inside.chmod(0o640)
        kept = mode(out)
        assert run(*way, *output.words).code == 0
    assert mode(out) == kept
    assert mode(inside) == 0o640


@pytest.mark.parametrize(("way", "output"), QUICK)
def test_a_full_disk(here: FakeCluster, run: Run, tmp_path: Path, way: Way, output: Output) -> None:
    before = seen(tmp_path)
    with full_disk():
        ended = run(*way, *output.words)
    assert ended.code == 2, ended
    assert ended.err == "partage: out: cannot be written (File too large)\n"
    assert seen(tmp_path) == before
    assert not here.requests
    if way == ("apply",):
        return
    assert run(*way, *output.words).code == 0
    before = seen(tmp_path)
    with full_disk():
        assert run(*way, *output.words).code == 2
    assert seen(tmp_path) == before


# ---------------------------------------------------------------- in a plan directory

PLANS = [
    pytest.param(way, name, id=f"{way[0]} {name}")
    for way in PLAN_WRITTEN
    for name in PLAN_WRITTEN[way]
]


def words_of(way: Way, plan: str = "plan") -> list[str]:
    more = {
        "report": [],
        "throttle": ["1MB"],
    }.get(way[0], ["--bootstrap-server", "h:1", "--yes"])
    return [*way, plan, *more]


@contextmanager
def being_applied(way: Way) -> Iterator[None]:
    """``throttle`` needs a run."""
    if way != ("throttle",):
        yield
        return
    with Journal.open("plan") as journal:
        journal.write("note", note="x")
        yield


@pytest.mark.parametrize(("way", "name"), PLANS)
@pytest.mark.parametrize("what", ["link", "link to nothing", "file", "edited", "folder", "pipe"])
def test_something_else_in_a_plan_directory(
    here: FakeCluster, run: Run, tmp_path: Path, way: Way, name: str, what: str
) -> None:
    theirs, place = tmp_path / "theirs", tmp_path / "plan" / name
    theirs.write_text('{"throttle": null, "concurrency": null}')
    with being_applied(way):
        if what.startswith("link"):
            place.symlink_to(theirs if what == "link" else tmp_path / "nothing")
        elif what == "file":
            place.write_text(theirs.read_text())
        elif what == "edited":
            if name == REPORT:
                run("report", "plan")
            place.touch()
            place.write_bytes(place.read_bytes() + b"mine")
        elif what == "folder":
            place.mkdir()
        else:
            os.mkfifo(place)
        if what == "pipe" and name == OVERRIDES:
            pytest.skip("a run reads it")
        before = seen(tmp_path)
        ended = run(*words_of(way))
    after = seen(tmp_path)
    if way == ("rollback",) and name == JOURNAL and what in ("file", "edited"):
        # goes on from what the cluster reports, after whatever is in the journal
        assert after.pop(f"plan/{name}")[2].startswith(before.pop(f"plan/{name}")[2])
        assert after == before
        return
    for now in (before, after):
        if name != JOURNAL:
            now.pop(f"plan/{JOURNAL}", None)
    assert after == before
    assert ended.code == 2, ended
    assert ended.err.startswith("partage: ")
    assert ended.err.count("\n") == 1
    assert not here.requests


@pytest.mark.parametrize("way", [pytest.param(way, id=way[0]) for way in PLAN_WRITTEN])
def test_a_link_to_a_plan_directory(here: FakeCluster, run: Run, tmp_path: Path, way: Way) -> None:
    with being_applied(way):
        (tmp_path / "link").symlink_to("plan")
        before = seen(tmp_path)
        ended = run(*words_of(way, "link"))
    before.pop(f"plan/{JOURNAL}", None)
    after = seen(tmp_path)
    after.pop(f"plan/{JOURNAL}", None)
    assert (ended.code, after) == (2, before)
    assert ended.err == "partage: link: is a symbolic link: name what it points to\n"
    assert not here.requests


@pytest.mark.parametrize("way", [pytest.param(way, id=way[0]) for way in PLAN_WRITTEN])
@pytest.mark.parametrize("how", ["full disk", "read-only"])
def test_a_plan_directory_that_cannot_be_written(
    here: FakeCluster, run: Run, tmp_path: Path, way: Way, how: str
) -> None:
    with being_applied(way):
        before = seen(tmp_path)
        with full_disk() if how == "full disk" else read_only(tmp_path / "plan"):
            ended = run(*words_of(way))
        after = seen(tmp_path)
    journal = after.pop(f"plan/{JOURNAL}", None)
    if before.pop(f"plan/{JOURNAL}", None) is None and journal is not None:
        assert len(journal[2]) <= 10, "a cut entry"
    assert after == before
    assert ended.code in (1, 2), ended
    assert ended.err.startswith("partage: plan"), ended.err
    assert "cannot be written" in ended.err
    assert ended.err.count("\n") == 1
    assert not here.requests
