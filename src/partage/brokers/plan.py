"""A plan: what changes, its figures, the proof that nothing better exists, and its files.

``brokers.solving`` makes plans, ``brokers.plan_document`` is what plan.json has, and
``brokers.directory`` names and writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from partage.arrays import Ints
from partage.brokers import directory
from partage.brokers.budget import TOLERANCE, fair_window
from partage.brokers.figures import (
    Placement,
    changed_rows,
    deleted_replicas,
    moved_log_dirs,
    new_replicas,
)
from partage.brokers.options import EXACT
from partage.brokers.problem import Problem, keeps_rules
from partage.brokers.proofs import Stage, is_aimed
from partage.brokers.stages import StageName
from partage.brokers.waves import Wave, WaveSchedule
from partage.cluster import Cluster
from partage.errors import InputError, shown
from partage.files import uncollected
from partage.flow.packing import unpack
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
        return int(self.deleted.sum())

    @cached_property
    def moves_log_dirs(self) -> bool:
        """Whether a wave moves replicas between log dirs of their broker."""
        return any(wave.log_dir_moves for wave in self.waves)

    @cached_property
    def deleted(self) -> Ints:
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
            "partitions_with_fewer_replicas": int(np.count_nonzero(self.deleted)),
        }

    @cached_property
    def figures_before(self) -> dict[str, Any]:
        """The figures of the placement before the plan."""
        return self._placement_figures(self.before)

    @cached_property
    def load_model(self) -> LoadModel | None:
        """The loads of the brokers, where rates are known."""
        if self.problem.rates is None:
            return None
        from partage.brokers.load import LoadModel

        return LoadModel.of(self.problem)

    def _placement_figures(self, cluster: Cluster) -> dict[str, Any]:
        """The figures of a placement; of every resource, and of bytes between racks, where loads
        are known."""
        figures = Placement(cluster, self.problem.usable).figures()
        rates, model = self.problem.rates, self.load_model
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
        from partage.brokers.plan_document import contents_of

        return contents_of(self)

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
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """The plan of a plan directory. Raises InputError for files that are missing or damaged."""
        from partage.brokers.plan_reading import read_plan

        return read_plan(path)

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
