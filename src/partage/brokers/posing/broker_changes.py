"""The brokers that options add, remove and replace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from msgspec import Struct, field

from partage.brokers.option_values import NewBroker, Replacement
from partage.brokers.options import PlanOptions
from partage.cluster import Broker, Cluster
from partage.errors import InputError


def usual_broker(cluster: Cluster, new: NewBroker) -> Broker:
    """A broker to add: with the most common capacity, and with the most common disk and network if
    all brokers have one."""

    def usual(known: Iterable[int | None]) -> int | None:
        counts = Counter(known)
        return None if None in counts else counts.most_common(1)[0][0]

    brokers = cluster.brokers
    return Broker(
        new.id,
        new.rack,
        usual(broker.disk_bytes for broker in brokers),
        Counter(broker.capacity for broker in brokers).most_common(1)[0][0],
        network_in=usual(broker.network_in for broker in brokers),
        network_out=usual(broker.network_out for broker in brokers),
    )


class BrokerChanges(Struct, dict=True):
    """The brokers that the options add and remove."""

    cluster: Cluster
    added: dict[int, Broker] = field(default_factory=dict)
    excluded: set[int] = field(default_factory=set)

    @cached_property
    def known(self) -> dict[int, Broker]:
        return {broker.id: broker for broker in self.cluster.brokers}

    def add(self, new: NewBroker) -> None:
        where = f"add_broker {new}"
        if new.id in self.known or new.id in self.added:
            raise InputError(where, f"broker {new.id} is already in the cluster")
        if self.cluster.rack_names and not new.rack:
            raise InputError(where, f"needs its rack: {new.id}:RACK")
        if new.rack and not self.cluster.rack_names:
            raise InputError(where, "the other brokers have no racks")
        self.added[new.id] = usual_broker(self.cluster, new)

    def exclude(self, identity: int, where: str) -> Broker:
        if identity not in self.known:
            raise InputError(where, f"broker {identity} is not in the cluster")
        if identity in self.excluded:
            raise InputError(where, f"broker {identity} is removed twice")
        self.excluded.add(identity)
        return self.known[identity]

    def replace(self, pair: Replacement) -> None:
        old = self.exclude(pair.old, f"replace_broker {pair}")
        if pair.new not in self.known and pair.new not in self.added:
            self.added[pair.new] = replace(old, id=pair.new, alive=True, log_dirs=())


def broker_changes(cluster: Cluster, options: PlanOptions) -> BrokerChanges:
    """The brokers to add and to exclude. Raises InputError."""
    found = BrokerChanges(cluster)
    for identity in options.remove_broker:
        found.exclude(identity, f"remove_broker {identity}")
    for new in options.add_broker:
        found.add(new)
    for pair in options.replace_broker:
        found.replace(pair)
    both = found.excluded & set(found.added)
    if both:
        raise InputError(f"add_broker {min(both)}", "is also removed")
    for pair in options.replace_broker:
        if pair.new in found.excluded:
            raise InputError(f"replace_broker {pair}", "the new broker is removed")
    return found
