"""Find the fewest brokers: from the lower bound upwards, plans are made until one fits.

The plans are those of ``partage plan --balance load``. Where one does not fit, others take over
what leaders send (``takeovers``), then a placement is searched that only keeps the limits
(``fitting``). Log dirs are chosen as plans choose them (``log_dirs``). Where none fits, more
brokers are tried in growing steps, then the numbers between. A number that is found is shown by its
placement; that fewer do not suffice is claimed only where the bound proves it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import compress
from typing import Any

from msgspec import Struct, structs

from partage.brokers.directory import SIZE
from partage.brokers.option_values import NewBroker
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan, Progress
from partage.brokers.posing import posed
from partage.brokers.posing.broker_changes import usual_broker
from partage.brokers.problem import Problem
from partage.brokers.sizing.bounds import Bound, LowerBounds, needed
from partage.brokers.sizing.choice import fewer, more
from partage.brokers.sizing.fitting import fitted
from partage.brokers.sizing.requirement import SURVIVE, Requirement
from partage.brokers.sizing.resources import (
    Resource,
    disk_in_log_dirs,
    resources_of,
    with_usual_log_dirs,
)
from partage.brokers.sizing.takeovers import spread_takeovers
from partage.brokers.sizing.usage import Usage, Use, usage_of, with_log_dirs
from partage.brokers.solving import placed, scheduled, solve
from partage.cluster import Cluster
from partage.cluster.broker import MAX_BROKERS
from partage.cluster.reassignment import Reassignment
from partage.errors import CannotError, InputError, read_parameter, shown
from partage.frames import arrow_table, data_frame, html_table
from partage.measured_loads import Profile
from partage.units import Percent, headroom_of, plural

_STEPS = 8
"""Numbers tried above the lower bound before the search gives up: in steps of 1, 2, 4, …"""

_FOR_LOG_DIRS: tuple[dict[str, Any], ...] = tuple(
    {"balance_disks": balanced, "concurrency": concurrency}
    for concurrency in (None, 1)
    for balanced in (False, True)
)
"""Options with which replicas fit into log dirs where they do not otherwise: those that stay may
change their log dir, and fewer old copies are still there when new ones arrive."""


class Attempt(Struct, frozen=True, eq=False):
    """A plan with so many ``brokers``: its ``options``, the placement ``after`` and its usage.
    ``changed``: it differs from the placement of the plan with these options. ``failed``: why the
    plan could not be made, empty if it could."""

    brokers: int
    options: PlanOptions
    problem: Problem
    after: Cluster | None = None
    usage: Usage | None = None
    changed: bool = False
    failed: str = ""

    @property
    def fits(self) -> bool:
        return self.usage is not None and self.usage.fits and not self.failed

    @property
    def overload(self) -> float:
        """The highest use of a resource, as a share of its limit."""
        return float("inf") if self.usage is None else self.usage.overload


class ClusterSize(Struct, frozen=True, eq=False):
    """How many brokers a cluster needs.

    ``found`` is the attempt with this number, ``below`` the one with one broker fewer, None if the
    ``bounds`` exclude it; ``left_out``: why a resource is not counted; ``now``: the usage of the
    current placement."""

    cluster: Cluster
    profile: Profile | None
    now: Usage
    asked: Requirement
    resources: list[Resource]
    left_out: dict[str, str]
    bounds: list[Bound]
    found: Attempt
    below: Attempt | None

    @property
    def brokers(self) -> int:
        """The fewest brokers for which a placement was found."""
        return self.found.brokers

    @property
    def today(self) -> int:
        """Live brokers."""
        return int(self.cluster.alive.sum())

    @property
    def bound(self) -> Bound:
        """The highest lower bound."""
        return needed(self.bounds)

    @property
    def proven(self) -> bool:
        """Whether it is proven that fewer do not suffice."""
        return self.brokers == self.bound.brokers

    def bound_of(self, resource: str) -> Bound:
        """The highest lower bound of a resource."""
        return needed([bound for bound in self.bounds if bound.resource == resource])

    @property
    def usage(self) -> Usage:
        """What each broker would hold, receive and send, in the placement found."""
        assert self.found.usage is not None
        return self.found.usage

    def plan_options(self) -> PlanOptions:
        """The options with which ``plan`` makes this placement."""
        options, after = self.found.options, self.found.after
        if not self.found.changed or after is None:
            return options
        lists = Reassignment.from_json(after.to_reassignment(), "partage size")
        return PlanOptions(
            remove_broker=options.remove_broker,
            add_broker=list(map(str, options.add_broker)),
            reassignment=lists,
            balance_disks=options.balance_disks,
            concurrency=options.concurrency,
        )

    def plan(self, progress: Progress | None = None) -> Plan:
        """The plan to this number of brokers."""
        return solve(posed(self.cluster, self.plan_options(), self.profile), progress)

    def to_json(self) -> dict[str, Any]:
        """The value that ``partage size --json`` prints."""
        options, bound = self.found.options, self.bound
        return {
            "brokers": self.brokers,
            "lower_bound": bound.brokers,
            "proven": self.proven,
            "today": self.today,
            "survive": self.asked.survive,
            "headroom": float(self.asked.headroom),
            "limiting": {"resource": bound.resource, "rule": bound.rule}
            | {"needed": bound.needed, "available": bound.available},
            "resources": {use.resource.name: self._figures(use) for use in self.usage.uses},
            "not_counted": self.left_out,
            "remove": list(options.remove_broker),
            "add": [{"id": new.id, "rack": new.rack} for new in options.add_broker],
            "today_fits": self.now.fits,
            "offline": self.usage.offline,
            "notes": self.notes,
            "loads": [self._row(at) for at in range(len(self.usage.brokers))],
        }

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per broker. Raises PartageError where pandas is not
        installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def __repr__(self) -> str:
        return f"<ClusterSize: {self._summary()}>"

    def _repr_html_(self) -> str:
        columns = self._columns()
        return html_table(self._summary(), columns, list(zip(*columns.values(), strict=True)))

    def _summary(self) -> str:
        least = "no fewer" if self.proven else f"at least {self.bound.brokers:,}"
        return f"{plural(self.brokers, 'broker')}, proven: {least}; today {self.today:,}"

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for at in range(len(self.usage.brokers)):
            for name, value in self._row(at).items():
                parts = value.items() if isinstance(value, dict) else [("", value)]
                for part, one in parts:
                    columns.setdefault(f"{name}_{part}".rstrip("_"), []).append(one)
        return columns

    def files(self) -> dict[str, str]:
        """What ``check`` verifies beside the plan: text by file name."""
        value = {
            "format_version": 1,
            "survive": self.asked.survive,
            "headroom": str(Percent.of(self.asked.headroom)),
            "brokers": self.brokers,
            "today": self.today,
            "lower_bound": self.bound.brokers,
            "proven": self.proven,
            "bounds": [
                {"resource": one.resource, "rule": one.rule, "brokers": one.brokers}
                for one in self.bounds
            ],
            "resources": {
                use.resource.name: self._highest(use, use.chosen) for use in self.usage.uses
            },
        }
        return {SIZE: json.dumps(value, indent=2) + "\n"}

    def _figures(self, use: Use) -> dict[str, Any]:
        bound = self.bound_of(use.resource.name)
        return {"lower_bound": bound.brokers} | self._highest(use)

    def _highest(self, use: Use, some: Sequence[bool] | None = None) -> dict[str, float | None]:
        """The highest shares of capacities that are used, on ``some`` brokers or all."""

        def highest(loads: Sequence[int]) -> float | None:
            shares = use.shares(loads)
            return max(shares if some is None else compress(shares, some), default=None)

        after = highest(use.after) if self.asked.failures else None
        return {"max": highest(use.load), "max_after_failure": after}

    def _row(self, at: int) -> dict[str, Any]:
        broker = self.usage.brokers[at]
        row: dict[str, Any] = {"broker": broker.id, "rack": broker.rack}
        for use in self.usage.uses:
            one = use.resource
            row[one.name] = {
                "load": one.bytes(use.load[at]),
                "after_failure": one.bytes(use.after[at]) if self.asked.failures else None,
                "capacity": use.capacity[at],
            }
        return row

    @property
    def notes(self) -> list[str]:
        """Where loads come from, and warnings."""
        rates = {one.name for one in self.resources} - {"disk"}
        loads = [one for one in self.found.problem.loads if rates or not one.startswith("bytes ")]
        return [*loads, *self.found.problem.warnings]


def size(
    cluster: Cluster | str | os.PathLike[str],
    /,
    *,
    headroom: str | float = "20%",
    survive: str = "broker",
    profile: Profile | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> ClusterSize:
    """Find how few brokers a cluster needs, within the capacities that it lists.

    - ``cluster``: a Cluster, or the path of its file
    - ``headroom``: the share of every capacity that stays free, ``"20%"`` or ``0.2``
    - ``survive``: the failures, one at a time: ``"broker"``, ``"rack"`` (of any broker or rack) or
      ``"none"``
    - ``profile``: measured loads, or the directory that ``partage profile`` wrote
    - ``progress``: called with each step

    Raises InputError where nothing can be counted, CannotError where no number of brokers suffices
    or none was found.
    """
    free = read_parameter("headroom", headroom_of, headroom)
    if survive not in SURVIVE:
        raise InputError(f"survive {shown(survive)}", f"expected {' or '.join(SURVIVE)}")
    measured = None if profile is None else Profile.of(profile)
    report = progress or (lambda _: None)
    return fewest_brokers(Cluster.of(cluster), Requirement(free, survive), measured, report)


def fewest_brokers(
    cluster: Cluster,
    asked: Requirement,
    profile: Profile | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> ClusterSize:
    """The fewest brokers found. ``report``: called with each step.

    Raises InputError where nothing can be counted, CannotError where no number of brokers suffices
    or none was found.
    """
    if asked.racks_fail and len({b.rack for b in cluster.brokers if b.alive}) < 2:
        raise InputError("survive rack", "needs live brokers in two racks or more")
    factor = int(cluster.replication_factor.max())
    options = PlanOptions(balance="load", add_broker=list(map(str, more(cluster, factor))))
    problem = posed(cluster, options, profile)
    resources, left_out = resources_of(problem, asked.headroom)
    new = with_usual_log_dirs(usual_broker(cluster, NewBroker(0)), cluster)
    bounds = LowerBounds(cluster, problem.target, new, resources, asked).all()
    least = needed(bounds).brokers
    if least > MAX_BROKERS:
        raise CannotError(f"at least {plural(least, 'broker')} are necessary")

    maker = _Maker(cluster, asked, profile, resources, report)
    found, below = _search(maker.attempt, least)
    now = with_log_dirs(
        usage_of(problem, problem.cluster, resources, asked), problem, problem.cluster
    )
    return ClusterSize(cluster, profile, now, asked, resources, left_out, bounds, found, below)


class _Maker(Struct, frozen=True, eq=False):
    """Makes the plans."""

    cluster: Cluster
    asked: Requirement
    profile: Profile | None
    resources: list[Resource]
    report: Callable[[str], None]

    def attempt(self, brokers: int) -> Attempt:
        """The plan with so many brokers that comes closest."""
        self.report(f"trying {plural(brokers, 'broker')}")
        today = int(self.cluster.alive.sum())
        options = PlanOptions(
            remove_broker=fewer(self.cluster, self.resources, brokers) if brokers < today else (),
            add_broker=list(map(str, more(self.cluster, brokers))),
            balance="load",
        )
        problem = posed(self.cluster, options, self.profile)
        best = Attempt(brokers, options, problem)
        for after, changed in self._placements(problem):
            usage = usage_of(problem, after, self.resources, self.asked)
            one = Attempt(brokers, options, problem, after, usage, changed)
            if one.fits and disk_in_log_dirs(problem.cluster, self.resources):
                one = self._in_log_dirs(one)
            if one.fits:
                return one
            best = min(best, one, key=lambda one: one.overload)
        return best

    def _in_log_dirs(self, one: Attempt) -> Attempt:
        """The attempt with the log dirs that its plan chooses, with the first options that make
        them fit."""
        made = one
        for more_options in _FOR_LOG_DIRS:
            options = dataclasses.replace(one.options, **more_options)
            problem = posed(self.cluster, options, self.profile)
            assert one.after is not None
            assert one.usage is not None
            try:
                after, _ = scheduled(problem, one.after)
            except CannotError as error:
                made = structs.replace(one, failed=str(error))
                continue
            usage = with_log_dirs(one.usage, problem, after)
            made = Attempt(one.brokers, options, problem, after, usage, one.changed)
            if made.fits:
                break
        return made

    def _placements(self, problem: Problem) -> Iterator[tuple[Cluster, bool]]:
        """Placements to measure, and whether each differs from the plan."""
        sends = self.asked.failures and any(one.led for one in self.resources)

        def spread(after: Cluster) -> Cluster:
            return spread_takeovers(problem, after, self.resources, self.asked)

        with suppress(CannotError):  # a disk would overflow
            after = placed(problem)
            yield after, False
            if sends:
                yield spread(after), True
        after = fitted(problem, self.resources, self.asked)
        yield spread(after) if sends else after, True


def _search(attempt: Callable[[int], Attempt], least: int) -> tuple[Attempt, Attempt | None]:
    """The fewest brokers found, and the attempt with one fewer if that is not below ``least``."""
    below, found, step = None, attempt(least), 1
    while not found.fits:
        if step > 2**_STEPS or found.brokers + step > MAX_BROKERS:
            raise CannotError(
                f"at least {plural(least, 'broker')} are necessary, and no placement was found "
                f"on up to {found.brokers:,}"
            )
        below, found, step = found, attempt(found.brokers + step), 2 * step
    while below is not None and found.brokers - below.brokers > 1:
        middle = attempt((found.brokers + below.brokers) // 2)
        below, found = (below, middle) if middle.fits else (middle, found)
    return found, below
