"""plan.json as typed values: the one reader of the report and of the executor.

``partage check`` reads the file on its own (``brokers/check``), so that a mistake here cannot hide
one in a plan. docs/plan-directory.md describes every field; those that older plans may lack, or
that only a proof needs, have a default.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import msgspec

from partage.brokers.directory import (
    FORMAT_VERSION,
    MARKER,
    NO_VERSION,
    check_plan_directory,
    fingerprint,
    wave_name,
)
from partage.brokers.stages import StageName
from partage.errors import InputError
from partage.files import parse_json, read_text
from partage.json_input import Int64, check_json

OptionValue: TypeAlias = bool | int | float | str | list[str | int] | None
BrokerIds: TypeAlias = list[int]


class PlanLogDir(msgspec.Struct, frozen=True):
    """A log dir of a broker; ``offline``: why it cannot be used."""

    path: str
    disk_bytes: Int64 | None = None
    cordoned: bool = False
    offline: str | None = None


class PlanBroker(msgspec.Struct, frozen=True):
    """A broker. ``excluded``: must be empty after the plan; ``added``: by an option; ``outside``:
    not in the broker set of the plan."""

    id: Int64
    rack: str | None = None
    disk_bytes: Int64 | None = None
    capacity: float = 1.0
    alive: bool = True
    excluded: bool = False
    added: bool = False
    outside: bool = False
    network_in_bytes_per_second: Int64 | None = None
    network_out_bytes_per_second: Int64 | None = None
    log_dirs: list[PlanLogDir] = []

    @property
    def usable(self) -> bool:
        """Whether it may hold replicas after the plan."""
        return self.alive and not self.excluded and not self.outside

    @property
    def status(self) -> str:
        """``dead``, ``removed``, ``outside``, ``new`` or empty."""
        if not self.alive:
            return "dead"
        if self.excluded:
            return "removed"
        if self.outside:
            return "outside"
        return "new" if self.added else ""


class PlanPartitions(msgspec.Struct, frozen=True):
    """One entry per partition in every column; ``topic`` is a position in the plan's ``topics``.

    ``bytes_per_second`` is None without a profile. ``before`` and ``after`` are replica lists,
    preferred leader first; ``log_dirs_before`` and ``log_dirs_after`` are positions in the brokers'
    ``log_dirs``, -1 where not known, None where no broker has several.
    """

    topic: list[Int64]
    partition: list[Int64]
    before: list[BrokerIds]
    after: list[BrokerIds]
    size_bytes: list[Int64 | None]
    chosen: list[bool]
    bytes_per_second: list[float] | None = None
    replication_factor: list[Int64] | None = None
    bytes_in_per_second: list[float] | None = None
    bytes_out_per_second: list[float] | None = None
    log_dirs_before: list[list[int]] | None = None
    log_dirs_after: list[list[int]] | None = None
    copy_bytes: list[Int64 | None] | None = None

    @property
    def copies(self) -> list[Int64 | None]:
        """Bytes that a new replica of each partition copies, None where that is its size."""
        return self.copy_bytes or [None] * len(self.topic)

    @property
    def to_copy(self) -> list[Int64 | None]:
        """Bytes that a new replica of each partition copies, None where not known."""
        pairs = zip(self.copies, self.size_bytes, strict=True)
        return [size if copied is None else copied for copied, size in pairs]


class FailureFigures(msgspec.Struct, frozen=True):
    """Leaders of the worst survivor after one failure, a proven lower bound on them (``ideal``),
    and, after a rack's failure, the partitions left without a live replica."""

    max: Int64 | None = None
    ideal: Int64 | None = None
    offline: Int64 | None = None


class BrokerLoad(msgspec.Struct, frozen=True):
    """A load of one broker, its fair share if it may hold replicas, and its band if the plan aims
    at one; the share of its capacity that is free, and the partition that adds most to it, where
    known."""

    broker: Int64
    load: float
    fair: float | None = None
    band: tuple[float, float] | None = None
    headroom: float | None = None
    hottest: str | None = None


class SurvivorFigures(msgspec.Struct, frozen=True):
    """The most that a survivor of one broker's failure carries, and a lower bound on it."""

    max: float
    bound: float


class ResourceFigures(msgspec.Struct, frozen=True):
    """A load of the brokers: extremes, fair share, a lower bound on ``max``, the band if the plan
    aims at one; a row per broker; after a failure, where leaders bring the load along."""

    min: float
    max: float
    fair: float
    bound: float
    band: tuple[float, float] | None = None
    brokers: list[BrokerLoad] = []
    after_failure: SurvivorFigures | None = None


class LogDirFigures(msgspec.Struct, frozen=True):
    """The share of its disk that the fullest log dir with a choice holds, and a lower bound, where
    disks are known; replicas that move between log dirs, their bytes and a lower bound on those,
    where the plan moves any that stay on their broker."""

    fullest: float | None = None
    bound: float | None = None
    moves: Int64 | None = None
    bytes_moved: Int64 | None = None
    bytes_moved_lower_bound: Int64 | None = None


class ZoneBytes(msgspec.Struct, frozen=True):
    """Bytes per second that cross racks, and in total: what followers copy and, where their racks
    are known, what producers write and consumers read."""

    replication: float
    replication_total: float
    producers: float | None = None
    producers_total: float | None = None
    consumers: float | None = None
    consumers_total: float | None = None


class PlanFigures(msgspec.Struct, frozen=True):
    """Figures of one placement. Those from ``moves`` on are of the placement after the plan."""

    replicas_per_broker: tuple[Int64, Int64] | None = None
    leaders_per_broker: tuple[Int64, Int64] | None = None
    leaders_after_failure: FailureFigures | None = None
    leaders_after_rack_failure: FailureFigures | None = None
    worst_survivor_lower_bound: Int64 | None = None
    rack_survivor_lower_bound: Int64 | None = None
    rack_violations: Int64 | None = None
    topic_spread: int | None = None
    bytes_max_over_mean: float | None = None
    resources: dict[str, ResourceFigures] = {}
    zone_bytes: ZoneBytes | None = None
    moves: Int64 | None = None
    moves_lower_bound: Int64 = 0
    bytes_moved: Int64 | None = None
    bytes_moved_lower_bound: Int64 | None = None
    optimal: bool = False
    log_dirs: LogDirFigures | None = None
    replicas_deleted: Int64 | None = None
    partitions_with_fewer_replicas: Int64 | None = None
    leader_changes: Int64 | None = None
    settled: bool = False
    waves: Int64 | None = None
    waves_lower_bound: Int64 | None = None


class FigurePair(msgspec.Struct, frozen=True):
    """Figures before and after the plan."""

    before: PlanFigures = PlanFigures()
    after: PlanFigures = PlanFigures()


class Prices(msgspec.Struct, frozen=True):
    """Dual values behind a stage's bound, as far as the report shows them; text is packed
    (``partage.flow.packing.unpack``)."""

    weights: dict[str, int] | None = None
    load_weights: list[int] | None = None
    brokers: str | None = None
    topics: str | None = None
    aim: list[int] | None = None
    limit: str | None = None


class PlanStage(msgspec.Struct, frozen=True, rename={"name": "stage"}):
    """A stage of the objective: the plan's value, and the bound that no plan can beat."""

    name: StageName
    value: int
    bound: int
    exact: bool = True
    prices: Prices = Prices()

    @property
    def proven(self) -> bool:
        """Whether the value meets its bound."""
        return self.value == self.bound


class Certificate(msgspec.Struct, frozen=True):
    """What proves the plan, in the order of the objective."""

    stages: list[PlanStage] = []


class PlanWave(msgspec.Struct, frozen=True):
    """A wave. ``bytes`` is None where sizes are unknown, ``seconds`` without a throttle, what
    changes its log dir where the plan moves nothing there, and ``replicas_deleted`` where the plan
    deletes none.

    Older plans lack the load: one entry per broker that receives or sends (``brokers``: ids)."""

    file: str
    partitions: Int64
    moves: Int64
    bytes: Int64 | None = None
    seconds: Int64 | float | None = None
    brokers: list[Int64] | None = None
    replicas_in: list[Int64] = []
    replicas_out: list[Int64] = []
    bytes_in: list[Int64] | None = None
    bytes_out: list[Int64] | None = None
    log_dir_moves: Int64 | None = None
    log_dir_bytes: Int64 | None = None
    replicas_deleted: Int64 | None = None

    @property
    def to_copy(self) -> int | None:
        """Bytes that brokers copy: from each other, and between their log dirs."""
        return None if self.bytes is None else self.bytes + (self.log_dir_bytes or 0)


class PlanFile(msgspec.Struct, frozen=True, dict=True):
    """A plan.json. ``options``: those that differ from their defaults."""

    accepted: ClassVar[str] = "a plan"

    format_version: Int64
    brokers: list[PlanBroker]
    topics: list[str]
    partitions: PlanPartitions
    partage: str = ""
    strategy: str = "exact"
    cluster_id: str | None = None
    topic_ids: list[str | None] | None = None
    clients: dict[str, Any] | None = None
    changes: bool = True
    options: dict[str, OptionValue] = {}
    figures: FigurePair = FigurePair()
    binding: list[str] = []
    gaps: dict[str, float] = {}
    loads: list[str] = []
    warnings: list[str] = []
    certificate: Certificate = Certificate()
    waves: list[PlanWave] = []
    fingerprint: str = ""

    @cached_property
    def log_dir_paths(self) -> dict[int, list[str]]:
        """The paths of log dirs by broker."""
        return {broker.id: [one.path for one in broker.log_dirs] for broker in self.brokers}

    @property
    def keys(self) -> list[tuple[str, int]]:
        """(topic, partition number) of every partition."""
        part = self.partitions
        return [(self.topics[t], n) for t, n in zip(part.topic, part.partition, strict=True)]

    @property
    def id_of_topic(self) -> dict[str, str]:
        """Kafka's ids of the topics, where known."""
        pairs = zip(self.topics, self.topic_ids or [None] * len(self.topics), strict=True)
        return {topic: known for topic, known in pairs if known is not None}

    def stage(self, name: StageName) -> PlanStage | None:
        """The stage of that name, if the certificate has it."""
        return next((stage for stage in self.certificate.stages if stage.name == name), None)


def read(directory: str | os.PathLike[str], *, unchanged: bool = False) -> PlanFile:
    """The plan of a plan directory. ``unchanged``: require that its fingerprint holds.

    Raises InputError for a file that is missing, damaged, of another format, or edited.
    """
    plan, *_ = _read(directory, unchanged)
    return plan


def read_to_run(directory: str | os.PathLike[str]) -> tuple[PlanFile, str]:
    """An unchanged plan, and the SHA-256 (hex) of its plan.json, by which a journal knows it.
    Raises as ``read``."""
    from hashlib import sha256

    plan, _, text = _read(directory, unchanged=True)
    return plan, sha256(text.encode()).hexdigest()


def read_with_prices(directory: str | os.PathLike[str]) -> tuple[PlanFile, list[dict[str, Any]]]:
    """An unchanged plan, and the dual values of every stage, whole. Raises as ``read``."""
    plan, value, _ = _read(directory, unchanged=True)
    stages = value.get("certificate", {}).get("stages", [])
    return plan, [stage.get("prices", {}) for stage in stages]


def _read(
    directory: str | os.PathLike[str], unchanged: bool
) -> tuple[PlanFile, dict[str, Any], str]:
    """The plan, its JSON value, and the text of plan.json."""
    check_plan_directory(directory)
    path = os.fspath(Path(directory) / MARKER)
    text = read_text(path, regular=True)
    value = parse_json(text, path)
    plan = parse(value, path)
    if unchanged and plan.fingerprint != fingerprint(value):
        raise InputError(path, "was changed after it was planned: the fingerprint does not match")
    return plan, value, text


def parse(value: Any, where: str = MARKER) -> PlanFile:
    """A plan.json document, checked. Raises InputError, with ``where`` for the file's name."""
    version = value.get("format_version") if isinstance(value, dict) else None
    if isinstance(value, dict) and "format_version" not in value:
        raise InputError(where, NO_VERSION)
    if type(version) is int and version != FORMAT_VERSION:
        problem = f"format_version is {version}, this partage reads {FORMAT_VERSION}"
        raise InputError(where, problem)
    plan = check_json(value, PlanFile, where)
    if (contradiction := _inconsistency(plan)) is not None:
        raise InputError(where, contradiction)
    return plan


def _inconsistency(plan: PlanFile) -> str | None:
    """The first place where parts of the file contradict each other."""
    ids = [broker.id for broker in plan.brokers]
    if ids != sorted(set(ids)):
        return "brokers: the ids must ascend"
    part = plan.partitions
    for name in part.__struct_fields__:
        column = getattr(part, name)
        if column is not None and len(column) != len(part.topic):
            return f"partitions.{name}: {len(column)} entries, expected {len(part.topic)}"
    if not all(0 <= topic < len(plan.topics) for topic in part.topic):
        return f"partitions.topic: expected positions from 0 to {len(plan.topics) - 1}"
    if plan.topic_ids is not None and len(plan.topic_ids) != len(plan.topics):
        return f"topic_ids: {len(plan.topic_ids)} entries, expected {len(plan.topics)}"
    known = set(ids)
    for name, lists in (("before", part.before), ("after", part.after)):
        row = next((i for i, one in enumerate(lists) if not one or not known.issuperset(one)), None)
        if row is not None:
            return f"partitions.{name}[{row}]: expected one or more of the listed broker ids"
    if (contradiction := _log_dir_inconsistency(plan)) is not None:
        return contradiction
    for place in (plan.figures.before, plan.figures.after):
        for name, figures in place.resources.items():
            if figures.brokers and [row.broker for row in figures.brokers] != ids:
                return f"figures: resources.{name}.brokers: expected the ids of the brokers"
    return _wave_inconsistency(plan.waves, known)


def _log_dir_inconsistency(plan: PlanFile) -> str | None:
    part = plan.partitions
    if (part.log_dirs_before is None) is not (part.log_dirs_after is None):
        return "partitions: log_dirs_before and log_dirs_after go together"
    count = {broker.id: len(broker.log_dirs) for broker in plan.brokers}
    for name, lists, log_dirs in (
        ("before", part.before, part.log_dirs_before),
        ("after", part.after, part.log_dirs_after),
    ):
        for row, (brokers, own) in enumerate(zip(lists, log_dirs or (), strict=False)):
            if len(own) != len(brokers) or not all(
                -1 <= one < count[broker] for broker, one in zip(brokers, own, strict=True)
            ):
                return f"partitions.log_dirs_{name}[{row}]: expected the brokers' log dirs"
    return None


def _wave_inconsistency(waves: Sequence[PlanWave], known: Iterable[int]) -> str | None:
    for i, wave in enumerate(waves):
        if wave.file != wave_name(i + 1):
            return f"waves[{i}].file: expected {wave_name(i + 1)}"
        brokers = wave.brokers
        if brokers is None:
            continue
        if not set(brokers) <= set(known):
            return f"waves[{i}].brokers: expected listed broker ids"
        for name in ("replicas_in", "replicas_out", "bytes_in", "bytes_out"):
            column = getattr(wave, name)
            if column is not None and len(column) != len(brokers):
                return f"waves[{i}].{name}: {len(column)} entries, expected {len(brokers)}"
    return None
