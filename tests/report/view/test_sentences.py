"""Headlines and sentences about the proof."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

import partage
from partage.report import units
from partage.report.plan_tables import print_plan
from partage.report.view import view
from partage.report.view.stages import meaning
from partage.units import percent
from tests.bundled import grown
from tests.report import plan_documents as documents
from tests.report.plan_documents import broker


def test_fewer_moves_than_the_fairest_placement_needs_are_not_a_proof():
    document = documents.grown()
    document["figures"]["after"]["moves_lower_bound"] = 1000
    counted = view(document)
    assert not counted.minimal
    assert "the fairest placement needs 1,000" in counted.headline
    assert "not the fairest placement" in counted.proof


def test_a_placement_that_is_not_the_fairest_claims_no_minimum():
    """Disks limit its balance: meeting the bound on moves proves nothing."""
    document = documents.grown()
    document["certificate"]["stages"][0]["value"] += 2
    document["certificate"]["stages"][1]["bound"] += 4
    counted = view(document)
    assert counted.moves == counted.lower_bound
    assert not counted.minimal
    assert f"the fairest placement needs {counted.moves + 4}" in counted.headline
    notes = {c.key: (c.after, c.note) for c in counted.criteria}
    why = f"less balanced than the fairest placement, which needs {counted.moves + 4}"
    assert notes["moves"] == (f"{counted.moves}", why)
    assert "as good in the earlier stages" in meaning(counted.file.certificate.stages[1])


def test_a_byte_above_the_bound_is_not_a_minimum():
    """Floats of this size are the same."""
    document = documents.grown()
    after = document["figures"]["after"]
    after |= {"bytes_moved": 2**53 + 1, "bytes_moved_lower_bound": 2**53}
    assert not view(document).minimal
    after["bytes_moved_lower_bound"] += 1
    assert view(document).minimal


def by_rate(rates: list[float], **more):
    """The plan of ``documents.small`` with leaders balanced by rate: brokers 1, 2 and 3 lead the
    first, the second and third, and the last partition."""
    return view(documents.small(rates=rates, options={"leaders": "rate"}, **more))


def test_with_leaders_by_rate_the_busiest_broker_comes_first():
    led = by_rate([1e6, 2e6, 3e6, 12.5e6])
    assert led.headline == (
        "The busiest broker leads 12.5 MB/s instead of 15.5 MB/s: "
        "3 replicas move (proven minimum), sizes unknown."
    )
    unchanged = by_rate([9e6, 2e6, 3e6, 5e6]).headline
    assert unchanged.startswith("The busiest broker still leads 9.00 MB/s: 3 replicas move")
    counted = view(documents.small(rates=[1e6, 2e6, 3e6, 12.5e6]))
    assert counted.headline.startswith("3 replicas move")


def test_a_plan_by_rate_or_load_says_what_it_aims_at_after_a_failure():
    line = "after a failure: the aim is few leaders per survivor"
    assert by_rate([1e6] * 4).failure_aim == f"{line}, whatever their rates"
    by_load = view(documents.small(options={"balance": "load"}))
    assert by_load.failure_aim == f"{line}, then little load on the worst one"
    assert view(documents.small(options={"balance": "bytes"})).failure_aim == ""


def test_with_leaders_by_rate_and_no_moves():
    rows = [("t", 0, [1, 2], [2, 1]), ("t", 1, [1, 2], [1, 2])]
    document = documents.document(
        [broker(1), broker(2)], rows, rates=[5e6, 7e6], options={"leaders": "rate"}
    )
    assert view(document).headline == (
        "The busiest broker leads 7.00 MB/s instead of 12.0 MB/s: "
        "1 partition changes only the order of replicas."
    )


def test_a_plan_that_changes_nothing():
    counted = view(documents.unchanged())
    assert counted.headline == (
        "Nothing to do: the cluster is already as balanced as the rules allow."
    )
    assert counted.effect == ""
    assert len(counted.changed) == 0


def test_a_plan_that_changes_only_orders():
    rows = [("t", 0, [1, 2], [2, 1]), ("t", 1, [1, 2], [1, 2])]
    counted = view(documents.document([broker(1), broker(2)], rows))
    assert counted.headline == "No replica moves: 1 partition changes only the order of replicas."


def test_a_plan_that_deletes_replicas_says_how_many():
    moving = view(documents.deleting(sizes=[10, 20, 30]))
    assert moving.headline == (
        "1 replica moves (proven minimum): 20 B to copy in 1 wave, about <0.01 s; "
        "the plan deletes 2 replicas of 2 partitions."
    )
    brokers = [broker(1), broker(2), broker(3)]
    shorter, reordered = ("t", 0, [1, 2, 3], [2]), ("t", 1, [1, 2], [2, 1])
    alone = view(documents.document(brokers, [shorter], waves=1))
    assert alone.headline == (
        "No replica moves: the plan deletes 2 replicas of 1 partition in 1 wave."
    )
    both = view(documents.document(brokers, [shorter, reordered]))
    assert both.headline == (
        "No replica moves: 1 partition changes only the order of replicas; "
        "the plan deletes 2 replicas of 1 partition."
    )
    rates = view(documents.document(brokers, [shorter], rates=[5e6], options={"leaders": "rate"}))
    assert rates.headline == (
        "The busiest broker still leads 5.00 MB/s: the plan deletes 2 replicas of 1 partition."
    )


def test_between_log_dirs_and_deleted():
    document = documents.document([broker(1), broker(2)], [("t", 0, [1, 2], [1])])
    document["figures"]["after"]["log_dirs"] = {"moves": 1, "bytes_moved": 10}
    document["certificate"]["stages"].append({"stage": "log dirs", "value": 10, "bound": 10})
    assert view(document).headline == (
        "No replica moves to another broker: 1 replica changes its log dir, 10 B to copy "
        "(proven minimum); the plan deletes 1 replica of 1 partition."
    )


def test_a_gap_is_the_same_wherever_it_is_printed():
    document = dict(partage.plan(grown(), relieve="20%").document())
    printed = io.StringIO()
    print_plan(document, Console(file=printed, width=100))
    text = printed.getvalue()
    gap = percent(document["gaps"]["bytes moved"])
    assert re.findall(r"([\d.]+ %) above", text.replace("joint failure balance: 0.39 %", "")) == [
        gap,  # the criterion
        gap,  # the gap
        gap,  # the headline
    ]
    assert text.count("to copy") == 1
    assert text.splitlines()[-1].endswith("--relieve 20%")


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (10, "proven minimum"),
        (8, "25 % above the lower bound"),
        (5, "not proven minimal, at least 5 B needed"),
        (0, "not proven minimal"),
    ],
)
def test_a_weak_bound_is_not_compared_with(bound: int, said: str):
    document = documents.document(
        [broker(one) for one in (1, 2, 3)], [("t", 0, [1, 2], [3, 2])], sizes=[10]
    )
    gap = 10 / bound - 1 if bound else 10.0
    for name in ("bytes moved", "log dirs"):
        document["certificate"]["stages"].append({"stage": name, "value": 10, "bound": bound})
        document["gaps"] |= {name: gap} if gap else {}
    document["figures"]["after"]["log_dirs"] = {"moves": 1, "bytes_moved": 10}
    document["figures"]["after"] |= {"bytes_moved": 10, "bytes_moved_lower_bound": bound}
    assert view(document).headline == (
        f"1 replica moves: 10 B to copy ({said}); "
        f"1 replica changes its log dir, 10 B to copy ({said})."
    )


@pytest.mark.parametrize(
    ("gap", "text"), [(0.0, "<0.0001 %"), (1e-6, "0.0001 %"), (0.000375, "0.037 %")]
)
def test_a_gap_has_no_exponent(gap: float, text: str):
    assert units.gap(gap) == f"{text} above the lower bound"


def test_relief_of_disks_says_that_it_balances_leaders():
    idle, small = (
        view(partage.plan(grown(), relieve=limit).document()) for limit in ("80%", "20%")
    )
    assert idle.headline == (
        "No replica moves: 74 partitions change only the order of replicas in 1 wave. --relieve "
        "balances leaders in any case."
    )
    orders = len(small.changed) - int((small.row_moves > 0).sum())
    assert small.headline.endswith(
        "(0.037 % above the lower bound). --relieve balances leaders in any case: "
        f"{orders} other partitions change only the order of replicas."
    )
    loads = view(partage.plan(grown(), relieve="leaders=150%").document())
    assert "in any case" not in loads.headline


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([[2, 3], [1, 2]], ""),
        (
            [[2, 3], [2, 1]],
            " --relieve balances leaders in any case: 1 other partition changes only",
        ),
        ([[2, 3], [1]], ""),
    ],
)
def test_only_other_orders_are_counted(after: list[list[int]], said: str):
    rows = [("t", number, [1, 2], lists) for number, lists in enumerate(after)]
    document = documents.document(
        [broker(one) for one in (1, 2, 3)], rows, sizes=[1, 1], options={"relieve": "80%"}
    )
    found = view(document).headline
    assert found.endswith(f"{said} the order of replicas." if said else " wave.") or not said
    assert ("in any case" in found) == bool(said)
