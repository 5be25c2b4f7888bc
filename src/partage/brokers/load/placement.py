"""Replica sets and leaders whose loads are within the bands, by a search that moves few bytes; with
``no_moves`` leaders alone."""

from __future__ import annotations

from partage.arrays import Ints
from partage.brokers.load.attainable import attainable_loads
from partage.brokers.load.model import LoadModel
from partage.brokers.load.relief import check_disks, place_below_limits
from partage.brokers.problem import Problem
from partage.flow.assignment import loads_of
from partage.flow.load_balancing import Loads, balance_leaders, balance_loads
from partage.flow.ordering import led_by

_DISK = 1


def place_by_load(problem: Problem) -> Ints:
    """[I, any] slots of the items, leader first. Raises CannotError where a disk would overflow."""
    if problem.options.relieved:
        return place_below_limits(problem)
    model = LoadModel.of(problem)
    held, led = attainable_loads(model)
    today = problem.broker_slot[problem.cluster.replicas[problem.items, 0]]
    if problem.options.no_moves:
        return _led_again(problem, led, today)
    clock = problem.clock
    slots = balance_loads(problem.sharing, held, led, today, _DISK, clock.stop, clock.report)
    check_disks(problem, loads_of(slots, model.item_held, model.held_base)[_DISK])
    return slots


def _led_again(problem: Problem, led: Loads, today: Ints) -> Ints:
    """The slots of today, in order but for the leader."""
    clock = problem.clock
    slots = problem.broker_slot[problem.cluster.replicas[problem.items]]
    return led_by(slots, balance_leaders(slots, led, today, clock.stop, clock.report))
