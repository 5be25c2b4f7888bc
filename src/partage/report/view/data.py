"""A plan as arrays, and what is counted and proven of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.brokers.figures import deleted_replicas, not_in
from partage.brokers.least_time import refusal
from partage.brokers.optimality import optimality
from partage.brokers.plan_file import (
    OptionValue,
    PlanBroker,
    PlanFigures,
    PlanFile,
    PlanStage,
    PlanWave,
)
from partage.brokers.stages import StageName
from partage.report import units
from partage.report.view.loads import Load, Rack
from partage.units import Rate


class PlanData(Struct, frozen=True, eq=False, dict=True):
    """B brokers (ascending id), T topics, P partitions, R replicas, K racks.

    - ``topic``, ``number``: [P] position in ``topics``, Kafka's partition number
    - ``size``: [P] bytes of one replica, ``to_copy``: of which a new one copies, NaN where unknown
    - ``before``, ``after``: [P, R] broker positions, preferred leader first, padded with -1
    - ``topic_before``, ``topic_after``: [T, B] replicas
    - ``takeover``: [B, B] after the plan, failed broker × survivor: leaders taken over
    - ``lost``: [B] partitions without a live replica after that broker fails
    - ``worst_before``, ``worst_after``: [B] most leaders on one survivor after that broker fails,
      -1 for a broker that is not running
    - ``rack``: [B] position in ``racks``, -1 without a rack; ``rack_takeover`` [K, B],
      ``rack_lost``, ``rack_worst_before``, ``rack_worst_after`` [K]: the same for a failed rack
    - ``move_replicas``, ``move_bytes``: [B + 1, B] current leader (last: no live source) × target
    """

    file: PlanFile
    topic: Ints
    number: Ints
    size: Floats
    to_copy: Floats
    before: Ints
    after: Ints
    loads: tuple[Load, ...]
    topic_before: Ints
    topic_after: Ints
    takeover: Ints
    lost: Ints
    worst_before: Ints
    worst_after: Ints
    rack: Ints
    rack_takeover: Ints
    rack_lost: Ints
    rack_worst_before: Ints
    rack_worst_after: Ints
    move_replicas: Ints
    move_bytes: Floats
    racks: tuple[Rack, ...]

    # ------------------------------------------------------------------ from the file

    @property
    def brokers(self) -> list[PlanBroker]:
        return self.file.brokers

    @property
    def topics(self) -> list[str]:
        return self.file.topics

    @property
    def waves(self) -> list[PlanWave]:
        return self.file.waves

    @property
    def figures_before(self) -> PlanFigures:
        return self.file.figures.before

    @property
    def figures(self) -> PlanFigures:
        """The figures after the plan."""
        return self.file.figures.after

    @property
    def has_broker_set(self) -> bool:
        """Whether an option leaves live brokers out, among which no failures are counted."""
        return any(broker.outside and broker.alive for broker in self.brokers)

    @property
    def relieves_loads(self) -> bool:
        """Whether the plan only keeps limits of loads, not of disks alone."""
        return "=" in str(self.options.get("relieve", ""))

    @property
    def options(self) -> Mapping[str, OptionValue]:
        """The options that differ from their defaults."""
        return self.file.options

    @property
    def moves(self) -> int:
        moves = self.figures.moves
        return int(self.move_replicas.sum()) if moves is None else moves

    @property
    def lower_bound(self) -> int:
        """Moves that every plan as balanced needs at least."""
        return self.figures.moves_lower_bound

    @property
    def bytes_moved(self) -> float:
        return self.figures.bytes_moved or float(self.move_bytes.sum())

    @property
    def bytes_bound(self) -> int | None:
        """Bytes that every plan as balanced must copy; None unless bytes are balanced."""
        return self.figures.bytes_moved_lower_bound

    @property
    def failure_bound(self) -> int | None:
        """Proven lower bound on the worst survivor's leaders after one failure, for these replica
        sets."""
        failure = self.figures.leaders_after_failure
        return None if failure is None else failure.ideal

    @property
    def least_for_other_sets(self) -> int | None:
        """The proven lower bound on the worst survivor for all placements as fair; None where it is
        not below ``failure_bound``, which holds for these replica sets."""
        least, bound = self.figures.worst_survivor_lower_bound, self.failure_bound
        return least if least is not None and bound is not None and least < bound else None

    @property
    def without_bound(self) -> list[str]:
        """The stages whose lower bound is 0."""
        return [stage.name for stage in self.file.certificate.stages if not stage.bound]

    @property
    def optimality(self) -> str:
        """``optimal``, and except which stages; or ``not optimal``."""
        return optimality(self.figures.optimal, self.file.gaps, self.without_bound)

    @property
    def by_rate(self) -> Load | None:
        """The rates that brokers lead, if the plan balances them."""
        return self.load("rate") if self.options.get("leaders") == "rate" else None

    @property
    def warnings(self) -> list[str]:
        warnings = list(self.file.warnings)
        if self.unknown_sizes and self.load("bytes"):
            unknown = units.plural(self.unknown_sizes, "moved partition")
            warnings.append(f"the size of {unknown} is not known: counted as 0 bytes")
        return warnings

    @property
    def flags(self) -> list[str]:
        """The options as on the command line: ``--add-broker 7:a``."""
        flags: list[str] = []
        for name, value in self.options.items():
            flag = "--" + name.replace("_", "-")
            if value is True:
                flags.append(flag)
            elif isinstance(value, list):
                flags += [f"{flag} {item}" for item in value]
            elif value is not None and value is not False:
                flags.append(f"{flag} {value}")
        return flags

    # ------------------------------------------------------------------ counted

    @cached_property
    def usable(self) -> Bools:
        """[B] brokers that may hold replicas after the plan."""
        return np.array([broker.usable for broker in self.brokers], dtype=np.bool_)

    @cached_property
    def positions(self) -> dict[int, int]:
        """Position of each broker id."""
        return {broker.id: i for i, broker in enumerate(self.brokers)}

    @cached_property
    def chosen(self) -> Bools:
        """[P] False for partitions that the options leave out, which stay unchanged."""
        return np.array(self.file.partitions.chosen, dtype=np.bool_)

    @cached_property
    def changed(self) -> Ints:
        """Rows of the partitions whose replica list changes, ascending."""
        return np.flatnonzero((self.before != self.after).any(axis=1))

    @cached_property
    def row_moves(self) -> Ints:
        """[P] replicas that a broker must newly fetch."""
        return np.asarray(not_in(self.after, self.before).sum(axis=1), dtype=np.int64)

    @cached_property
    def row_deleted(self) -> Ints:
        """[P] replicas that are deleted and not replaced."""
        before, after = ((lists >= 0).sum(axis=1) for lists in (self.before, self.after))
        return deleted_replicas(before, after)

    @property
    def deleted(self) -> int:
        """Number of replicas that are deleted and not replaced."""
        return int(self.row_deleted.sum())

    @property
    def shortened(self) -> int:
        """Number of partitions that have fewer replicas after the plan."""
        return int(np.count_nonzero(self.row_deleted))

    @property
    def unknown_sizes(self) -> int:
        """Number of partitions that move with unknown size, whose bytes count as 0."""
        return int((np.isnan(self.size) & (self.row_moves > 0)).sum())

    @property
    def replicas(self) -> int:
        """Number of replicas after the plan."""
        return int((self.after >= 0).sum())

    def load(self, key: str) -> Load | None:
        """The load of that key (``replicas``, ``leaders``, ``bytes``, ``rate``), if known."""
        return next((load for load in self.loads if load.key == key), None)

    @property
    def seconds(self) -> float | None:
        """Duration of all waves; None where the duration of one is not known."""
        known = [wave.seconds for wave in self.waves if wave.seconds is not None]
        return sum(known) if known and len(known) == len(self.waves) else None

    @property
    def refused(self) -> str | None:
        """Why ``apply`` will refuse the plan's throttle, if it does."""
        throttle = self.options.get("throttle")
        if throttle is None:
            return None
        why = refusal(self.move_bytes.sum(axis=0).tolist(), Rate.of(str(throttle)))
        return None if why is None else f"apply will refuse --throttle {throttle}: {why}"

    # ------------------------------------------------------------------ proven

    def stage(self, name: StageName) -> PlanStage | None:
        """The stage of that name, if the certificate has it."""
        return self.file.stage(name)

    def proven(self, name: StageName) -> bool:
        """Whether the certificate has the stage, and its value meets its bound."""
        stage = self.stage(name)
        return stage is not None and stage.proven

    @cached_property
    def minimal(self) -> bool:
        """Whether no plan as balanced moves less, proven."""
        if self.bytes_bound is not None:
            return self.bytes_moved == self.bytes_bound
        return self.moves == self.lower_bound and not self.less_balanced

    @cached_property
    def less_balanced(self) -> bool:
        """Whether the plan is less balanced than possible. The bound on moves is one for the
        fairest placement and proves nothing about such a plan."""
        stage = self.stage(StageName.REPLICAS)
        missed = stage is not None and not stage.proven
        return self.bytes_bound is None and (missed or self.moves < self.lower_bound)
