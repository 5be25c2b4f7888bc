"""The criteria and their ratings."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import partage
from partage.report.broker_table import footnote
from partage.report.html import render
from partage.report.view import view
from partage.report.view.sentences import effect
from tests.bundled import grown
from tests.report import plan_documents as documents

MINIMUM = "proven minimum: no plan that is as balanced moves fewer"


def test_ratings_of_a_good_plan():
    ratings = {c.key: (c.rating, c.note) for c in view(documents.grown()).criteria}
    assert list(ratings) == ["storage", "racks", "moves", "leaders", "settled", "failure"]
    assert ratings["moves"] == ("good", MINIMUM)
    assert ratings["settled"][0] == "good"
    assert ratings["storage"] == ("good", "proven as even as possible")  # whatever binds
    assert ratings["failure"][0] == "limit"


def test_ratings_of_a_plan_that_is_not_proven():
    document = documents.grown()
    document["certificate"] = {}
    document["binding"] = []
    document["figures"]["after"] |= {"settled": False, "moves_lower_bound": 100}
    counted = view(document)
    ratings = {c.key: (c.rating, c.note) for c in counted.criteria}
    assert ratings["storage"] == ("bad", "replicas differ by 9")
    assert ratings["moves"] == ("limit", f"{counted.moves - 100} above the proven lower bound")
    assert ratings["settled"][0] == "bad"
    assert ratings["racks"][0] == "bad"
    assert "not proven minimal" in counted.proof
    assert "at least 100 needed" in counted.headline


def test_uneven_counts_are_not_bad_where_something_else_is_balanced():
    document = documents.grown()
    document["options"] = {"leaders": "rate", "balance": "bytes"}
    notes = {c.key: (c.rating, c.note) for c in view(document).criteria}
    assert notes["leaders"] == ("limit", "balanced by rate, not by count")
    assert notes["storage"] == ("limit", "balanced by bytes, not by count")


@pytest.mark.parametrize(
    ("value", "rating", "note"),
    [
        (1000, "good", "busiest broker proven as low as possible"),
        (1002, "limit", "busiest broker 0.2 % above the lower bound"),
    ],
)
def test_leaders_by_rate_are_rated_by_their_bound(value: int, rating: str, note: str):
    document = documents.small(rates=[1e6, 2e6, 3e6, 12.5e6], options={"leaders": "rate"})
    stage = {"stage": "leader rate", "value": value, "bound": 1000, "exact": False}
    document["certificate"]["stages"].append(stage)
    document["gaps"] = {"leader rate": 0.002} if value > 1000 else {}
    (leaders,) = (one for one in view(document).criteria if one.key == "leaders")
    assert (leaders.rating, leaders.note) == (rating, note)
    assert (leaders.before, leaders.after) == ("0–15.5 MB/s", "1.00–12.5 MB/s")


@pytest.mark.parametrize(
    ("limit", "bound", "storage", "moves"),
    [
        (
            "tolerance",
            7,
            "within the tolerance",
            MINIMUM,
        ),
        (
            "max-moves",
            7,
            "proven as even as the limit allows",
            MINIMUM,
        ),
        (
            "max-bytes-moved",
            6,
            "the most even placement found within the limit",
            "proven minimum: no plan with these loads moves fewer",
        ),
    ],
)
def test_proofs_under_a_budget(limit: str, bound: int, storage: str, moves: str):
    document = documents.grown()
    stage = {"stage": "budget", "value": 7, "bound": bound, "prices": {"limit": limit}}
    stages = document["certificate"]["stages"]
    stages[0]["prices"]["aim"] = [54] * 8
    stages.insert(3, stage)
    notes = {c.key: c.note for c in view(document).criteria}
    assert (notes["storage"], notes["moves"]) == (storage, moves)


def test_the_fullest_log_dir_is_one_that_the_plan_chose():
    document = documents.small()
    document["figures"]["after"]["log_dirs"] = {"fullest": 0.159, "bound": 0.15}
    (one,) = [one for one in view(document).criteria if one.key == "log dirs"]
    assert one.after == "fullest 15.9% where chosen"
    assert one.note == "at least 15.0% for any choice"


def test_deletion_is_a_row_only_where_there_is_some():
    *_, deletion = view(documents.deleting()).criteria
    assert (deletion.name, deletion.rating) == ("Deletion", "none")
    assert (deletion.before, deletion.after) == ("8 replicas", "6 replicas")
    assert deletion.note == "deletes 2 replicas of 2 partitions"
    assert "Deletion" not in {c.name for c in view(documents.small()).criteria}


@pytest.fixture(scope="module")
def relieved() -> dict[str, Any]:
    """A plan of which the worst survivor is proven lowest for its replica sets only."""
    return dict(partage.plan(grown(), relieve="80%").document())


def test_the_worst_survivor_that_is_lowest_for_its_replica_sets_only(relieved: dict[str, Any]):
    figures = relieved["figures"]["after"]
    assert (
        figures["leaders_after_failure"]["max"] == figures["leaders_after_failure"]["ideal"] == 41
    )
    shown = view(relieved)
    criterion = next(one for one in shown.criteria if one.key == "failure")
    assert (criterion.rating, criterion.after) == ("limit", "41, at least 41")
    assert criterion.note == "lowest for its replica sets; others ≥ 21"
    assert "the proven lower bound is 41 for these replica sets, 21 for all that" in render(
        relieved
    )
    assert footnote(shown).endswith("bound: proven lower bound for these replica sets")
    (reason,) = (one for one in shown.file.binding if one.startswith("after a failure: "))
    assert "with leaders this even and these replica sets some survivor ends with 41" in reason


def test_a_rack_failure_that_is_lowest_for_its_replica_sets_only(relieved: dict[str, Any]):
    document = copy.deepcopy(relieved)
    document["figures"]["after"]["leaders_after_rack_failure"] |= {"max": 44, "ideal": 44}
    criterion = next(one for one in view(document).criteria if one.key == "rack failure")
    least = document["figures"]["after"]["rack_survivor_lower_bound"]
    assert (criterion.rating, criterion.note) == (
        "limit",
        f"lowest for its replica sets; others ≥ {least}",
    )


def test_the_worst_survivor_that_is_lowest_of_all():
    shown = view(partage.plan(grown()).document())
    ratings = {one.key: (one.rating, one.note) for one in shown.criteria}
    assert ratings["failure"] == ratings["rack failure"] == ("good", "proven lowest")
    assert footnote(shown).endswith("bound: proven lower bound")
    assert "the proven lower bound is 21. <span" in render(partage.plan(grown()).document())


def test_failures_of_a_set_of_brokers_are_named_as_such():
    shown = view(partage.plan(grown(), topics="kafka", broker_set="1,2,3,4,5,6").document())
    notes = {one.key: one.note for one in shown.criteria}
    assert notes["failure"].endswith("; only brokers of the set are counted")
    assert notes["rack failure"].endswith("; only brokers of the set are counted")
    assert "if any one broker of the set fails, no other" in effect(shown)


def test_a_set_of_all_live_brokers_needs_no_words():
    shown = view(partage.plan(grown(), topics="kafka", broker_set="1,2,3,4,5,6,7,8,9").document())
    assert not [one.note for one in shown.criteria if "of the set" in one.note]
    assert "of the set" not in effect(shown)
