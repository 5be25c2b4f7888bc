"""What is known of one plan: the document's own words, its arrays, and what is proven of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partage.report import units
from partage.report.view.brokers import BrokerView
from partage.report.view.counting import Bools, Floats, Ints, new_replicas
from partage.report.view.loads import Load, RackView
from partage.report.view.stages import Stage
from partage.report.view.waves import Wave


@dataclass(frozen=True, eq=False)
class Facts:
    """B brokers (ascending id), T topics, P partitions, R replicas.

    - ``topic``, ``number``: [P] position in ``topics``, Kafka's partition number
    - ``size``: [P] bytes of one replica, NaN where unknown
    - ``before``, ``after``: [P, R] broker positions, preferred leader first, padded with -1
    - ``topic_before``, ``topic_after``: [T, B] replicas
    - ``takeover``: [B, B] after the plan, failed broker × survivor: leaders taken over
    - ``lost``: [B] partitions left without a live replica when that broker fails
    - ``worst_before``, ``worst_after``: [B] most leaders on one survivor, -1 where the broker is
      not there to fail
    - ``rack``: [B] position in ``racks``, -1 where it has none; ``rack_takeover`` [K, B],
      ``rack_lost``, ``rack_worst_before``, ``rack_worst_after`` [K]: the same when a rack fails
    - ``move_replicas``, ``move_bytes``: [B + 1, B] current leader (last: no live source) × target
    """

    document: Mapping[str, Any]
    brokers: tuple[BrokerView, ...]
    topics: tuple[str, ...]
    topic: Ints
    number: Ints
    size: Floats
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
    racks: tuple[RackView, ...]
    waves: tuple[Wave, ...]
    stages: tuple[Stage, ...]

    # ------------------------------------------------------------------ the document's own words

    @property
    def strategy(self) -> str:
        return str(self.document.get("strategy", "exact"))

    @property
    def changes(self) -> bool:
        """False: the plan changes nothing."""
        return bool(self.document.get("changes", True))

    @property
    def figures_before(self) -> Mapping[str, Any]:
        figures: Mapping[str, Any] = self.document.get("figures", {}).get("before") or {}
        return figures

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures after."""
        figures: Mapping[str, Any] = self.document.get("figures", {}).get("after") or {}
        return figures

    @property
    def moves(self) -> int:
        return int(self.figures.get("moves", self.move_replicas.sum()))

    @property
    def lower_bound(self) -> int:
        """Moves that any plan as fair needs at least."""
        return int(self.figures.get("moves_lower_bound", 0))

    @property
    def bytes_moved(self) -> float:
        return float(self.figures.get("bytes_moved") or self.move_bytes.sum())

    @property
    def bytes_bound(self) -> int | None:
        """Bytes that any plan as even must move; None unless bytes are what is shared out."""
        bound = self.figures.get("bytes_moved_lower_bound")
        return None if bound is None else int(bound)

    @property
    def ideal(self) -> int | None:
        """Proven lower bound on the worst survivor's leaders after one failure."""
        return after_failure(self.figures)[1]

    @property
    def settled(self) -> bool:
        """Whether a second run would plan nothing."""
        return bool(self.figures.get("settled"))

    @property
    def binding(self) -> tuple[str, ...]:
        return tuple(map(units.plain, self.document.get("binding") or ()))

    @property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        gaps = self.document.get("gaps") or {}

        def text(name: str) -> str:
            stage = self.stage(name)
            if stage is not None and stage.bound == "0":
                return f"{stage.value}, the bound is 0"
            return units.gap(gaps[name])

        return tuple((str(name), text(name)) for name in gaps)

    @property
    def warnings(self) -> tuple[str, ...]:
        given = tuple(map(units.plain, self.document.get("warnings") or ()))
        if self.unknown_sizes and self.load("bytes"):
            blind = units.plural(self.unknown_sizes, "moved partition")
            given += (f"the size of {blind} is not known: counted as 0 bytes",)
        return given

    @property
    def measured(self) -> tuple[str, ...]:
        """Which measurement the loads are out of."""
        return tuple(map(units.plain, self.document.get("loads") or ()))

    @property
    def asked(self) -> Mapping[str, Any]:
        """The options as the document has them."""
        asked: Mapping[str, Any] = self.document.get("options") or {}
        return asked

    @property
    def options(self) -> tuple[str, ...]:
        """The options as one would type them: ``--add-broker 7:a``."""
        typed: list[str] = []
        for key, value in self.asked.items():
            flag = "--" + str(key).replace("_", "-")
            if value is True:
                typed.append(flag)
            elif isinstance(value, (list, tuple)):
                typed += [f"{flag} {units.plain(item)}" for item in value]
            elif isinstance(value, (str, int, float)) and value is not False:
                typed.append(f"{flag} {value}")
        return tuple(typed)

    # ------------------------------------------------------------------ counted

    @cached_property
    def usable(self) -> Bools:
        """[B]"""
        return np.array([broker.usable for broker in self.brokers], dtype=np.bool_)

    @cached_property
    def chosen(self) -> Bools:
        """[P] false: left out by the options, and unchanged."""
        return np.array(self.document["partitions"]["chosen"], dtype=np.bool_)

    @cached_property
    def changed(self) -> Ints:
        """Rows of the partitions whose replica list changes, in order."""
        return np.flatnonzero((self.before != self.after).any(axis=1))

    @cached_property
    def row_moves(self) -> Ints:
        """[P] replicas that some broker must newly fetch."""
        return np.asarray(new_replicas(self.before, self.after).sum(axis=1), dtype=np.int64)

    @property
    def unknown_sizes(self) -> int:
        """Partitions that move and whose size is not known: their bytes count as 0."""
        return int((np.isnan(self.size) & (self.row_moves > 0)).sum())

    @property
    def replicas(self) -> int:
        """All replicas after."""
        return int((self.after >= 0).sum())

    def load(self, key: str) -> Load | None:
        """The load of that name (``replicas``, ``leaders``, ``bytes``, ``rate``) if it is known."""
        return next((load for load in self.loads if load.key == key), None)

    @property
    def seconds(self) -> float | None:
        """The waves' times together, None when one of them has none."""
        if not self.waves or any(wave.seconds is None for wave in self.waves):
            return None
        return sum(wave.seconds or 0.0 for wave in self.waves)

    # ------------------------------------------------------------------ proven

    def stage(self, name: str) -> Stage | None:
        """The stage of that name if the certificate has it."""
        return next((stage for stage in self.stages if stage.name == name), None)

    def proven(self, name: str) -> bool:
        """Whether the stage of that name is there, and its value meets its bound."""
        stage = self.stage(name)
        return stage is not None and stage.proven

    @property
    def raw_stages(self) -> Sequence[Mapping[str, Any]]:
        """The certificate's stages as the document has them."""
        stages: Sequence[Mapping[str, Any]]
        stages = (self.document.get("certificate") or {}).get("stages") or ()
        return stages

    @cached_property
    def fewest(self) -> bool:
        """Whether what moves is proven to be the least for a share this even."""
        if self.bytes_bound is not None:
            return int(self.bytes_moved) == self.bytes_bound
        return self.moves == self.lower_bound and not self.short

    @cached_property
    def short(self) -> bool:
        """Whether it is less even than the fairest share, so that the bound on the moves, which is
        that share's, says nothing about it."""
        stage = self.stage("replicas")
        missed = stage is not None and not stage.proven
        return self.bytes_bound is None and (missed or self.moves < self.lower_bound)


def after_failure(figures: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Worst survivor and ideal out of ``leaders_after_failure``."""
    after = figures.get("leaders_after_failure") or {}
    return after.get("max"), after.get("ideal")
