"""From a cluster and options to a problem, and to a plan: the Python interface of the planner.

The keywords of these functions are the fields of ``PlanRequest``, for type checkers (a ParamSpec)
and at run time (``inspect.signature``).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar, get_args, get_type_hints

from partage.brokers.compare import Comparison, deterministic, solve_with_each
from partage.brokers.declaration import Option
from partage.brokers.options import EXACT, GIVEN, PlanOptions, declared
from partage.brokers.plan import Plan, Progress
from partage.brokers.posing import posed
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.cluster import Cluster
from partage.cluster.reassignment import Reassignment
from partage.errors import InputError, shown
from partage.measured_loads import Profile
from partage.units import did_you_mean

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
            return function(Cluster.of(cluster), asked)

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

    strategies: str | Sequence[str] | None = None


@takes(CompareRequest)
def compare(cluster: Cluster, request: CompareRequest) -> Comparison:
    """Compare strategies: what each would do with the same cluster and options.

    ``strategies``: their names, default all; the other keywords are those of ``partage.plan``.
    Raises InputError.
    """
    if request.strategy not in (EXACT, GIVEN):
        asked = f"strategy {shown(request.strategy)}"
        raise InputError(asked, "a comparison takes several, as `strategies`")
    names = request.strategies
    if isinstance(names, str):
        names = [names]
    elif names is not None and not len(names):
        raise InputError("strategies", "none is named: leave it out for all")
    problem = posed(cluster, request.options, request.profile)
    answers = solve_with_each(problem, names, request.progress)
    measured = deterministic(problem, answers, request.progress)
    return Comparison(answers, measured, tuple(problem.warnings))


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
