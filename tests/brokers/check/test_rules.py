"""Placements that break a rule."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest

from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns
from partage.brokers.check.rules import _defects, check_rules
from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    a_replica_on_another_broker,
    another_list_before,
    first_changed,
    longer,
    other_broker,
    two_partitions_exchanged,
)

TAMPERED = Tamperings()
for _tamper in (a_replica_on_another_broker, two_partitions_exchanged, another_list_before):
    TAMPERED.add(_tamper)


@TAMPERED.add
def another_leader(f: Files) -> None:
    row = longer(f.part["after"])
    row[0], row[1] = row[1], row[0]


@TAMPERED.add
def leaders_bound_to_a_rack_sealed(f: Files) -> None:
    f.plan["options"]["leader_racks"] = ["a"]
    f.seal()


@TAMPERED.add
def a_leader_demoted_sealed(f: Files) -> None:
    f.plan["options"]["demote_broker"] = [str(longer(f.part["after"])[0])]
    f.seal()


@TAMPERED.add
def a_replica_less(f: Files) -> None:
    longer(f.part["after"]).pop()


@TAMPERED.add
def a_replica_more(f: Files) -> None:
    row = f.part["after"][0]
    row.append(other_broker(f, row))


@TAMPERED.add
def a_replica_twice(f: Files) -> None:
    row = f.part["after"][0]
    row.append(row[0])


@TAMPERED.add
def a_broker_that_is_not_there(f: Files) -> None:
    f.part["after"][0][0] = 12345


@TAMPERED.add
def no_replica_at_all(f: Files) -> None:
    f.part["after"][0] = []


@TAMPERED.add
def another_list_before_sealed(f: Files) -> None:
    row = f.part["before"][first_changed(f)]
    row[-1] = other_broker(f, row)
    f.seal()


@TAMPERED.add
def another_order_before_sealed(f: Files) -> None:
    longer(f.part["before"]).reverse()
    f.seal()


@TAMPERED.add
def a_partition_missing_in_the_plan(f: Files) -> None:
    for column in f.part.values():
        if column is not None:
            column.pop()


@TAMPERED.add
def a_partition_missing_in_the_plan_sealed(f: Files) -> None:
    row = first_changed(f)
    for column in f.part.values():
        if column is not None:
            column.pop(row)
    f.seal()


@TAMPERED.add
def a_column_that_is_shorter(f: Files) -> None:
    f.part["after"].pop()


@TAMPERED.add
def a_partition_twice(f: Files) -> None:
    for column in f.part.values():
        if column is not None:
            column.append(column[-1])
    f.seal()


@TAMPERED.add
def a_number_for_a_list(f: Files) -> None:
    f.part["after"][0] = 7


@TAMPERED.add
def text_for_a_broker(f: Files) -> None:
    f.part["after"][0][0] = str(f.part["after"][0][0])


@TAMPERED.add
def a_fraction_for_a_broker(f: Files) -> None:
    f.part["after"][0][0] += 0.5


@TAMPERED.add
def a_float_for_a_broker(f: Files) -> None:
    f.part["after"][0][0] = float(f.part["after"][0][0])


@TAMPERED.add
def a_number_beyond_64_bits(f: Files) -> None:
    f.part["replication_factor"][0] = 2**70


@TAMPERED.add
def a_factor_beyond_the_brokers(f: Files) -> None:
    f.part["replication_factor"][0] = 1000
    f.seal()


@TAMPERED.add
def a_topic_beyond_the_topics(f: Files) -> None:
    f.part["topic"][0] = 1000
    f.seal()


@TAMPERED.add
def a_topic_that_is_a_fraction(f: Files) -> None:
    f.part["topic"][0] += 0.5
    f.seal()


@TAMPERED.add
def a_topic_with_a_line_end(f: Files) -> None:
    f.plan["topics"][f.part["topic"][first_changed(f)]] = "two\nlines [/red]"
    f.seal()


@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(sound_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, sound_plans)


@pytest.mark.parametrize("name", ["mixed", "count", "leader racks", "no-moves", "generate"])
def test_no_row_that_breaks_a_rule_is_passed_over(sound_plans: LazyPlans, name: str) -> None:
    value, rng, broken = sound_plans[name].plan, random.Random(name), 0
    ids = [broker["id"] for broker in value["brokers"]]
    for _ in range(60):
        forged = copy.deepcopy(value)
        after = forged["partitions"]["after"]
        for row in rng.sample(range(len(after)), 3):
            after[row] = rng.sample(ids, rng.randint(1, min(4, len(ids))))
        columns = PlanColumns(forged, Path())
        every = [
            f"plan.json: {row_name}: {defect}"
            for row, row_name in enumerate(columns.names)
            for defect in _defects(columns, row)
        ]
        broken += bool(every)
        assert check_rules(columns)[: len(every)] == every[:MAX_DEFECTS]
    assert broken
