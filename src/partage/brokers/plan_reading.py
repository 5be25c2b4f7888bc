"""A plan from the files of its directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import asdict

from partage.arrays import Ints
from partage.brokers import directory, plan_file
from partage.brokers.figures import changed_rows
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.problem import Problem, Rates
from partage.brokers.proofs import Stage
from partage.brokers.waves import Wave, WaveSchedule
from partage.cluster import Cluster
from partage.errors import InputError
from partage.files import parse_json, read_text

if TYPE_CHECKING:
    from partage.brokers.placement.log_dir_balance import Fullness


def read_plan(path: str | os.PathLike[str]) -> Plan:
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
    if sorted(row for wave in waves for row in wave.rows) != changed_rows(before, after).tolist():
        differs = "waves/ and plan.json differ: run partage check for the details"
        raise InputError(os.fspath(path), differs)
    bound = file.figures.after.waves_lower_bound or 0
    return Plan(
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
