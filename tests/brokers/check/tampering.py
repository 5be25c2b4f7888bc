"""Changes to the files of a plan directory, and what check says of them.

Each tampering is a function that changes the files, read as JSON. *Sealed* ones also recompute the
fingerprint, as a forger who knows the format would.
"""

from __future__ import annotations

import base64
import json
import signal
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import numpy as np

from partage.brokers.check import CheckResult, check
from partage.brokers.directory import fingerprint
from partage.flow.packing import pack, unpack
from partage.printable import is_printable
from tests.profiles import seeds

Value = dict[str, Any]
PLACEMENT = ("replicas", "moves", "topic spread")


class NotHereError(Exception):
    """The plan has nothing of the kind that a tampering changes."""


class Files:
    """A plan directory's files as JSON values, read when first asked for. A text instead of a value
    is written as it is, and what is removed from ``values`` is removed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.before = {
            path.relative_to(directory).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(directory.rglob("*.json"))
        }
        self.values: dict[str, Any] = _Read(self.before)

    @property
    def plan(self) -> Value:
        found: Value = self.values["plan.json"]
        return found

    @property
    def part(self) -> Value:
        found: Value = self.plan["partitions"]
        return found

    @property
    def after(self) -> Value:
        found: Value = self.plan["figures"]["after"]
        return found

    def stage(self, name: str) -> Value:
        found: list[Value] = self.plan["certificate"]["stages"]
        return next(stage for stage in found if stage["stage"] == name)

    def changed(self) -> list[int]:
        pairs = zip(self.part["before"], self.part["after"], strict=True)
        return [row for row, (before, after) in enumerate(pairs) if before != after]

    def seal(self) -> None:
        self.plan["fingerprint"] = fingerprint(self.plan)

    def remove(self, name: str) -> None:
        self.values[name] = None

    def write(self, *, compact: bool = True) -> Path:
        """The files as they are now; ``compact``: in partage's form, without spaces."""
        for name, value in self.values.items():
            path = self.directory / name
            if value is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(exist_ok=True)
            text = value if isinstance(value, str) else _text(value, compact=compact)
            path.write_text(text, encoding="utf-8")
        return self.directory

    def restore(self) -> None:
        """The files as they were."""
        for name in self.values:
            path = self.directory / name
            if name in self.before:
                path.write_text(self.before[name], encoding="utf-8")
            else:
                path.unlink()
        self.values = _Read(self.before)


def _text(value: Any, *, compact: bool) -> str:
    if not compact:
        return json.dumps(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


class _Read(dict[str, Any]):
    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def __missing__(self, name: str) -> Any:
        self[name] = json.loads(self.texts[name])
        return self[name]


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what would go on for ever."""

    def stop(signum: int, frame: object) -> None:
        raise TimeoutError(f"no answer in {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judged(directory: Path) -> CheckResult:
    """The verdict; each defect is one line that can be shown."""
    with at_most(20):
        verdict = check(directory)
    for line in verdict.defects:
        assert line.splitlines() == [line]
        assert is_printable(line)
        assert len(line) < 600
    assert verdict.sound is (not verdict.defects)
    return verdict


class Tamperings(dict[str, Callable[[Files], None]]):
    """Tamperings by name; a function that finds nothing to change calls ``not_here``."""

    def add(self, function: Callable[[Files], None]) -> Callable[[Files], None]:
        """Register the function under its name."""
        self[function.__name__.replace("_", " ")] = function
        return function

    def assert_found(self, name: str, plans: Mapping[str, Files], *, seal: bool = False) -> None:
        """The tampering makes every plan that it applies to unsound, and it applies to some; with
        ``seal`` the fingerprint is made to fit. The daily tier tries it on a part of the plans,
        which its name selects."""
        tried, enough = 0, len(seeds(len(plans)))
        for plan in Random(name).sample(list(plans), len(plans)):
            files = plans[plan]
            try:
                self[name](files)
                if seal:
                    files.seal()
                # of some files, check compares the text
                for compact in (True, False):
                    assert not judged(files.write(compact=compact)).sound, (plan, compact)
                tried += 1
            except NotHereError:
                continue
            finally:
                files.restore()
            if tried == enough:
                break
        assert tried


def not_here() -> NoReturn:
    raise NotHereError


def other_broker(f: Files, row: list[int]) -> int:
    found = [b["id"] for b in f.plan["brokers"] if b["id"] not in row]
    if not found:
        not_here()
    return int(found[0])


def first_changed(f: Files) -> int:
    if not f.changed():
        not_here()
    return f.changed()[0]


def entries(f: Files, name: str) -> list[Value]:
    if not f.values[name]["partitions"]:
        not_here()
    found: list[Value] = f.values[name]["partitions"]
    return found


def a_wave(f: Files) -> str:
    if not f.plan["waves"]:
        not_here()
    return str(f.plan["waves"][0]["file"])


def longer(rows: list[list[int]]) -> list[int]:
    """The first list of two or more."""
    return next((row for row in rows if len(row) > 1), None) or not_here()


def bent(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case None:
            return 7
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case list() if value and isinstance(value[0], int):
            return [value[0], value[1] + 1]
        case list():
            return [*value, "another"]
        case {"max": worst, **rest}:
            return {"max": worst + 1, **rest}
        case dict():
            return value | {"moves": 0.5}
    raise AssertionError(value)


def a_replica_on_another_broker(f: Files) -> None:
    row = f.part["after"][0]
    row[-1] = other_broker(f, row)


def two_partitions_exchanged(f: Files) -> None:
    rows = f.part["after"]
    other = next((i for i, row in enumerate(rows) if row != rows[0]), None)
    if other is None:
        not_here()
    rows[0], rows[other] = rows[other], rows[0]


def another_list_before(f: Files) -> None:
    row = f.part["before"][0]
    row[-1] = other_broker(f, row)


def at(*path: Any, value: Any) -> Callable[[Files], None]:
    """Another value at a place in plan.json, and the fingerprint that goes with it."""

    def change(f: Files) -> None:
        inner = f.plan
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        f.seal()

    return change


def a_stage(f: Files, *names: str) -> Value:
    """The first stage of these that the plan has."""
    stages: list[Value] = f.plan["certificate"]["stages"]
    return next((s for s in stages if s["stage"] in names), None) or not_here()


def packed_keys(stage: Value) -> list[str]:
    return [key for key in ("brokers", "topics", "pairs") if key in stage["prices"]]


def spoiled(text: str) -> str:
    """Prices that no solver finds: falling from a great height."""
    count = len(zlib.decompress(base64.b64decode(text))) // 8
    if count < 2:
        not_here()
    return pack(unpack(text, count) + 1000 * (np.arange(count, dtype=np.int64) + 1))


def with_bound(f: Files, stage: Value) -> None:
    if stage["stage"] == "moves":
        f.after["moves_lower_bound"] = stage["bound"]
    if stage["stage"] == "failure":
        f.after["leaders_after_failure"]["ideal"] = stage["bound"]


def lower_both(f: Files, stage: Value) -> None:
    stage["value"] -= 1
    stage["bound"] -= 1
    with_bound(f, stage)


def raise_bound(f: Files, stage: Value) -> None:
    stage["bound"] += 1
    with_bound(f, stage)


def lower_bound(f: Files, stage: Value) -> None:
    stage["bound"] -= 1
    with_bound(f, stage)


def drop_stage(f: Files, stage: Value) -> None:
    f.plan["certificate"]["stages"].remove(stage)


def empty_prices(f: Files, stage: Value) -> None:
    if not stage["prices"]:
        not_here()
    stage["prices"] = None


def asked(f: Files, *names: str) -> str:
    return next((name for name in names if name in f.plan["options"]), None) or not_here()


def changed_price(f: Files, stage: Value, key: str, by: Callable[[Any], Any]) -> None:
    if key not in stage["prices"]:
        not_here()
    count = len(zlib.decompress(base64.b64decode(stage["prices"][key]))) // 8
    stage["prices"][key] = pack(by(unpack(stage["prices"][key], count)))


def add_stage_tamperings(tamperings: Tamperings, name: str) -> None:
    """Tamperings of a stage that a limit asks for."""

    def add(what: str, forge: Callable[[Files, Value], None]) -> None:
        def tamper(f: Files) -> None:
            stage = a_stage(f, name)
            forge(f, stage)
            if name == "bytes moved":
                f.after["bytes_moved_lower_bound"] = stage["bound"]

        tamperings[f"{name}: {what}"] = tamper

    def respell(spell: Callable[[str], Any]) -> Callable[[Files, Value], None]:
        def forge(f: Files, stage: Value) -> None:
            prices = stage["prices"]
            if resources := prices.get("resources"):  # the price of one alone may not count
                resources.update({name: spell(text) for name, text in resources.items()})
            else:
                key = "brokers" if "brokers" in prices else "within"
                prices[key] = spell(prices[key])

        return forge

    add("value lowered", lambda f, s: s.update(value=s["value"] - 1))
    add("value raised", lambda f, s: s.update(value=s["value"] + 1))
    add("bound raised", raise_bound)
    add("bound lowered", lower_bound)
    add("value and bound lowered", lower_both)
    add("called exact", lambda f, s: s.update(exact=True))
    add("renamed", lambda f, s: s.update(stage="another"))
    add("dropped", drop_stage)
    add("twice", lambda f, s: f.plan["certificate"]["stages"].append(s))
    add("prices that are none", empty_prices)
    add("bound as text", lambda f, s: s.update(bound=str(s["bound"])))
    if name != "bytes":  # its bound follows from a set of brokers
        add("random prices", respell(spoiled))
        add("prices cut short", respell(lambda text: text[:-5]))
        add("prices that are no text", respell(lambda text: [1, 2]))
        add("prices of another count", respell(lambda text: pack(np.arange(999))))
