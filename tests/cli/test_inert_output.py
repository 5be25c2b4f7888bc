"""What is printed and written is inert, whatever stands in a name: no control characters and no
characters that cannot be seen on a terminal, no foreign element in HTML and SVG, valid JSON.

The commands, their options and their arguments come from the command line's own declaration, the
places for names from the input files: every text in them, and every key, is replaced in turn.
"""

from __future__ import annotations

import copy
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

pytest.importorskip("kafka")

import partage
from partage.cli import app, settings
from tests.cli.conftest import Ended, tree

Run = Callable[..., Ended]

GROUPS = files("partage.data") / "groups"
NOWHERE = ("--bootstrap-server", "127.0.0.1:1")

HOSTILE = {
    "colours": "\x1b[31mred\x1b[0m",
    "clipboard": "\x1b]52;c;aGk=\x07",
    "link": "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "C1": "a\x9b31mb\x85c\x90d",
    "bidirectional": "a\u202egpj.exe\u2066",
    "NUL": "a\x00b",
    "half a pair": "a\ud83db",
    "not UTF-8": "a\udcff\udc9bb",
    "lines": "a\n✓ The plan is optimal\rb\u2028c",
    "markup": "[red]a[/] :bomb: [link=http://x]b",
    "script": "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "CDATA": "]]><svg onload=alert(3)>&\"'<!--",
    "no width": "a\u200bb\ufeff\u00ad\u2060\u3164\ufe0f\U000e0041",
    "long": "a" * 5000,
}
ALL = "".join(text for name, text in HOSTILE.items() if name not in ("NUL", "long"))
"""One text with all of it that a file name can hold."""

SETTING = ALL.encode("utf-8", "ignore").decode()
"""The same without halves of characters, which a file in UTF-8 cannot hold."""

COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "plan": (("small.json",), ()),
    "compare": (("small.json",), ()),
    "check": (("plan",), ()),
    "report": (("plan",), ()),
    "assign": (("group.json",), ("--assignor", "range")),
    "simulate": (("scenario.json",), ("--assignor", "range")),
    "place": (("new", "small.json"), ("--partitions", "3", "--replication-factor", "1")),
    "size": (("group.json",), ("--member-rate", "9")),
    "profile": (("records.jsonl",), ("-o", "out")),
    "keys": (("records.jsonl",), ("--partitions", "2")),
    "partition": (("keys.txt",), ("--partitions", "3")),
    "history": (("logs",), ()),
    "snapshot": ((), NOWHERE),
    "groups": (("billing",), NOWHERE),
    "apply": (("plan",), ("--yes", *NOWHERE)),
    "rollback": (("plan",), ("--yes", *NOWHERE)),
    "verify": (("plan",), NOWHERE),
    "throttle": (("plan", "5MB"), ()),
    "watch": (("records",), ("--cluster", "small.json", "-o", "out", "--once")),
    "doctor": ((), ()),
    "demo": ((), ()),
    "what-if churn": (("scenario.json",), ()),
    "what-if failures": (("small.json",), ()),
    "what-if growth": (("small.json",), ()),
    "sandbox up": ((), ("--dir", "box")),
    "sandbox down": ((), ("--dir", "box")),
    "sandbox add": ((), ("--dir", "box")),
    "sandbox stop": (("1",), ("--dir", "box")),
    "sandbox start": (("1",), ("--dir", "box")),
}
"""Every command with arguments and options with which it starts its work."""

LEAVES = {
    " ".join(path): command
    for path, command in settings.commands(get_command(app))
    if not hasattr(command, "commands")
}


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(LEAVES)


@pytest.fixture(autouse=True)
def inputs(
    run: Run, small: str, no_variables: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Input files; no Java, so that nothing is started, and no cluster that is reachable."""
    monkeypatch.setenv("JAVA_HOME", "nowhere")
    monkeypatch.setattr("partage.java.java_version", lambda home: 0)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("partage.live.admin.connection._BOOTSTRAP_MS", 1)
    partage.plan(small).write("plan")
    Path("group.json").write_text((GROUPS / "static-members.json").read_text())
    Path("scenario.json").write_text((GROUPS / "strategies-scenario.json").read_text())
    Path("records.jsonl").write_text('{"topic": "t", "partition": 0, "key": "a", "bytes": 1}\n')
    Path("records").mkdir()
    Path("keys.txt").write_text("a\nb\n")
    Path("logs").write_text("no log\n")


# ---------------------------------------------------------------------- the ways out


def check(run: Run, *words: str) -> Ended:
    """Run a command; check all that it printed and wrote."""
    before = tree(Path())
    ended = run(*words)
    assert ended.code in (0, 1, 2), ended
    inert(ended.out)
    inert(ended.err)
    if "--json" in words:
        assert ended.out.isascii()
        for line in ended.out.splitlines():
            json.loads(line)
    for name, content in tree(Path()).items():
        if before.get(name) != content and "/." not in f"/{name}":
            if not any(part in name for part in words):
                inert(name)
            if name.endswith((".parquet", ".crc", ".lock")):
                continue
            text = content.decode()
            inert(text)
            match name.rpartition(".")[2]:
                case "json" | "jsonl":
                    assert [json.loads(line) for line in [text, *text.splitlines()][:1]]
                case "html":
                    Page().feed(text)
                case "svg":
                    tags = {
                        one.tag.partition("}")[2] for one in ElementTree.fromstring(text).iter()
                    }
                    assert tags <= {"svg", "style", "rect", "text", "title", "path", "polygon"}
    return ended


def inert(text: str) -> None:
    """By Unicode's categories, not by the module under test."""
    unseen = {
        one
        for one in set(text) - {"\n"}
        if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") or one in "\u3164\ufe0f"
    }
    assert not unseen, f"{unseen} in {text[:2000]!r}"


class Page(HTMLParser):
    """A page without elements that a name brought in."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("img", "iframe", "object")
        assert not any(name.startswith("on") for name, _ in attrs), attrs

    def handle_data(self, data: str) -> None:
        assert "alert(" not in data or self.cdata_elem is None or "\\u003c" in data

    def handle_comment(self, data: str) -> None:
        assert re.fullmatch(r" checksum: partage sha256 [0-9a-f]{64} ?", data), data


# ---------------------------------------------------------------------- the command line


def parameters() -> Iterator[Any]:
    for name, command in LEAVES.items():
        for one in command.params:
            if isinstance(one, TyperArgument) or (
                isinstance(one, TyperOption) and not one.is_flag and one.expose_value
            ):
                yield pytest.param(name, one, id=f"{name} {one.opts[0]}")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "parameter"), list(parameters()))
@pytest.mark.parametrize(
    "text",
    ["ALL", *(pytest.param(one, marks=pytest.mark.long) for one in ("markup", "NUL", "long"))],
)
def test_options_and_arguments(run: Run, name: str, parameter: Any, text: str) -> None:
    value = ALL if text == "ALL" else HOSTILE[text]
    arguments, options = map(list, COMMANDS[name])
    if isinstance(parameter, TyperArgument):
        places = [one.name for one in LEAVES[name].params if isinstance(one, TyperArgument)]
        arguments[places.index(parameter.name)] = value
    else:
        options = [*options, parameter.opts[0], value]
    check(run, *name.split(), *arguments, *options)


@pytest.mark.parametrize("name", [*list(LEAVES)[::6], "check"])
def test_words_that_are_no_options(run: Run, name: str) -> None:
    for words in ((f"--{ALL}=1",), ("-é", ALL), (ALL, ALL, ALL)):
        ended = check(run, *name.split(), *words)
        assert (ended.code in (1, 2), ended.out) == (True, "")
    assert check(run, ALL).code == 2


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[pytest.mark.long] if number % 4 else [])
        for number, one in enumerate(LEAVES)
    ],
)
def test_the_projects_settings(run: Run, name: str) -> None:
    """Their values, in errors and as defaults in a help; their names, which no command has."""
    words = name.split()
    for option, one in settings.options(LEAVES[name]).items():
        if not one.is_flag and not option.endswith("server"):
            Path("partage.toml").write_text(
                f"[{'.'.join(words)}]\n{option} = {json.dumps(SETTING)}\n", encoding="utf-8"
            )
            check(run, *words, "--help")
            break
    for text in (f"{json.dumps(SETTING)} = 1\n", f"[{json.dumps(SETTING)}]\n", SETTING):
        Path("partage.toml").write_text(text, encoding="utf-8")
        assert check(run, *words, *COMMANDS[name][0], *COMMANDS[name][1]).code in (1, 2)
    check(run, "doctor", "--json")


def test_names_of_variables(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"PARTAGE_{SETTING.replace('=', '')}", SETTING)
    monkeypatch.setenv("PARTAGE_PLAN_LEADERS", SETTING)
    check(run, "doctor")
    check(run, "plan", "small.json")
    check(run, "plan", "--help")


# ---------------------------------------------------------------------- the input files

READERS = {
    "small.json": ("plan small.json -o out", "compare small.json", "plan small.json --json"),
    "group.json": (
        "assign group.json --assignor sticky --picture out.svg --report out.html",
        "assign group.json --assignor range --json",
    ),
    "scenario.json": (
        "simulate scenario.json --assignor range --picture out.svg --report out.html",
        "simulate scenario.json --assignor sticky --json",
    ),
    "plan/plan.json": (
        "check plan",
        "check plan --json",
        "report plan",
        "verify plan --bootstrap-server 127.0.0.1:1",
        "throttle plan 5MB",
        "rollback plan --yes --bootstrap-server 127.0.0.1:1",
    ),
    "plan/rollback.json": ("check plan", "apply plan --yes --bootstrap-server 127.0.0.1:1"),
    "plan/waves/001.json": ("check plan",),
}
"""Commands by the file that they read."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """(path, whether it is a key) of one text of each kind in a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        if isinstance(key, str):
            yield (*path, key), True
        if isinstance(part, str):
            yield (*path, key), False
        elif isinstance(part, (dict, list)):
            yield from places(part, (*path, key))


def kinds(value: Any) -> dict[str, tuple[tuple[Any, ...], bool]]:
    """The first place of each kind: numbers in paths do not tell kinds apart."""
    found: dict[str, tuple[tuple[Any, ...], bool]] = {}
    for path, is_key in places(value):
        shape = ".".join("*" if isinstance(step, int) else step for step in path)
        found.setdefault(f"{shape}{' (key)' if is_key else ''}", (path, is_key))
    return found


def changed(value: Any, path: tuple[Any, ...], is_key: bool, text: str) -> Any:
    """The value with the text in place of another, everywhere that it occurs."""
    whole = copy.deepcopy(value)
    place = whole
    for step in path[:-1]:
        place = place[step]
    old = path[-1] if is_key else place[path[-1]]

    def replaced(part: Any) -> Any:
        if isinstance(part, dict):
            return {(text if k == old else k): replaced(v) for k, v in part.items()}
        if isinstance(part, list):
            return [replaced(one) for one in part]
        return text if part == old else part

    return replaced(whole)


@pytest.mark.parametrize("file", READERS)
def test_texts_in_files(run: Run, file: str) -> None:
    """Texts and keys, each everywhere that it occurs, so that references still fit."""
    path = Path(file)
    value = json.loads(path.read_text(encoding="utf-8"))
    texts = cycle(HOSTILE.values())
    found = list(kinds(value).values())
    for place, is_key in found[:: len(found) // 6 + 1]:
        path.write_text(json.dumps(changed(value, place, is_key, next(texts))), encoding="utf-8")
        for command in READERS[file]:
            check(run, *command.split())


@pytest.mark.long
@pytest.mark.parametrize("file", READERS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_every_text_in_files(run: Run, file: str, text: str) -> None:
    path = Path(file)
    value = json.loads(path.read_text(encoding="utf-8"))
    for place, is_key in kinds(value).values():
        path.write_text(json.dumps(changed(value, place, is_key, text)), encoding="utf-8")
        for command in READERS[file]:
            check(run, *command.split())


@pytest.mark.long
@pytest.mark.spark
def test_measured_names(run: Run, spark: Any) -> None:
    """Topics, keys and clients of records and logs have any names."""
    records = [
        {"topic": text[:200], "partition": number % 2, "key": text, "value_bytes": 100}
        | {"offset": number, "timestamp": f"2026-01-01T00:00:{number:02}Z"}
        for number, text in enumerate(HOSTILE.values())
    ]
    lines = (json.dumps(one) for one in records)
    Path("records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for more in ((), ("--json",)):
        check(run, "keys", "records.jsonl", "--partitions", "2", *more)
        check(run, "profile", "records.jsonl", "-o", "profile", "--overwrite", *more)
    text = (GROUPS / "logs" / "kip-429" / "client-one.log").read_text(encoding="utf-8")
    for name in list(HOSTILE.values())[::4]:
        hostile = text.replace("cg_logi_kafka_test_1", f"cg{name}").encode("utf-8", "replace")
        Path("logs").write_bytes(hostile)
        for more in ((), ("--json",)):
            check(run, "history", "logs", *more)
