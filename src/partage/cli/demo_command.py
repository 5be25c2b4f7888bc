"""demo: measure, compare and plan on bundled data, or expand a real cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.cli import next_step, output
from partage.cli.arguments import Json
from partage.cli.spark_options import Master

if TYPE_CHECKING:
    from partage.brokers.plan import Plan
    from partage.brokers.problem import Problem
    from partage.cluster import Cluster
    from partage.measured_loads import Profile

_DATA = files("partage") / "data"
_DAY = 86_400
_YEAR = 365 * _DAY * 1000
_PEERS = ("exact", "generate", "leader-flow")


def demo(
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Output directory; by default demo, or demo-live."
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Expand a real Kafka cluster on this machine, under load."),
    ] = False,
    master: Master = None,
    json: Json = False,
) -> None:
    """Run every step on bundled data: measure with Spark, compare, plan, prove, report.

    The bundled cluster was expanded from 3 to 9 brokers. Brokers 7, 8 and 9 are empty, and 41
    partitions have two replicas in one rack. The load of each partition is measured from twelve
    topics of real change events.

    With --live, expand a real cluster from 3 to 5 brokers instead; this takes 1 to 2 minutes.

    Examples:

        partage demo
        partage demo -o somewhere/
    """
    if live:
        from partage.cli.live_demo import live_demo

        live_demo(out or "demo-live", master, json)
        return
    began = time.perf_counter()
    from partage.brokers.directory import check_writable
    from partage.cluster import Cluster
    from partage.measured_loads import MARKER
    from partage.outputs import check_directory, refuse_link
    from partage.report.comparison_tables import print_compare
    from partage.report.page.measured import summary

    folder = Path(out or "demo")
    profile_dir, plan_dir = str(folder / "profile"), str(folder / "plan")
    refuse_link(folder)
    check_directory(profile_dir, MARKER)
    check_writable(plan_dir)
    with as_file(_DATA / "cluster-grown.json") as path:
        cluster = Cluster.read(path)
    _chapter("1. Measure: 12 topics of real change events, with Spark", json)
    profile = _measured(cluster, profile_dir, master, json)
    _chapter("2. Compare: three ways to fill the empty brokers 7, 8 and 9", json)
    planned = _planned(cluster, profile, json)
    if not json:
        print_compare(planned.compared, output.console())
    _chapter(
        "3. Plan: the fairest share with the fewest moves, leaders balanced by measured rate", json
    )
    document, measured = planned.plan.document(), summary(profile)
    held = _written(planned, document, measured, plan_dir)
    if json:
        _print_json(planned, measured, held, profile_dir, plan_dir, began)
    else:
        _print(planned, document, held, plan_dir, began)


def _chapter(title: str, json: bool) -> None:
    from rich.text import Text

    if not json:
        output.console().print(Text(f"\n{title}", "bold"))


def _measured(cluster: Cluster, directory: str, master: str | None, json: bool) -> Profile:
    """Measure the bundled events, write the profile and print it."""
    from partage.measured_loads import Profile
    from partage.report.profile_tables import print_profile

    with output.bar(quiet=json) as progress, as_file(_DATA / "change-events.parquet") as events:
        progress(0, 0, "starting Spark")
        from partage.pipeline import session, write_profile

        with session(master, short=True) as spark:
            write_profile(
                spark, [events], directory, window=_DAY, overwrite=True, progress=progress
            )
    profile = Profile.read(directory)
    if not json:
        print_profile(profile, cluster, output.console())
    return profile


@dataclass(frozen=True)
class _Planned:
    """The plan, with leaders by measured rate, and the strategies compared.

    For comparison also the plans with leaders by count (``by_count``), and by the rates of the last
    year alone (``by_lately``).
    """

    problem: Problem
    plan: Plan
    compared: dict[str, Any]
    by_count: Plan
    by_lately: Plan
    lately: Profile

    def leaders_other_than(self, other: Plan) -> int:
        """Number of partitions that have another leader in another of these plans."""
        return self.plan.leaders_other_than(other.after)

    def busiest_leader(self, plan: Plan) -> float:
        """Measured bytes in per second of the partitions that the busiest broker leads."""
        from partage.brokers.leaders.rates import busiest_leader

        assert self.problem.bytes_per_second is not None
        return busiest_leader(self.problem.bytes_per_second, plan.after)


def _planned(cluster: Cluster, profile: Profile, json: bool) -> _Planned:
    from partage.brokers.compare import Comparison, deterministic, solve_with_each
    from partage.brokers.plan import Plan
    from partage.brokers.planning import problem_of
    from partage.brokers.solving import solve
    from partage.period import Period

    with output.progress(quiet=json) as progress:
        problem = problem_of(cluster, profile=profile, leaders="rate")
        answers = solve_with_each(problem, _PEERS, progress)
        compared = Comparison(answers, deterministic(problem, answers, progress)).to_json()
        plan = answers["exact"]
        assert isinstance(plan, Plan)
        by_count = solve(problem_of(cluster, profile=profile), progress)
        lately = profile.over(Period(since=profile.reach()[1] - _YEAR))
        by_lately = solve(problem_of(cluster, profile=lately, leaders="rate"), progress)
    return _Planned(problem, plan, compared, by_count, by_lately, lately)


def _written(
    planned: _Planned, document: dict[str, Any], measured: dict[str, Any], directory: str
) -> list[str]:
    """Write the plan, check it from its files, and return the proofs that hold."""
    from partage.brokers.check import check
    from partage.brokers.directory import COMPARE, MEASURED, REPORT
    from partage.errors import PartageError
    from partage.files import to_json
    from partage.report.html import render

    page = render(document, planned.compared, measured, directory)
    beside = {REPORT: page, COMPARE: to_json(planned.compared), MEASURED: to_json(measured)}
    planned.plan.write(directory, beside)
    verdict = check(directory)
    if not verdict.sound:
        raise PartageError(f"{directory}: the plan is not valid: {verdict.defects[0]}")
    return verdict.held


def _print_json(
    planned: _Planned,
    measured: dict[str, Any],
    held: list[str],
    profile_dir: str,
    plan_dir: str,
    began: float,
) -> None:
    output.print_json(
        {
            "profile": profile_dir,
            "plan": plan_dir,
            "report": _page(plan_dir),
            "measured": measured,
            "figures": planned.plan.figures,
            "checked": held,
            "leaders_other_than_by_count": planned.leaders_other_than(planned.by_count),
            "leaders_other_than_by_last_year": planned.leaders_other_than(planned.by_lately),
            "busiest_leader_bytes_per_second": planned.busiest_leader(planned.plan),
            "busiest_leader_bytes_per_second_by_count": planned.busiest_leader(planned.by_count),
            **planned.compared,
            "seconds": round(time.perf_counter() - began, 1),
        }
    )


def _print(
    planned: _Planned, document: dict[str, Any], held: list[str], plan_dir: str, began: float
) -> None:
    from partage.report.plan_tables import print_plan
    from partage.report.units import rate

    console, plan, by_count = output.console(), planned.plan, planned.by_count
    print_plan(document, console)
    console.print(
        f"\nThe measurement changes the leader of {planned.leaders_other_than(by_count)} of "
        f"{plan.after.partitions} partitions: the busiest broker leads "
        f"{rate(planned.busiest_leader(plan))} instead of "
        f"{rate(planned.busiest_leader(by_count))}.",
        highlight=False,
    )
    console.print(
        f"With {planned.lately.rates}, {planned.leaders_other_than(planned.by_lately)} of them "
        "have another leader: plan --from TIME --to TIME uses the rates of such a period.",
        highlight=False,
    )
    seconds = time.perf_counter() - began
    console.print(
        f"Checked from the written files: {len(held)} proofs hold. {seconds:.0f} s in total.",
        highlight=False,
    )
    output.print_line(console, f"\nReport: {_page(plan_dir)}")
    next_step.show(console, "plan", "YOUR-CLUSTER.json", "-o", "plan/")


def _page(plan_dir: str) -> str:
    from partage.brokers.directory import REPORT

    return str(Path(plan_dir) / REPORT)
