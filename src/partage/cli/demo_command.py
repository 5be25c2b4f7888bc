"""demo: the whole way on the data that the package ships, or on a real cluster that grows."""

from __future__ import annotations

import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from partage.cli import next_step, output
from partage.cli.arguments import BEGIN, Json, Master

_DAY = 86_400
_YEAR = 365 * _DAY * 1000
_PEERS = ("exact", "generate", "leader-flow")


def register(app: typer.Typer) -> None:
    """Add this room's command."""
    app.command(rich_help_panel=BEGIN)(demo)


def demo(
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where it goes: demo, or demo-live."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="A real Kafka on this machine grows while it is written to."),
    ] = False,
    master: Master = None,
    json: Json = False,
) -> None:
    """The whole story on bundled data: measure with Spark, compare, plan, prove, report.

    A cluster has grown from 3 to 8 brokers; 7 and 8 are empty, and 41 partitions lie twice in one
    rack. Twelve topics of real change events say how busy each partition is.

    With --live a real one of 3 brokers becomes one of 5, in 1 to 2 minutes.

    Examples:

        partage demo
        partage demo -o somewhere/
    """
    if live:
        from partage.cli.live_demo import live_demo

        live_demo(out or "demo-live", master, json)
        return
    out = out or "demo"
    from partage.brokers.check import check
    from partage.brokers.compare import compare, comparison, deterministic
    from partage.brokers.directory import COMPARE, MEASURED, REPORT, check_writable
    from partage.brokers.leaders.rates import busiest_leader
    from partage.brokers.plan import Plan, plan_task, task_of
    from partage.cluster import Cluster
    from partage.errors import PartageError
    from partage.files import check_writable_directory, to_json
    from partage.period import Period
    from partage.profile import MARKER as PROFILE_MARKER
    from partage.profile import Profile
    from partage.report.html import render
    from partage.report.measured import print_profile, summary
    from partage.report.terminal import print_compare, print_plan
    from partage.report.units import rate

    began = time.perf_counter()
    console = output.console()

    def chapter(title: str) -> None:
        if not json:
            console.print(f"\n[bold]{title}[/]", highlight=False)

    profile_dir, plan_dir = str(Path(out) / "profile"), str(Path(out) / "plan")
    check_writable_directory(profile_dir, PROFILE_MARKER)
    check_writable(plan_dir)
    data = files("partage") / "data"
    with as_file(data / "cluster-grown.json") as path:
        cluster = Cluster.read(path)

    chapter("1. Measure: 12 topics of real change events, with Spark")
    with output.bar(quiet=json) as tell, as_file(data / "change-events.parquet") as events:
        tell(0, 0, "starting Spark")
        from partage.pipeline import session, write_profile

        with session(master, short=True) as spark:
            write_profile(spark, [events], profile_dir, window=_DAY, overwrite=True, progress=tell)
    profile = Profile.read(profile_dir)
    if not json:
        print_profile(profile, cluster, console)

    chapter("2. Compare: what there is to spread onto the empty brokers 7 and 8")
    with output.progress(quiet=json) as say:
        task = task_of(cluster, profile, leaders="rate")
        answers = compare(task, _PEERS, say)
        compared = comparison(answers, deterministic(task, answers, say))
        plan = answers["exact"]
        assert isinstance(plan, Plan)
        by_count = plan_task(task_of(cluster, profile), say)
        lately = profile.over(Period(since=profile.reach()[1] - _YEAR))
        by_lately = plan_task(task_of(cluster, lately, leaders="rate"), say)
    if not json:
        print_compare(compared, console)

    chapter("3. Plan: the fairest share, with the fewest moves, leaders by measured rate")
    document = plan.document()
    measured = summary(profile)
    plan.write(
        plan_dir,
        {
            REPORT: render(document, compared, measured, directory=plan_dir),
            COMPARE: to_json(compared),
            MEASURED: to_json(measured),
        },
    )
    verdict = check(plan_dir)
    if not verdict.sound:
        raise PartageError(f"{plan_dir}: the plan does not hold: {verdict.defects[0]}")
    assert task.bytes_per_second is not None
    led = busiest_leader(task.bytes_per_second, plan.after)
    led_by_count = busiest_leader(task.bytes_per_second, by_count.after)
    otherwise = plan.leaders_other_than(by_count.after)
    otherwise_lately = plan.leaders_other_than(by_lately.after)
    seconds = round(time.perf_counter() - began, 1)
    page = str(Path(plan_dir) / REPORT)
    if json:
        output.print_json(
            {
                "profile": profile_dir,
                "plan": plan_dir,
                "report": page,
                "measured": measured,
                "figures": plan.figures,
                "checked": verdict.held,
                "leaders_other_than_by_count": otherwise,
                "leaders_other_than_by_last_year": otherwise_lately,
                "busiest_leader_bytes_per_second": led,
                "busiest_leader_bytes_per_second_by_count": led_by_count,
                **compared,
                "seconds": seconds,
            }
        )
        return
    print_plan(document, console)
    console.print(
        f"\nThe measurement changed who leads {otherwise} of {cluster.partitions} partitions: the "
        f"busiest broker leads {rate(led)} instead of {rate(led_by_count)}.",
        highlight=False,
    )
    console.print(
        f"By {lately.rates}, it would lead {otherwise_lately} of them otherwise: "
        "plan --from TIME --to TIME takes such a part of the time.",
        highlight=False,
    )
    console.print(
        f"Checked again from the files alone: {len(verdict.held)} proofs hold. "
        f"{seconds:.0f} s in all.",
        highlight=False,
    )
    output.say(console, f"\nReport: {page}")
    next_step.show(console, "plan", "YOUR-CLUSTER.json", "-o", "plan/")
