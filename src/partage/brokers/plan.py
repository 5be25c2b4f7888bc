"""A plan: what changes, its figures, the proof that nothing better exists, and its files.

``brokers.solving`` makes plans, ``brokers.directory`` names and writes their files, and
docs/plan-directory.md describes every field of plan.json.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from msgspec.structs import asdict

from partage.arrays import Ints
from partage.brokers import directory, plan_file
from partage.brokers.budget import TOLERANCE, fair_window
from partage.brokers.figures import (
    Placement,
    changed_rows,
    deleted_replicas,
    moved_log_dirs,
    new_replicas,
)
from partage.brokers.option_values import RESOURCES
from partage.brokers.options import EXACT, PlanOptions
from partage.brokers.problem import Problem, Rates, keeps_rules
from partage.brokers.proofs import Stage, is_aimed
from partage.brokers.stages import StageName
from partage.brokers.waves import Wave, WaveSchedule
from partage.cluster import Cluster
from partage.errors import InputError, shown
from partage.files import parse_json, read_text, uncollected
from partage.flow.packing import pack, unpack
from partage.frames import Columns, arrow_table, data_frame, html_table
from partage.units import plural

if TYPE_CHECKING:
    from partage.brokers.load import LoadModel
    from partage.brokers.placement.log_dir_balance import Fullness

Progress = Callable[[str], None]
Table = Literal["moves", "brokers", "waves"]


@dataclass(frozen=True, eq=False)
class Plan:
    """A placement before and after, and the proof. Brokers and partitions are the same in both.

    - ``stages``: the stages of the objective, each with its value and its proven bound
    - ``schedule``: the waves; ``binding``: what limits the plan, in sentences
    - ``gaps``: by stage, the distance to the bound as a share of it
    - ``settled``: stable, a second run changes nothing
    - ``seconds``: what planning took; 0 for a plan that was read from files
    - ``warnings``: of the problem, and of the answer; ``hints``: what other options would do
    - ``fullness``: of the log dirs that new replicas could choose from, None where there are none
    """

    problem: Problem
    before: Cluster
    after: Cluster
    stages: tuple[Stage, ...]
    schedule: WaveSchedule
    binding: tuple[str, ...]
    gaps: dict[str, float]
    settled: bool
    seconds: float
    warnings: tuple[str, ...]
    hints: tuple[str, ...] = ()
    fullness: Fullness | None = None

    @property
    def waves(self) -> tuple[Wave, ...]:
        """The order of execution."""
        return self.schedule.waves

    @cached_property
    def moves(self) -> int:
        """Replicas that a broker must newly fetch."""
        return len(new_replicas(self.before, self.after)[0])

    @property
    def lower_bound(self) -> int:
        """The fewest moves that reach the fairest share, proven for any strategy; if bytes are
        balanced, the moves that the rules force."""
        options = self.problem.options
        if (options.by_size or options.relieved) and not options.no_moves:
            from partage.brokers.placement.sizes import forced_moves

            return forced_moves(self.problem)
        bound = next((s.bound for s in self.stages if s.name == StageName.MOVES), 0)
        if self.problem.options.by_load:
            return bound
        # if full disks keep the loads from being fairest, fewer moves may suffice
        return min(bound, self.moves) if self.problem.options.strategy == EXACT else bound

    @property
    def optimal(self) -> bool:
        """Whether every stage meets its bound, with all rules kept and every broker within the
        tolerance; only leader rates and the joint failure balance may miss theirs (``gaps``)."""
        return all(map(self._met, self.stages)) and keeps_rules(self.problem, self.after)

    def _met(self, stage: Stage) -> bool:
        if stage.name == StageName.BYTES:
            # within the tolerance; a byte more or less is rounding
            limit = stage.bound * (1 + self.problem.options.limits.tolerance)
            return bool(stage.value <= limit + max(stage.prices["load_weights"]))
        if stage.name == StageName.BYTES_MOVED and self.problem.options.by_size:
            from partage.brokers.placement.sizes import within_bands

            if not within_bands(self.problem, self.after):
                return False
        if stage.prices.get("limit") == TOLERANCE and not self._within_tolerance(stage):
            return False  # full disks asked for other counts
        if stage.name == StageName.LOG_DIRS:
            from partage.brokers.placement.log_dir_balance import uneven_brokers

            return not uneven_brokers(self.problem, self.after)
        searched = (StageName.LEADER_RATE, StageName.JOINT_FAILURE_BALANCE)
        if stage.name in searched or not is_aimed(self.problem.options, stage.name):
            return True
        return stage.value == stage.bound

    def _within_tolerance(self, stage: Stage) -> bool:
        sharing, width = self.problem.sharing, self.problem.options.limits.tolerance
        load = sharing.loads(self.problem.broker_slot[self.after.replicas[self.problem.items]])
        low, high = fair_window(sharing, unpack(stage.prices["fair"], sharing.slots), width)
        return bool(((low <= load) & (load <= high)).all())

    @property
    def bytes_moved(self) -> int | None:
        """Bytes that the moves fetch; None when no size is known."""
        if (self.before.size_bytes < 0).all():
            return None
        rows, _ = new_replicas(self.before, self.after)
        return int(self.before.copied[rows].sum())

    @property
    def replicas_deleted(self) -> int:
        """Replicas that are deleted and not replaced, because a replication factor is lowered."""
        return int(self._deleted.sum())

    @cached_property
    def _deleted(self) -> Ints:
        """[P] replicas of each partition that are deleted."""
        return deleted_replicas(self.before.replication_factor, self.after.replication_factor)

    @property
    def leader_changes(self) -> int:
        """Partitions whose preferred leader changes."""
        return self.leaders_other_than(self.before)

    def leaders_other_than(self, other: Cluster) -> int:
        """Partitions that have another leader in another placement of the same cluster."""
        return int((other.replicas[:, 0] != self.after.replicas[:, 0]).sum())

    @cached_property
    def changed(self) -> Ints:
        """Rows of the partitions whose list changes."""
        return changed_rows(self.before, self.after)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of the plan, under the names of the interface."""
        failure = next(stage for stage in self.stages if stage.name == StageName.FAILURE)
        return {
            "strategy": self.problem.options.strategy,
            "moves": self.moves,
            "moves_lower_bound": self.lower_bound,
            "bytes_moved": self.bytes_moved,
            "bytes_moved_lower_bound": next(
                (s.bound for s in self.stages if s.name == StageName.BYTES_MOVED), None
            ),
            "optimal": self.optimal,
            **self._placement_figures(self.after),
            "leaders_after_failure": {"max": failure.value, "ideal": failure.bound},
            **self._log_dir_figures(),
            **self._deletion_figures(),
            "leader_changes": self.leader_changes,
            "settled": self.settled,
            "waves": len(self.waves),
            "waves_lower_bound": self.schedule.bound,
            "seconds": self.seconds,
            "binding": list(self.binding),
            "gaps": self.gaps,
        }

    def _log_dir_figures(self) -> dict[str, Any]:
        """How full log dirs get, where the plan chooses some; what moves between them, where it
        moves replicas that stay."""
        found: dict[str, float] = {}
        if self.fullness is not None:
            fullest, bound = map(float, self.fullness)
            found |= {"fullest": fullest, "bound": bound}
        stage = next((one for one in self.stages if one.name == StageName.LOG_DIRS), None)
        if stage is not None:
            moves = len(moved_log_dirs(self.before, self.after)[0])
            found |= {"moves": moves, "bytes_moved": stage.value}
            found |= {"bytes_moved_lower_bound": stage.bound}
        return {"log_dirs": found} if found else {}

    def _deletion_figures(self) -> dict[str, int]:
        """How many replicas of how many partitions are deleted, where any are."""
        if not self.replicas_deleted:
            return {}
        return {
            "replicas_deleted": self.replicas_deleted,
            "partitions_with_fewer_replicas": int(np.count_nonzero(self._deleted)),
        }

    @cached_property
    def figures_before(self) -> dict[str, Any]:
        """The figures of the placement before the plan."""
        return self._placement_figures(self.before)

    @cached_property
    def _load_model(self) -> LoadModel | None:
        if self.problem.rates is None:
            return None
        from partage.brokers.load import LoadModel

        return LoadModel.of(self.problem)

    def _placement_figures(self, cluster: Cluster) -> dict[str, Any]:
        """The figures of a placement; of every resource, and of bytes between racks, where loads
        are known."""
        figures = Placement(cluster, self.problem.usable).figures()
        rates, model = self.problem.rates, self._load_model
        if rates is None or model is None:
            return figures
        from partage.brokers.load import resource_figures
        from partage.brokers.zone_bytes import zone_bytes

        figures["resources"] = resource_figures(model, cluster)
        crossing = zone_bytes(cluster, *rates)
        if crossing is not None:
            figures["zone_bytes"] = crossing
        return figures

    def document(self) -> dict[str, Any]:
        """plan.json as a value."""
        value = self.contents()
        return value | {"fingerprint": directory.fingerprint(value)}

    def contents(self) -> dict[str, Any]:
        """plan.json as a value, without its fingerprint: to show a plan needs none."""
        return {
            "format_version": directory.FORMAT_VERSION,
            "partage": _version(),
            "strategy": self.problem.options.strategy,
            "cluster_id": self.before.cluster_id,
            "topic_ids": self._topic_ids(),
            **self._clients(),
            "changes": len(self.changed) > 0,
            "options": self.problem.options.given(),
            "brokers": self._broker_entries(),
            "topics": list(self.before.topics),
            "partitions": self._partition_columns(),
            "figures": {
                "before": self.figures_before,
                # without the seconds: the same input gives the same bytes
                "after": {k: v for k, v in self.figures.items() if k != "seconds"},
            },
            "binding": list(self.binding),
            "gaps": self.gaps,
            "loads": [*self.problem.loads, *self.hints],
            "warnings": list(self.warnings),
            "certificate": {
                "stages": [stage.to_json() for stage in self.stages],
                **self._fair_shares(),
            },
            "waves": [self._wave_entry(i, wave) for i, wave in enumerate(self.waves, start=1)],
        }

    def _broker_entries(self) -> list[dict[str, Any]]:
        excluded, added = self.problem.excluded, self.problem.added
        outside = self.problem.outside
        return [
            broker
            | {"excluded": bool(excluded[i]), "added": bool(added[i])}
            | ({"outside": True} if outside[i] else {})
            for i, broker in enumerate(self.before.broker_entries())
        ]

    def _partition_columns(self) -> dict[str, Any]:
        problem, before = self.problem, self.before
        rates = problem.bytes_per_second
        target = before.replication_factor if problem.options.no_moves else problem.target
        return {
            "topic": before.topic.tolist(),
            "partition": before.partition.tolist(),
            "size_bytes": [None if s < 0 else s for s in before.size_bytes.tolist()],
            **self._copy_column(),
            "bytes_per_second": None if rates is None else rates.tolist(),
            **self._rate_columns(),
            "chosen": problem.chosen.tolist(),
            "replication_factor": target.tolist(),
            "before": before.replica_lists(),
            "after": self.after.replica_lists(),
            **self._log_dir_columns(),
        }

    def _copy_column(self) -> dict[str, list[int | None]]:
        """What new replicas copy, where that is not always the size."""
        if self.before.copy_bytes is None:
            return {}
        return {"copy_bytes": [None if c < 0 else c for c in self.before.copy_list()]}

    def _log_dir_columns(self) -> dict[str, list[list[int]]]:
        """Positions of log dirs, where known."""
        if self.before.log_dirs is None or self.after.log_dirs is None:
            return {}
        return {
            "log_dirs_before": self.before.log_dir_lists(),
            "log_dirs_after": self.after.log_dir_lists(),
        }

    def _topic_ids(self) -> list[str | None] | None:
        """The ids of the topics, None where not known; None if none is."""
        known = self.before.topic_ids
        return [known.get(topic) for topic in self.before.topics] if known else None

    def _clients(self) -> dict[str, Any]:
        """In which racks clients are, where known."""
        clients = self.before.clients
        return {} if clients is None else {"clients": clients.to_json()}

    def _fair_shares(self) -> dict[str, Any]:
        """By resource, the fair share of each usable broker; a plan that balances loads has them in
        its bands."""
        model = self._load_model
        if model is None or self.problem.options.by_load:
            return {}
        return {"fair": {name: pack(model.fair(name)) for name in RESOURCES}}

    def _rate_columns(self) -> dict[str, list[float]]:
        """The rates by which loads are counted, where known."""
        rates = self.problem.rates
        if rates is None:
            return {}
        return {
            "bytes_in_per_second": rates.bytes_in.tolist(),
            "bytes_out_per_second": rates.bytes_out.tolist(),
        }

    def _wave_entry(self, number: int, wave: Wave) -> dict[str, Any]:
        """A wave and its load, broker by broker."""
        return {
            "file": directory.wave_name(number),
            "partitions": len(wave.rows),
            "moves": wave.moves,
            "bytes": wave.bytes,
            "seconds": wave.seconds,
            "brokers": self.before.broker_ids[wave.brokers].tolist(),
            "replicas_in": wave.replicas_in.tolist(),
            "replicas_out": wave.replicas_out.tolist(),
            "bytes_in": None if wave.bytes_in is None else wave.bytes_in.tolist(),
            "bytes_out": None if wave.bytes_out is None else wave.bytes_out.tolist(),
            **self._between_log_dirs(wave),
            **self._deleted_in(wave),
        }

    @cached_property
    def _moves_log_dirs(self) -> bool:
        return any(wave.log_dir_moves for wave in self.waves)

    def _between_log_dirs(self, wave: Wave) -> dict[str, int]:
        """What a wave moves between log dirs, where the plan moves anything there."""
        if not self._moves_log_dirs:
            return {}
        return {"log_dir_moves": wave.log_dir_moves, "log_dir_bytes": wave.log_dir_bytes}

    def _deleted_in(self, wave: Wave) -> dict[str, int]:
        """How many replicas a wave deletes, where the plan deletes any."""
        if not self.replicas_deleted:
            return {}
        return {"replicas_deleted": int(self._deleted[wave.rows].sum())}

    @uncollected()
    def files(self) -> dict[str, str]:
        """The files of the plan directory by name, without the report."""
        from partage.cluster.reassignment import reassignment_file, reassignment_texts

        forward = reassignment_texts(self.after, self.changed, self.before)
        back = reassignment_texts(self.before, self.changed, self.after)
        files = {
            directory.MARKER: directory.plan_text(self.document()),
            directory.REASSIGNMENT: reassignment_file(forward),
            directory.ROLLBACK: reassignment_file(back),
        }
        for i, wave in enumerate(self.waves, start=1):
            places = np.searchsorted(self.changed, np.sort(wave.rows))
            part = [forward[place] for place in places.tolist()]
            files[directory.wave_name(i)] = reassignment_file(part)
        return files

    def write(self, path: str | os.PathLike[str], beside: Mapping[str, str] | None = None) -> None:
        """Write the plan directory whole or not at all; ``beside``: more files, name to text.

        Raises InputError for a directory that is not to be replaced, also because its rollback may
        still be needed: see ``check_rollback``.
        """
        from partage.brokers.kept_rollback import check_rollback

        directory.check_writable(path)
        check_rollback(path, self.before)
        directory.write(path, {**(beside or {}), **self.files()})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """The plan of a plan directory. Raises InputError for files that are missing or damaged."""
        file, prices = plan_file.read_with_prices(path)
        before, after = _placements(file)
        problem = _problem(file, before, after)
        stages = [
            Stage(one.name, one.value, one.bound, its_prices, one.exact)
            for one, its_prices in zip(file.certificate.stages, prices, strict=True)
        ]
        targets = dict(zip(before.row_of, after.replica_lists(), strict=True))
        waves = tuple(_wave(one, path, before, targets) for one in file.waves)
        if (
            sorted(row for wave in waves for row in wave.rows)
            != changed_rows(before, after).tolist()
        ):
            differs = "waves/ and plan.json differ: run partage check for the details"
            raise InputError(os.fspath(path), differs)
        bound = file.figures.after.waves_lower_bound or 0
        return cls(
            problem=problem,
            before=before,
            after=after,
            stages=tuple(stages),
            schedule=WaveSchedule(waves, bound, (), len(waves)),
            binding=tuple(file.binding),
            gaps=file.gaps,
            settled=file.figures.after.settled,
            seconds=0.0,
            warnings=tuple(file.warnings),
            fullness=_fullness(file),
        )

    def to_pandas(self, table: Table = "moves") -> Any:
        """A ``pandas.DataFrame`` of the plan's moves, brokers or waves.

        - ``moves``: topic, partition, from, to, bytes, wave; a row per new replica
        - ``brokers``: broker, rack, and replicas, leaders and bytes before and after
        - ``waves``: wave, partitions, moves, bytes, seconds

        Raises PartageError where pandas is not installed.
        """
        return data_frame(self._table(table))

    def to_arrow(self, table: Table = "moves") -> Any:
        """The tables of ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow is
        not installed."""
        return arrow_table(self._table(table))

    def _table(self, table: Table) -> Columns:
        from partage.brokers.plan_tables import brokers_table, moves_table, waves_table

        if table == "brokers":
            return brokers_table(self.before, self.after)
        if table == "waves":
            return waves_table(self.waves)
        if table == "moves":
            return moves_table(self.before, self.after, self.waves)
        raise InputError(f"table {shown(table)}", f"expected one of {', '.join(get_args(Table))}")

    def __repr__(self) -> str:
        return f"<Plan of {self._summary()}>"

    def _summary(self) -> str:
        figures = self.figures
        least, most = figures["replicas_per_broker"]
        counts = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        proof = "the proven minimum" if self.moves == self.lower_bound else "not proven minimal"
        deleted = self.replicas_deleted
        changes = f"{plural(self.moves, 'move')} ({proof})"
        changes += f" and {plural(deleted, 'replica')} deleted" if deleted else ""
        waves = plural(len(self.waves), "wave")
        return f"{changes} in {waves}: {counts} replicas per broker"

    def _repr_html_(self) -> str:
        columns = self._table("brokers")
        rows = list(zip(*columns.values(), strict=True))
        return html_table(self._summary(), columns, rows)


def _version() -> str:
    from partage import __version__

    return __version__


def _placements(file: plan_file.PlanFile) -> tuple[Cluster, Cluster]:
    """Before and after."""
    part = file.partitions
    brokers = [
        {
            "id": one.id,
            "rack": one.rack,
            "disk_bytes": one.disk_bytes,
            "capacity": one.capacity,
            "alive": one.alive,
            "network_in_bytes_per_second": one.network_in_bytes_per_second,
            "network_out_bytes_per_second": one.network_out_bytes_per_second,
            "log_dirs": [asdict(log_dir) for log_dir in one.log_dirs],
        }
        for one in file.brokers
    ]
    rows = zip(file.keys, part.size_bytes, part.copies, part.before, strict=True)
    partitions = [
        {
            "topic": topic,
            "partition": number,
            "replicas": replicas,
            "size_bytes": size,
            "copy_bytes": copied,
        }
        for (topic, number), size, copied, replicas in rows
    ]
    value = {"brokers": brokers, "partitions": partitions, "clients": file.clients}
    cluster = Cluster.from_json(value, directory.MARKER)
    before = replace(cluster, cluster_id=file.cluster_id, topic_ids=file.id_of_topic)
    padded = _padded(part.after)
    placed = np.where(padded < 0, -1, np.searchsorted(before.broker_ids, padded))
    after = before.with_replicas(placed)
    if part.log_dirs_before is None or part.log_dirs_after is None:
        return replace(before, log_dirs=None), after
    return (
        replace(before, log_dirs=_padded(part.log_dirs_before)),
        replace(after, log_dirs=_padded(part.log_dirs_after)),
    )


def _padded(lists: list[list[int]]) -> Ints:
    width = max(map(len, lists))
    return np.array([row + [-1] * (width - len(row)) for row in lists], dtype=np.int64)


def _fullness(file: plan_file.PlanFile) -> Fullness | None:
    found = file.figures.after.log_dirs
    if found is None or found.fullest is None or found.bound is None:
        return None
    from partage.brokers.placement.log_dir_balance import Fullness

    return Fullness(Fraction(found.fullest), Fraction(found.bound))


def _problem(file: plan_file.PlanFile, before: Cluster, after: Cluster) -> Problem:
    """The problem that the plan solves, as far as the files have it."""
    options: dict[str, Any] = dict(file.options)
    given = None
    if "reassignment" in options:
        from partage.cluster.reassignment import Reassignment

        lists = Reassignment.of(after.to_reassignment(np.arange(after.partitions)))
        options["reassignment"] = replace(lists, name=str(options["reassignment"]))
        given = after.replicas
    part = file.partitions
    rates = part.bytes_per_second
    both = None
    if part.bytes_in_per_second is not None and part.bytes_out_per_second is not None:
        both = Rates(np.array(part.bytes_in_per_second), np.array(part.bytes_out_per_second))
    return Problem(
        cluster=before,
        options=PlanOptions(**options),
        usable=np.array([broker.usable for broker in file.brokers]),
        excluded=np.array([broker.excluded for broker in file.brokers]),
        added=np.array([broker.added for broker in file.brokers]),
        chosen=np.array(part.chosen),
        target=np.array(part.replication_factor or before.replication_factor),
        bytes_per_second=None if rates is None else np.array(rates),
        rates=both,
        given=given,
        loads=list(file.loads),
    )


def _wave(
    one: plan_file.PlanWave,
    path: str | os.PathLike[str],
    before: Cluster,
    targets: Mapping[tuple[str, int], list[int]],
) -> Wave:
    """A wave as plan.json and its file have it. Raises InputError where they differ."""
    from partage.cluster.reassignment import Reassignment

    name = os.fspath(Path(path) / one.file)
    lists = Reassignment.from_json(parse_json(read_text(name, regular=True), name), name).lists
    for (topic, number), replicas in lists.items():
        if targets.get((topic, number)) != list(replicas):
            problem = f"{topic}-{number}: its replicas differ from {directory.MARKER}"
            raise InputError(name, problem)
    rows = np.array(sorted(before.row_of[key] for key in lists), dtype=np.int64)
    brokers = np.searchsorted(before.broker_ids, np.array(one.brokers or [], dtype=np.int64))
    return Wave(
        rows=rows,
        moves=one.moves,
        brokers=brokers,
        replicas_in=np.array(one.replicas_in, dtype=np.int64),
        replicas_out=np.array(one.replicas_out, dtype=np.int64),
        bytes_in=None if one.bytes_in is None else np.array(one.bytes_in, dtype=np.int64),
        bytes_out=None if one.bytes_out is None else np.array(one.bytes_out, dtype=np.int64),
        log_dir_moves=one.log_dir_moves or 0,
        log_dir_bytes=one.log_dir_bytes or 0,
        seconds=None if one.seconds is None else int(one.seconds),
    )
