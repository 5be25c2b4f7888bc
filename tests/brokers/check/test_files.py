"""Tampering with reassignment.json, rollback.json and the wave files."""

from __future__ import annotations

import codecs
import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partage
from partage.brokers.check import check, files
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.directory import MARKER
from partage.files import to_json
from tests.brokers.check.plans import SOUND, LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    a_wave,
    entries,
    longer,
    not_here,
    other_broker,
)
from tests.matrices import cluster_of

TAMPERED = Tamperings()
"""Tamperings that every plan must survive."""

MALFORMED = Tamperings()
"""Wave names that are wrong in any plan."""


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


@TAMPERED.add
def a_true_for_broker_1(f: Files) -> None:
    found = [e for e in entries(f, "reassignment.json") if 1 in e["replicas"]]
    if not found:
        not_here()
    found[0]["replicas"] = [True if b == 1 else b for b in found[0]["replicas"]]


# the waves


@TAMPERED.add
def another_broker_in_a_wave(f: Files) -> None:
    row = f.values[a_wave(f)]["partitions"][0]["replicas"]
    row[-1] = other_broker(f, row)


@TAMPERED.add
def log_dirs_in_a_wave(f: Files) -> None:
    f.values[a_wave(f)]["partitions"][0]["log_dirs"] = ["/evil"]


@TAMPERED.add
def a_wave_missing(f: Files) -> None:
    f.remove(a_wave(f))


@TAMPERED.add
def a_wave_more(f: Files) -> None:
    f.values["waves/999.json"] = {"version": 1, "partitions": []}


@TAMPERED.add
def a_file_among_the_waves(f: Files) -> None:
    f.values["waves/run.sh"] = "rm"


@TAMPERED.add
def a_wave_listed_twice(f: Files) -> None:
    a_wave(f)
    f.plan["waves"].append(f.plan["waves"][0])


@TAMPERED.add
def a_wave_listed_twice_with_true_figures(f: Files) -> None:
    a_wave(f)
    f.plan["waves"].append(f.plan["waves"][0])
    f.after["waves"] += 1


@TAMPERED.add
def a_wave_not_listed(f: Files) -> None:
    a_wave(f)
    f.plan["waves"].pop()


@TAMPERED.add
def a_wave_neither_listed_nor_there(f: Files) -> None:
    f.remove(a_wave(f))
    f.plan["waves"].pop(0)
    f.after["waves"] -= 1


@TAMPERED.add
def a_partition_in_another_wave(f: Files) -> None:
    if len(f.plan["waves"]) < 2:
        not_here()
    one, other = (f.values[wave["file"]]["partitions"] for wave in f.plan["waves"][:2])
    other.append(one.pop())


@TAMPERED.add
def a_partition_in_two_waves(f: Files) -> None:
    if len(f.plan["waves"]) < 2:
        not_here()
    one, other = (f.values[wave["file"]]["partitions"] for wave in f.plan["waves"][:2])
    other.append(one[0])
    f.plan["waves"][1]["partitions"] += 1


@TAMPERED.add
def a_partition_in_no_wave(f: Files) -> None:
    f.values[a_wave(f)]["partitions"].pop()


@TAMPERED.add
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


@TAMPERED.add
def deleted_replicas_of_a_wave_forged(f: Files) -> None:
    a_wave(f)
    wave = f.plan["waves"][0]
    wave["replicas_deleted"] = wave.get("replicas_deleted", 0) + 1


@TAMPERED.add
def deleted_replicas_of_a_wave_hidden(f: Files) -> None:
    a_wave(f)
    if "replicas_deleted" not in f.plan["waves"][0]:
        not_here()
    del f.plan["waves"][0]["replicas_deleted"]


@TAMPERED.add
def changes_denied(f: Files) -> None:
    f.plan["changes"] = not f.plan["changes"]


@pytest.mark.sampled(3)
@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(sound_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, sound_plans)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_values_are_found(sound_plans: LazyPlans, name: str) -> None:
    MALFORMED.assert_found(name, {"mixed": sound_plans["mixed"]})


# ---------------------------------------------------------------- text or values


@pytest.mark.parametrize("name", SOUND)
def test_text_says_what_the_parsed_file_says(sound_plans: LazyPlans, name: str) -> None:
    found = sound_plans[name]
    columns = PlanColumns(found.plan, found.directory)
    for file, text in found.before.items():
        if file in (MARKER, ".partage.json"):
            continue
        lists = columns.before if file == "rollback.json" else columns.after
        parsed = files._parsed(columns, text, file, lists)
        listed = files.read_listed(columns, file)
        assert listed.rows.tolist() == parsed.rows.tolist()
        assert (listed.others, listed.unknown) == (parsed.others, parsed.unknown) == ({}, {})


def test_what_partage_writes_is_compared_as_text(
    sound_plans: LazyPlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the text is as it should be")

    monkeypatch.setattr(files, "_parsed", refuse)
    assert check(sound_plans["count"].directory).sound


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"version":1,', '{"version":1,"version":1,'),
        ('{"version":1,', '{"version":2,'),
        ('"topic":', '"topic":"x","topic":'),
        ("]}]}\n", "]},]}\n"),
        ("]}]}\n", "]}]}\n{}"),
        ("]}]}\n", "]},{}]}\n"),
        ("]}]}\n", "]}],}\n"),
        ("},{", "},{},{"),
        ("},{", "}{"),
        (',"replicas":[', ',"replicas":[,'),
        (',"replicas":[', ',"replicas":[1,'),
    ],
)
@pytest.mark.parametrize("file", ["reassignment.json", "rollback.json", "waves/001.json"])
def test_text_that_is_nearly_right(sound_plans: LazyPlans, file: str, old: str, new: str) -> None:
    found = sound_plans["count"]
    text = found.before[file]
    assert old in text
    found.values[file] = text.replace(old, new, 1)
    try:
        (defect,) = check(found.write()).defects[:1]
        assert defect.startswith((f"{file}: ", "waves: "))
    finally:
        found.restore()


def test_other_spaces_and_orders_are_no_defect(sound_plans: LazyPlans) -> None:
    found = sound_plans["count"]
    try:
        for file in ("reassignment.json", "rollback.json", "waves/001.json"):
            found.values[file]["partitions"].reverse()
            found.values[file] = json.dumps(found.values[file], indent=1, sort_keys=True)
        assert check(found.write()).defects == []
    finally:
        found.restore()


def test_topics_of_any_name(sound_plans: LazyPlans) -> None:
    """Text between two braces may be a part of a topic's name."""
    found = sound_plans["count"]
    value = copy.deepcopy(found.plan)
    replaced = ('"', "\\", "a", 'a},{"topic":"b', "},{", "é")
    value["topics"] = sorted({*replaced, *value["topics"][len(replaced) :]})
    columns = PlanColumns(value, found.directory)
    rows = np.flatnonzero(columns.changes).tolist()
    entries = [
        {
            "topic": columns.topics[columns.topic[row]],
            "partition": int(columns.number[row]),
            "replicas": columns.after[row],
        }
        for row in rows
    ]
    text = to_json({"version": 1, "partitions": entries})
    read = files._rows_by_text(text, files._row_of_text(columns, "after"))
    assert read is None or read.tolist() == rows
    assert files._parsed(columns, text, "x", columns.after).rows.tolist() == rows


@pytest.mark.parametrize("name", ["reassignment.json", "rollback.json", "waves/001.json"])
@pytest.mark.parametrize("change", [gzip.compress, lambda raw: codecs.BOM_UTF8 + raw])
def test_files_that_kafkas_tool_cannot_read(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    partage.plan(cluster_of("1 1 1 2", "1 2 3")).write(tmp_path / "plan")
    file = tmp_path / "plan" / name
    assert check(tmp_path / "plan").sound
    file.write_bytes(change(file.read_bytes()))
    problem = f"{name}: is compressed or has a byte order mark: Kafka's tool does not read it"
    assert problem in check(tmp_path / "plan").defects
