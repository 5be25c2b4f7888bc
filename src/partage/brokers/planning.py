"""From a cluster and options to a problem, and to a plan: the Python interface of the planner.

The keywords of these functions are the fields of ``PlanRequest``, for type checkers (a ParamSpec)
and at run time (``inspect.signature``).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from partage.brokers.compare import Comparison, deterministic, solve_with_each
from partage.brokers.declaration import Option
from partage.brokers.options import GIVEN, PlanOptions, declared
from partage.brokers.plan import Plan, Progress
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.brokers.strategies import strategy_named
from partage.cluster import Cluster
from partage.cluster.reassignment import Reassignment
from partage.errors import InputError
from partage.measured_loads import Measured, Profile
from partage.period import shown
from partage.units import did_you_mean, plural

P = ParamSpec("P")
Request = TypeVar("Request", bound="PlanRequest")
Answer = TypeVar("Answer")
ClusterLike: TypeAlias = Cluster | str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanRequest(PlanOptions):
    """The options of a plan, and what a call in Python gives besides.

    - ``profile``: measured loads, or the directory that ``partage profile`` wrote
    - ``progress``: called with each step
    """

    profile: Profile | str | os.PathLike[str] | None = None
    progress: Progress | None = None

    @property
    def options(self) -> PlanOptions:
        """The options alone."""
        return PlanOptions(**{one.name: getattr(self, one.name) for one in declared()})


def takes(
    request: Callable[P, Request],
) -> Callable[
    [Callable[[Cluster, Request], Answer]], Callable[Concatenate[ClusterLike, P], Answer]
]:
    """A function of a cluster and a request as one of a cluster, or its path, and keywords."""

    def decorate(
        function: Callable[[Cluster, Request], Answer],
    ) -> Callable[Concatenate[ClusterLike, P], Answer]:
        known = list(inspect.signature(request).parameters)

        @wraps(function)
        def call(cluster: ClusterLike, /, *args: P.args, **keywords: P.kwargs) -> Answer:
            for name in keywords:
                if name not in known:
                    problem = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                    raise TypeError(f"{problem}{did_you_mean(name, known)}")
            asked = request(*args, **keywords)
            return function(
                cluster if isinstance(cluster, Cluster) else Cluster.read(cluster), asked
            )

        show(call, request)
        return call

    return decorate


def show(function: Callable[..., object], request: object) -> None:
    """Give a function the signature and the documentation of its keywords."""
    assert isinstance(request, type)
    types = get_type_hints(request, localns={"Reassignment": Reassignment})
    parameters = [
        inspect.Parameter("cluster", inspect.Parameter.POSITIONAL_ONLY, annotation=ClusterLike)
    ]
    lines = []
    for one in fields(request):
        kind, default = types[one.name], one.default
        if isinstance(default, Option):
            kind, default = get_args(kind)[0], None if default.usual == () else default.usual
            kind = kind if default is not None else kind | None
            lines.append(f"    {one.name}: {request.__dict__.get(one.name, one.default).help}")
        parameters.append(
            inspect.Parameter(
                one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )
        )
    answer = get_type_hints(function).get("return", inspect.Signature.empty)
    vars(function)["__signature__"] = inspect.Signature(parameters, return_annotation=answer)
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Options:", *lines])


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareRequest(PlanRequest):
    """The options of a comparison: those of a plan, and the ``strategies`` (default: all)."""

    strategies: Sequence[str] | None = None


@takes(CompareRequest)
def compare(cluster: Cluster, request: CompareRequest) -> Comparison:
    """Compare strategies: what each would do with the same cluster and options.

    ``strategies``: their names, default all; the other keywords are those of ``partage.plan``.
    Raises InputError.
    """
    problem = posed(cluster, request.options, request.profile)
    answers = solve_with_each(problem, request.strategies, request.progress)
    return Comparison(answers, deterministic(problem, answers, request.progress))


@takes(PlanRequest)
def plan(cluster: Cluster, request: PlanRequest) -> Plan:
    """Decide which broker has which replica and which one leads.

    ``cluster`` is a Cluster or the path of its file; ``profile``: measured loads, or their
    directory; ``progress``: called with each step. Raises InputError or CannotError.
    """
    return solve(posed(cluster, request.options, request.profile), request.progress)


@takes(PlanRequest)
def problem_of(cluster: Cluster, request: PlanRequest) -> Problem:
    """The planning problem: the options, resolved against the cluster and its measured loads.

    Raises InputError.
    """
    return posed(cluster, request.options, request.profile)


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
        return Problem.resolve(cluster, options)
    if not isinstance(profile, Profile):
        profile = Profile.read(profile)
    measured = profile.aligned(cluster)
    rates = measured.bytes_per_second
    cluster, loads, warnings = _sized(cluster, profile, measured)
    reads = profile.bytes_out(cluster) if options.by_load else None
    if reads is not None:
        cluster, known = _read(cluster, reads)
        loads.append(
            f"bytes out: what groups consumed between samples, of {plural(known, 'partition')}"
        )
    problem = Problem.resolve(cluster, options, rates)
    if rates is not None:
        problem.loads.append(f"rates: {profile.rates}")
    problem.loads.extend(loads)
    problem.warnings.extend(warnings + _measured_warnings(measured))
    return problem


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
        sizes = np.where(taken, measured.size_bytes, sizes)
        ahead = f", expected {profile.horizon:g} days later" if profile.horizon else ""
        loads.append(f"sizes: log dirs, {shown(measured.sampled)}{ahead}")
    counted = (sizes < 0) & (measured.bytes >= 0)
    if counted.any():
        sizes = np.where(counted, measured.bytes, sizes)
        warnings.append(
            "sizes that the cluster file lacks are taken from the profile: the bytes of the "
            "records measured, which retention may since have dropped"
        )
    return cluster.with_sizes(sizes), loads, warnings


def _read(cluster: Cluster, bytes_out: npt.NDArray[np.float64]) -> tuple[Cluster, int]:
    """The cluster with measured bytes out where they are known, and of how many partitions."""
    known = ~np.isnan(bytes_out)
    own = np.full(len(known), np.nan) if cluster.bytes_out is None else cluster.bytes_out
    return replace(cluster, bytes_out=np.where(known, bytes_out, own)), int(known.sum())


def _measured_warnings(measured: Measured) -> list[str]:
    found = []
    if measured.bytes_per_second is None:
        return []
    for names, what in (
        (measured.not_measured, "without a record in the profile, rate 0"),
        (measured.not_in_cluster, "of the profile are not in the cluster: ignored"),
    ):
        if names:
            found.append(f"{len(names)} partitions {what} ({names[0]}{' …' if names[1:] else ''})")
    return found
