"""Leaders and first followers: the order of each replica list, for given replica sets.

By count, one flow (partition -> leader) finds the fairest leader counts that the sets allow, with
the fewest leader changes; for new partitions of a topic, its own leaders count first. ``failures``
then chooses leader and first follower together, among all leader counts as fair. By rate, which is
not a flow problem, ``rates`` chooses the leaders, and ``failures`` only the first followers; also
where every load is balanced, which decides the leaders together with the sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs

from partage.arrays import Ints
from partage.brokers.figures import next_live
from partage.brokers.leaders.choices import Choices
from partage.brokers.leaders.failures import FailureProof, prepare_for_failures, prove_failures
from partage.brokers.leaders.racks import share_after_rack_failure
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.certificate import fairest_range, picking_bound
from partage.flow.ordering import by_rank, led_by, rank_in
from partage.flow.selection import pick_slots

if TYPE_CHECKING:
    from partage.brokers.leaders.rates import RateProof
    from partage.brokers.leaders.zones import ZoneProof


class LeaderProof(Struct, frozen=True, eq=False):
    """Leaders by count: sum of squares ``value``, its ``bound`` and the prices [E] that give it."""

    value: int
    bound: int
    price: Ints


class Led(Struct, frozen=True, eq=False):
    """Ordered replica lists [P, R] and the proofs; no proof of leaders that are one load of
    several. ``zone``: where few bytes across racks were preferred."""

    replicas: Ints
    leaders: LeaderProof | RateProof | None
    failure: FailureProof
    zone: ZoneProof | None = None


def lead(problem: Problem, replicas: Ints, *, evenly: bool = True) -> Led:
    """Order the replica sets [P, R]; rows that are not chosen keep their order. Without ``evenly``
    the worst survivor is the same, and less is done to make the others even, which takes most of
    the time. Raises CannotError for a set without a replica in the racks that may lead it."""
    _check_racks(problem, replicas)
    lists = kept_order(problem, replicas)
    choices = Choices.of(problem, replicas, lists)
    today = problem.broker_slot[problem.cluster.replicas[:, 0]]
    chosen = choices.open
    proof_of_leaders: LeaderProof | RateProof | None = None
    price = None
    if problem.options.by_load:
        leader = problem.broker_slot[replicas[chosen, 0]]
    elif problem.options.leaders == "rate":
        from partage.brokers.leaders.rates import lead_by_rate

        leader, proof_of_leaders = lead_by_rate(problem, choices, lists, today[chosen])
    elif problem.topic_first is not None:
        leader, proof_of_leaders = _lead_topic(problem, choices, lists)
    else:
        leader, proof_of_leaders = _lead_by_count(choices, today[chosen])
        price = proof_of_leaders.price
    pair, failure = prepare_for_failures(problem, choices, lists, leader, price, evenly=evenly)
    pair = share_after_rack_failure(problem, lists, chosen, pair)
    return Led(ordered(problem, lists, chosen, pair), proof_of_leaders, failure)


def _check_racks(problem: Problem, replicas: Ints) -> None:
    if problem.leader_racks is None:
        return
    cluster, rows = problem.cluster, problem.items
    wanting = rows[~problem.may_lead(rows, replicas[rows]).any(axis=1)]
    wanting = wanting[~problem.leader_racks[cluster.topic[wanting]].all(axis=1)]
    if len(wanting):
        topic = cluster.topic[wanting[0]]
        allowed = np.flatnonzero(problem.leader_racks[topic, :-1])
        racks = " or ".join(cluster.rack_names[rack] for rack in allowed.tolist())
        more = f" and {len(wanting) - 1:,} more have" if len(wanting) > 1 else " has"
        instead = "leave out `no_moves`" if problem.options.no_moves else "name more racks"
        raise CannotError(
            f"`leader_racks`: {cluster.names[wanting[0]]}{more} no replica on a usable broker of "
            f"rack {racks}: {instead} or raise `replication_factor`"
        )


def prove_order(problem: Problem, lists: Ints) -> Led:
    """The lists [P, R] as they are, and how far their order is from the best one for these sets."""
    kept = kept_order(problem, lists)
    choices = Choices.of(problem, lists, kept)
    leader = problem.broker_slot[lists[choices.open, 0]]
    proof_of_leaders: LeaderProof | RateProof | None = None
    price = None
    # takeovers are from the preferred leaders as they are, usable or not
    as_they_are = Choices.of(problem, lists, lists)
    if problem.options.leaders == "rate":
        from partage.brokers.leaders.rates import prove_by_rate

        proof_of_leaders = prove_by_rate(problem, choices, kept, leader)
    elif not problem.options.by_load:
        _, proof_of_leaders = _lead_by_count(choices, leader)
        led = as_they_are.base + np.bincount(leader[leader >= 0], minlength=len(choices.base))
        fairest = int((led * led).sum()) == proof_of_leaders.bound
        if fairest and (leader >= 0).all() and (as_they_are.base == choices.base).all():
            price = proof_of_leaders.price
    return Led(lists, proof_of_leaders, prove_failures(problem, as_they_are, lists, leader, price))


def kept_order(problem: Problem, replicas: Ints) -> Ints:
    """The sets as lists: current replicas in their order, then new ones by broker id, then those
    that come last. If only one replica is usable, it comes first, since no other can lead."""
    brokers = len(problem.usable)
    rank = rank_in(replicas, problem.cluster.replicas)
    lists = by_rank(replicas, rank * (brokers + 1) + replicas)
    if problem.options.demote_broker:
        rows = np.arange(len(lists))
        early = np.flatnonzero(~problem.keeps_last(rows, lists))
        last = problem.comes_last(early, lists[early])
        lists[early] = by_rank(lists[early], last + 2 * (lists[early] < 0))
    on = problem.broker_slot[lists] >= 0
    lone = np.flatnonzero(problem.chosen & (on.sum(axis=1) == 1) & ~on[:, 0])
    for row in lone.tolist():
        place = int(on[row].argmax())
        lists[row, : place + 1] = np.roll(lists[row, : place + 1], 1)
    return np.asarray(lists, dtype=np.int64)


def _lead_by_count(choices: Choices, today: Ints) -> tuple[Ints, LeaderProof]:
    change = (choices.slot != today[choices.item]).astype(np.int64)
    count = len(choices.open)
    picked, price = pick_slots(choices.item, choices.slot, count, choices.base, change)
    leader = choices.slot[picked]
    load = choices.base + np.bincount(leader, minlength=len(choices.base))
    bound = picking_bound(
        item=choices.item,
        option=choices.slot,
        items=count,
        base=choices.base,
        price=price,
        limit=count,
    )
    return leader, LeaderProof(int((load * load).sum()), bound, price)


def _lead_topic(problem: Problem, choices: Choices, lists: Ints) -> tuple[Ints, LeaderProof]:
    """Leaders that are spread as evenly as possible within the topic, then in the cluster."""
    mine = problem.cluster.topic == problem.topic_first
    mine[choices.open] = False
    fixed = problem.broker_slot[lists[mine, 0]]
    base = np.bincount(fixed[fixed >= 0], minlength=len(choices.base)).astype(np.int64)
    of_topic = structs.replace(choices, base=base)
    nothing = np.full(len(choices.open), -1)
    _, proof = _lead_by_count(of_topic, nothing)
    # all leaders of the topic as even as these differ by one on a broker: of the fewest there and
    # one more, the last adds this to the squares of the cluster
    fewest, _ = fairest_range(base, proof.price, len(choices.open))
    last = 2 * (choices.base + fewest - base) + 1
    arcs = (choices.item, choices.slot, len(choices.open), base, last[choices.slot])
    picked, _ = pick_slots(*arcs)
    return choices.slot[picked], proof


def ordered(problem: Problem, lists: Ints, rows: Ints, pair: Ints) -> Ints:
    """Lists that start with the chosen pair, the rest in order. A list that already has this leader
    and next live replica is unchanged."""
    slots = len(problem.slot_brokers)
    first = problem.slot_brokers[pair // slots]
    second = problem.slot_brokers[pair % slots]
    ordered = lists.copy()
    part = lists[rows]
    follower = next_live(part, problem.usable)
    change = (part[:, 0] != first) | (follower != second)
    ordered[rows[change]] = led_by(led_by(part[change], second[change]), first[change])
    return ordered
