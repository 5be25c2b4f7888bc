"""Tampering with a plan directory: whatever was changed, ``check`` finds a defect, and never fails.

Each tampering is a function that changes the directory's files, read as JSON. *Sealed* ones also
work the fingerprint out again, as a forger who knows the format would.
"""

from __future__ import annotations

import base64
import json
import random
import re
import signal
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import CannotError, Cluster, InputError
from partage.brokers.check import CheckResult, check
from partage.brokers.directory import fingerprint
from partage.brokers.leaders import lead
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan, solve
from partage.brokers.planning import plan
from partage.brokers.problem import Problem
from partage.brokers.strategies import STRATEGIES, Strategy
from partage.flow.certificate import pack, unpack
from tests.bundled import grown
from tests.matrices import cluster_of, partitions
from tests.profiles import examples
from tests.strategies import jobs

Value = dict[str, Any]


# ---------------------------------------------------------------- sound plans


def by_rate() -> Plan:
    cluster = grown()
    rates = np.random.default_rng(1).lognormal(8, 0.5, cluster.partitions)
    return solve(Problem.resolve(cluster, PlanOptions(leaders="rate", throttle="50MB"), rates))


def mixed() -> Plan:
    """Racks, capacities, a dead broker, one to remove, topics left out, factors that change."""
    rng = random.Random(7)
    brokers = [
        {"id": b, "rack": "abc"[b % 3], "capacity": 1 + b % 2, "alive": b != 4} for b in range(9)
    ]
    rows = [
        {"topic": t, "partition": 3 * p, "replicas": rng.sample(range(1, 9), 2), "size_bytes": p}
        for t in ("t", "u", "w.x")
        for p in range(12)
    ]
    rows += partitions([[1, 2]] * 4, topic="kept")
    cluster = Cluster.from_json({"brokers": brokers, "partitions": rows})
    return plan(
        cluster,
        add_broker=["77:c"],
        remove_broker=[3],
        topics="t|u|w.*",
        replication_factor=["3", "u=1"],
        throttle="1KB",
    )


def with_a_floor() -> Plan:
    """No order reaches the bound that counting gives, so the failure stage has prices."""
    lists = "2,0 3,2,1 3,2,1 2,0 1,3 2,3 2,1,3 3,2,0 0,1,3"
    made = plan(cluster_of(lists, "0 1 2 3"), no_moves=True)
    assert next(stage for stage in made.stages if stage.name == "failure").prices
    return made


def with_full_disks() -> Plan:
    """An exchange keeps the disk of broker 1 from overflowing."""
    made = plan(cluster_of("1/60 " * 4 + "1/1 " * 4, "1/130 2/500"))
    assert made.moves == 4
    return made


def with_a_disk_too_small() -> Plan:
    """Fewer moves than the fairest share needs: broker 2 has room for none of them."""
    made = plan(cluster_of("1/10 " * 4, "1/100 2/15"))
    assert made.moves == made.lower_bound == 1
    assert next(stage for stage in made.stages if stage.name == "moves").bound == 2
    return made


SOUND: dict[str, Callable[[], Plan]] = {
    "count": lambda: plan(grown()),
    "rate": by_rate,
    "spread": lambda: plan(grown(), spread="topic"),
    "no-moves": lambda: plan(grown(), no_moves=True),
    "expand": lambda: plan(grown(), add_broker=["9:c", "10:c"], concurrency=5, throttle="10MB"),
    "mixed": mixed,
    "floor": with_a_floor,
    "disks": with_full_disks,
    "a small disk": with_a_disk_too_small,
    "generate": lambda: plan(grown(), strategy="generate"),
    "leader-flow": lambda: plan(grown(racks=False), strategy="leader-flow"),
    "settled": lambda: plan(plan(grown()).after),
}


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

    def write(self) -> Path:
        """The files as they are now."""
        for name, value in self.values.items():
            path = self.directory / name
            if value is None:
                path.unlink()
                continue
            path.parent.mkdir(exist_ok=True)
            text = value if isinstance(value, str) else json.dumps(value)
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


class _Read(dict[str, Any]):
    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def __missing__(self, name: str) -> Any:
        self[name] = json.loads(self.texts[name])
        return self[name]


@pytest.mark.parametrize(
    "options",
    [
        {"add_broker": ["4:eu:west"]},
        {"add_broker": ["04:a"]},
        {"add_broker": ["05:a", "4:eu:west"], "remove_broker": ["03"]},
        {"replace_broker": ["03=04"]},
        {"replace_broker": ["3=04"], "add_broker": ["4:a"]},
    ],
    ids=str,
)
def test_options_mean_what_they_mean_to_the_planner(tmp_path: Path, options: Value) -> None:
    """A rack may have colons, an id zeros before it."""
    cluster = cluster_of("1,2 2,3 3,1 1,3", "1:a 2:eu:west 3:a")
    plan(cluster, **options).write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []


def test_a_broker_added_where_there_are_no_racks(tmp_path: Path) -> None:
    plan(cluster_of("1,2 2,1", "1 2"), add_broker=["03"]).write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Files]:
    """The files of a sound plan, written once; whoever changes them restores them."""
    made: dict[str, Files] = {}

    def of(name: str) -> Files:
        if name not in made:
            directory = tmp_path_factory.mktemp(name) / "plan"
            SOUND[name]().write(directory)
            made[name] = Files(directory)
        return made[name]

    return of


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
        assert line.isprintable()
        assert len(line) < 600
    assert verdict.sound is (not verdict.defects)
    return verdict


@pytest.mark.parametrize("name", SOUND)
def test_what_was_planned_is_sound(written: Callable[[str], Files], name: str) -> None:
    verdict = judged(written(name).directory)
    assert verdict.defects == []
    assert len(verdict.held) >= 6


@examples(150)
@given(job=jobs(), rated=st.booleans(), strategy=st.sampled_from(("exact", "exact", "generate")))
def test_whatever_is_planned_is_sound(job: tuple[Value, Value], rated: bool, strategy: str) -> None:
    cluster, options = job
    asked: Value = options | {"strategy": strategy} | ({"leaders": "rate"} if rated else {})
    rates = np.array([float(p % 4) for p in range(len(cluster["partitions"]))])
    try:
        made = solve(Problem.resolve(Cluster.from_json(cluster), PlanOptions(**asked), rates))
    except (InputError, CannotError):
        return
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder) / "plan")
        verdict = judged(Path(folder) / "plan")
    assert verdict.defects == []
    assert verdict.optimal is made.optimal


# ---------------------------------------------------------------- tampering

TAMPERED: dict[str, Callable[[Files], None]] = {}
"""Lies, by name: what to do. A function that finds nothing to change calls ``not_here``."""

MALFORMED: dict[str, Callable[[Files], None]] = {}
"""Files that are no plan, whichever plan they were."""


def tampering(function: Callable[[Files], None]) -> Callable[[Files], None]:
    TAMPERED[function.__name__.replace("_", " ")] = function
    return function


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


# the placement


@tampering
def a_replica_on_another_broker(f: Files) -> None:
    row = f.part["after"][0]
    row[-1] = other_broker(f, row)


def longer(rows: list[list[int]]) -> list[int]:
    """The first list of two or more."""
    return next((row for row in rows if len(row) > 1), None) or not_here()


@tampering
def another_leader(f: Files) -> None:
    row = longer(f.part["after"])
    row[0], row[1] = row[1], row[0]


@tampering
def a_replica_less(f: Files) -> None:
    longer(f.part["after"]).pop()


@tampering
def a_replica_more(f: Files) -> None:
    row = f.part["after"][0]
    row.append(other_broker(f, row))


@tampering
def a_replica_twice(f: Files) -> None:
    row = f.part["after"][0]
    row.append(row[0])


@tampering
def a_broker_that_is_not_there(f: Files) -> None:
    f.part["after"][0][0] = 12345


@tampering
def no_replica_at_all(f: Files) -> None:
    f.part["after"][0] = []


@tampering
def two_partitions_exchanged(f: Files) -> None:
    rows = f.part["after"]
    other = next((i for i, row in enumerate(rows) if row != rows[0]), None)
    if other is None:
        not_here()
    rows[0], rows[other] = rows[other], rows[0]


@tampering
def another_list_before(f: Files) -> None:
    row = f.part["before"][0]
    row[-1] = other_broker(f, row)


@tampering
def another_list_before_sealed(f: Files) -> None:
    row = f.part["before"][first_changed(f)]
    row[-1] = other_broker(f, row)
    f.seal()


@tampering
def another_order_before_sealed(f: Files) -> None:
    longer(f.part["before"]).reverse()
    f.seal()


@tampering
def a_partition_missing_in_the_plan(f: Files) -> None:
    for column in f.part.values():
        if column is not None:
            column.pop()


@tampering
def a_partition_missing_in_the_plan_sealed(f: Files) -> None:
    row = first_changed(f)
    for column in f.part.values():
        if column is not None:
            column.pop(row)
    f.seal()


@tampering
def a_column_that_is_shorter(f: Files) -> None:
    f.part["after"].pop()


@tampering
def a_partition_twice(f: Files) -> None:
    for column in f.part.values():
        if column is not None:
            column.append(column[-1])
    f.seal()


@tampering
def a_number_for_a_list(f: Files) -> None:
    f.part["after"][0] = 7


@tampering
def text_for_a_broker(f: Files) -> None:
    f.part["after"][0][0] = str(f.part["after"][0][0])


@tampering
def a_fraction_for_a_broker(f: Files) -> None:
    f.part["after"][0][0] += 0.5


@tampering
def a_float_for_a_broker(f: Files) -> None:
    f.part["after"][0][0] = float(f.part["after"][0][0])


@tampering
def a_number_beyond_64_bits(f: Files) -> None:
    f.part["replication_factor"][0] = 2**70


@tampering
def a_factor_beyond_the_brokers(f: Files) -> None:
    f.part["replication_factor"][0] = 1000
    f.seal()


@tampering
def a_topic_beyond_the_topics(f: Files) -> None:
    f.part["topic"][0] = 1000
    f.seal()


@tampering
def a_topic_that_is_a_fraction(f: Files) -> None:
    f.part["topic"][0] += 0.5
    f.seal()


@tampering
def a_topic_with_a_line_end(f: Files) -> None:
    f.plan["topics"][f.part["topic"][first_changed(f)]] = "two\nlines [/red]"
    f.seal()


# reassignment.json and rollback.json


def in_file(name: str) -> None:
    short = name.removesuffix(".json")

    def add(what: str, change: Callable[[Files], None]) -> None:
        TAMPERED[f"{short}: {what}"] = change

    def set_replicas(f: Files) -> None:
        row = entries(f, name)[0]["replicas"]
        row[-1] = other_broker(f, row)

    def set_order(f: Files) -> None:
        longer([entry["replicas"] for entry in entries(f, name)]).reverse()

    def set_entry(key: str, value: Any) -> Callable[[Files], None]:
        def change(f: Files) -> None:
            entry = entries(f, name)[0]
            entry[key] = value(entry[key]) if callable(value) else value

        return change

    def set_file(value: Any) -> Callable[[Files], None]:
        return lambda f: f.values.update({name: value})

    def set_key(key: str, value: Any) -> Callable[[Files], None]:
        return lambda f: f.values[name].update({key: value})

    def drop(f: Files) -> None:
        entries(f, name).pop(0)

    def repeat(f: Files) -> None:
        entries(f, name).append(dict(entries(f, name)[0]))

    def invent(f: Files) -> None:
        entry = {"topic": "invented", "partition": 0, "replicas": [f.plan["brokers"][0]["id"]]}
        f.values[name]["partitions"].append(entry)

    def unlink(f: Files) -> None:
        f.remove(name)

    add("another broker", set_replicas)
    add("another order", set_order)
    add("another topic", set_entry("topic", "another"))
    add("another partition", set_entry("partition", 9999))
    add("a partition as text", set_entry("partition", str))
    add("a partition as a float", set_entry("partition", float))
    add("a topic that is a number", set_entry("topic", 7))
    add("replicas as floats", set_entry("replicas", lambda row: [float(b) for b in row]))
    add("replicas as text", set_entry("replicas", lambda row: [str(b) for b in row]))
    add("replicas that are none", set_entry("replicas", None))
    add("replicas in a list", set_entry("replicas", lambda row: [row]))
    add("a partition missing", drop)
    add("a partition twice", repeat)
    add("a partition that is not there", invent)
    add("missing", unlink)
    add("empty", set_file(""))
    add("not JSON", set_file("{"))
    add("NaN", set_file('{"version":1,"partitions":NaN}'))
    add("too deep", set_file("[" * 100_000))
    add("a list", set_file([]))
    add("a number", set_file(7))
    add("log dirs", set_entry("log_dirs", ["/evil"] * 3))
    add("a key more", set_key("comment", "harmless"))
    add("an entry without replicas", lambda f: entries(f, name)[0].pop("replicas"))
    add("version 1.0", set_key("version", 1.0))
    add("version true", set_key("version", True))
    add("version 2", set_key("version", 2))
    add("version as text", set_key("version", "1"))
    add("partitions that are none", set_key("partitions", None))
    add("partitions that are numbers", set_key("partitions", [7]))
    add("partitions that are an object", set_key("partitions", {}))
    add("partitions that are missing", lambda f: f.values[name].pop("partitions"))


in_file("reassignment.json")
in_file("rollback.json")


@tampering
def a_true_for_broker_1(f: Files) -> None:
    found = [e for e in entries(f, "reassignment.json") if 1 in e["replicas"]]
    if not found:
        not_here()
    found[0]["replicas"] = [True if b == 1 else b for b in found[0]["replicas"]]


# the waves


@tampering
def another_broker_in_a_wave(f: Files) -> None:
    row = f.values[a_wave(f)]["partitions"][0]["replicas"]
    row[-1] = other_broker(f, row)


@tampering
def log_dirs_in_a_wave(f: Files) -> None:
    f.values[a_wave(f)]["partitions"][0]["log_dirs"] = ["/evil"]


@tampering
def a_wave_missing(f: Files) -> None:
    f.remove(a_wave(f))


@tampering
def a_wave_more(f: Files) -> None:
    f.values["waves/999.json"] = {"version": 1, "partitions": []}


@tampering
def a_file_among_the_waves(f: Files) -> None:
    f.values["waves/run.sh"] = "rm"


@tampering
def a_wave_listed_twice(f: Files) -> None:
    a_wave(f)
    f.plan["waves"].append(f.plan["waves"][0])


@tampering
def a_wave_listed_twice_with_true_figures(f: Files) -> None:
    a_wave(f)
    f.plan["waves"].append(f.plan["waves"][0])
    f.after["waves"] += 1


@tampering
def a_wave_not_listed(f: Files) -> None:
    a_wave(f)
    f.plan["waves"].pop()


@tampering
def a_wave_neither_listed_nor_there(f: Files) -> None:
    f.remove(a_wave(f))
    f.plan["waves"].pop(0)
    f.after["waves"] -= 1


@tampering
def a_partition_in_another_wave(f: Files) -> None:
    if len(f.plan["waves"]) < 2:
        not_here()
    one, other = (f.values[wave["file"]]["partitions"] for wave in f.plan["waves"][:2])
    other.append(one.pop())


@tampering
def a_partition_in_two_waves(f: Files) -> None:
    if len(f.plan["waves"]) < 2:
        not_here()
    one, other = (f.values[wave["file"]]["partitions"] for wave in f.plan["waves"][:2])
    other.append(one[0])
    f.plan["waves"][1]["partitions"] += 1


@tampering
def a_partition_in_no_wave(f: Files) -> None:
    f.values[a_wave(f)]["partitions"].pop()


@tampering
def a_wave_that_is_not_json(f: Files) -> None:
    f.values[a_wave(f)] = "{"


def wave_named(name: Any) -> Callable[[Files], None]:
    def change(f: Files) -> None:
        a_wave(f)
        f.plan["waves"][0]["file"] = name

    return change


for _name in (
    *("../rollback.json", "waves/../../x.json", "/etc/passwd", "/dev/zero", "", ".", "waves"),
    *("plan.json", "waves/001.json\n", "[/red]", "waves/\0", "x" * 5000, None, 7, ["a"], {}),
):
    MALFORMED[f"a wave named {str(_name)[:30]!r}"] = wave_named(_name)


def wave_figure(key: str, change: Callable[[Any], Any]) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        a_wave(f)
        f.plan["waves"][0][key] = change(f.plan["waves"][0][key])

    return forge


for _key in ("partitions", "moves", "bytes"):
    TAMPERED[f"a wave's {_key} forged"] = wave_figure(_key, lambda n: (n or 0) + 1)
    TAMPERED[f"a wave's {_key} as text"] = wave_figure(_key, str)


# the figures


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


def figure(when: str, key: str, inner: str | None = None) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        stated = f.plan["figures"][when]
        if inner is None:
            stated[key] = bent(stated[key])
        elif stated[key] is None:
            not_here()
        else:
            stated[key][inner] += 1

    return forge


_COUNTED = (
    *("replicas_per_broker", "leaders_per_broker", "leaders_after_failure", "rack_violations"),
    *("topic_spread", "bytes_max_over_mean", "leaders_after_rack_failure"),
)
_PLANNED = (
    *("strategy", "moves", "moves_lower_bound", "bytes_moved", "optimal", "leader_changes"),
    *("waves", "binding", "gaps"),
)
for _key in _COUNTED:
    TAMPERED[f"figures before: {_key}"] = figure("before", _key)
for _key in (*_COUNTED, *_PLANNED):
    TAMPERED[f"figures after: {_key}"] = figure("after", _key)
for _when in ("before", "after"):
    TAMPERED[f"figures {_when}: ideal"] = figure(_when, "leaders_after_failure", "ideal")
    for _inner in ("ideal", "offline"):
        TAMPERED[f"figures {_when}: {_inner} after a rack"] = figure(
            _when, "leaders_after_rack_failure", _inner
        )


@tampering
def gaps_forged_in_both_places(f: Files) -> None:
    f.plan["gaps"] = f.after["gaps"] = bent(f.plan["gaps"])


@tampering
def a_strategy_forged_in_both_places(f: Files) -> None:
    name = "generate" if f.plan["strategy"] == "exact" else "exact"
    f.plan["strategy"] = f.after["strategy"] = name


@tampering
def settled_denied(f: Files) -> None:
    exact = f.plan["strategy"] == "exact" and all(
        stage["exact"] and stage["value"] == stage["bound"]
        for stage in f.plan["certificate"]["stages"]
    )
    if not exact:
        not_here()
    f.after["settled"] = False


@tampering
def settled_missing(f: Files) -> None:
    del f.after["settled"]


@tampering
def settled_as_text(f: Files) -> None:
    f.after["settled"] = str(f.after["settled"])


@tampering
def changes_denied(f: Files) -> None:
    f.plan["changes"] = not f.plan["changes"]


@tampering
def figures_missing(f: Files) -> None:
    del f.after["topic_spread"]


# the certificate

_STAGES = ("replicas", "moves", "topic spread", "leaders", "leader rate", "failure")
_STAGES += ("failure balance",)


def in_stage(name: str, what: str, change: Callable[[Files, Value], None]) -> None:
    def forge(f: Files) -> None:
        found = [s for s in f.plan["certificate"]["stages"] if s["stage"] == name]
        if not found:
            not_here()
        change(f, found[0])

    TAMPERED[f"{name}: {what}"] = forge


def packed_keys(stage: Value) -> list[str]:
    return [key for key in ("brokers", "topics", "pairs") if key in stage["prices"]]


def forged_prices(change: Callable[[str], Any]) -> Callable[[Files, Value], None]:
    def forge(f: Files, stage: Value) -> None:
        if not packed_keys(stage):
            not_here()
        if change is spoiled and stage["stage"] not in _PLACEMENT:
            longer(f.part["after"])  # without a choice any price will do
        for key in packed_keys(stage):
            stage["prices"][key] = change(stage["prices"][key])

    return forge


_PLACEMENT = ("replicas", "moves", "topic spread")


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


for _stage in _STAGES:
    in_stage(_stage, "value forged", lambda f, s: s.update(value=s["value"] - 1))
    in_stage(_stage, "value raised", lambda f, s: s.update(value=s["value"] + 1))
    in_stage(_stage, "value as text", lambda f, s: s.update(value=str(s["value"])))
    in_stage(_stage, "bound raised", raise_bound)
    in_stage(_stage, "bound lowered", lower_bound)
    in_stage(_stage, "bound as text", lambda f, s: s.update(bound=str(s["bound"])))
    in_stage(_stage, "bound beyond 64 bits", lambda f, s: s.update(bound=2**70))
    in_stage(_stage, "value and bound forged", lower_both)
    in_stage(_stage, "exact denied", lambda f, s: s.update(exact=not s["exact"]))
    in_stage(_stage, "renamed", lambda f, s: s.update(stage="another"))
    in_stage(_stage, "prices that are none", empty_prices)
    if _stage != "leader rate":  # its proof is a set of brokers
        in_stage(_stage, "random prices", forged_prices(spoiled))
        in_stage(_stage, "prices cut short", forged_prices(lambda text: text[:-5]))
        in_stage(
            _stage, "prices of another count", forged_prices(lambda text: pack(np.arange(999)))
        )
        in_stage(_stage, "prices that are no base64", forged_prices(lambda text: "é*"))
        in_stage(_stage, "prices that are no text", forged_prices(lambda text: [1, 2]))
        in_stage(_stage, "prices that are not packed", forged_prices(lambda text: "AAAA"))
    if _stage != "failure balance":  # only the exact order has it
        in_stage(_stage, "dropped", drop_stage)
    in_stage(_stage, "twice", lambda f, s: f.plan["certificate"]["stages"].append(s))

for _stage in ("replicas", "moves", "topic spread"):
    for _weights in ({"load": 0, "moves": 0, "spread": 0}, {"load": 1, "moves": 1, "spread": 1}):
        in_stage(
            _stage, f"weights {_weights}", lambda f, s, w=_weights: s["prices"].update(weights=w)
        )
    for _what, _by in (("uneven", lambda n: 1 if n else 2), ("huge", lambda n: 2**62 + n)):
        in_stage(
            _stage,
            f"load weights {_what}",
            lambda f, s, by=_by: s["prices"].update(
                load_weights=[by(i) * w for i, w in enumerate(s["prices"]["load_weights"])]
            ),
        )
    in_stage(_stage, "too few load weights", lambda f, s: s["prices"]["load_weights"].pop())
    in_stage(_stage, "negative weights", lambda f, s: s["prices"]["weights"].update(moves=-1))

in_stage("leader rate", "confined to nobody", lambda f, s: s["prices"].update(confined=[]))
in_stage("leader rate", "confined to strangers", lambda f, s: s["prices"].update(confined=[999]))
in_stage(
    "leader rate",
    "confined to one",
    lambda f, s: s["prices"].update(confined=s["prices"]["confined"][:1]),
)


# the job


def option(value: Value, sealed: bool) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        options = f.plan["options"]
        if all(options.get(key) == wanted for key, wanted in value.items()):
            not_here()
        if "spread" in value and options.get("no_moves") and sealed:
            not_here()  # it says nothing then
        f.plan["options"].update(value)
        if sealed:
            f.seal()

    return forge


for _option in ({"leaders": "rate"}, {"spread": "topic"}, {"no_moves": True}, {"strategy": "x"}):
    TAMPERED[f"option {_option}"] = option(_option, sealed=False)
    TAMPERED[f"option {_option} sealed"] = option(_option, sealed=True)
for _value in (None, [], 7, "x"):

    def _options(f: Files, value: Any = _value) -> None:
        f.plan["options"] = value
        f.seal()

    MALFORMED[f"options {_value!r}"] = _options


def broker(key: str, value: Callable[[Any], Any], sealed: bool = False) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        entry = next(b for b in f.plan["brokers"] if b["alive"] and not b["excluded"])
        entry[key] = value(entry[key])
        if sealed:
            f.seal()

    return forge


for _key, _change in {
    "excluded": lambda old: True,
    "alive": lambda old: False,
    "added": lambda old: not old,
    "rack": lambda old: "another",
    "id": lambda old: old + 100_000,
    "capacity": lambda old: 50,
    "disk_bytes": lambda old: 1,
}.items():
    TAMPERED[f"a broker's {_key}"] = broker(_key, _change)
TAMPERED["a broker's excluded sealed"] = broker("excluded", lambda old: True, sealed=True)
TAMPERED["a broker's alive sealed"] = broker("alive", lambda old: False, sealed=True)
TAMPERED["a broker's capacity sealed"] = broker("capacity", lambda old: "1/0", sealed=True)
TAMPERED["a broker's id sealed"] = broker("id", lambda old: 12345, sealed=True)


def column(key: str, sealed: bool) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        if f.part[key] is None:
            not_here()
        row = next((i for i in f.changed()), 0)
        f.part[key][row] = bent(f.part[key][row])
        if sealed:
            f.seal()

    return forge


for _key in ("size_bytes", "bytes_per_second", "chosen", "replication_factor", "partition"):
    TAMPERED[f"another {_key}"] = column(_key, sealed=False)


@tampering
def another_factor_sealed(f: Files) -> None:
    if f.plan["options"].get("no_moves"):
        not_here()
    f.part["replication_factor"][f.part["chosen"].index(True)] += 1
    f.seal()


@tampering
def a_changed_partition_called_left_out(f: Files) -> None:
    f.part["chosen"][first_changed(f)] = False
    f.seal()


@tampering
def a_forged_fingerprint(f: Files) -> None:
    f.plan["fingerprint"] = "0" * 64


# plan.json itself


@tampering
def another_format_version(f: Files) -> None:
    f.plan["format_version"] = 2


for _text in (
    "",
    "x",
    "{",
    "[]",
    "7",
    "null",
    "NaN",
    '"plan"',
    "[" * 100_000,
    "\ufeff",
    "1" * 9999,
):
    MALFORMED[f"plan.json is {_text[:9]!r}"] = lambda f, text=_text: f.values.update(
        {"plan.json": text}
    )

for _key in (
    *("format_version", "strategy", "changes", "options", "brokers", "topics", "partitions"),
    *("figures", "certificate", "waves", "fingerprint", "binding", "gaps"),
):
    MALFORMED[f"without {_key}"] = lambda f, key=_key: f.plan.pop(key)
    for _value in (None, 7, "x", [], {}, [None], [[]], {"x": 1}, [7], [{}]):

        def _set(f: Files, key: str = _key, value: Any = _value) -> None:
            if f.plan[key] == value:
                not_here()
            f.plan[key] = value

        MALFORMED[f"{_key} = {_value!r}"] = _set
for _key in ("topic", "partition", "size_bytes", "chosen", "replication_factor", "before", "after"):
    for _value in (None, 7, "x", [], {}, [[]], [None]):
        MALFORMED[f"partitions.{_key} = {_value!r}"] = lambda f, key=_key, value=_value: (
            f.part.update({key: value})
        )


def at(*path: Any, value: Any) -> Callable[[Files], None]:
    """Another value at a place in plan.json, and the fingerprint that goes with it."""

    def change(f: Files) -> None:
        inner = f.plan
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        f.seal()

    return change


_RETYPED: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (
    (("partitions", "size_bytes", 0), ("7", -1, 1.0, True)),
    (("partitions", "bytes_per_second"), ("x", 7, [], ["x"] * 40, [-1.0] * 40, [True] * 40, [0.5])),
    (("partitions", "chosen", 0), (1, "true", None)),
    (("partitions", "partition", 0), (-1, True, 0.0, "0")),
    (("partitions", "topic", 0), (False, 0.0, -1)),
    (("partitions", "replication_factor", 0), (3.0, True)),
    (("partitions", "before", 0), ([], [1, 1], [1.0, 2], "12")),
    (("partitions", "x"), (1,)),
    (("cluster_id",), (False, 7)),
    (("format_version",), (True, 1.0, "1")),
    (("brokers", 0, "id"), (False, 0.0, -1)),
    (("brokers", 0, "alive"), ("no", 1, None)),
    (("brokers", 0, "excluded"), (0, "no")),
    (("brokers", 0, "added"), (0, None)),
    (("brokers", 0, "rack"), (7, False)),
    (("brokers", 0, "disk_bytes"), ("1", -1, 1e99, True)),
    (("brokers", 0, "capacity"), (0, -1, True, "1", None)),
    (("brokers", 0, "x"), (1,)),
    (("options", "no_moves"), (1, "true")),
    (("options", "concurrency"), (True, 0, 2.0, "2")),
    (("options", "batch"), (True, 0, 9999.0)),
    (("options", "max_moves"), (True, -1, "9999")),
    (("options", "topics"), (7, ["t"])),
    (("options", "remove_broker"), ("3", [3])),
    (("options", "x"), (1,)),
    (("certificate", "stages", 0, "exact"), ("True", 1)),
    (("certificate", "stages", 0, "x"), (1,)),
    (("certificate", "x"), (1,)),
    (("figures", "before", "rack_violations"), (False, 0.0)),
    (("figures", "after", "settled"), (1, None)),
    (("figures", "after", "x"), (1,)),
    (("waves",), ([{}], [{"file": "waves/001.json"}])),
    (("binding",), ("x", [7], None)),
    (("loads",), ("x", [7], None)),
    (("warnings",), ("x", [7], [None])),
    (("partage",), (1,)),
    (("x",), (1,)),
)
for _path, _values in _RETYPED:
    for _value in _values:
        MALFORMED[f"{_path} is {str(_value)[:20]!r}"] = at(*_path, value=_value)
MALFORMED["a pattern too deep"] = at("options", "topics", value="(" * 9999)
MALFORMED["a pattern that is none"] = at("options", "topics", value="(")
for _key in ("loads", "warnings", "partage"):
    MALFORMED[f"without {_key}"] = lambda f, key=_key: f.plan.pop(key)


@pytest.mark.parametrize("tampered", TAMPERED)
def test_tampering_is_found(written: Callable[[str], Files], tampered: str) -> None:
    tried = 0
    for name in SOUND:
        found = written(name)
        try:
            TAMPERED[tampered](found)
            assert not judged(found.write()).sound, name
            tried += 1
        except NotHereError:
            continue
        finally:
            found.restore()
    assert tried


@pytest.mark.parametrize("tampered", MALFORMED)
def test_what_is_malformed_is_found(written: Callable[[str], Files], tampered: str) -> None:
    found = written("mixed")
    try:
        MALFORMED[tampered](found)
        assert not judged(found.write()).sound
    except NotHereError:
        pytest.skip("it is so already")
    finally:
        found.restore()


# ---------------------------------------------------------------- bytes that are no text


@pytest.mark.parametrize(
    "name", ["plan.json", "rollback.json", "reassignment.json", "waves/001.json"]
)
@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x1f\x8b\x08broken", b"\0" * 100])
def test_files_that_are_no_text(tmp_path: Path, name: str, content: bytes) -> None:
    directory = tmp_path / "plan"
    mixed().write(directory)
    (directory / name).write_bytes(content)
    assert not judged(directory).sound


def test_a_directory_in_place_of_a_file(tmp_path: Path) -> None:
    directory = tmp_path / "plan"
    mixed().write(directory)
    (directory / "rollback.json").unlink()
    (directory / "rollback.json").mkdir()
    assert not judged(directory).sound


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("brokers", 2, "alive"), "no", "brokers[2].alive: 'no', expected true or false"),
        (("brokers", 0, "capacity"), 0, "brokers[0].capacity: 0, expected a number above 0"),
        (("cluster_id",), False, "cluster_id: False, expected text"),
        (("options", "hidden"), 1, "options.hidden: unknown key"),
        (("partitions", "chosen", 1), 1, "partitions.chosen[1]: 1, expected true or false"),
        (("binding",), "none", "binding: 'none', expected a list"),
        (("figures",), [], "figures: [], expected an object"),
        (("format_version",), True, "format_version is True, expected 1"),
    ],
    ids=str,
)
def test_what_is_of_another_type_is_said_in_one_line(
    written: Callable[[str], Files], path: tuple[Any, ...], value: Any, said: str
) -> None:
    found = written("no-moves")
    try:
        at(*path, value=value)(found)
        assert judged(found.write()).defects == [f"plan.json: {said}"]
    finally:
        found.restore()


# ---------------------------------------------------------------- what follows without a second run


def denied(made: Plan, folder: Path, key: str, value: Any) -> list[str]:
    """The defects of a plan once its figure, or what it says, is another."""
    made.write(folder / "plan")
    assert judged(folder / "plan").defects == []
    f = Files(folder / "plan")
    (f.after if key in f.after else f.plan)[key] = value
    return judged(f.write()).defects


def test_lists_that_are_given_are_settled(tmp_path: Path) -> None:
    entry = {"topic": "t", "partition": 0, "replicas": [2, 3]}
    lists = {"version": 1, "partitions": [entry]}
    made = plan(cluster_of("1,2 2,3 3,1", "1 2 3"), reassignment=lists)
    assert made.changed.tolist() == [0]
    said = ["plan.json: figures.after.settled is False, expected True"]
    assert denied(made, tmp_path, "settled", False) == said


def test_a_plan_that_changes_nothing_is_settled(tmp_path: Path) -> None:
    made = plan(cluster_of("1 1 1 2", "1 2"), max_moves=0)
    assert not len(made.changed)
    assert "budget" in {stage.name for stage in made.stages}
    said = ["plan.json: figures.after.settled is False, expected True"]
    assert denied(made, tmp_path, "settled", False) == said


ABOUT_LOST = "of partitions with no live replica to copy from"


@pytest.mark.parametrize(
    "told",
    [
        [],
        ["1 partitions have no live replica to copy from, among them t-0: they cannot be"],
        ["2 partitions have no live replica to copy from, among them t-0"] * 2,
    ],
    ids=len,
)
def test_what_nobody_can_copy_must_be_told(tmp_path: Path, told: list[str]) -> None:
    made = plan(lost())
    lost_2 = "2 partitions have no live replica to copy from"
    stated = [line.partition(",")[0] for line in told]
    said = [f"plan.json: warnings {ABOUT_LOST}: {stated}, expected {[lost_2]}"]
    assert denied(made, tmp_path, "warnings", told) == said


def test_what_can_be_copied_is_not_called_lost(tmp_path: Path) -> None:
    told = ["1 partitions have no live replica to copy from, among them t-0: …"]
    stated = ["1 partitions have no live replica to copy from"]
    said = [f"plan.json: warnings {ABOUT_LOST}: {stated}, expected []"]
    assert denied(plan(cluster_of("1,2 2,1", "1 2")), tmp_path, "warnings", told) == said


def lost() -> Cluster:
    """Two partitions whose one holder is dead."""
    return Cluster.from_json(
        {
            "brokers": [{"id": b, "alive": b != 1} for b in (1, 2, 3)],
            "partitions": partitions([[1], [1], [2], [3]]),
        }
    )


# ---------------------------------------------------------------- what was planned anew


def replanned(f: Files, change: Callable[[Value], None] = lambda value: None) -> list[str]:
    """The defects beside a file as a run writes it, but for one change."""
    row = f.changed()[0]
    entry = {
        "topic": f.plan["topics"][f.part["topic"][row]],
        "partition": f.part["partition"][row],
        "replicas": f.part["before"][row],
        "wave": 0,
    }
    value = {"version": 1, "without": [4], "partitions": [entry]}
    change(value)
    f.values["replan-1.json"] = value
    try:
        return judged(f.write()).defects
    finally:
        f.restore()


def test_what_a_run_planned_anew_is_no_defect(written: Callable[[str], Files]) -> None:
    assert replanned(written("count")) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"replicas": [4, 4, 4]},
            "partitions[0].replicas: [4, 4, 4], expected a list of different",
        ),
        ({"replicas": []}, "partitions[0].replicas: [], expected a list of different"),
        (
            {"replicas": [True, 2]},
            "partitions[0].replicas: [True, 2], expected a list of different",
        ),
        ({"partition": "0"}, "partitions[0].partition: '0', expected a whole number"),
        ({"wave": 1.0}, "partitions[0].wave: 1.0, expected a whole number"),
        ({"log_dirs": []}, "partitions[0].log_dirs: unknown key"),
        ({"topic": "another"}, "the plan does not change another-"),
    ],
    ids=str,
)
def test_what_no_run_wrote_is_a_defect(
    written: Callable[[str], Files], change: Value, said: str
) -> None:
    (defect,) = replanned(written("count"), lambda value: value["partitions"][0].update(change))
    assert defect.startswith(f"replan-1.json: cannot have been written by a run ({said}")


def test_a_partition_is_planned_anew_once(written: Callable[[str], Files]) -> None:
    def twice(value: Value) -> None:
        value["partitions"] *= 2

    (defect,) = replanned(written("count"), twice)
    assert defect.endswith("is listed twice)")


def test_what_stays_is_not_planned_anew_again(written: Callable[[str], Files]) -> None:
    f = written("count")

    def and_again(value: Value) -> None:
        f.values["replan-2.json"] = value

    (defect,) = replanned(f, and_again)
    assert defect.startswith(
        "replan-2.json: cannot have been written by a run (the plan does not change "
    )


# ---------------------------------------------------------------- what is not there to be read


@pytest.mark.parametrize("name", ["plan.json", "rollback.json", "waves", "waves/001.json"])
def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    directory = tmp_path / "plan"
    mixed().write(directory)

    def refusing(usual: Callable[..., Any]) -> Callable[..., Any]:
        def ask(path: Path, *args: Any, **more: Any) -> Any:
            if path == directory / name:
                raise PermissionError(13, "Permission denied", str(path))
            return usual(path, *args, **more)

        return ask

    for method in ("open", "iterdir"):
        monkeypatch.setattr(Path, method, refusing(getattr(Path, method)))
    with pytest.raises(InputError) as caught:
        check(directory)
    assert str(caught.value) == f"{directory / name}: cannot be read (Permission denied)"


def test_a_pattern_that_other_pythons_may_read_otherwise(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan(cluster_of("1,2 2,1", "1 2"), topics="[[a-z].*").write(tmp_path / "plan")
    re.purge()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judged(tmp_path / "plan").defects == []


def test_what_is_no_plan_directory(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / ("a" * 300), Path(__file__)):
        with pytest.raises(InputError):
            check(path)


# ---------------------------------------------------------------- worse, and consistent everywhere


def worse_plan(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Any], None], disks: bool) -> Plan:
    """A plan that calls itself exact, made worse before anything was counted: all of its files,
    figures and values agree."""
    exact = STRATEGIES["exact"]

    def spoiled_exact(problem: Problem) -> Any:
        replicas = lead(problem, exact.decide(problem)).replicas.copy()
        spoil(replicas)
        return replicas

    monkeypatch.setitem(STRATEGIES, "exact", Strategy(spoiled_exact))
    return plan(grown(disks))


def a_useless_move(replicas: Any) -> None:
    """One replica more than needed moves: two partitions of brokers 1 and 4, both in rack a,
    exchange them."""
    one, other = 0, 3
    for p in range(len(replicas)):
        for q in range(len(replicas)):
            if (
                one in replicas[p]
                and other not in replicas[p]
                and other in replicas[q]
                and one not in replicas[q]
            ):
                replicas[p][replicas[p] == one] = other
                replicas[q][replicas[q] == other] = one
                return


def uneven_replicas(replicas: Any) -> None:
    for row in replicas:
        if 0 in row and 3 not in row:
            row[row == 0] = 3
            return


def uneven_leaders(replicas: Any) -> None:
    for row in replicas:
        if row[0] == 0:
            row[[0, 1]] = row[[1, 0]]
            return


def worse_followers(replicas: Any) -> None:
    for row in replicas[:40]:
        row[[1, 2]] = row[[2, 1]]


WORSE = {
    "a useless move": (a_useless_move, "moves"),
    "uneven replicas": (uneven_replicas, "replicas"),
    "uneven leaders": (uneven_leaders, "leaders"),
    "worse followers": (worse_followers, "failure"),
}


@pytest.mark.parametrize("name", WORSE)
def test_a_worse_plan_is_no_exact_plan(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    spoil, stage = WORSE[name]
    worse_plan(monkeypatch, spoil, disks=False).write(tmp_path / "plan")
    verdict = judged(tmp_path / "plan")
    assert any(f"certificate: {stage} is" in line for line in verdict.defects)


@pytest.mark.parametrize("name", WORSE)
def test_a_worse_plan_cannot_call_itself_optimal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    spoil, stage = WORSE[name]
    made = worse_plan(monkeypatch, spoil, disks=True)
    assert made.optimal is False
    made.write(tmp_path / "honest")
    honest = Files(tmp_path / "honest")
    # disks may keep a plan from the best, and it says itself that it is not: no defect
    verdict = judged(tmp_path / "honest")
    assert verdict.defects == []
    assert verdict.optimal is False
    assert honest.after["optimal"] is False
    value, bound = honest.stage(stage)["value"], honest.stage(stage)["bound"]
    assert value > bound

    def forged(changed: Callable[[Files], None]) -> CheckResult:
        honest.after["optimal"] = True
        honest.plan["gaps"] = honest.after["gaps"] = {}
        changed(honest)
        verdict = judged(honest.write())
        honest.restore()
        return verdict

    def set_bound(f: Files) -> None:
        f.stage(stage)["bound"] = value
        with_bound(f, f.stage(stage))

    def set_value(f: Files) -> None:
        f.stage(stage)["value"] = bound

    def set_huge_prices(f: Files) -> None:
        """Sums beyond 64 bits can come out as anything."""
        set_bound(f)
        prices = f.stage(stage)["prices"]
        for key in packed_keys(f.stage(stage)):
            count = len(zlib.decompress(base64.b64decode(prices[key]))) // 8
            prices[key] = pack(np.full(count, 2**62, dtype=np.int64))

    for lie in (lambda f: None, set_bound, set_value, set_huge_prices):
        assert not forged(lie).sound, lie


def test_prices_whose_sum_wraps_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In 64 bits the price C for every broker gives the bound (1 - E) * I * C + E * I**2 for E
    brokers and I partitions, modulo 2**64: some C makes it whatever a forger wants."""
    cluster = cluster_of("0,1,2,3 0,1,2,3 0,1,2,3 1,0,2,3 2,0,1,3", "0 1 2 3")
    as_it_is = Strategy(lambda problem: problem.cluster.replicas.copy())
    monkeypatch.setitem(STRATEGIES, "exact", as_it_is)
    made = plan(cluster, no_moves=True)
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    stage = found.stage("leaders")
    brokers, items = 4, 5
    assert (stage["value"], stage["bound"]) == (11, 7)
    price = (stage["value"] - brokers * items**2) * pow((1 - brokers) * items, -1, 2**64) % 2**64
    price -= 2**64 * (price >= 2**63)
    stage["prices"]["brokers"] = pack(np.full(brokers, price, dtype=np.int64))
    stage["bound"] = stage["value"]
    found.plan["gaps"].pop("leaders")
    found.after["gaps"].pop("leaders")
    found.after["optimal"] = True
    verdict = judged(found.write())
    assert any("prices too large to be summed" in line for line in verdict.defects)


def test_weights_that_are_nearly_right(tmp_path: Path) -> None:
    """Brokers of equal capacity weigh the same: with 8 and 9 another share would be the fairest."""
    plan(cluster_of("1 " * 9 + "2 " * 8, "1 2")).write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    for name in ("replicas", "moves", "topic spread"):
        found.stage(name)["prices"]["load_weights"] = [8, 9]
    verdict = judged(found.write())
    assert any("load_weights" in line for line in verdict.defects)


def test_waves_may_be_cut_otherwise(tmp_path: Path) -> None:
    """Two partitions that weigh the same may change places: every figure still holds."""
    made = plan(cluster_of("1 " * 6, "1 2 3"), concurrency=1)
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    first, *others = found.plan["waves"]
    same = next(wave for wave in others if wave["brokers"] == first["brokers"])
    one, other = (found.values[wave["file"]]["partitions"] for wave in (first, same))
    one[0], other[0] = other[0], one[0]
    assert judged(found.write()).sound


# ---------------------------------------------------------------- budgets, bytes and relief


def crowded_disks() -> Plan:
    """Broker 1 is to be relieved of more than a half; broker 2 may only be filled to three
    quarters, broker 3 to as much as it likes; a partition breaks the rack rule."""
    rows = "1/7 1/8 1/9 1/10 1/11 " * 8 + "u: 1,2/3"
    return plan(cluster_of(rows, "1:a/400 2:a/100 3:b 4:b/200"), relieve="75%")


LIMITED: dict[str, Callable[[], Plan]] = {
    "tolerance": lambda: plan(grown(disks=False), tolerance="20%"),
    "moves": lambda: plan(grown(disks=False), max_moves=60),
    "both": lambda: plan(grown(disks=False), max_moves=90, tolerance="10%", add_broker=["9:a"]),
    "cheaper": lambda: plan(grown(disks=False), max_bytes_moved="560GB"),
    "fewer": lambda: plan(grown(disks=False), max_bytes_moved="210GB"),
    "bytes": lambda: plan(grown(disks=False), balance="bytes"),
    "bytes, wider": lambda: plan(grown(), balance="bytes", tolerance="10%"),
    "bytes, any": lambda: plan(grown(), balance="bytes", tolerance="300%"),
    "bytes, fewer": lambda: plan(grown(), balance="bytes", max_moves=60, max_bytes_moved="400GB"),
    "bytes, packed": lambda: plan(grown(), balance="bytes", strategy="bin-packing"),
    "relief": crowded_disks,
}

OVERSTEPPED: dict[str, Callable[[Files], None]] = {}
"""Lies about limits, bands and bytes."""


def overstepping(function: Callable[[Files], None]) -> Callable[[Files], None]:
    OVERSTEPPED[function.__name__.replace("_", " ")] = function
    return function


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """Every limited plan, written once."""
    found = {}
    for name, make in LIMITED.items():
        directory = tmp_path_factory.mktemp("limited") / "plan"
        make().write(directory)
        found[name] = Files(directory)
    return found


def a_stage(f: Files, *names: str) -> Value:
    """The first stage of these that the plan has."""
    stages: list[Value] = f.plan["certificate"]["stages"]
    return next((s for s in stages if s["stage"] in names), None) or not_here()


def asked(f: Files, *names: str) -> str:
    return next((name for name in names if name in f.plan["options"]), None) or not_here()


def changed_price(f: Files, stage: Value, key: str, by: Callable[[Any], Any]) -> None:
    if key not in stage["prices"]:
        not_here()
    count = len(zlib.decompress(base64.b64decode(stage["prices"][key]))) // 8
    stage["prices"][key] = pack(by(unpack(stage["prices"][key], count)))


OVERSTEPPED["a placement"] = a_replica_on_another_broker
OVERSTEPPED["two placements"] = two_partitions_exchanged
OVERSTEPPED["another list before"] = another_list_before

for _name in ("budget", "bytes", "bytes moved"):
    for _what, _forge in (
        ("value lowered", lambda f, s: s.update(value=s["value"] - 1)),
        ("value raised", lambda f, s: s.update(value=s["value"] + 1)),
        ("bound raised", raise_bound),
        ("bound lowered", lower_bound),
        ("value and bound lowered", lower_both),
        ("called exact", lambda f, s: s.update(exact=True)),
        ("renamed", lambda f, s: s.update(stage="another")),
        ("dropped", drop_stage),
        ("twice", lambda f, s: f.plan["certificate"]["stages"].append(s)),
        ("prices that are none", empty_prices),
        ("bound as text", lambda f, s: s.update(bound=str(s["bound"]))),
    ):

        def _in_limited(
            f: Files, name: str = _name, forge: Callable[[Files, Value], None] = _forge
        ) -> None:
            stage = a_stage(f, name)
            forge(f, stage)
            if name == "bytes moved":
                f.after["bytes_moved_lower_bound"] = stage["bound"]

        OVERSTEPPED[f"{_name}: {_what}"] = _in_limited
    if _name != "bytes":
        for _what, _spoil in (
            ("random prices", spoiled),
            ("prices cut short", lambda text: text[:-5]),
            ("prices that are no text", lambda text: [1, 2]),
            ("prices of another count", lambda text: pack(np.arange(999))),
        ):

            def _priced(f: Files, name: str = _name, spoil: Callable[[str], Any] = _spoil) -> None:
                stage = a_stage(f, name)
                stage["prices"]["brokers"] = spoil(stage["prices"]["brokers"])

            OVERSTEPPED[f"{_name}: {_what}"] = _priced


def held_after(f: Files, place: int) -> int:
    """The bytes on a broker, by its place in the list."""
    broker = f.plan["brokers"][place]["id"]
    rows = zip(f.part["size_bytes"], f.part["after"], strict=True)
    return sum(size for size, row in rows if broker in row)


@overstepping
def a_band_above_what_the_broker_holds(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "low", lambda low: low + 10**15)


@overstepping
def a_band_below_what_the_broker_holds(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "high", lambda high: np.minimum(high, 1))


@overstepping
def a_band_of_the_wrong_length(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "low", lambda low: low[:-1])


@overstepping
def prices_whose_sum_would_wrap(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "brokers", lambda price: price + 2**61)


@overstepping
def prices_without_a_64_bit_magnitude(f: Files) -> None:
    changed_price(f, a_stage(f, "bytes moved"), "brokers", lambda p: np.full_like(p, -(2**63)))


@overstepping
def weights_that_are_not_whole(f: Files) -> None:
    a_stage(f, "bytes", "budget")["prices"]["load_weights"][0] += 0.5


@overstepping
def bytes_of_brokers_that_weigh_otherwise(f: Files) -> None:
    a_stage(f, "bytes")["prices"]["load_weights"][0] += 1


@overstepping
def confined_to_nobody(f: Files) -> None:
    a_stage(f, "bytes")["prices"]["confined"] = []


@overstepping
def confined_to_strangers(f: Files) -> None:
    a_stage(f, "bytes")["prices"]["confined"] = [4711]


@overstepping
def counts_that_weigh_otherwise(f: Files) -> None:
    a_stage(f, "budget")["prices"]["load_weights"][0] += 1


@overstepping
def a_dearer_move(f: Files) -> None:
    prices = a_stage(f, "budget")["prices"]
    if "move_price" not in prices:
        not_here()
    prices["move_price"] += 5


@overstepping
def a_move_that_pays(f: Files) -> None:
    prices = a_stage(f, "budget")["prices"]
    if "move_price" not in prices:
        not_here()
    prices["move_price"] = -1


@overstepping
def another_limit_that_binds(f: Files) -> None:
    prices = a_stage(f, "budget")["prices"]
    names = ["tolerance", "max-moves", "max-bytes-moved"]
    prices["limit"] = names[names.index(prices["limit"]) - 1]


@overstepping
def a_limit_of_no_name(f: Files) -> None:
    a_stage(f, "budget")["prices"]["limit"] = "x"


@overstepping
def windows_around_other_counts(f: Files) -> None:
    changed_price(f, a_stage(f, "budget"), "fair", lambda fair: fair + 40)


def aimed_stages(f: Files) -> list[Value]:
    found = [s for s in f.plan["certificate"]["stages"] if "aim" in s["prices"]]
    return found or not_here()


@overstepping
def an_aim_at_other_loads(f: Files) -> None:
    for stage in aimed_stages(f):
        stage["prices"]["aim"][0] += 1
        stage["prices"]["aim"][1] -= 1


@overstepping
def an_aim_between_loads(f: Files) -> None:
    for stage in aimed_stages(f):
        stage["prices"]["aim"][0] += 0.5


@overstepping
def an_aim_without_a_64_bit_magnitude(f: Files) -> None:
    for stage in aimed_stages(f):
        stage["prices"]["aim"][0] = -(2**63)


@overstepping
def an_aim_of_one_stage(f: Files) -> None:
    del aimed_stages(f)[0]["prices"]["aim"]


@overstepping
def no_aim(f: Files) -> None:
    for stage in aimed_stages(f):
        del stage["prices"]["aim"]


@overstepping
def an_aim_too_long(f: Files) -> None:
    aimed_stages(f)[0]["prices"]["aim"].append(0)


@overstepping
def an_aim_that_no_limit_asks_for(f: Files) -> None:
    a_stage(f, "budget")
    for name in ("tolerance", "max_moves", "max_bytes_moved"):
        f.plan["options"].pop(name, None)
    f.seal()


@overstepping
def an_aim_where_everything_is_fair(f: Files) -> None:
    """Loads counted from an aim are as fair as one likes."""
    if "budget" in f.plan["certificate"]:
        not_here()
    stage = a_stage(f, "replicas")
    if "aim" in stage["prices"]:
        not_here()
    stage["prices"]["aim"] = [1] * len(stage["prices"]["load_weights"])


@overstepping
def fewer_moves_allowed(f: Files) -> None:
    f.plan["options"][asked(f, "max_moves")] = f.after["moves"] - 1
    f.seal()


@overstepping
def fewer_bytes_allowed(f: Files) -> None:
    f.plan["options"][asked(f, "max_bytes_moved")] = f"{f.after['bytes_moved'] - 1}"
    f.seal()


@overstepping
def less_of_a_disk_allowed(f: Files) -> None:
    f.plan["options"][asked(f, "relieve")] = "70%"
    f.seal()


@overstepping
def less_tolerance(f: Files) -> None:
    a_stage(f, "budget")
    f.plan["options"][asked(f, "tolerance")] = "1%"
    if a_stage(f, "budget")["prices"]["limit"] != "tolerance":
        not_here()
    f.seal()


@overstepping
def a_smaller_disk(f: Files) -> None:
    asked(f, "relieve")
    f.plan["brokers"][0]["disk_bytes"] -= 40
    f.seal()


@overstepping
def a_limit_that_is_no_size(f: Files) -> None:
    f.plan["options"][asked(f, "max_bytes_moved")] = "much"
    f.seal()


@overstepping
def a_limit_that_is_no_number(f: Files) -> None:
    f.plan["options"][asked(f, "max_moves")] = "many"
    f.seal()


@overstepping
def a_part_that_is_none(f: Files) -> None:
    if "max_moves" in f.plan["options"]:
        not_here()  # that is what binds
    f.plan["options"][asked(f, "relieve", "tolerance")] = "x%"
    f.seal()


@overstepping
def a_band_that_is_narrower_than_relief_asks_for(f: Files) -> None:
    """A broker that could take no more would make every move look needed."""
    asked(f, "relieve")
    stage = a_stage(f, "bytes moved")
    changed_price(f, stage, "high", lambda high: np.append(high[:-1], held_after(f, -1)))


@overstepping
def a_band_that_relief_does_not_ask_for(f: Files) -> None:
    asked(f, "relieve")
    changed_price(f, a_stage(f, "bytes moved"), "low", lambda low: np.append(low[:-1], 1))


@overstepping
def bytes_called_replicas(f: Files) -> None:
    del f.plan["options"][asked(f, "balance")]
    f.seal()


@overstepping
def relief_denied(f: Files) -> None:
    del f.plan["options"][asked(f, "relieve")]
    f.seal()


@overstepping
def a_size_forged(f: Files) -> None:
    f.part["size_bytes"][first_changed(f)] += 10**9


for _key in (
    *("moves", "moves_lower_bound", "bytes_moved", "bytes_moved_lower_bound"),
    *("optimal", "bytes_max_over_mean", "gaps", "replicas_per_broker"),
):

    def _bent_figure(f: Files, key: str = _key) -> None:
        f.after[key] = bent(f.after[key]) if f.after[key] is not None else 1

    OVERSTEPPED[f"figure {_key}"] = _bent_figure


@overstepping
def optimal_and_without_gaps(f: Files) -> None:
    if f.after["optimal"]:
        not_here()
    f.after["optimal"] = True
    f.plan["gaps"] = f.after["gaps"] = {}


@pytest.mark.parametrize("name", LIMITED)
def test_what_was_planned_within_limits_is_sound(limited: dict[str, Files], name: str) -> None:
    verdict = judged(limited[name].directory)
    assert verdict.defects == []
    assert verdict.optimal is limited[name].after["optimal"]


def test_the_limited_plans_are_of_every_kind(limited: dict[str, Files]) -> None:
    kinds = [
        stage["prices"].get("limit", stage["stage"])
        for files_ in limited.values()
        for stage in files_.plan["certificate"]["stages"]
        if stage["stage"] in ("budget", "bytes", "bytes moved")
    ]
    assert {"tolerance", "max-moves", "max-bytes-moved", "bytes", "bytes moved"} == set(kinds)
    assert limited["relief"].after["bytes_moved"] > 0
    assert limited["relief"].after["rack_violations"] == 1


@pytest.mark.parametrize("lie", OVERSTEPPED)
def test_limits_cannot_be_overstepped(limited: dict[str, Files], lie: str) -> None:
    tried = 0
    for name, found in limited.items():
        try:
            OVERSTEPPED[lie](found)
            assert not judged(found.write()).sound, name
            tried += 1
        except NotHereError:
            pass
        finally:
            found.restore()
    assert tried


def test_a_tolerance_of_other_windows_is_found_whatever_else_is_forged(tmp_path: Path) -> None:
    """Nobody may call a plan for 20 % one for 1 %: its loads are outside. Nor may the fair counts
    be moved to where the loads are: no fair loads have such prices."""
    made = plan(grown(disks=False), tolerance="20%")
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    found.plan["options"]["tolerance"] = "1%"
    found.seal()
    assert any("outside the tolerance" in line for line in judged(found.write()).defects)
    held = made.after.replicas[made.after.replicas >= 0]
    load = np.bincount(held, minlength=len(made.after.brokers))
    prices = found.stage("budget")["prices"]
    assert found.stage("budget")["bound"] == found.stage("budget")["value"]
    # with these the bound of all windows is as before, for every load is the middle of its own
    prices["fair"] = pack(2 * load)
    defects = judged(found.write()).defects
    assert defects == ["plan.json: certificate: budget: no fair loads have these prices"]


def test_no_window_around_counts_that_the_racks_do_not_allow(tmp_path: Path) -> None:
    """60 or 61 replicas each would be fairer than 54 and 81, and their price proves no less."""
    made = plan(grown(disks=False), tolerance="40%")
    made.write(tmp_path / "plan")
    found = Files(tmp_path / "plan")
    found.stage("budget")["prices"]["fair"] = pack(np.full(8, 2 * 60 + 1))
    defects = judged(found.write()).defects
    assert "plan.json: certificate: budget: no fair loads have these prices" in defects


def test_limits_are_kept_by_whoever_plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plan that makes a move too many, true in all that it says, is refused."""

    def too_many(problem: Problem) -> Any:
        free = PlanOptions(**{**problem.options.given(), "max_moves": None})
        return STRATEGIES["generous"].decide(Problem.resolve(problem.cluster, free))

    generous = STRATEGIES["exact"]
    monkeypatch.setitem(STRATEGIES, "generous", generous)
    monkeypatch.setitem(STRATEGIES, "exact", Strategy(too_many, ordered=False))
    plan(grown(disks=False), max_moves=60).write(tmp_path / "plan")
    verdict = judged(tmp_path / "plan")
    assert any("173 moves, at most 60 are allowed" in line for line in verdict.defects)


@examples(150)
@given(job=jobs(no_moves=False), data=st.data())
def test_whatever_is_planned_within_limits_is_sound(
    job: tuple[Value, Value], data: st.DataObject
) -> None:
    cluster, options = job
    options = {key: value for key, value in options.items() if key != "spread"}
    total = 0
    for entry in cluster["partitions"]:
        entry["size_bytes"] = data.draw(st.integers(0, 60))
        total += entry["size_bytes"] * len(entry["replicas"])
    for entry in cluster["brokers"]:
        if data.draw(st.booleans()):
            entry["disk_bytes"] = 1 + total * data.draw(st.integers(30, 300)) // 100
    kind = data.draw(st.sampled_from(("bytes", "relieve", "counts")))
    if kind == "bytes":
        options["balance"] = "bytes"
    if kind == "relieve":
        options["relieve"] = data.draw(st.sampled_from(("30%", "75 %", "99.5%", "100%")))
    elif data.draw(st.booleans()):
        options["tolerance"] = data.draw(st.sampled_from(("0%", "2%", "33.3333%", "100%")))
    if data.draw(st.booleans()):
        options["max_moves"] = data.draw(st.integers(0, 9))
    if data.draw(st.booleans()):
        options["max_bytes_moved"] = str(data.draw(st.integers(1, 1 + total)))
    try:
        made = plan(Cluster.from_json(cluster), **options)
    except (InputError, CannotError):
        return
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder) / "plan")
        verdict = judged(Path(folder) / "plan")
    # a bound that disks may beat is told in two ways, see there
    assert verdict.defects == []
    assert verdict.optimal is made.optimal
