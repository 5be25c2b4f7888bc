"""The rates of partitions: measured, of the cluster's file, or assumed."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from partage.arrays import Floats
from partage.brokers.posing.problem_warnings import some
from partage.brokers.problem import Problem, Rates
from partage.cluster import Cluster
from partage.errors import InputError

_WEEK = 7 * 86_400
"""Seconds: Kafka's default of ``log.retention.hours``."""


def own_rates(cluster: Cluster) -> Floats:
    """[P] bytes per second that the cluster's file has, 0 where unknown. Raises InputError."""
    if cluster.bytes_in is None:
        raise InputError(
            "leaders rate", "needs rates: give `profile`, or bytes_in_per_second of partitions"
        )
    return np.asarray(np.nan_to_num(cluster.bytes_in))


def unknown_rates(cluster: Cluster, known: Floats | None) -> list[str]:
    """A warning about partitions without a rate, if there are any."""
    missing = np.isnan([] if known is None else known)
    return [f"unknown rates count as 0: {some(cluster, missing)}"] if missing.any() else []


def loads_known(problem: Problem) -> bool:
    """Whether every load of the brokers can be counted: rates and sizes are known, and what
    stays is on usable brokers."""
    cluster = problem.cluster
    on = np.append(problem.usable, True)[cluster.replicas[problem.chosen]]
    if problem.options.no_moves and not on.all():
        return False
    known = problem.bytes_per_second is not None or cluster.bytes_in is not None
    return known and not (cluster.size_bytes < 0).any()


def with_rates(problem: Problem) -> Problem:
    """The problem with rates, and where they come from."""
    cluster, loads = problem.cluster, []
    known = cluster.bytes_in if problem.bytes_per_second is None else problem.bytes_per_second
    if known is None:
        loads.append("bytes in: no rates are known, taken as what fills the sizes in a week")
        known = np.maximum(cluster.size_bytes, 0) / _WEEK
    bytes_in = np.nan_to_num(known)
    read = np.full(len(bytes_in), np.nan) if cluster.bytes_out is None else cluster.bytes_out
    if np.isnan(read).any():
        loads.append("bytes out: where unknown, as if one consumer read everything")
    rates = Rates(bytes_in, np.where(np.isnan(read), bytes_in, read))
    warnings = unknown_rates(cluster, known)
    return structs.replace(problem, rates=rates, loads=loads, warnings=warnings)
