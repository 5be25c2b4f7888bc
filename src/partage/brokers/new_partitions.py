"""Where new partitions go: those of a new topic, or more of a topic that exists.

Kafka places new partitions by racks, whatever the brokers hold already. Here they are a planning
problem: partitions without replicas, while nothing else may move. The topic is spread over the
brokers as evenly as possible by count, so that its own load is; then replicas per broker of the
whole cluster are as even as possible, by their capacity. Of the orders of these replicas, the
topic's leaders per broker are most even, then those of the cluster, and then leaders after the
failure of a broker; a search by steps looks for replicas that allow more, without a proof. The rack
rule is kept, and the stages are proven, as in every plan.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partage.arrays import Bools, is_whole
from partage.brokers.failure_steps import improve_by_steps
from partage.brokers.leaders import lead
from partage.brokers.option_values import BrokerSet
from partage.brokers.options import EXACT, PlanOptions
from partage.brokers.problem import Problem
from partage.brokers.proofs import Stage, prove_leaders, prove_placement
from partage.brokers.strategies import strategy_named
from partage.cluster import Cluster
from partage.errors import InputError, shown
from partage.frames import html_table
from partage.kafka_names import TOPIC_RULE, is_topic
from partage.units import plural

MAX_PARTITIONS = 100_000
"""Partitions of a topic: more than any broker accepts in a request."""


@dataclass(frozen=True, eq=False, repr=False)
class NewPartitions:
    """Where the new partitions of ``topic`` go. ``lists``: the broker ids of all its partitions in
    order, the leader first; ``first``: the number of the first new one; ``before``, ``after``: the
    cluster without and with them; ``usable`` [B]: brokers that could get replicas."""

    topic: str
    lists: tuple[tuple[int, ...], ...]
    first: int
    before: Cluster
    after: Cluster
    usable: Bools
    stages: tuple[Stage, ...]

    @property
    def is_new(self) -> bool:
        """Whether the topic does not exist yet."""
        return self.first == 0

    @property
    def proven(self) -> bool:
        """Whether no placement spreads the topic, and then replicas, more evenly, and no order of
        these replicas spreads the topic's leaders more evenly."""
        return all(stage.value == stage.bound for stage in self.stages if stage.exact)

    @property
    def replica_assignment(self) -> str:
        """The value of ``--replica-assignment`` of ``kafka-topics.sh``: every partition of the
        topic, also where only the last ones are new."""
        return ",".join(":".join(map(str, ids)) for ids in self.lists)

    def __repr__(self) -> str:
        new, width = self.lists[self.first :], len(self.lists[-1])
        proven = ", proven" if self.proven else ""
        placed = f"{plural(len(new), 'new partition')} with {plural(width, 'replica')}{proven}"
        return f"<NewPartitions of {self.topic}: {placed}>"

    def _repr_html_(self) -> str:
        rows = [
            [number, leader, ", ".join(map(str, followers))]
            for number, (leader, *followers) in enumerate(self.lists)
            if number >= self.first
        ]
        return html_table(repr(self).strip("<>"), ("partition", "leader", "followers"), rows)

    def per_broker(self) -> dict[str, tuple[list[int], list[int]]]:
        """Of the brokers that could get replicas, before and after: ``replicas``, ``leaders``, and
        those of the topic, ``topic`` and ``topic_leaders``."""

        def counts(cluster: Cluster, of_topic: bool, columns: int | None) -> list[int]:
            mine = np.isin(cluster.topics, self.topic)[cluster.topic]
            held = cluster.replicas[mine if of_topic else slice(None), :columns]
            every = np.bincount(held[held >= 0], minlength=len(self.usable))
            return [int(count) for count in every[self.usable]]

        kinds = (
            ("replicas", False, None),
            ("leaders", False, 1),
            ("topic", True, None),
            ("topic_leaders", True, 1),
        )
        return {
            name: (counts(self.before, of_topic, columns), counts(self.after, of_topic, columns))
            for name, of_topic, columns in kinds
        }

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values."""
        spans = {
            name: {"before": [min(old), max(old)], "after": [min(new), max(new)]}
            for name, (old, new) in self.per_broker().items()
        }
        return {
            "topic": self.topic,
            "new_topic": self.is_new,
            "assignment": [
                {"partition": number, "replicas": list(ids)}
                for number, ids in enumerate(self.lists)
                if number >= self.first
            ],
            "replica_assignment": self.replica_assignment,
            "brokers": self.after.broker_ids[self.usable].tolist(),
            "per_broker": spans,
            "proven": self.proven,
            "stages": {
                stage.name.value: {"value": stage.value, "bound": stage.bound}
                for stage in self.stages
            },
        }


def place(
    cluster: Cluster | str | os.PathLike[str],
    topic: str,
    partitions: int,
    replication_factor: int | None = None,
    brokers: str | Sequence[int] | None = None,
) -> NewPartitions:
    """Where the new partitions of a topic go.

    ``cluster``: a Cluster or the path of its file, perhaps without partitions; ``partitions``: how
    many the topic has then; ``replication_factor``: of a new topic, otherwise that of the topic;
    ``brokers``: those that may get replicas, as ids or ``"1,2,3"``, by default all live ones.
    Raises InputError.
    """
    cluster = Cluster.of(cluster, may_be_empty=True)
    if not isinstance(topic, str) or not is_topic(topic):
        raise InputError(f"topic {shown(topic)}", f"a name has {TOPIC_RULE}")
    existing = _existing(cluster, topic)
    factor = _factor(topic, existing, replication_factor)
    if type(partitions) is not int or not len(existing) < partitions <= MAX_PARTITIONS:
        has = f"; {topic} has {plural(len(existing), 'partition')}" if existing else ""
        raise InputError(
            f"partitions {partitions}",
            f"expected {len(existing) + 1:,} to {MAX_PARTITIONS:,}{has}",
        )
    usable = _usable(cluster, brokers)
    if not 1 <= factor <= int(usable.sum()):
        raise _wrong_factor(topic, factor, int(usable.sum()), replication_factor, brokers)
    problem = _problem(cluster, topic, range(len(existing), partitions), factor, usable)
    answer = strategy_named(EXACT).decide(problem)
    led = improve_by_steps(problem, lead(problem, answer))
    after = problem.cluster.with_replicas(led.replicas)
    rows = np.flatnonzero(after.topic == after.topics.index(topic))
    lists = after.replica_lists()
    return NewPartitions(
        topic=topic,
        lists=tuple(tuple(lists[row]) for row in rows.tolist()),
        first=len(existing),
        before=cluster,
        after=after,
        usable=usable,
        stages=(*prove_placement(problem, after), *prove_leaders(problem, after, led)),
    )


def _wrong_factor(
    topic: str, factor: int, usable: int, asked: int | None, brokers: str | Sequence[int] | None
) -> InputError:
    """The error for a factor that the ``usable`` live brokers cannot have, which names what was
    asked for."""
    if asked is not None:
        expected = f"expected 1 to {usable}, the live brokers that may get replicas"
        return InputError(f"replication_factor {factor}", expected)
    needs = f"the partitions of {topic} have {factor} replicas each"
    if brokers is None:
        live = f"only {plural(usable, 'broker is', 'brokers are')} live"
        return InputError(topic, f"{needs}, {live}")
    return InputError(f"brokers {shown(brokers)}", f"{needs}: name {factor} brokers or more")


def _existing(cluster: Cluster, topic: str) -> list[list[int]]:
    """The replica lists of the topic's partitions, by number; none of a new topic."""
    if topic not in cluster.topics:
        return []
    rows = np.flatnonzero(cluster.topic == cluster.topics.index(topic))
    numbers = cluster.partition[rows].tolist()
    if numbers != list(range(len(numbers))):
        gap = next(n for n, found in enumerate(numbers) if n != found)
        raise InputError(topic, f"has no partition {gap} in this cluster: give all of its topic")
    lists = cluster.replica_lists()
    return [lists[row] for row in rows.tolist()]


def _factor(topic: str, existing: Sequence[Sequence[int]], asked: int | None) -> int:
    """Kafka takes the replication factor of new partitions from the topic's first one."""
    if not existing:
        if asked is None:
            raise InputError("replication_factor", f"is missing: {topic} is a new topic")
        if not is_whole(asked):
            raise InputError(f"replication_factor {shown(asked)}", "expected a whole number")
        return int(asked)
    if asked not in (None, len(existing[0])):
        raise InputError(
            f"replication_factor {asked}",
            f"{topic} has {len(existing[0])}: its new partitions get as many",
        )
    return len(existing[0])


def _usable(cluster: Cluster, brokers: str | Sequence[int] | None) -> Bools:
    if brokers is None:
        return np.asarray(cluster.alive)
    try:
        chosen = BrokerSet.of(brokers)
    except ValueError as error:
        raise InputError(f"brokers {shown(brokers)}", str(error)) from None
    known = dict(zip(cluster.broker_ids.tolist(), cluster.alive.tolist(), strict=True))
    for broker in chosen:
        if not known.get(broker, False):
            why = "does not answer" if broker in known else "is not in the cluster"
            raise InputError(f"brokers {broker}", why)
    return np.isin(cluster.broker_ids, chosen)


def _problem(cluster: Cluster, topic: str, numbers: range, factor: int, usable: Bools) -> Problem:
    """The new partitions without replicas, all others as they are and not to be changed."""
    count = len(numbers)
    anywhere = [int(cluster.broker_ids[0])]
    grown = Cluster.build(
        cluster.brokers,
        [*(cluster.topics[t] for t in cluster.topic.tolist()), *[topic] * count],
        [*cluster.partition.tolist(), *numbers],
        [*cluster.replica_lists(), *[anywhere] * count],
        [*cluster.size_bytes.tolist(), *[-1] * count],
        copy_bytes=[*cluster.copy_list(), *[-1] * count],
    )
    new = (grown.topic == grown.topics.index(topic)) & (grown.partition >= numbers.start)
    replicas = grown.replicas.copy()
    replicas[new] = -1
    grown = replace(grown, replicas=replicas).identified_as(cluster)
    none = np.zeros(len(usable), dtype=np.bool_)
    target = np.where(new, factor, grown.replication_factor)
    return Problem(
        grown,
        PlanOptions(spread="topic"),
        usable,
        none,
        none,
        new,
        target,
        topic_first=grown.topics.index(topic),
    )
