"""Tampering with the options, and with what follows from them."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage.brokers.check import check
from partage.brokers.directory import fingerprint
from partage.brokers.planning import plan
from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    Value,
    bent,
    first_changed,
    judged,
    not_here,
)
from tests.matrices import cluster_of

TAMPERED = Tamperings()

MALFORMED = Tamperings()


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


@TAMPERED.add
def another_factor_sealed(f: Files) -> None:
    if f.plan["options"].get("no_moves"):
        not_here()
    f.part["replication_factor"][f.part["chosen"].index(True)] += 1
    f.seal()


@TAMPERED.add
def a_changed_partition_called_left_out(f: Files) -> None:
    f.part["chosen"][first_changed(f)] = False
    f.seal()


@TAMPERED.add
def a_forged_fingerprint(f: Files) -> None:
    f.plan["fingerprint"] = "0" * 64


@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(sound_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, sound_plans)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_values_are_found(sound_plans: LazyPlans, name: str) -> None:
    MALFORMED.assert_found(name, {"mixed": sound_plans["mixed"]})


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
def test_options_are_read_as_the_planner_reads_them(tmp_path: Path, options: Value) -> None:
    """A rack may have colons, an id zeros before it."""
    cluster = cluster_of("1,2 2,3 3,1 1,3", "1:a 2:eu:west 3:a")
    plan(cluster, **options).write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []


def test_a_broker_added_where_there_are_no_racks(tmp_path: Path) -> None:
    plan(cluster_of("1,2 2,1", "1 2"), add_broker=["03"]).write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []


def test_a_pattern_that_python_warns_about(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan(cluster_of("1,2 2,1", "1 2"), topics="[[a-z].*").write(tmp_path / "plan")
    re.purge()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judged(tmp_path / "plan").defects == []


@pytest.mark.parametrize("pattern", ["(a|aa)+b", "(?!b)(a|aa)+b"])
def test_a_pattern_on_which_python_would_backtrack_for_ever(tmp_path: Path, pattern: str) -> None:
    cluster = cluster_of("1,2 2,1", "1 2")
    plan(cluster, topics="t").write(tmp_path / "plan")
    path = tmp_path / "plan/plan.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["topics"] = ["a" * 249]
    document["options"]["topics"] = pattern
    document["fingerprint"] = fingerprint(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    assert judged(tmp_path / "plan").defects
