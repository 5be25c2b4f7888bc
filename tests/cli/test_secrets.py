"""No value of a client setting is written anywhere, whatever is wrong with it: each command that
takes settings runs with a canary in every one of them, and everything written is searched."""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

pytest.importorskip("kafka")

import partage
from partage import redaction
from partage.cli import app, settings
from partage.properties import KNOWN, PASSWORD, UNSUPPORTED, USERNAME, login_module, variable
from tests.cli.conftest import tree
from tests.command_lines import watched

Run = Callable[..., Any]

SETTINGS = "me.properties"
NOWHERE = "127.0.0.1:1"
CANARY = "Canary"
PEM = base64.b64encode(b"of a key, Canary").decode()
CANARIES = re.compile(f"{CANARY}|{PEM[:12]}|{PEM[-12:]}", re.IGNORECASE)

COMMANDS: dict[str, tuple[str, ...]] = {
    "plan": (),
    "compare": (),
    "place": ("new", "--partitions", "3", "--replication-factor", "2"),
    "size": (),
    "snapshot": (),
    "groups": (),
    "apply": ("plan", "--yes"),
    "rollback": ("plan", "--yes"),
    "verify": ("plan",),
    "doctor": (),
}
SPARK: dict[str, tuple[str, ...]] = {
    "profile": (f"kafka://{NOWHERE}/t", "-o", "profile"),
    "keys": (f"kafka://{NOWHERE}/t", "--partitions", "2"),
    "watch": (f"kafka://{NOWHERE}/t", "--cluster", "small.json", "-o", "watch", "--once"),
}
"""The commands that take client settings, with the arguments that they need besides."""

LOGIN = f'username="{CANARY}1" password="{CANARY}2"'
JAAS = {mechanism: login_module(mechanism, LOGIN) for mechanism in ("PLAIN", "SCRAM-SHA-512")}
RIGHT = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": JAAS["PLAIN"],
    "client.id": f"{CANARY}3",
}
STORES = {
    **{f"ssl.{store}.type": "PEM" for store in ("truststore", "keystore")},
    "ssl.key.password": f"{CANARY}4",
}
BLOCK = f"-----BEGIN PRIVATE KEY-----\\n{PEM}\\n-----END PRIVATE KEY-----\\n"

WRONG = {
    **{f"{name} is wrong": {**RIGHT, name: f"{CANARY}5"} for name in (*KNOWN, *UNSUPPORTED[::8])},
    "a number is too long": {**RIGHT, "request.timeout.ms": f"123456789012{CANARY}"},
    "PEM": {
        **RIGHT,
        **STORES,
        "ssl.truststore.certificates": BLOCK,
        "ssl.keystore.key": BLOCK,
        "ssl.keystore.certificate.chain": BLOCK,
    },
    "a key without its certificate": {**RIGHT, **STORES, "ssl.keystore.key": BLOCK},
    "no truststore": {**RIGHT, **STORES, "ssl.truststore.location": f"/{CANARY}/ca.pem"},
    "no keystore": {**RIGHT, **STORES, "ssl.keystore.location": f"{CANARY}\\u0000.pem"},
    "a file that is not PEM": {**RIGHT, **STORES, "ssl.keystore.location": "garbage.pem"},
    "a store that is not PEM": {**RIGHT, "ssl.truststore.location": f"{CANARY}.jks"},
    "a JAAS entry without a password": {**RIGHT, "sasl.jaas.config": f'x required u="{CANARY}";'},
    "a JAAS entry of the other mechanism": {**RIGHT, "sasl.jaas.config": JAAS["SCRAM-SHA-512"]},
    "a login over plaintext": {**RIGHT, "security.protocol": "SASL_PLAINTEXT"},
    "all right": RIGHT,
    "two logins": {"bootstrap.servers": f"{CANARY}1:{CANARY}2@h:1,PLAINTEXT://{CANARY}@h:2"},
    "a login in an address": {"bootstrap.servers": f"127.0.0.1:1,me:{CANARY}/x@h:1"},
}
"""Settings, each with what is wrong about them."""

BROKEN = {
    "no name": f"={CANARY}",
    "an invalid escape": f"ssl.key.password=\\u12{CANARY}",
    "joined lines": f"security.protocol=SASL_SSL\\\nsasl.jaas.config={JAAS['PLAIN']}",
    "a joined name": f"ssl.key.password\\\n{CANARY}=1\nsecurity.protocol=SSL",
    "joined to the end": f"security.protocol=SSL\nssl.key.password={CANARY}\\\n",
    "no separator": f"security.protocol=SSL\nssl.key.password{CANARY}",
    "a misspelt name": f"security.protocol=SSL\nssl.{CANARY}=1\nssl.secret-{CANARY}: 2",
    "PEM over lines": "security.protocol=SSL\nssl.keystore.key=" + BLOCK.replace("\\n", "\n"),
    "not UTF-8": f"security.protocol=SSL\nssl.key.password={CANARY}\udcff",
    "escapes of a terminal": f"security.protocol=\x1b]52;c;{CANARY}\x07",
    "twice": f"security.protocol={CANARY}\nsecurity.protocol=SSL{CANARY}",
    "the whole in quotes": f'"security.protocol=SASL_SSL" password={CANARY}',
}
"""Files that are no properties, or not those that were meant."""

VARIABLES = {
    **{name: {variable(name): f"{CANARY}6"} for name in KNOWN},
    "user": {"PARTAGE_SECURITY_PROTOCOL": "SASL_SSL", "PARTAGE_SASL_MECHANISM": "PLAIN"}
    | {USERNAME: f"{CANARY}7"},
    "password": {"PARTAGE_SECURITY_PROTOCOL": "SASL_SSL", "PARTAGE_SASL_MECHANISM": "PLAIN"}
    | {PASSWORD: f"{CANARY}8"},
    "login": {"PARTAGE_SECURITY_PROTOCOL": "SASL_SSL", "PARTAGE_SASL_MECHANISM": "PLAIN"}
    | {USERNAME: f"{CANARY}7", PASSWORD: f"{CANARY}8"},
    "addresses": {"PARTAGE_BOOTSTRAP_SERVERS": f"me:{CANARY}@127.0.0.1:1"},
    "address": {"PARTAGE_BOOTSTRAP_SERVER": f"kafka://me:{CANARY}@127.0.0.1:1"},
}


@pytest.fixture(autouse=True)
def quick(
    run: Run,
    small: str,
    no_variables: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("partage.live.admin.connection._BOOTSTRAP_MS", 1)
    # without the second line of defence: partage itself must not quote a value
    monkeypatch.setattr("partage.properties.hide", lambda value: None)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    partage.plan(small).write("plan")
    Path("garbage.pem").write_text(f"-----BEGIN CERTIFICATE-----\n{PEM}\n", encoding="ascii")


def properties(values: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())


def check(run: Run, *words: str) -> Any:
    """Run a command, which fails; search what it wrote, and the commands that it ran."""
    given = tree(Path())
    with watched() as lines:
        ended = run(*words)
    written = {name: text for name, text in tree(Path()).items() if given.get(name) != text}
    for name, text in {
        "stdout": ended.out,
        "stderr": ended.err,
        "command lines": "\n".join(lines),
        **{name: f"{name} {text.decode(errors='replace')}" for name, text in written.items()},
    }.items():
        assert not CANARIES.search(text), f"{name}: {text}"
    return ended


def test_every_command_with_settings_is_tried() -> None:
    declared = {
        " ".join(path)
        for path, command in settings.commands(get_command(app))
        if {"command-config", "bootstrap-server"} & set(settings.options(command))
    }
    assert declared == {*COMMANDS, *SPARK}


def texts() -> Iterator[Any]:
    for name, values in WRONG.items():
        yield pytest.param(properties(values), id=name)
    for name, text in BROKEN.items():
        yield pytest.param(text, id=name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", list(texts()))
def test_settings_of_a_file(run: Run, text: str) -> None:
    Path(SETTINGS).write_text(text, encoding="utf-8", errors="surrogateescape")
    ended = check(
        run, "snapshot", "--bootstrap-server", NOWHERE, "--command-config", SETTINGS, "--json"
    )
    assert (ended.code in (1, 2), ended.err.count("\n")) == (True, 1)
    ended = check(run, "snapshot", "--command-config", SETTINGS)
    assert (ended.code, ended.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("given", VARIABLES.values(), ids=list(VARIABLES))
def test_variables(run: Run, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    named = any(name.startswith("PARTAGE_BOOTSTRAP_SERVER") for name in given)
    ended = check(run, "snapshot", *(() if named else ("--bootstrap-server", NOWHERE)))
    assert ended.code in (1, 2)


SHAPES = (
    f"https://me:{CANARY}@h/x",
    f"me:{CANARY}@127.0.0.1:1",
    f"sc://127.0.0.1:1/;token={CANARY}",
    f"s3a://me:{CANARY}@b/x",
    JAAS["PLAIN"],
    BLOCK.replace("\\n", "\n"),
)
"""What is recognised as a secret wherever it is quoted."""

OF_OPTIONS = {
    "plan": ("small.json",),
    "assign": ("group.json", "--assignor", "range"),
    "simulate": ("scenario.json", "--assignor", "range"),
    "partition": ("key", "--partitions", "3"),
    "apply": ("plan",),
    "sandbox down": (),
}
"""Commands with arguments; a secret in the variable of each of their options."""


@pytest.mark.parametrize("command", OF_OPTIONS)
def test_variables_of_options(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr("partage.properties.hide", redaction.hide)
    path = tuple(command.split())
    found = next(one for way, one in settings.commands(get_command(app)) if way == path)
    for name, option in settings.options(found).items():
        if option.is_flag or settings.PATH.fullmatch(option.metavar or ""):
            continue
        for value in SHAPES[:: 1 if command == "plan" else 3]:
            (variable_of, *_) = settings.variables(path, name)
            with monkeypatch.context() as patch:
                patch.setenv(variable_of, value)
                check(run, *path, *OF_OPTIONS[command])


@pytest.mark.parametrize("command", OF_OPTIONS)
def test_secrets_without_a_form_in_variables_of_options(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What is refused is not quoted, in whole or in part; the variable is named."""
    monkeypatch.setattr("partage.properties.hide", redaction.hide)
    path, refused = tuple(command.split()), 0
    found = next(one for way, one in settings.commands(get_command(app)) if way == path)
    for name, option in settings.options(found).items():
        if settings.is_public(option):
            continue
        for value in (f"{CANARY}9", f"7:{CANARY}", f"t={CANARY}", f"3{CANARY} it's-{CANARY}"):
            (variable_of, *_) = settings.variables(path, name)
            with monkeypatch.context() as patch:
                patch.setenv(variable_of, value)
                ended = run(*path, *OF_OPTIONS[command])
            if ended.code:
                refused += 1
                assert not CANARIES.search(ended.err + ended.out), ended.err
    assert refused or command == "sandbox down"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("hunter", "--leaders ***: expected count or rate (PARTAGE_PLAN_LEADERS)"),
        (
            "rate",
            "--leaders rate: needs rates: give --profile, or bytes_in_per_second of "
            "partitions (PARTAGE_PLAN_LEADERS)",
        ),
    ],
)
def test_words_that_an_option_lists_are_quoted(
    run: Run, monkeypatch: pytest.MonkeyPatch, value: str, error: str
) -> None:
    monkeypatch.setenv("PARTAGE_PLAN_LEADERS", value)
    assert run("plan", "small.json").err == f"partage: {error}\n"
    monkeypatch.delenv("PARTAGE_PLAN_LEADERS")
    typed = run("plan", "small.json", "--leaders", value).err
    assert typed.startswith(f"partage: --leaders {value}: ")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", ["PEM", "all right", "security.protocol is wrong", "joined lines"])
def test_every_command(run: Run, command: str, case: str) -> None:
    text = properties(WRONG[case]) if case in WRONG else BROKEN[case]
    Path(SETTINGS).write_text(text, encoding="utf-8")
    words = (*command.split(), *COMMANDS[command], "--command-config", SETTINGS)
    for more in ((), ("--json",)):
        assert check(run, *words, "--bootstrap-server", NOWHERE, *more).code in (1, 2)


@pytest.mark.parametrize(
    "command",
    [*COMMANDS, *(pytest.param(one, marks=[pytest.mark.long, pytest.mark.spark]) for one in SPARK)],
)
@pytest.mark.parametrize(
    "address", [f"me:{CANARY}@{NOWHERE}", f"{NOWHERE},kafka://{CANARY}:{CANARY}/@h:1", CANARY]
)
def test_a_login_in_an_address(run: Run, command: str, address: str) -> None:
    """Also where it was typed: in the logs of a job, what was typed is not seen otherwise."""
    if command in SPARK and "@" not in address:
        return
    words = (*COMMANDS[command], "--bootstrap-server", address) if command in COMMANDS else ()
    if command in SPARK:
        _, *more = SPARK[command]
        words = (f"kafka://{address}/t", *more)
    assert check(run, *command.split(), *words).code in (1, 2)


def test_the_settings_are_named(run: Run) -> None:
    """What helps instead: which setting, where, and what is accepted."""
    Path(SETTINGS).write_text(BROKEN["joined lines"], encoding="utf-8")
    ended = check(run, "snapshot", "--bootstrap-server", NOWHERE, "--command-config", SETTINGS)
    assert ended.err == (
        f"partage: {SETTINGS}: lines 1–2, joined by a backslash: security.protocol: expected one "
        "of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL\n"
    )


def test_a_canary_is_found_in_a_command_line() -> None:
    """The search itself: it sees what children are called with."""
    with watched() as lines:
        subprocess.run(["sleep", "0.2", "0.00001"], check=True)
    assert any("0.00001" in line for line in lines)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("command", SPARK)
@pytest.mark.parametrize(
    "case", ["PEM", "all right", "security.protocol is wrong", "PEM over lines"]
)
def test_commands_of_spark(run: Run, command: str, case: str, spark: Any) -> None:
    text = properties(WRONG[case]) if case in WRONG else BROKEN[case]
    Path(SETTINGS).write_text(text, encoding="utf-8", errors="surrogateescape")
    ended = check(run, command, *SPARK[command], "--command-config", SETTINGS)
    assert ended.code in (1, 2)


@pytest.mark.long
@pytest.mark.spark
def test_what_java_quotes(
    run: Run, spark: Any, connector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's client says which value is wrong; the second line of defence hides it."""
    monkeypatch.setattr("partage.properties.hide", redaction.hide)
    monkeypatch.setenv("PARTAGE_SPARK_KAFKA", str(connector))
    for name in ("security.protocol", "request.timeout.ms", "ssl.truststore.type"):
        values = {"security.protocol": "SSL", "ssl.truststore.location": "garbage.pem"}
        Path(SETTINGS).write_text(properties(values | {name: f"{CANARY}5"}), encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"kafka://127.0.0.1:{listener.getsockname()[1]}/t"
            ended = check(
                run, "keys", url, "--partitions", "2", "--command-config", SETTINGS, "--json"
            )
        assert ended.code in (1, 2)
        assert ended.err.strip()
