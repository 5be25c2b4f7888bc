"""The six loads of a broker, and the band of each around its fair share.

A replica adds to the broker that holds it: 1 replica, its bytes on disk, and the bytes per second
that producers write to its partition (``in``). A leader adds 1 leader, the bytes per second that it
sends (``out``: what consumers read, and a copy for every follower), and those that producers send
to it (``leader_in``).

The fair share of a load is in proportion to the capacity that a broker has for it: its disk, its
network, or else its ``capacity``. For the loads of replicas it is the fairest share that the rack
rule allows. All numbers are integers; rates are multiples of a power of two.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Floats, Ints
from partage.brokers.option_values import RESOURCES
from partage.brokers.problem import Problem, capacity_weights
from partage.cluster import Broker, Cluster
from partage.flow.assignment import loads_of
from partage.flow.load_balancing import Bands
from partage.flow.size_balancing import fair_shares

HELD = ("replicas", "disk", "in")
"""What every replica adds to the load of its broker."""

LED = ("leaders", "out", "leader_in")
"""What the leader of a partition adds."""

_RATE_BITS = 44
_EDGE = 1e-6
"""How close to an integer the end of a band counts as that integer."""

_NO_DISK = 2**62


class LoadModel(Struct, frozen=True, eq=False, dict=True):
    """Loads of the chosen partitions (items [I]) on the usable brokers (slots [E]).

    - ``rate_bits``: rates are multiples of 2 ** -rate_bits bytes per second
    - ``held``, ``led`` [3, P]: the loads of HELD and LED, by row of the cluster
    - ``held_base`` [3, E], ``led_base`` [3, E]: loads of the partitions that are left out
    - ``held_bands``, ``led_bands``: of the same loads
    """

    problem: Problem
    rate_bits: int
    held: Ints
    led: Ints
    held_base: Ints
    led_base: Ints
    held_bands: Bands
    led_bands: Bands

    @classmethod
    def of(cls, problem: Problem) -> LoadModel:
        """The loads of a problem with rates."""
        cluster, slots = problem.cluster, len(problem.slot_brokers)
        bits, rate_in, rate_out = whole_rates(problem)
        one = np.ones(cluster.partitions, dtype=np.int64)
        held = np.stack((one, np.maximum(cluster.size_bytes, 0), rate_in))
        led = np.stack((one, rate_out + (problem.target - 1) * rate_in, rate_in))
        fixed = ~problem.chosen
        stays = problem.broker_slot[cluster.replicas[fixed]]
        none = np.zeros((3, slots), dtype=np.int64)
        held_base = loads_of(stays, held[:, fixed], none)
        led_base = loads_of(stays[:, :1], led[:, fixed], none)
        items = problem.items
        on, place = cluster.replicas, problem.slot_brokers
        empty = np.zeros((3, len(cluster.brokers)), dtype=np.int64)
        today = loads_of(on, held, empty)[:, place], loads_of(on[:, :1], led, empty)[:, place]
        held_bands = [
            _band_of(
                problem, name, bits, _fair_held(problem, name, held[k, items], held_base[k]), now
            )
            for k, (name, now) in enumerate(zip(HELD, today[0].tolist(), strict=True))
        ]
        led_bands = [
            _band_of(problem, name, bits, _fair_led(problem, name, led[k, items], led_base[k]), now)
            for k, (name, now) in enumerate(zip(LED, today[1].tolist(), strict=True))
        ]
        return cls(
            problem,
            bits,
            held,
            led,
            held_base,
            led_base,
            _stacked(held_bands),
            _stacked(led_bands),
        )

    @cached_property
    def item_held(self) -> Ints:
        """[3, I] the loads of HELD of the items."""
        return self.held[:, self.problem.items]

    @cached_property
    def item_led(self) -> Ints:
        """[3, I] the loads of LED of the items."""
        return self.led[:, self.problem.items]

    def loads(self, cluster: Cluster) -> tuple[Ints, Ints]:
        """[3, E] twice: the loads of HELD and LED in a placement of the cluster."""
        held, led = self.broker_loads(cluster)
        slots = self.problem.slot_brokers
        return held[:, slots], led[:, slots]

    def broker_loads(self, cluster: Cluster) -> tuple[Ints, Ints]:
        """[3, B] twice: the same of all brokers, also of those that are not usable."""
        empty = np.zeros((3, len(cluster.brokers)), dtype=np.int64)
        on = cluster.replicas
        return loads_of(on, self.held, empty), loads_of(on[:, :1], self.led, empty)

    def excess(self, cluster: Cluster) -> dict[str, int]:
        """By resource, the worst distance from a band in millionths of the fair share."""
        held, led = self.loads(cluster)
        found = zip(HELD, self.held_bands.excess(held).tolist(), strict=True)
        also = zip(LED, self.led_bands.excess(led).tolist(), strict=True)
        by_name = dict([*found, *also])
        return {name: by_name[name] for name in RESOURCES}

    def bands_of(self, name: str) -> tuple[Bands, int]:
        """The bands that contain a resource, and its position in them."""
        if name in HELD:
            return self.held_bands, HELD.index(name)
        return self.led_bands, LED.index(name)

    def fair(self, name: str) -> Ints:
        """[E] the fair share of each usable broker."""
        bands, k = self.bands_of(name)
        return np.asarray(bands.fair[k])


def whole_rates(problem: Problem) -> tuple[int, Ints, Ints]:
    """(bits, in [P], out [P]): bytes per second times 2 ** bits, as integers."""
    rates = problem.rates
    assert rates is not None, "known, or resolved with `balance` load"
    largest = max(float(rates.bytes_in.max(initial=0)), float(rates.bytes_out.max(initial=0)))
    bits = _RATE_BITS - int(np.frexp(largest)[1]) - len(rates.bytes_in).bit_length()
    rate_in, rate_out = (np.rint(np.ldexp(part, bits)).astype(np.int64) for part in rates)
    return bits, rate_in, rate_out


_CAPACITY: dict[str, Callable[[Broker], int | None]] = {
    "disk": lambda broker: broker.disk_bytes,
    "in": lambda broker: broker.network_in,
    "out": lambda broker: broker.network_out,
    "leader_in": lambda broker: broker.network_in,
}


def capacity_of(broker: Broker, name: str) -> int | None:
    """What a broker has for a resource, in bytes or bytes per second; None where not known."""
    return _CAPACITY[name](broker) if name in _CAPACITY else None


def capacity_for(problem: Problem, name: str) -> list[Fraction]:
    """[E] the capacity of each usable broker for a resource: what it has for it, if that is known
    of all of them, else its ``capacity``."""
    known = known_capacity(problem, name)
    if known is not None:
        return known
    return [problem.cluster.brokers[b].capacity for b in problem.slot_brokers.tolist()]


def capacity_by(problem: Problem, name: str) -> Floats:
    """[B] the same of every broker: what all usable ones have for it, else the ``capacity``."""
    known = known_capacity(problem, name) is not None
    brokers = problem.cluster.brokers
    return np.array(
        [float((capacity_of(one, name) or 0) if known else one.capacity) for one in brokers]
    )


def known_capacity(problem: Problem, name: str) -> list[Fraction] | None:
    """[E] what each usable broker has for a resource; None unless it is known of all of them."""
    brokers = [problem.cluster.brokers[b] for b in problem.slot_brokers.tolist()]
    own = [capacity_of(broker, name) for broker in brokers]
    return [Fraction(one) for one in own if one] if all(own) else None


def _fair_held(problem: Problem, name: str, load: Ints, base: Ints) -> list[Fraction]:
    """[E] fair loads of a resource of HELD: as even as racks, disks and what stays allow."""
    weight, _ = capacity_weights(capacity_for(problem, name))
    # a rack of one broker, too, takes each partition at most once
    zoned = bool(problem.cluster.rack_names)
    sharing = replace(problem.sharing, size=load, base_size=base, weight=weight, zoned=zoned)
    ceiling = None
    if name == "disk":
        disk = problem.cluster.disk_bytes[problem.slot_brokers]
        ceiling = np.where(disk >= 0, disk, _NO_DISK)
    return [Fraction(share) for share in fair_shares(sharing, ceiling).tolist()]


def _fair_led(problem: Problem, name: str, load: Ints, base: Ints) -> list[Fraction]:
    """[E] fair loads of a resource of LED: in proportion to capacity."""
    capacity = capacity_for(problem, name)
    total, whole = sum(load.tolist()) + sum(base.tolist()), sum(capacity)
    return [total * one / whole for one in capacity]


_Band = tuple[list[int], list[int], list[int]]
"""(low, high, fair) of each slot."""


def _band_of(
    problem: Problem, name: str, bits: int, fair: list[Fraction], today: list[int]
) -> _Band:
    """The band of a resource; ``bits``: of whole rates; ``today`` [E]: its loads."""
    if not problem.options.relieved:
        return _band(problem, name, fair)
    return _band_to_relieve(problem, name, bits, fair, today)


def _band_to_relieve(
    problem: Problem, name: str, bits: int, fair: list[Fraction], today: list[int]
) -> _Band:
    """From 0 to the limit of a load that is relieved: a part of the brokers' capacities for it, if
    all are known, else of the fair share. The others do not grow above the larger of today's load
    and a little more than the fair share; a disk is never more than full."""
    limits = dict(problem.options.relieved)
    disk = problem.cluster.disk_bytes[problem.slot_brokers].tolist()
    known = known_capacity(problem, name)
    if name not in limits:
        _, high, _ = _band(problem, name, fair)
        high = list(map(max, high, today))
    elif name == "disk":
        high = [_NO_DISK if d < 0 else floor(d * limits[name]) for d in disk]
    elif known is not None:
        high = [floor(one * limits[name] * Fraction(2) ** bits) for one in known]
    else:
        high = [_share_of(x, limits[name]) for x in fair]
    if name == "disk":
        high = [h if d < 0 else min(h, d) for h, d in zip(high, disk, strict=True)]
    return [0] * len(high), high, [max(1, round(x)) for x in fair]


def _share_of(fair: Fraction, part: Fraction) -> int:
    """A part of a fair share; from the whole on, at least the whole number above it."""
    least = ceil(float(fair) - _EDGE) if part >= 1 else 0
    return max(floor(float(fair * part) + _EDGE), least)


def _band(problem: Problem, name: str, fair: list[Fraction]) -> _Band:
    """(low, high, fair) of each slot. A band always contains the whole numbers next to the fair
    share; a disk is never more than full."""
    tolerance = problem.options.load_tolerance(name)
    low = [min(ceil(float(x * (1 - tolerance)) - _EDGE), floor(float(x) + _EDGE)) for x in fair]
    high = [max(floor(float(x * (1 + tolerance)) + _EDGE), ceil(float(x) - _EDGE)) for x in fair]
    if name == "disk":
        disk = problem.cluster.disk_bytes[problem.slot_brokers].tolist()
        high = [h if d < 0 else min(h, d) for h, d in zip(high, disk, strict=True)]
        low = list(map(min, low, high))
    return [max(0, one) for one in low], high, [max(1, round(x)) for x in fair]


def _stacked(bands: list[tuple[list[int], list[int], list[int]]]) -> Bands:
    low, high, fair = (np.array(part, dtype=np.int64) for part in zip(*bands, strict=True))
    return Bands(low, high, fair)
