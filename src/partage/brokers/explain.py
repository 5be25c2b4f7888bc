"""Why each replica of a partition stays or moves: the rule, the price, the next best broker.

The kernel's dual values are prices: the cost of one more replica on a broker for the whole cluster,
in load, moves and topic spread, in this order. At these prices each partition of an exact plan is
on the cheapest brokers that the rules allow. The price difference to the next best broker is
therefore a lower bound on the cost of placing the replica there instead.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.brokers.options import GIVEN
from partage.brokers.plan import Plan
from partage.errors import InputError, shown
from partage.flow.assignment import MOVES
from partage.frames import html_table
from partage.units import did_you_mean, listed

_GIVEN = {"stays": "keeps", "goes": "removes", "comes": "adds"}


@dataclass(frozen=True)
class Instead:
    """The next best broker for a replica, and a lower bound on the extra cost: the first cost that
    is not 0 decides."""

    broker: int
    costs: dict[str, int]

    def __str__(self) -> str:
        extra = next(((cost, n) for cost, n in self.costs.items() if n), None)
        if extra is None:
            return f"broker {self.broker}: as good"
        return f"broker {self.broker}: {extra[0]} {extra[1]:+d}"


@dataclass(frozen=True)
class Reason:
    """One replica: its broker, what happens to it, the rule in words, the broker's prices; if every
    load is balanced, its loads: by resource ``before``, ``after``, ``fair`` and ``band``."""

    broker: int
    rack: str | None
    fate: str
    why: str
    prices: dict[str, int]
    instead: Instead | None
    loads: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why the replicas of one partition stay, go or come.

    - ``partition``: ``topic-3``; ``before``, ``after``: broker ids, preferred leader first
    - ``leader``: a sentence about the leader
    - ``replicas``: a reason per replica, those of ``before`` first
    """

    partition: str
    before: list[int]
    after: list[int]
    leader: str
    replicas: list[Reason]

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<Explanation of {self._summary()}>"

    def _repr_html_(self) -> str:
        rows = [
            [
                one.broker,
                one.rack or "",
                one.fate,
                one.why,
                "" if one.instead is None else one.instead,
            ]
            for one in self.replicas
        ]
        header = ("broker", "rack", "replica", "reason", "next best broker, at least")
        return html_table(self._summary(), header, rows)

    def _summary(self) -> str:
        return f"{self.partition}: {self.before} → {self.after}; {self.leader}"


def _nearest(plan: Plan, name: str) -> str:
    """The partitions that a name may mean."""
    topic, _, _ = name.rpartition("-")
    numbers = plan.before.partition[[plan.before.topics[t] == topic for t in plan.before.topic]]
    if len(numbers):
        return f": {topic} has partitions {numbers.min()} to {numbers.max()}"
    if name in plan.before.topics:
        return f": add its number, {name}-0"
    topics = plan.before.topics
    near = did_you_mean(topic or name, topics)
    return near or f": the topics are {listed(topics, 5)}"


def explain(plan: Plan, name: str) -> Explanation:
    """Explain why each replica of a partition of a plan stays, goes or comes.

    ``name``: the partition as ``topic-3``. Raises InputError if the cluster has no such partition.
    """
    if not isinstance(plan, Plan):
        problem = f"expected a Plan, got {type(plan).__name__}: Plan.read reads a plan directory"
        raise InputError("explain", problem)
    names = plan.before.names
    if not isinstance(name, str):
        raise InputError(f"explain {shown(name)}", "expected a partition, such as topic-3")
    if name not in names:
        raise InputError(
            f"explain {shown(name)}",
            f"not a partition of the cluster{_nearest(plan, name)}",
        )
    row = names.index(name)
    before = plan.before.replica_lists()[row]
    after = plan.after.replica_lists()[row]
    prices = _Prices(plan, row)
    reasons = [
        prices.reason(broker, "stays" if broker in after else "goes", before, after)
        for broker in before
    ]
    reasons += [
        prices.reason(broker, "comes", before, after) for broker in after if broker not in before
    ]
    return Explanation(name, before, after, _leader(plan, before, after), reasons)


class _Prices:
    """The prices of the brokers for one partition, in the order of the costs."""

    def __init__(self, plan: Plan, row: int) -> None:
        self.plan, self.row, self.problem = plan, row, plan.problem
        self.cluster = plan.before
        options = self.problem.options
        unpriced = options.no_moves or options.by_size or options.by_load
        self.priced = bool(self.problem.chosen[row]) and not unpriced
        if not self.priced:
            return
        topic = int(self.cluster.topic[row])
        family = int(np.searchsorted(np.unique(self.cluster.topic[self.problem.items]), topic))
        own = self.problem.broker_slot[self.cluster.replicas[row]]
        holds = np.isin(np.arange(len(self.problem.slot_brokers)), own)
        self.of: dict[str, Ints] = {}
        for cost in self.problem.order:
            of_slot, of_family = self.problem.share.prices[cost]
            price = of_slot if of_family is None else of_family[family]
            self.of[cost] = price + (~holds if cost == MOVES else 0)

    def reason(self, broker: int, fate: str, before: list[int], after: list[int]) -> Reason:
        place = self.cluster.broker_position(broker)
        assert place is not None, "replicas are on listed brokers"
        slot = int(self.problem.broker_slot[place])
        known = self.priced and slot >= 0
        return Reason(
            broker=broker,
            rack=self.cluster.brokers[place].rack,
            fate=fate,
            why=self._why(broker, place, fate, before, after),
            prices={cost: int(price[slot]) for cost, price in self.of.items()} if known else {},
            instead=self._instead(slot, after) if known and fate != "goes" else None,
            loads=self._loads(place),
        )

    def _loads(self, place: int) -> dict[str, dict[str, Any]]:
        """By resource, the broker's load before and after, its fair share and its band."""
        before, after = (
            figures.get("resources", {})
            for figures in (self.plan.figures_before, self.plan.figures)
        )
        return {
            name: {
                "before": before[name]["brokers"][place]["load"],
                "after": figures["brokers"][place]["load"],
                "fair": figures["brokers"][place]["fair"],
                "band": figures["brokers"][place]["band"],
            }
            for name, figures in after.items()
        }

    def _why(self, broker: int, place: int, fate: str, before: list[int], after: list[int]) -> str:
        problem = self.problem
        if not problem.chosen[self.row]:
            return "the topic is excluded and does not change"
        if problem.options.strategy == GIVEN:
            return f"the given reassignment {_GIVEN[fate]} it"
        if problem.options.no_moves:
            return "no data moves: only the order of replicas may change"
        old, new = (
            int((cluster.replicas == place).sum()) for cluster in (self.cluster, self.plan.after)
        )
        change = f"broker {broker} goes from {old} to {new} replicas"
        if fate == "goes":
            return self._why_it_goes(broker, place, before, after, change)
        if problem.options.by_load:
            copied = int(self.cluster.copied[self.row])
            does = (
                f"coming copies {copied:,} bytes" if fate == "comes" else "staying copies nothing"
            )
            return f"{does}; {change}"
        if fate == "comes":
            return f"{change}: this takes one move, and a fair share needs at least that"
        return f"staying costs no move; {change}"

    def _why_it_goes(
        self, broker: int, place: int, before: list[int], after: list[int], change: str
    ) -> str:
        if self.problem.excluded[place]:
            return f"broker {broker} is being emptied"
        if self.problem.outside[place]:
            return f"broker {broker} is not in the broker set"
        if not self.problem.cluster.alive[place]:
            return f"broker {broker} is dead"
        rack = self.cluster.brokers[place].rack
        if rack is not None:
            kept = [b for b in before if self._rack(b) == rack and b in after]
            held, most = self._in_rack(place)
            if kept and held > most:
                return (
                    f"rack {rack} had {held} replicas of the partition and may have {most}: "
                    f"broker {kept[0]} keeps its replica"
                )
        if len(after) < len(before):
            return f"the replication factor is lowered to {len(after)}; {change}"
        return change

    def _in_rack(self, place: int) -> tuple[int, int]:
        """Current replicas on usable brokers of this broker's rack, and how many the rule
        allows."""
        sharing = self.problem.sharing
        item = int(np.searchsorted(self.problem.items, self.row))
        zone = int(sharing.zone_of[self.problem.broker_slot[place]])
        return int(sharing.in_zones[item, zone]), int(sharing.item_bounds[1][item])

    def _rack(self, broker: int) -> str | None:
        place = self.cluster.broker_position(broker)
        return None if place is None else self.cluster.brokers[place].rack

    def _instead(self, slot: int, after: list[int]) -> Instead | None:
        """The cheapest other broker (in the same rack, if there are racks) without a replica."""
        brokers = self.cluster.broker_ids[self.problem.slot_brokers]
        rack = self.cluster.rack[self.problem.slot_brokers]
        free = ~np.isin(brokers, after)
        if self.cluster.rack_names:
            free &= rack == rack[slot]
        others = np.flatnonzero(free)
        if len(others) == 0:
            return None
        dearer = [price[others] - price[slot] for price in self.of.values()]
        best = int(np.lexsort((brokers[others], *reversed(dearer)))[0])
        return Instead(
            int(brokers[others[best]]),
            {cost: int(d[best]) for cost, d in zip(self.of, dearer, strict=True)},
        )


def _leader(plan: Plan, before: list[int], after: list[int]) -> str:
    rate = plan.problem.options.leaders == "rate"
    what = "bytes in per second" if rate else "loads" if plan.problem.options.by_load else "leaders"
    if before[0] == after[0]:
        return f"broker {after[0]} stays the leader"
    if before[0] not in after:
        return f"broker {after[0]} leads: broker {before[0]} no longer has a replica"
    if before[0] in plan.problem.options.demote_broker:
        return f"broker {after[0]} leads instead of broker {before[0]}, which is demoted"
    why = "to relieve brokers" if plan.problem.options.relieved else f"to balance {what}"
    if plan.problem.options.strategy == GIVEN:
        why = "as in the given reassignment"
    return f"broker {after[0]} leads instead of broker {before[0]}, {why}"
