"""The certificate in sentences, and the steps to check it."""

from __future__ import annotations

import pytest

import partage
from partage.report.view import view
from partage.report.view.checking import steps
from tests import bundled
from tests.report import plan_documents as documents


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ("balances the 486 replicas better", "is 30,618 here, and at least 30,618")),
        ({}, ("that is as balanced moves at least 173 replicas", "moves 173.")),
        ({"no_moves": True}, ("leaders squared", "With --no-moves no data moves")),
        ({"strategy": "generate"}, ("moves 297 replicas and is less balanced", "which needs 173")),
        ({"balance": "bytes"}, ("The fullest broker stores", "copies at least")),
        ({"max_moves": 50}, ("counted from the loads that the limit aims at", "moves 50")),
    ],
)
def test_the_certificate_in_three_sentences(options, words):
    sentences = view(partage.plan(bundled.uneven_racks(), **options).document()).meaning
    assert len(sentences) == 3
    for word in words:
        assert word in " ".join(sentences)


def test_no_sentences_without_a_certificate():
    document = documents.grown()
    document["certificate"] = {}
    assert view(document).meaning == ()


def test_the_steps_name_the_plans_own_directory():
    counted = view(partage.plan(bundled.uneven_racks(), strategy="generate").document())
    found = steps(counted, "some where/")
    assert [step.command.split(" && ")[0] for step in found] == [
        "partage check 'some where'",
        "cd 'some where'",
        "partage report 'some where'",
        "partage verify 'some where'",
    ]
    assert found[0].expected == "The plan is valid, but not optimal."
    assert found[1].expected == "297"
