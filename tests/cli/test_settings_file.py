"""Which settings file counts, whoever put it there, and what one that was found may not set."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from partage.cli import app, settings, settings_file
from partage.cli.settings_file import NAME, VARIABLE, refusal

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]

STRANGER = 12345

CONFIRM = {"apply", "create", "force", "overwrite", "yes"}
HARMLESS_FLAGS = {
    *(
        "append",
        "approximate",
        "assignor",
        "balance-disks",
        "client-log",
        "detailed-exitcode",
        "example",
        "json",
        "keep",
        "kill",
        "live",
        "no-moves",
        "prefer-zone",
        "racks-first",
        "once",
        "schedule",
        "secure",
        "skip-damaged",
        "verbose",
    ),
}
"""Flags that start nothing and replace nothing. A new one belongs here or to those above."""

NETWORK = re.compile(r"HOST:PORT|URL")

WRITTEN = {"dir", "metrics", "out", "picture", "report"}
READ = {"cluster", "file", "lag", "lags", "profile", "prometheus", "reassignment", "sizes"}
"""Options that are paths. A new one belongs to one of these."""


@pytest.fixture
def project(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below the one with the file; there is no home directory above."""
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "a"


def throttle(run: Run) -> str | None:
    """The default of ``plan --throttle``, as its help shows it."""
    shown = re.search(r"default: (\d+MB)", run("plan", "--help").out)
    return shown[1] if shown else None


def write(path: Path, rate: int) -> Path:
    path.write_text(f"[plan]\nthrottle = '{rate}MB'\n")
    return path


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """``strangers(path)`` makes a file or link a stranger's."""
    if os.geteuid() == 0:
        return lambda path: os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    theirs: set[tuple[int, int]] = set()
    stats: dict[str, Any] = {"lstat": Path.lstat, "fstat": os.fstat}

    def seen(stat: os.stat_result) -> os.stat_result:
        if (stat.st_dev, stat.st_ino) not in theirs:
            return stat
        return os.stat_result([*stat[:4], STRANGER, *stat[5:]])

    monkeypatch.setattr(Path, "lstat", lambda path: seen(stats["lstat"](path)))
    monkeypatch.setattr(settings_file.os, "fstat", lambda file: seen(stats["fstat"](file)))
    return lambda path: theirs.add((stats["lstat"](path).st_dev, stats["lstat"](path).st_ino))


def test_the_nearest_file_counts(run: Run, project: Path) -> None:
    assert throttle(run) is None
    write(project / NAME, 1)
    assert throttle(run) == "1MB"
    write(project / "b" / NAME, 2)
    assert throttle(run) == "2MB"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        ("file", "belongs to user 12345, neither you nor root"),
        ("folder", "is in a folder of user 12345, neither you nor root"),
        ("link to mine", "belongs to user 12345, neither you nor root"),
        ("link to theirs", "belongs to user 12345, neither you nor root"),
        ("group", "can be written by its group"),
        ("everyone", "can be written by everyone"),
        ("pipe", "is not a regular file"),
    ],
)
def test_a_file_of_strangers_is_ignored(
    run: Run,
    project: Path,
    strangers: Callable[[Path], None],
    make: str,
    reason: str,
    small: str,
    tmp_path: Path,
) -> None:
    place = project / "b" / NAME
    write(project / NAME, 1)
    if make == "pipe":
        os.mkfifo(place)
    elif make.startswith("link"):
        other = write(tmp_path / "other.toml", 2)
        place.symlink_to(other)
        strangers(place if make == "link to mine" else other)
    else:
        write(place, 2)
        if make in ("file", "folder"):
            strangers(place if make == "file" else place.parent)
        else:
            place.chmod(0o664 if make == "group" else 0o646)
    assert throttle(run) == "1MB"  # the next one that counts
    ended = run("plan", str(tmp_path / small))
    assert ended.code == 0
    assert ended.err.startswith(f"! partage.toml: {reason}: ignored; ")
    assert ended.err.count("\n") == 1
    shown = {one["name"]: one for one in run("doctor", "--json").json["findings"]}
    assert shown["ignored"]["found"] == f"partage.toml: {reason}"
    assert shown[NAME] == {
        "name": NAME,
        "state": "ok",
        "found": str(project / NAME),
        "advice": "",
    }
    (project / NAME).unlink()
    assert throttle(run) is None
    shown = {one["name"]: one for one in run("doctor", "--json").json["findings"]}
    assert shown[NAME]["found"] == "none counts in this folder or above"


@pytest.mark.parametrize("named", [True, False])
def test_a_file_too_large_for_settings(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """A key of that many parts takes Python's reader minutes."""
    write(project / NAME, 1).write_text(".".join("a" * 200_000) + " = 1\n")
    if named:
        monkeypatch.setenv(settings_file.VARIABLE, str(project / NAME))
    ended = run("plan", "cluster.json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(f"{NAME}: has more than 65,536 bytes\n")


def test_a_stranger_cannot_stop_a_command(
    run: Run, project: Path, strangers: Callable[[Path], None], small: str, tmp_path: Path
) -> None:
    """Not with a mistake, not with a file that cannot be read."""
    (project / NAME).write_bytes(b"\xff[[[")
    strangers(project / NAME)
    (project / "b" / NAME).symlink_to(NAME)
    assert run("plan", str(tmp_path / small)).code == 0


def test_the_file_that_is_read_is_the_file_that_was_checked(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes its place in between is not read."""
    place = write(project / NAME, 1)
    real = settings_file._distrusted

    def swapped(*arguments: Any) -> Any:
        verdict = real(*arguments)
        place.unlink()
        write(place, 2)
        return verdict

    monkeypatch.setattr(settings_file, "_distrusted", swapped)
    assert throttle(run) == "1MB"


def test_a_file_that_is_named(
    run: Run,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    strangers: Callable[[Path], None],
    tmp_path: Path,
) -> None:
    write(project / NAME, 1)
    strangers(write(tmp_path / "other.toml", 3))
    monkeypatch.setenv(VARIABLE, "../../other.toml")
    assert throttle(run) == "3MB"
    monkeypatch.setenv(VARIABLE, os.devnull)
    assert throttle(run) is None
    monkeypatch.setenv(VARIABLE, "")
    assert throttle(run) == "1MB"
    monkeypatch.setenv(VARIABLE, "none.toml")
    ended = run("plan", "c.json")
    assert (ended.code, ended.err) == (2, "partage: PARTAGE_SETTINGS: none.toml: no such file\n")


# ---------------------------------------------------------------- what must be named


def every_option() -> dict[str, Any]:
    return {
        name: option
        for path, command in settings.commands(get_command(app))
        if path
        for name, option in settings.options(command).items()
    }


def test_every_option_that_confirms_or_logs_in_must_be_named() -> None:
    options = every_option()
    flags = {name for name, option in options.items() if option.is_flag}
    assert flags == CONFIRM | HARMLESS_FLAGS
    network = {name for name, one in options.items() if NETWORK.fullmatch(one.metavar or "")}
    known = {name for name in options if refusal(name, "x", ".")}
    assert known == CONFIRM | network | {"command-config", "alert-command", "conf", "packages"}
    assert {"bootstrap-server", "master"} <= network


def test_no_option_may_name_a_place_on_the_network() -> None:
    for name in every_option():
        assert refusal(name, "http://me:pw@h/x", ".")
        assert refusal(name, ["x", "parquet.`s3a://h/x`"], ".")


def test_every_path_that_is_written_stays_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links of a clone do not lead out of it either."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    (project / "loop").symlink_to("loop")
    (project / "in").symlink_to("a")
    monkeypatch.setenv("HOME", str(home))
    options = every_option()
    paths = {name for name, one in options.items() if settings.PATH.match(one.metavar or "")}
    assert paths == WRITTEN | READ | {"command-config"}
    outside = ("..", "../x", "/x", "~/x", "link", "link/x", "a/../../x", "loop/x", "~nobody-x/x")
    inside = (".", "x", "a/b", "a/../b", "in/x", str(project / "x"))
    for name in WRITTEN:
        assert all(refusal(name, path, str(project)) for path in outside)
        assert not any(refusal(name, path, str(project)) for path in inside)
    assert not any(refusal(name, path, str(project)) for name in READ for path in outside)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[apply]\nyes = true", "[apply] yes"),
        ("[rollback]\nyes = true", "[rollback] yes"),
        ("[profile]\noverwrite = true", "[profile] overwrite"),
        ("bootstrap-server = 'h:1'", "bootstrap-server"),
        ("[snapshot]\nbootstrap-server = 'h:1'", "[snapshot] bootstrap-server"),
        ("command-config = 'x'", "command-config"),
        ("master = 'sc://h'", "master"),
        ("[assign]\nassignor = 'evil:Assignor'", "[assign] assignor"),
        ("[what-if.churn]\nassignor = ['range', 'evil:A']", "[what-if.churn] assignor"),
        ("[partition]\npartitioner = 'evil:P'", "[partition] partitioner"),
        ("[keys]\nconf = ['spark.driver.extraJavaOptions=-XX:Flags=x']", "[keys] conf"),
        ("[what-if]\nconf = ['spark.jars=evil.jar']", "[what-if] conf"),
        ("[snapshot]\nprometheus = 'http://h'", "[snapshot] prometheus: a URL is"),
        ("[profile]\nout = 's3a://b/x'", "[profile] out: a URL is"),
        ("[plan]\nout = '../x'", "[plan] out: a path outside of the folder of partage.toml is"),
    ],
)
def test_what_a_found_file_may_not_set(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, text: str, place: str
) -> None:
    (project / NAME).write_text(text)
    ended = run("check", "none")
    assert (ended.code, ended.out) == (2, "")
    what = place if place.endswith(" is") else f"{place}:"
    assert ended.err == (
        f"partage: {project / NAME}: {what} not accepted from a file that was found: use the "
        "option, its variable, or PARTAGE_SETTINGS=FILE\n"
    )
    monkeypatch.setenv(VARIABLE, str(project / NAME))
    assert "not accepted" not in run("check", "none").err


def test_options_that_may_name_code() -> None:
    """Those whose help shows it."""
    named = {name for name, one in every_option().items() if "module:" in (one.help or "")}
    assert named
    assert all(refusal(name, "m:C", ".") and not refusal(name, "range", ".") for name in named)
