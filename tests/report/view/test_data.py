"""Gaps, warnings and options of a plan."""

from __future__ import annotations

import pytest

from partage.errors import InputError
from partage.report.view import view
from tests.report import plan_documents as documents


def test_gaps_relative_to_the_bound():
    document = documents.grown()
    document["gaps"] = {"waves": 0.0005, "replicas": 2.5, "moves": 0.2, "topic spread": 4.0}
    document["certificate"]["stages"][0] |= {"value": 35, "bound": 10}
    document["certificate"]["stages"][2] |= {"value": 4, "bound": 0}
    assert view(document).gaps == (
        ("waves", "0.05 % above the lower bound"),
        ("replicas", "35, the bound is 10"),
        ("moves", "20 % above the lower bound"),
        ("topic spread", "4, the bound is 0"),
    )


def test_gaps_of_bytes_and_loads_have_units():
    document = documents.grown()
    document["gaps"] = {"load": 0.384367, "bytes moved": 2e9}
    document["certificate"]["stages"] += [
        {"stage": "load", "value": 384_367, "bound": 0},
        {"stage": "bytes moved", "value": 2 * 10**9, "bound": 0},
    ]
    assert view(document).gaps == (
        ("load", "38 %, the bound is 0 %"),
        ("bytes moved", "2.00 GB, the bound is 0 B"),
    )


def test_unknown_sizes_are_a_warning():
    document = documents.small(sizes=[100, 200, None, 50])
    assert view(document).warnings == [
        "the size of 1 moved partition is not known: counted as 0 bytes"
    ]
    assert view(documents.small()).load("bytes") is None


def test_options_as_on_the_command_line():
    document = documents.unchanged()
    document["options"] = {"add_broker": ["7:a", "9"], "no_moves": True, "topics": None, "x": False}
    assert view(document).flags == ["--add-broker 7:a", "--add-broker 9", "--no-moves"]


def test_another_format_is_bad_input():
    with pytest.raises(InputError, match=r"^p/plan.json: format_version is 2, this"):
        view({"format_version": 2}, "p/plan.json")
