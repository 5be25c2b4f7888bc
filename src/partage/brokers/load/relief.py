"""Keep limits of loads: ``relieve`` of more than disks.

Brokers above a limit lead less first, which copies nothing, then hold less, for the fewest bytes.
The other loads do not grow above what they are today, or a little more than the fair share, unless
no other plan that keeps the limits is found. Where the moves for that are more than the limits on
moves allow, only leaders change. Partitions that only break the rack rule stay where they are.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.brokers.load.model import HELD, LED, LoadModel, known_capacity
from partage.brokers.placement.sizes import broken_limit, movable
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.load_balancing.replicas import legal_start
from partage.flow.load_relief import ReliefProblem, least_cost, limit_prices, relieve_loads
from partage.flow.ordering import by_rank, rank_in
from partage.units import scaled, size

_DISK = HELD.index("disk")


def relief_problem(model: LoadModel) -> ReliefProblem:
    """The limits and loads for the kernel, of replicas first, then of leaders."""
    problem = model.problem
    relieved = dict(problem.options.relieved)
    stays = np.zeros(problem.sharing.items, dtype=np.bool_)
    both = model.held_bands, model.led_bands
    return ReliefProblem(
        sharing=problem.sharing,
        held=model.item_held,
        led=model.item_led,
        base=np.concatenate((model.held_base, model.led_base)),
        high=np.concatenate([bands.high for bands in both]),
        fair=np.concatenate([bands.fair for bands in both]),
        first=np.array([name in relieved for name in (*HELD, *LED)]),
        movable=stays if problem.options.no_moves else movable(problem),
        today=problem.broker_slot[problem.cluster.replicas[problem.items, 0]],
    )


def place_below_limits(problem: Problem) -> Ints:
    """[I, any] slots of the items, leader first. Raises CannotError where a limit is not kept."""
    model = LoadModel.of(problem)
    kernel = relief_problem(model)
    start = _start(problem, kernel)
    found = relieve_loads(kernel, start, problem.clock.report)
    over = kernel.over(found)[kernel.first]
    if over.any():
        raise CannotError(_too_much(model, kernel, start, found))
    if broken := broken_limit(problem.options.limits, problem.sharing, found):
        found = relieve_loads(kernel.without_moves(), start, problem.clock.report)
        still = broken_limit(problem.options.limits, problem.sharing, found)
        if still or kernel.over(found)[kernel.first].any():
            raise CannotError(broken)
    check_disks(problem, kernel.loads(found)[_DISK])
    return found


def bytes_bound(model: LoadModel, high: Ints) -> tuple[int, Ints, int]:
    """The least bytes that any placement with loads up to ``high`` [K, E] moves, and the prices
    [K, E] that prove it, where a byte counts as the last."""
    kernel = relief_problem(model)
    price, scale = limit_prices(kernel, _start(model.problem, kernel))
    return least_cost(kernel, kernel.sharing.move_size, price, scale, high), price, scale


def _start(problem: Problem, kernel: ReliefProblem) -> Ints:
    """[I, any] today's slots in their order, with the necessary changes only."""
    own = problem.sharing.own
    if not kernel.movable.any():
        return own
    disk = kernel.high[_DISK]
    sets = legal_start(problem.sharing, np.zeros_like(disk), disk)
    width = max(own.shape[1], sets.shape[1])
    sets, own = (
        np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1)
        for part in (sets, own)
    )
    sets = np.where(kernel.movable[:, None], sets, own)
    return by_rank(sets, rank_in(sets, own))


def _too_much(model: LoadModel, kernel: ReliefProblem, start: Ints, found: Ints) -> str:
    """The load that stays furthest above its limit, and whether any placement keeps the limits."""
    problem, names = model.problem, (*HELD, *LED)
    apart = kernel.over(found) / kernel.unit[:, None] * kernel.first[:, None]
    k, slot = divmod(int(apart.argmax()), apart.shape[1])
    limit = dict(problem.options.relieved)[names[k]]
    of = "its fair share"
    if names[k] == "disk":
        of = "its disk"
    elif known_capacity(problem, names[k]) is not None:
        of = "its network"
    broker = problem.cluster.broker_ids[problem.slot_brokers[slot]]
    loads = kernel.loads(found)
    load, above = (_shown(model, names[k], int(x[k, slot])) for x in (loads, loads - kernel.high))
    price, scale = limit_prices(kernel, start)
    price[~kernel.first] = 0
    nothing = np.zeros_like(kernel.sharing.size)
    proven = least_cost(kernel, nothing, price, scale, kernel.high) > 0
    why = "proven: no placement keeps it" if proven else "no placement that keeps it was found"
    return f"broker {broker}: {names[k]} would be {load}, {above} above {limit} of {of} ({why})"


def _shown(model: LoadModel, name: str, load: int) -> str:
    """A load of the model with its unit."""
    if name == "disk":
        return size(load)
    if name in ("replicas", "leaders"):
        return f"{load:,}"
    return scaled(load / 2.0**model.rate_bits, "B/s")


def check_disks(problem: Problem, held: Ints) -> None:
    """Raise CannotError if the bytes ``held`` [E] are more than a disk holds."""
    disk = problem.cluster.disk_bytes[problem.slot_brokers]
    over = np.where(disk >= 0, held - disk, 0)
    if (over > 0).any():
        worst = int(over.argmax())
        within = f" within {problem.clock.seconds} s" if problem.clock.stopped else ""
        broker = problem.cluster.broker_ids[problem.slot_brokers[worst]]
        raise CannotError(
            f"broker {broker}: its disk of {size(int(disk[worst]))} would overflow by "
            f"{size(int(over[worst]))} (no placement that fits was found{within}): add disk or "
            "brokers"
        )
