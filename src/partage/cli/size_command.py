"""size: how many brokers a cluster needs, or how many members a consumer group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import next_step, output, settings
from partage.cli.arguments import (
    Json,
    ResultPage,
    Running,
    assignor_names,
    check_choice,
    completion_from,
    one_of,
)
from partage.cli.cluster_argument import cluster_or_running
from partage.cli.loads import Loads, read_profile

if TYPE_CHECKING:
    from rich.console import Console

    from partage.brokers.sizing import ClusterSize
    from partage.cluster import Cluster
    from partage.group import Group
    from partage.units import Percent

_PER_WEIGHT = 1000
"""Seconds: a profile's weights are what comes in during this time."""

_SURVIVE = "broker|rack|none"
_SCHEDULE = "Schedule of a group"
_MOST_HOURS = 1_000_000
_CHANGES = ("remove_broker", "add_broker")


@dataclass(frozen=True)
class _Scheduling:
    """The options of a schedule, None where they have their default."""

    rebalance_price: float | None
    lag_threshold: int | None
    assignor: str | None


def size(
    loads: Loads,
    cluster: Annotated[
        str | None,
        typer.Argument(
            metavar="CLUSTER|GROUP",
            help="Cluster, as for plan, by default the running cluster; with --member-rate a "
            "group, as for assign.",
        ),
    ] = None,
    headroom: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="Leave this share of every capacity free, also while a broker is down.",
        ),
    ] = "20%",
    survive: Annotated[
        str,
        one_of(
            _SURVIVE,
            "Size a cluster for the failure of any one broker; of any one broker or rack; or none.",
        ),
    ] = "broker",
    member_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Size a group: what a member can process per second. Bytes, for instance 20MB; "
            "with lags only, records; without --profile, in the unit of the file's weights.",
        ),
    ] = None,
    of_group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="NAME", help="The group whose lags count, where there are several."
        ),
    ] = None,
    schedule: Annotated[
        bool,
        typer.Option(
            "--schedule",
            help="Size a group window by window: when to have how many members, beside what a "
            "lag-based autoscaler does, both simulated.",
            rich_help_panel=_SCHEDULE,
        ),
    ] = False,
    rebalance_price: Annotated[
        float | None,
        typer.Option(
            metavar="HOURS",
            help="Rebalance only where it saves this many member-hours.  [default: 1]",
            rich_help_panel=_SCHEDULE,
        ),
    ] = None,
    lag_threshold: Annotated[
        int | None,
        typer.Option(
            metavar="RECORDS",
            min=1,
            help="Lag per member of the autoscaler (KEDA: lagThreshold); by default what members "
            "that keep up show between commits.",
            rich_help_panel=_SCHEDULE,
        ),
    ] = None,
    assignor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The assignor in the simulation.  [default: weighted]",
            autocompletion=completion_from(assignor_names),
            rich_help_panel=_SCHEDULE,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write the plan to this number of brokers."
        ),
    ] = None,
    report: ResultPage = None,
    *,
    running: Running,
    json: Json = False,
) -> None:
    """Find how few brokers a cluster needs, or how few members a group.

    Brokers: within the capacities that the file lists (disk_bytes, network_in_bytes_per_second,
    network_out_bytes_per_second), also after a failure. Members: the assignment with the fewest
    moves.

    Examples:

        partage size cluster.json --profile profile/ --rate peak --headroom 30%
        partage size cluster.json --survive rack -o plan/
        partage size --bootstrap-server localhost:9092
        partage size group.json --profile profile/ --member-rate 20MB
        partage size group.json --profile profile/ --member-rate 20MB --schedule
    """
    from partage.errors import InputError, read_parameter
    from partage.units import headroom_of

    output.check_files(report=report)
    free = read_parameter("headroom", headroom_of, headroom)
    check_choice(_SURVIVE, "--survive", survive)
    scheduling = _Scheduling(rebalance_price, lag_threshold, assignor)
    _check_schedule(schedule, member_rate, scheduling)
    if member_rate is None:
        if of_group is not None:
            raise InputError("--group", "needs `member_rate`: a cluster has no lags")
        _size_cluster(cluster, running, free, survive, loads, out, report, json)
        return
    if cluster is None:
        raise InputError("GROUP", "is missing: name a file, as for assign")
    for name in ("bootstrap_server", "command_config"):
        if settings.typed(name):
            raise InputError(name, "is for clusters: leave it out, or leave out `member_rate`")
    for name, given in {
        "survive": survive != "broker",
        "out": out is not None,
        "sizes": loads.sizes is not None,
        "horizon": loads.horizon,
    }.items():
        if given:
            raise InputError(name, "is for clusters: leave it out, or leave out `member_rate`")
    if schedule:
        if of_group is not None:
            raise InputError("group", "a schedule is made from records: leave it out")
        _schedule_group(cluster, free, member_rate, scheduling, loads, report, json)
        return
    _size_group(cluster, free, member_rate, of_group, loads, report, json)


def _check_schedule(schedule: bool, member_rate: str | None, asked: _Scheduling) -> None:
    """Raise InputError for options of a schedule without one."""
    from partage.errors import InputError

    for name, given in vars(asked).items():
        if given is not None and not schedule:
            raise InputError(name, "needs `schedule`")
    if schedule and member_rate is None:
        raise InputError("schedule", "is for groups: add `member_rate`")


def _size_cluster(
    path: str | None,
    running: Running,
    headroom: Percent,
    survive: str,
    loads: Loads,
    out: str | None,
    report: str | None,
    json: bool,
) -> None:
    from partage.brokers.directory import REPORT, check_writable
    from partage.brokers.kept_rollback import check_rollback
    from partage.brokers.sizing import Requirement, fewest_brokers
    from partage.report.broker_size_tables import print_cluster_size

    if out is not None:
        check_writable(out)
    with output.progress(quiet=json) as progress:
        progress("reading")
        profile = loads.measured()
        given = cluster_or_running(path, loads.sizes, running)
        source = _read_cluster(given, loads.sizes) if isinstance(given, str) else given
        if out is not None:
            check_rollback(out, source)
        found = fewest_brokers(source, Requirement(headroom, survive), profile, progress)
        if out is not None:
            made = found.plan(progress)
            from partage.report.html import render

            page = render(made.document(), directory=out)
            made.write(out, {REPORT: page, **found.files()})

    def show(console: Console) -> None:
        print_cluster_size(found, console)

    output.write_page(report, "size", show)
    if json:
        output.print_json(found.to_json())
        return
    console = output.console()
    show(console)
    if out is not None:
        next_step.show(console, "check", out, written=out)
    elif found.brokers != found.today or not found.now.fits:
        next_step.show(console, *_plan_call(found))


def _read_cluster(path: str, sizes: str | None) -> Cluster:
    """The cluster; an error for a group names the option that a group needs."""
    from partage.cluster import Cluster
    from partage.errors import InputError
    from partage.group import Group

    try:
        return Cluster.read(path, sizes=sizes)
    except InputError as error:
        try:
            Group.read(path)
        except InputError:
            raise error from None
        raise InputError(path, "is a group: add `member_rate`") from None


def _read_group(path: str) -> Group:
    """The group; an error for a cluster names the option that a cluster does not have."""
    from partage.cluster import Cluster
    from partage.errors import InputError
    from partage.group import Group

    try:
        return Group.read(path)
    except InputError as error:
        try:
            Cluster.read(path)
        except InputError:
            raise error from None
        raise InputError(path, "is a cluster: leave out `member_rate`") from None


def _plan_call(found: ClusterSize) -> list[str]:
    """The command that plans the change: ``plan``, or this one if its placement is another."""
    if found.found.changed:
        return next_step.same_call("size", more=("-o", "plan/"))
    given = found.found.options.given()
    changes = [(name, one) for name in _CHANGES for one in given.get(name, ())]
    words = [part for name, one in changes for part in (f"--{name.replace('_', '-')}", one)]
    words += ["--balance", "load", *["--balance-disks"] * ("balance_disks" in given)]
    words += ["--concurrency", str(given["concurrency"])] if "concurrency" in given else []
    return next_step.same_call("plan", more=(*words, "-o", "plan/"))


def _size_group(
    path: str,
    headroom: Percent,
    member_rate: str,
    of_group: str | None,
    loads: Loads,
    report: str | None,
    json: bool,
) -> None:
    from partage.consumers.size import fewest_members
    from partage.errors import InputError, read_parameter
    from partage.report.size_tables import print_group_size
    from partage.units import Rate

    speed = read_parameter("member_rate", Rate.of, member_rate)
    if of_group is not None and loads.profile is None:
        raise InputError("--group", "needs --profile DIR")
    given, measured = _read_group(path), loads.measured()
    if measured is None and given.weights is None:
        raise InputError(path, "has no weights: add `profile`, or weights to the file")
    if measured is not None:
        given = given.with_weights(measured.weights("rate", of_group), where=measured.path)
    per = 1 if measured is None else _PER_WEIGHT
    unit = "" if measured is None else "bytes" if measured.topics else "records"
    why = f"{member_rate} less {headroom} headroom" + (f", in {per:,} s" if per > 1 else "")
    found = fewest_members(given, int(speed * per * (1 - headroom)), why)

    def show(console: Console) -> None:
        print_group_size(found, speed, float(headroom), per, unit, console)

    output.write_page(report, "size", show)
    if json:
        result = found.to_json()
        output.print_json(
            result
            | {"unit": unit, "member_rate": int(speed), "headroom": float(headroom)}
            | {"capacity": result["capacity"] / per}
            | {"loads": {name: load / per for name, load in result["loads"].items()}}
        )
        return
    show(output.console())


def _schedule_group(
    path: str,
    headroom: Percent,
    member_rate: str,
    asked: _Scheduling,
    loads: Loads,
    report: str | None,
    json: bool,
) -> None:
    from partage.consumers.comparison import compare_schedules
    from partage.consumers.schedule import PER_SECONDS, GroupLoads
    from partage.errors import InputError, read_parameter
    from partage.period import Period
    from partage.report.schedule_tables import print_schedule
    from partage.units import Rate

    speed = read_parameter("member_rate", Rate.of, member_rate)
    hours = 1.0 if asked.rebalance_price is None else asked.rebalance_price
    if not 0 <= hours <= _MOST_HOURS:
        raise InputError(f"rebalance_price {hours:g}", f"must be 0 to {_MOST_HOURS:,} hours")
    if loads.profile is None:
        raise InputError("schedule", "needs the windows of measured loads: add `profile`")
    if loads.rate != "mean":
        raise InputError("rate", "a schedule follows every window: leave it out")
    with output.progress(quiet=json) as progress:
        progress("reading")
        group, profile = _read_group(path), read_profile(loads.profile)
        windows = profile.by_window(Period.of(loads.since, loads.until))
        found = compare_schedules(
            GroupLoads.of(group, windows),
            int(speed * PER_SECONDS * (1 - headroom)),
            float(speed),
            round(hours * 3600),
            profile.record_bytes,
            asked.lag_threshold,
            asked.assignor or "weighted",
            progress,
        )

    def show(console: Console) -> None:
        print_schedule(found, speed, float(headroom), console)

    output.write_page(report, "size", show)
    if json:
        output.print_json(
            found.to_json() | {"member_rate": int(speed), "headroom": float(headroom)}
        )
        return
    show(output.console())
