"""Options of a plan: read when given, checked together, written as text that reads the same."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from partage import InputError
from partage.brokers.option_values import LeaderRacks, NewBroker, Replacement, ReplicationFactor
from partage.brokers.options import PlanOptions, declared
from partage.units import Bytes, Percent, Rate

T_IN_A = LeaderRacks("t", ("a",))


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("remove_broker", 3, (3,)),
        ("remove_broker", "3", (3,)),
        ("remove_broker", [3, "4"], (3, 4)),
        ("remove_broker", (3, 4), (3, 4)),
        ("remove_broker", ["3,4", 5], (3, 4, 5)),
        ("add_broker", "9:c", (NewBroker(9, "c"),)),
        ("add_broker", "9:eu:1a", (NewBroker(9, "eu:1a"),)),
        ("add_broker", (9, "c"), (NewBroker(9, "c"),)),
        ("add_broker", 9, (NewBroker(9),)),
        ("add_broker", "9:c,10", (NewBroker(9, "c"), NewBroker(10))),
        ("add_broker", (9, 10), (NewBroker(9), NewBroker(10))),
        ("add_broker", ("9:c", (10, "a")), (NewBroker(9, "c"), NewBroker(10, "a"))),
        ("add_broker", {9: "c"}, (NewBroker(9, "c"),)),
        ("replace_broker", "3=9", (Replacement(3, 9),)),
        ("replace_broker", "3=9,4=10", (Replacement(3, 9), Replacement(4, 10))),
        ("replace_broker", (3, 9), (Replacement(3, 9),)),
        ("replace_broker", {3: 9, 4: 10}, (Replacement(3, 9), Replacement(4, 10))),
        ("replace_broker", ["3=9", (4, 10)], (Replacement(3, 9), Replacement(4, 10))),
        ("replication_factor", 3, (ReplicationFactor(None, 3),)),
        ("replication_factor", "t=3", (ReplicationFactor("t", 3),)),
        ("replication_factor", {"t": 3}, (ReplicationFactor("t", 3),)),
        ("replication_factor", ("a=b", 3), (ReplicationFactor("a=b", 3),)),
        ("leader_racks", "t=a,b", (LeaderRacks("t", ("a", "b")),)),
        ("leader_racks", "a", (LeaderRacks(None, ("a",)),)),
        ("leader_racks", {"t": ["a"], "u": "b,c"}, (T_IN_A, LeaderRacks("u", ("b", "c")))),
        ("leader_racks", ("t", ("a",)), (T_IN_A,)),
        ("demote_broker", "3,4", (3, 4)),
        ("demote_broker", 3, (3,)),
        ("topics", "a.*", re.compile("a.*")),
        ("topics", re.compile("a.*"), re.compile("a.*")),
        ("tolerance", 0.05, Percent(5, 100)),
        ("tolerance", "5%", Percent(5, 100)),
        ("relieve", Fraction(4, 5), Percent(4, 5)),
        ("max_moves", 0, 0),
        ("max_moves", "7", 7),
        ("max_bytes_moved", 2e12, Bytes(2 * 10**12)),
        ("max_bytes_moved", "2TB", Bytes(2 * 10**12)),
        ("throttle", "50MB/s", Rate(50_000_000)),
        ("concurrency", "3", 3),
        ("leaders", "rate", "rate"),
        ("no_moves", True, True),
    ],
)
def test_an_option_takes_text_and_natural_values(name: str, given: Any, value: Any) -> None:
    options = PlanOptions(**{name: given})
    assert getattr(options, name) == value
    assert replace(options) == options == PlanOptions(**options.given())


def test_none_is_the_default() -> None:
    assert PlanOptions(**dict.fromkeys(one.name for one in declared())) == PlanOptions()


def test_only_what_differs_from_the_defaults_is_given() -> None:
    assert PlanOptions().given() == {}
    assert PlanOptions(remove_broker=3, leaders="rate", concurrency=2).given() == {
        "remove_broker": ["3"],
        "leaders": "rate",
    }
    assert PlanOptions(tolerance=0.05, throttle=5e7, add_broker=(9, "c"), max_moves=1).given() == {
        "add_broker": ["9:c"],
        "max_moves": 1,
        "tolerance": "5%",
        "throttle": "50MB",
    }


def test_repr_shows_what_is_given() -> None:
    assert repr(PlanOptions(tolerance=0.05)) == "PlanOptions(tolerance='5%')"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"leaders": "size"}, "leaders size: expected count or rate"),
        ({"leaders": ["count"]}, "leaders"),
        ({"spread": None, "leaders": 7}, "leaders 7: expected count or rate"),
        ({"spread": "rack"}, "spread rack: expected cluster or topic"),
        ({"concurrency": 0}, "concurrency 0: expected a whole number from 1"),
        ({"concurrency": 1.5}, "concurrency 1.5"),
        ({"concurrency": True}, "concurrency True"),
        ({"throttle": "x"}, "throttle x: expected a rate such as 50MB"),
        ({"throttle": -1}, "throttle -1: must be above 0"),
        ({"max_bytes_moved": "2TB/s"}, "max_bytes_moved 2TB/s: expected a size"),
        ({"topics": 5}, "topics 5: expected a regular expression"),
        ({"topics": ["t"]}, "topics"),
        ({"topics": "["}, "topics [: is not a regular expression"),
        ({"strategy": 5}, "strategy 5: expected text"),
        ({"strategy": ["exact"]}, "strategy"),
        ({"no_moves": "yes"}, "no_moves yes: expected true or false"),
        ({"remove_broker": 1.5}, "remove_broker 1.5: expected one value or a sequence of them"),
        ({"remove_broker": [True]}, "remove_broker True: expected a broker id"),
        ({"remove_broker": {3: 4}}, "remove_broker"),
        ({"add_broker": {1: 2}}, "add_broker (1, 2): expected a rack"),
        ({"add_broker": ["9:c", "x"]}, "add_broker x: expected a broker id"),
        ({"replace_broker": [(3, 9, 1)]}, "replace_broker"),
        ({"tolerance": "200"}, "tolerance 200: expected a percentage such as 2%"),
        ({"relieve": "0%"}, "relieve 0%: must be above 0% and at most 100%"),
        (
            {"relieve": "disk=60%,out=1000%"},
            "relieve disk=60%,out=1000%: must be at least 0% and below 1000%",
        ),
        (
            {"relieve": "disk=130%,out=90%"},
            "relieve disk=130%,out=90%: disk must be above 0% and at most 100%",
        ),
        ({"relieve": "101%"}, "relieve 101%: must be above 0% and at most 100%"),
        ({"relieve": 0.8, "tolerance": 0.1}, "relieve: only keeps limits: `tolerance`"),
        ({"relieve": 0.8, "balance": "bytes"}, "relieve: only keeps limits: `balance` bytes"),
        ({"relieve": "out=0%"}, "relieve out=0%: out must be above 0%"),
        ({"relieve": "cpu=80%"}, "relieve cpu=80%: cpu is not a resource"),
        ({"relieve": "out=80%", "leaders": "rate"}, "relieve: changes as few leaders as it can"),
        ({"relieve": "in=80%", "no_moves": True}, "no_moves: leaves nothing for `relieve` to do"),
        ({"relieve": "in=80%", "balance": "load"}, "balance load: cannot be combined with"),
        ({"no_moves": True, "max_moves": 3}, "no_moves: leaves nothing for `max_moves` to do"),
        ({"no_moves": True, "balance": "bytes"}, "no_moves: leaves nothing for `balance` bytes"),
        (
            {"no_moves": True, "remove_broker": 3},
            "no_moves: forbids the moves",
        ),
        ({"no_moves": True, "replication_factor": 2}, "no_moves: cannot be combined with `repl"),
        ({"spread": "topic", "tolerance": 0.1}, "spread topic: cannot be combined with"),
        ({"reassignment": {"partitions": 5}}, "reassignment: partitions: expected"),
    ],
    ids=str,
)
def test_options_that_are_rejected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        PlanOptions(**given)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'unknown'"):
        PlanOptions(unknown=1)  # type: ignore[call-arg]


def test_a_reassignment_decides_by_itself() -> None:
    lists = {"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}
    assert PlanOptions(reassignment=lists).strategy == "given"
    assert PlanOptions(reassignment=lists, strategy="given").strategy == "given"
    assert PlanOptions().strategy == "exact"
    with pytest.raises(InputError, match="leave out `strategy` exact"):
        PlanOptions(reassignment=lists, strategy="exact")
