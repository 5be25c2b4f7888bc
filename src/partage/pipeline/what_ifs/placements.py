"""The placements that what-ifs compare, today's and those of plans, as arrays for workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from partage.arrays import Bools, Floats, Ints, first_where
from partage.cluster.min_insync import KAFKAS_DEFAULT

if TYPE_CHECKING:
    from partage.brokers.plan import Plan
    from partage.brokers.problem import Problem
    from partage.cluster import Cluster


TODAY = "today"

_ASSUMED_MIN_ISR = 2
"""What topics with three replicas usually have, where no topic's is known."""


@dataclass(frozen=True, eq=False)
class Placement:
    """``replicas`` [P, any width]: broker positions, preferred leader first, -1 after the last;
    ``live`` [B]: the live brokers."""

    name: str
    replicas: npt.NDArray[np.int32]
    live: Bools

    @cached_property
    def leader(self) -> Ints:
        """[P] the leader of each partition while all these brokers are live."""
        return self.led_by(self.live)

    @cached_property
    def holders(self) -> tuple[Ints, Ints]:
        """The partition and the broker of every replica."""
        row, column = np.nonzero(self.replicas >= 0)
        return row, self.replicas[row, column].astype(np.int64)

    def led_by(self, live: Bools) -> Ints:
        """[P] the leader when these brokers are live: the first live one of the list, or -1."""
        return first_where(self.replicas, np.append(live, False)[self.replicas])


@dataclass(frozen=True, eq=False)
class Placements:
    """Several placements of one cluster of B brokers, P partitions and T topics.

    - ``broker_ids``, ``disk_bytes`` (-1 unknown), ``rack`` (into ``racks``): [B]
    - ``topic`` [P] (into ``topic_names``) and ``number`` [P]; ``size_bytes`` [P], -1 unknown
    - ``bytes_per_second`` [P]: what producers write; ``bytes_out_per_second`` [P]: what the leader
      sends to consumers and followers; None: not measured
    - ``capacity`` [B]: by load, that by which fair shares are in proportion; ``network_out`` [B]:
      bytes per second, -1 unknown; ``bands``: by load, the lowest and the highest of a broker [B],
      -1 where it has none
    - ``min_isr`` [P]: ``min.insync.replicas``; ``min_isr_assumed``: what it is for all where none
      is known, else None
    - ``cannot``: strategies that have no plan, and the reason
    """

    each: tuple[Placement, ...]
    broker_ids: Ints
    disk_bytes: Ints
    rack: Ints
    racks: tuple[str, ...]
    topic: Ints
    topic_names: tuple[str, ...]
    number: Ints
    size_bytes: Ints
    bytes_per_second: Floats | None
    bytes_out_per_second: Floats | None
    capacity: Mapping[str, Floats]
    network_out: Floats
    bands: Mapping[str, tuple[Floats, Floats]]
    cannot: Mapping[str, str]
    min_isr: Ints
    min_isr_assumed: int | None

    @classmethod
    def of(cls, problem: Problem, answers: Mapping[str, Plan | str]) -> Placements:
        """Today's placement, without the brokers to be added, and every plan for the problem."""
        cluster = problem.cluster
        today = Placement(TODAY, cluster.replicas.astype(np.int32), cluster.alive & ~problem.added)
        plans = [
            Placement(name, answer.after.replicas.astype(np.int32), problem.usable)
            for name, answer in answers.items()
            if not isinstance(answer, str)
        ]
        bytes_in, bytes_out = _rates_of_leaders(problem)
        assumed = None if cluster.min_insync_replicas else _ASSUMED_MIN_ISR
        return cls(
            each=(today, *plans),
            broker_ids=cluster.broker_ids,
            disk_bytes=cluster.disk_bytes,
            rack=cluster.rack,
            racks=cluster.rack_names,
            topic=cluster.topic,
            topic_names=tuple(cluster.topics),
            number=cluster.partition,
            size_bytes=cluster.size_bytes,
            bytes_per_second=bytes_in,
            bytes_out_per_second=bytes_out,
            capacity=_capacity(problem),
            network_out=np.array([broker.network_out or -1 for broker in cluster.brokers], float),
            bands=_bands(problem),
            cannot={name: why for name, why in answers.items() if isinstance(why, str)},
            min_isr=_min_isr(cluster, assumed),
            min_isr_assumed=assumed,
        )

    @property
    def topics(self) -> int:
        """T."""
        return len(self.topic_names)

    @property
    def led(self) -> dict[str, Floats]:
        """By load of leaders that is known, what each partition adds [P]."""
        rates = {"out": self.bytes_out_per_second, "leader_in": self.bytes_per_second}
        return {"leaders": np.ones(len(self.topic))} | {
            name: own for name, own in rates.items() if own is not None
        }

    def name_of(self, row: int) -> str:
        """The partition of a row, as ``topic-3``."""
        return f"{self.topic_names[self.topic[row]]}-{self.number[row]}"


def _min_isr(cluster: Cluster, assumed: int | None) -> Ints:
    """[P] ``min.insync.replicas``. A file that has that of topics leaves out those with Kafka's
    default."""
    known = cluster.min_insync_replicas
    by_topic = [known.get(topic, assumed or KAFKAS_DEFAULT) for topic in cluster.topics]
    return np.array(by_topic, dtype=np.int64)[cluster.topic]


def _capacity(problem: Problem) -> dict[str, Floats]:
    """[B] by which fair shares are in proportion, by load of leaders."""
    from partage.brokers.load.model import LED, capacity_by  # workers need no solver

    return {name: capacity_by(problem, name) for name in LED}


def _bands(problem: Problem) -> dict[str, tuple[Floats, Floats]]:
    """The bands of the loads of leaders, if the plans aim at them."""
    from partage.brokers.load.model import LED, LoadModel

    if not problem.options.by_load:
        return {}
    model, found = LoadModel.of(problem), {}
    for k, name in enumerate(LED):
        bits = 0 if name == "leaders" else -model.rate_bits
        ends = np.full((2, len(problem.cluster.brokers)), -1.0)
        whole = np.stack((model.led_bands.low[k], model.led_bands.high[k]))
        ends[:, problem.slot_brokers] = np.ldexp(whole.astype(float), bits)
        found[name] = (ends[0], ends[1])
    return found


def _rates_of_leaders(problem: Problem) -> tuple[Floats | None, Floats | None]:
    """[P] bytes per second that a leader receives from producers, and that it sends."""
    if problem.bytes_per_second is None and problem.cluster.bytes_in is None:
        return None, None
    from partage.brokers.posing.known_rates import with_rates

    rates = problem.rates or with_rates(problem).rates
    assert rates is not None, "resolved"
    return rates.bytes_in, rates.bytes_out + (problem.target - 1) * rates.bytes_in


def loads(broker: Ints, weight: Floats | Ints | None, live: Bools) -> Floats | Ints:
    """The load of every live broker: the sum of ``weight`` (or the count) of the elements that
    ``broker`` assigns to it; elements with -1 have no broker."""
    some = broker >= 0
    some_weight = None if weight is None else weight[some]
    return np.bincount(broker[some], some_weight, minlength=len(live))[live]


def over_mean(load: Floats | Ints) -> float | None:
    """The maximum over the mean, to four decimals; None if there is no load."""
    total = float(load.sum())
    return round(float(load.max()) * len(load) / total, 4) if total > 0 else None
