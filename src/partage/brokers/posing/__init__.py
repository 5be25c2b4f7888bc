"""From a cluster, options and measured loads to a planning problem."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from partage.arrays import Floats, Ints
from partage.brokers.options import GIVEN, PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies import strategy_named
from partage.cluster import Cluster
from partage.errors import InputError
from partage.units import listed, plural

if TYPE_CHECKING:
    from partage.measured_loads import Measured, Profile


def posed(
    cluster: Cluster,
    options: PlanOptions,
    profile: Profile | str | os.PathLike[str] | None = None,
) -> Problem:
    """The planning problem, with the loads that were measured. Raises InputError."""
    strategy_named(options.strategy)
    if options.strategy == GIVEN and options.reassignment is None:
        raise InputError(f"strategy {GIVEN}", "needs replica lists: give `reassignment`")
    if profile is None:
        return _with_tiers(resolve(cluster, options))
    from partage.measured_loads import Profile

    profile = Profile.of(profile)
    measured = profile.aligned(cluster)
    rates = measured.bytes_per_second
    cluster, loads, warnings = _sized(cluster, profile, measured)
    reads = profile.bytes_out(cluster)
    if reads is not None:
        cluster, known = _read(cluster, reads)
        loads.append(
            f"bytes out: what groups consumed between samples, of {plural(known, 'partition')}"
        )
    problem = resolve(cluster, options, rates)
    if rates is not None:
        loads.insert(0, f"rates: {profile.rates}")
    problem.loads[:0] = loads
    problem.warnings.extend(warnings + _measured_warnings(profile, measured))
    return _with_tiers(problem)


def _with_tiers(problem: Problem) -> Problem:
    """The problem, with a sentence about remote storage where topics have it."""
    tiered = sorted(problem.cluster.tiered)
    if tiered:
        problem.loads.append(
            f"sizes of {plural(len(tiered), 'topic')} with remote storage ({listed(tiered, 3)}): "
            f"what is on brokers, and {_copied_of(problem.cluster)}"
        )
    return problem


def _copied_of(cluster: Cluster) -> str:
    if cluster.copy_bytes is None:
        return "a move copies"
    some = int((cluster.copy_bytes >= 0).sum())
    return (
        f"a move copies; of {plural(some, 'partition')} it copies only what is not uploaded yet "
        "(copy_bytes; snapshots estimate it from offsets)"
    )


def _sized(
    cluster: Cluster, profile: Profile, measured: Measured
) -> tuple[Cluster, list[str], list[str]]:
    """The cluster with the sizes it lacks, where they come from, and warnings.

    Sizes of log dirs are preferred to bytes of records; expected sizes to those of the cluster's
    own file.
    """
    if profile.horizon and (measured.size_bytes < 0).all():
        raise InputError("horizon", f"{profile.path} has no log-dir sizes: measure with `sizes`")
    sizes, loads, warnings = cluster.size_bytes, [], []
    sampled = measured.size_bytes >= 0
    taken = sampled if profile.horizon else sampled & (sizes < 0)
    if taken.any() and measured.sampled is not None:
        from partage.period import shown

        sizes = np.where(taken, measured.size_bytes, sizes)
        ahead = f", expected {profile.horizon:g} days later" if profile.horizon else ""
        loads.append(f"sizes: log dirs, {shown(measured.sampled)}{ahead}")
    counted = (sizes < 0) & (measured.bytes >= 0)
    if counted.any():
        local = np.minimum(measured.bytes, _most_local(cluster))
        sizes = np.where(counted, local, sizes)
        warnings.append(
            "sizes that the cluster file lacks are taken from the profile: the bytes of the "
            "records measured, which retention may since have dropped"
        )
    return cluster.with_sizes(sizes), loads, warnings


def _most_local(cluster: Cluster) -> Ints:
    """[P] the most bytes of a replica that stay on its broker, where remote storage takes the rest;
    no limit elsewhere."""
    most = [cluster.tiered.get(topic) for topic in cluster.topics]
    limits = [np.iinfo(np.int64).max if one is None else one for one in most]
    return np.array(limits, dtype=np.int64)[cluster.topic]


def _read(cluster: Cluster, bytes_out: Floats) -> tuple[Cluster, int]:
    """The cluster with measured bytes out where they are known, and of how many partitions."""
    known = ~np.isnan(bytes_out)
    own = np.full(len(known), np.nan) if cluster.bytes_out is None else cluster.bytes_out
    return replace(cluster, bytes_out=np.where(known, bytes_out, own)), int(known.sum())


def _measured_warnings(profile: Profile, measured: Measured) -> list[str]:
    if measured.bytes_per_second is None:
        return []
    found = [
        f"{one}: leave those out with --from and --to, or plan with --rate peak"
        for one in profile.far_records
    ]
    for names, what in (
        (measured.not_measured, "without a record in the profile, rate 0"),
        (measured.not_in_cluster, "of the profile ignored: not in the cluster"),
    ):
        if names:
            number = plural(len(names), "partition")
            found.append(f"{number} {what} ({names[0]}{' …' if names[1:] else ''})")
    return found
