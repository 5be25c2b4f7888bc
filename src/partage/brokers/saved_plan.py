"""A plan read back from its directory: what ``Plan.read`` returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from partage.brokers import plan_file
from partage.brokers.directory import MARKER, REASSIGNMENT, ROLLBACK, wave_name, write
from partage.brokers.figures import changed_rows
from partage.brokers.plan_file import PlanFile, PlanWave
from partage.cluster import Cluster
from partage.files import parse_json, read_text

_BROKER = ("id", "rack", "disk_bytes", "capacity", "alive")


@dataclass(frozen=True, eq=False)
class SavedPlan:
    """A plan of a directory, under the names of ``Plan``; it cannot be solved again.

    - ``before``, ``after``: the placements; ``saved``: plan.json as typed values
    - ``files``: what ``write`` writes, name to text
    """

    before: Cluster
    after: Cluster
    saved: PlanFile
    files: Mapping[str, str]

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> Self:
        """The plan of a directory. Raises InputError for files that are missing or damaged."""
        saved = plan_file.read(directory, unchanged=True)
        names = [MARKER, REASSIGNMENT, ROLLBACK]
        names += [wave_name(number) for number in range(1, len(saved.waves) + 1)]
        files = {name: read_text(str(Path(directory) / name)) for name in names}
        value = parse_json(files[MARKER], str(Path(directory) / MARKER))
        before, after = (_cluster(value, name) for name in ("before", "after"))
        return cls(before, after, saved, files)

    @cached_property
    def changed(self) -> npt.NDArray[np.int64]:
        """Rows of the partitions whose list changes."""
        return changed_rows(self.before, self.after)

    @property
    def moves(self) -> int:
        """Replicas that a broker must newly fetch."""
        return int(self.figures["moves"])

    @property
    def lower_bound(self) -> int:
        """The fewest moves that reach the fairest share, proven."""
        return int(self.figures["moves_lower_bound"])

    @property
    def optimal(self) -> bool:
        """Whether the plan is proven optimal."""
        return bool(self.figures["optimal"])

    @property
    def binding(self) -> tuple[str, ...]:
        """The limiting constraints."""
        return tuple(self.saved.binding)

    @property
    def gaps(self) -> dict[str, float]:
        """By stage: how far above its bound."""
        return dict(self.saved.gaps)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before applying the plan."""
        return tuple(self.saved.warnings)

    @property
    def waves(self) -> tuple[PlanWave, ...]:
        """The order of execution."""
        return tuple(self.saved.waves)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of the plan, under the names of the interface; ``seconds`` is not saved."""
        figures: dict[str, Any] = self.document()["figures"]["after"]
        return figures

    def document(self) -> dict[str, Any]:
        """plan.json as a value."""
        value: dict[str, Any] = parse_json(self.files[MARKER], MARKER)
        return value

    def write(
        self, directory: str | os.PathLike[str], beside: Mapping[str, str] | None = None
    ) -> None:
        """Write the plan directory whole or not at all; ``beside``: more files, name to text."""
        write(directory, {**(beside or {}), **self.files})


def _cluster(value: dict[str, Any], name: str) -> Cluster:
    """One of the two placements of a plan.json."""
    part = value["partitions"]
    partitions = [
        {"topic": value["topics"][topic], "partition": number, "replicas": ids, "size_bytes": size}
        for topic, number, ids, size in zip(
            part["topic"], part["partition"], part[name], part["size_bytes"], strict=True
        )
    ]
    brokers = [{key: one[key] for key in _BROKER if key in one} for one in value["brokers"]]
    cluster = Cluster.from_json({"brokers": brokers, "partitions": partitions}, MARKER)
    return replace(cluster, cluster_id=value.get("cluster_id"))
