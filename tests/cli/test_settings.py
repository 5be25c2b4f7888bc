"""Variables and partage.toml: every option of every command by each way, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperArgument
from typer.main import get_command

import partage.cli
from partage.cli import app, settings
from partage.cli.commands import prepare
from partage.cli.settings_file import VARIABLE, refusal
from partage.jars import MIRROR
from partage.live.sandbox.jars import OWN_JARS
from partage.properties import KNOWN, variable

pytestmark = pytest.mark.usefixtures("no_variables")

Run = Callable[..., Any]

NOT_PATHS = {
    *("DAYS", "DURATION", "FACTOR", "HOST:PORT", "HOURS", "ID", "ID:RACK,…", "N", "NAME", "NAME,…"),
    *(
        "ID,…",
        "ID:PATH",  # of a broker
        "FILE|URL",  # a form of its own, bytes_in=FILE: looked for where the command runs
        "LABEL=NAME,…",
        "N,…",
        "NAME=COLUMN,…",
        "NAME=VALUE",
        "N|%",
        "N|TOPIC=N",
        "NUMBER",
        "OLD=NEW,…",
        "PERCENT",
        "RACK,…",
        "RECORDS",
        "RATE",
        "COMMAND",
        "RATE|auto",
        "RATIO",
        "REGEX",
    ),
    *("SECONDS", "SECONDS,…", "SIZE", "TIME", "TOPIC-NUMBER", "TOPIC=RACKS", "URL", "VERSION"),
}
"""Metavars of options that are no paths; beside them words to choose from: ``count|rate``."""


COMMAND = get_command(app)


def leaves() -> Iterator[tuple[tuple[str, ...], Any]]:
    for path, command in settings.commands(COMMAND):
        if not hasattr(command, "commands"):
            yield path, command


LEAVES = [pytest.param(path, id=" ".join(path)) for path, _ in leaves()]


@pytest.fixture
def given(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """``given("plan", "x.json")`` are the parameters that the command would have been called
    with."""

    def call(*arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path, one in leaves():
            one.callback = lambda **named: found.update(named)
            prepare(path, one)
        monkeypatch.setattr(partage.cli, "_command", lambda: prepare((), COMMAND))
        ended = run(*arguments)
        assert (ended.code, ended.err) == (0, ""), ended
        return found

    return call


def command_line(path: tuple[str, ...]) -> tuple[list[str], dict[str, Any]]:
    """A command with the arguments that it requires, and all its options by name."""
    command = dict(leaves())[path]
    arguments = [
        "7"
        for one in command.params
        if isinstance(one, TyperArgument) and (one.required or one.nargs == -1)
    ]
    return [*path, *arguments], settings.options(command)


def sample(option: Any, seed: int) -> tuple[Any, str, Any]:
    """A value for an option: in TOML, in a variable, and as it arrives."""
    if option.is_flag:
        return True, "true", True
    kind = option.type_descriptor.annotation
    if option.multiple:
        return [f"w{seed}", "x"], f"w{seed} x", [f"w{seed}", "x"]
    if kind in (int, float):
        return seed, str(seed), kind(seed)
    assert kind is str
    return f"w{seed}", f"w{seed}", f"w{seed}"


def samples(options: dict[str, Any]) -> dict[str, tuple[Any, str, Any]]:
    """One for each, no two alike."""
    return {name: sample(one, seed) for seed, (name, one) in enumerate(options.items(), 1)}


def arrived(found: dict[str, Any], options: dict[str, Any]) -> None:
    """What the command was given is the sample of each option."""
    for name, (_, _, value) in samples(options).items():
        assert found[options[name].name] == value, name


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.fixture
def named(no_variables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is named by the variable, so that it may set everything."""
    monkeypatch.setenv(VARIABLE, "partage.toml")


def section(path: tuple[str, ...], values: dict[str, Any]) -> str:
    lines = [f"{name} = {toml(value)}" for name, value in values.items()]
    return "\n".join((f"[{'.'.join(path)}]", *lines, ""))


# ---------------------------------------------------------------- every option, each way


@pytest.mark.parametrize("path", LEAVES)
@pytest.mark.parametrize("found", [True, False], ids=["found", "named"])
def test_every_option_from_the_file(
    given: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: tuple[str, ...],
    found: bool,
) -> None:
    words, options = command_line(path)
    if found:
        options = {name: one for name, one in options.items() if not refusal(name, "", "")}
    else:
        monkeypatch.setenv(VARIABLE, "partage.toml")
    values = samples(options)
    (tmp_path / "partage.toml").write_text(section(path, {n: v[0] for n, v in values.items()}))
    arrived(given(*words), options)


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("path", LEAVES)
def test_every_option_from_its_variable_before_the_file(
    given: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: tuple[str, ...],
) -> None:
    words, options = command_line(path)
    other = {name: sample(one, 900)[0] for name, one in options.items() if not one.is_flag}
    (tmp_path / "partage.toml").write_text(section(path, other))
    values = samples(options)
    for name, value in values.items():
        own = "_".join(("partage", *path, name)).upper().replace("-", "_")
        monkeypatch.setenv(own, value[1])
    arrived(given(*words), options)


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("path", LEAVES)
def test_the_command_line_comes_first(
    given: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: tuple[str, ...],
) -> None:
    words, options = command_line(path)
    other = {name: sample(one, 900) for name, one in options.items() if not one.is_flag}
    (tmp_path / "partage.toml").write_text(section(path, {n: v[0] for n, v in other.items()}))
    for name, value in other.items():
        monkeypatch.setenv(settings.variables(path, name)[-1], value[1])
    typed = []
    for seed, (name, one) in enumerate(options.items(), 1):
        if one.is_flag:
            typed.append(f"--{name}")
        elif one.multiple:
            typed += [f"--{name}", f"w{seed}", f"--{name}", "x"]
        else:
            typed += [f"--{name}", sample(one, seed)[1]]
    arrived(given(*words, *typed), options)


def test_defaults(given: Callable[..., dict[str, Any]]) -> None:
    found = given("plan", "c.json")
    assert (found["leaders"], found["concurrency"], found["json"]) == ("count", "2", False)
    assert not found["add_broker"]


def test_a_variable_can_turn_an_option_off(
    given: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "partage.toml").write_text("[plan]\nno-moves = true\n")
    assert given("plan", "c.json")["no_moves"] is True
    monkeypatch.setenv("PARTAGE_PLAN_NO_MOVES", "0")
    assert given("plan", "c.json")["no_moves"] is False
    monkeypatch.setenv("PARTAGE_PLAN_NO_MOVES", "")  # as good as not set
    assert given("plan", "c.json")["no_moves"] is True


# ---------------------------------------------------------------- names


def test_variables_are_unique() -> None:
    theirs = {*map(variable, KNOWN), MIRROR, OWN_JARS, VARIABLE, "PARTAGE_SPARK_KAFKA"}
    own: dict[str, set[tuple[str, ...]]] = {}
    for path, command in leaves():
        for option in settings.options(command):
            alone, *shared = settings.variables(path, option)
            assert alone not in own, f"{alone}: {path} and {own[alone]}"
            own[alone] = {path}
            for name in shared:
                assert name not in own or option in name.lower().replace("_", "-")
    assert not own.keys() & theirs
    every = {n for p, c in leaves() for o in settings.options(c) for n in settings.variables(p, o)}
    assert not every & theirs
    assert {"PARTAGE_BOOTSTRAP_SERVER", "PARTAGE_SANDBOX_DIR", "PARTAGE_PLAN_FROM"} <= every


def test_options_that_are_paths() -> None:
    for path, command in leaves():
        for name, option in settings.options(command).items():
            metavar = option.metavar or ""
            choice = re.fullmatch(r"[a-z0-9.-]+(\|[a-z0-9.-]+)+", metavar)
            known = option.is_flag or choice or metavar in NOT_PATHS
            known = known or settings.PATH.fullmatch(metavar)
            assert known, f"{path} --{name} {metavar}: a path or not?"


# ---------------------------------------------------------------- the file


@pytest.mark.usefixtures("named")
def test_top_level_and_group_settings_apply_to_their_commands(
    given: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "partage.toml").write_text(
        'bootstrap-server = "h:1"\nmaster = "local[1]"\n'
        '[verify]\nbootstrap-server = "h:2"\n'
        '[sandbox]\ndir = "s"\n[sandbox.down]\ndir = "t"\n'
    )
    assert given("apply", "p")["bootstrap_server"] == "h:1"
    assert given("verify", "p")["bootstrap_server"] == "h:2"
    assert given("what-if", "churn", "s.json")["master"] == "local[1]"
    assert given("sandbox", "up")["directory"] == "s"
    assert given("sandbox", "down")["directory"] == "t"


def test_values_of_every_kind(given: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "partage.toml").write_text(
        "[plan]\nthrottle = 5000000\nreplication-factor = 3\nremove-broker = [3, 4]\n"
        "horizon = 1.5\nfrom = 2026-11-20T08:00:00Z\nto = 2026-11-21\n"
    )
    found = given("plan", "c.json")
    assert found["throttle"] == "5000000"
    assert found["replication_factor"] == ["3"]
    assert found["remove_broker"] == ["3", "4"]
    assert found["horizon"] == 1.5
    assert (found["since"], found["until"]) == ("2026-11-20T08:00:00+00:00", "2026-11-21")


def test_paths_are_relative_to_the_file(
    given: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "partage.toml").write_text(
        '[plan]\nsizes = "c/x"\nout = "plan/"\nprofile = "/else"\n'
        'topics = "a/b"\n[profile]\nsizes = ["x.txt", "~/x"]\n'
    )
    found = given("plan", "c.json")
    assert (found["out"], found["sizes"]) == ("plan/", "c/x")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    monkeypatch.setenv("HOME", "/home/me")
    found = given("plan", "c.json")
    assert found["out"] == f"{tmp_path}/plan/"
    assert found["sizes"] == f"{tmp_path}/c/x"
    assert (found["profile"], found["topics"]) == ("/else", "a/b")
    sizes = given("profile", "-o", "p")["sizes"]
    assert sizes == [f"{tmp_path}/x.txt", "/home/me/x"]
    assert given("plan", "c.json", "-o", "here")["out"] == "here"
    monkeypatch.setenv(VARIABLE, f"{tmp_path}/other.toml")
    (tmp_path / "other.toml").write_text('[profile]\nsizes = ["x.txt", "s3://b/x"]\nout = "/p"\n')
    found = given("profile")
    assert (found["sizes"], found["out"]) == ([f"{tmp_path}/x.txt", "s3://b/x"], "/p")


def test_the_nearest_file_up_to_home(
    given: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    (project / "deep").mkdir(parents=True)
    (tmp_path / "partage.toml").write_text("[plan]\nbatch = 1\n")
    monkeypatch.chdir(project / "deep")
    monkeypatch.setenv("HOME", str(home))
    assert given("plan", "c.json")["batch"] is None
    (home / "partage.toml").write_text("[plan]\nbatch = 2\n")
    assert given("plan", "c.json")["batch"] == "2"
    (project / "partage.toml").write_text("[plan]\nthrottle = '5MB'\n")
    found = given("plan", "c.json")
    assert (found["batch"], found["throttle"]) == (None, "5MB")  # one file, not a mixture


@pytest.mark.usefixtures("named")
def test_where_the_cluster_is(
    given: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's address comes last: a client's own settings go before."""
    (tmp_path / "partage.toml").write_text('bootstrap-server = "project:1"\n')
    (tmp_path / "with.properties").write_text("bootstrap.servers=file:1\n")
    (tmp_path / "without.properties").write_text("client.id=x\n")

    def address(*words: str) -> Any:
        return given("snapshot", *words)["bootstrap_server"]

    assert address() == "project:1"
    assert address("--command-config", "without.properties") == "project:1"
    assert address("--command-config", "none.properties") == "project:1"
    assert address("--command-config", "with.properties") is None  # the file says it
    assert address("--bootstrap-server", "typed:1") == "typed:1"
    monkeypatch.setenv("PARTAGE_BOOTSTRAP_SERVERS", "variable:1")
    assert address() is None  # that variable is a client's setting
    monkeypatch.setenv("PARTAGE_BOOTSTRAP_SERVER", "option:1")
    assert address("--command-config", "with.properties") == "option:1"


@pytest.mark.usefixtures("named")
def test_a_typed_cluster_overrides_a_configured_address(
    run: Run, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "partage.toml").write_text('bootstrap-server = "h:1"\ncommand-config = "none"\n')
    assert run("plan", small, "--json").code == 0
    monkeypatch.setenv("PARTAGE_BOOTSTRAP_SERVER", "h:2")
    assert run("plan", small, "--json").code == 0
    assert run("plan", small, "--bootstrap-server", "h:3").code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[plan]\nbatch = {'9' * 5000}", "not valid TOML (Exceeds the limit"),
        ("[plan", "not valid TOML (Expected ']' at the end of a table declaration (at end of"),
        ("[plann]\nbatch = 1", "plann: no such section, did you mean plan?"),
        ("[plan]\nleader = 'rate'", "[plan] leader: no such option, did you mean leaders?"),
        ("[sandbox]\nfolder = 'x'", "[sandbox] folder: no such option, expected one of add, "),
        ("[sandbox.up]\nkeep = true", "[sandbox.up] keep: no such option, expected one of assign"),
        ("leaders = 'rate'", "leaders: no such option, expected one of apply, "),
        ("plan = 'x'", "plan: is a command: expected a section [plan]"),
        ("[plan]\nno-moves = 'yes'", "[plan] no-moves: expected true or false"),
        ("[plan]\nno-moves = 1", "[plan] no-moves: expected true or false"),
        ("[plan]\nthrottle = true", "[plan] throttle: expected text or a number"),
        ("[plan]\nthrottle = ['1MB']", "[plan] throttle: expected text or a number"),
        (
            "[plan]\nadd-broker = [['9:a']]",
            "[plan] add-broker: expected text or a number or a list",
        ),
        ("[plan.leaders]\nx = 1", "[plan] leaders: expected text or a number"),
        ("master = 1979-05-27\nbootstrap-server = {}", "bootstrap-server: expected text or"),
        ("sasl.jaas.config = 'geheim'", "sasl.jaas.config: does not belong in a project"),
        ("[apply]\npassword = 'geheim'", "[apply] password: does not belong in a project"),
        ("[apply]\n'ssl.key.password' = 'geheim'", "[apply] ssl.key.password: does not belong in"),
        (
            "[client]\nsasl.password = 'geheim'",
            "client.sasl.password: does not belong in a project",
        ),
    ],
)
@pytest.mark.usefixtures("named")
def test_settings_that_are_not_accepted(run: Run, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "partage.toml").write_text(text)
    ended = run("check", "none")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: partage.toml: {said}"), ended.err
    assert ended.err.count("\n") == 1
    assert "geheim" not in ended.err


def test_every_command_reports_a_mistake_in_the_file_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "partage.toml").write_text("[watch]\nwndow = 60")
    for words in (("plan", "--no-such-option"), ("sandbox", "down"), ("profile", "x.csv")):
        assert run(*words).err.startswith("partage: partage.toml: [watch] wndow: no such option")
    assert run("plan", "--help").code == 0


def test_an_unreadable_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "partage.toml").write_bytes(b"\xff")
    assert run("check", "none").err == "partage: partage.toml: byte 0: not UTF-8\n"
    (tmp_path / "partage.toml").write_text("a = " + "[" * 3000)
    assert run("check", "none").err.startswith("partage: partage.toml: not valid TOML (")


def test_a_refused_value_shows_its_origin(
    run: Run, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "partage.toml").write_text("[plan]\nleaders = 'size'\nmax-moves = 'many'\n")
    ended = run("plan", small, "--max-moves", "3")
    assert ended.err == "partage: --leaders size: expected count or rate (partage.toml)\n"
    ended = run("plan", small, "--leaders", "count")
    assert ended.code == 2
    assert "--max-moves many: " in ended.err
    assert ended.err.endswith("(partage.toml)\n")
    monkeypatch.setenv("PARTAGE_PLAN_LEADERS", "colour")
    monkeypatch.setenv("PARTAGE_PLAN_MAX_MOVES", "few")
    assert run("plan", small, "--leaders", "rate").err.endswith("(PARTAGE_PLAN_MAX_MOVES)\n")
    ended = run("plan", small, "--max-moves", "3")
    assert ended.err.endswith("expected count or rate (PARTAGE_PLAN_LEADERS)\n")
    ended = run("plan", small, "--max-moves", "3", "--leaders", "shoe")
    assert ended.err == "partage: --leaders shoe: expected count or rate\n"


@pytest.mark.usefixtures("named")
def test_help_shows_configured_values(run: Run, tmp_path: Path) -> None:
    (tmp_path / "partage.toml").write_text("bootstrap-server = 'h:1'\n[plan]\nthrottle = '77MB'\n")
    shown = run("plan", "--help").out
    assert "[default: 77MB]" in shown
    assert "dynamic" not in shown


# ---------------------------------------------------------------- plan --detailed-exitcode


def test_detailed_exit_codes(
    run: Run, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = "--detailed-exitcode"
    assert run("plan", small).code == 0
    ended = run("plan", small, flag, "-o", "p")
    assert (ended.code, ended.err) == (2, "")
    assert "Next: partage check p" in ended.out
    assert run("plan", small, flag, "--json").code == 2
    even = {"partitions": [{"topic": "t", "partition": p, "replicas": [p]} for p in range(3)]}
    (tmp_path / "even.json").write_text(str(even).replace("'", '"'))
    assert run("plan", "even.json", flag).code == 0
    assert run("plan", "even.json", flag, "--json").json["moves"] == 0
    for wrong in (
        ("none.json",),
        (small, "--leaders", "x"),
        (small, "--bogus"),
        ("--max-moves=x",),
    ):
        assert run("plan", *wrong).code == 2
        ended = run("plan", flag, *wrong)
        assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    monkeypatch.setenv("PARTAGE_PLAN_DETAILED_EXITCODE", "yes")
    assert run("plan", small).code == 2
    assert run("plan", small, "--bogus").code == 1
    assert run("check", "none").code == 2
    monkeypatch.setenv("PARTAGE_PLAN_DETAILED_EXITCODE", "perhaps")
    assert run("plan", small, "--bogus").code == 2
    assert run("plan", small, flag, "--bogus").code == 1
    monkeypatch.delenv("PARTAGE_PLAN_DETAILED_EXITCODE")
    (tmp_path / "partage.toml").write_text("[plan]\ndetailed-exitcode = true\n")
    assert run("plan", small).code == 2
    assert run("plan", small, "--bogus").code == 1
    (tmp_path / "partage.toml").write_text("[plan]\nbogus = true\n")
    assert run("plan", small).code == 2
    assert run("plan", small, flag).code == 1
