"""snapshot and groups: read a running cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.cli import next_step, output
from partage.cli.arguments import (
    Json,
    MaxSkew,
    RacksFirst,
    ResultPage,
    Running,
    skew_of,
)
from partage.cli.loads import profile_of

if TYPE_CHECKING:
    from rich.console import Console

    from partage.live.admin.groups import LiveGroup
    from partage.measured_loads.rates import MeasuredRates


def snapshot(
    running: Running,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Measure bytes in and out of each partition for so long, for instance 60s; "
            "Ctrl-C ends it earlier.",
        ),
    ] = None,
    prometheus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|URL",
            help="Take rates from an answer of Prometheus to query_range. Values per second: "
            "bytes_in=FILE, bytes_out=URL. Repeatable.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL=NAME,…",
            help="How Prometheus' labels topic, partition, group are called: topic=kafka_topic.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show a running cluster: brokers, replicas with sizes, throttles, groups.

    The file that -o writes is a CLUSTER, the input of other commands.

    Examples:

        partage snapshot --bootstrap-server localhost:9092 -o cluster.json
        partage snapshot --bootstrap-server localhost:9092 --watch 60s -o cluster.json
        partage snapshot --bootstrap-server kafka:9093 --command-config me.properties
        partage snapshot --bootstrap-server localhost:9092 --prometheus answer.json -o cluster.json
    """
    from partage.errors import InputError, read_parameter
    from partage.live.admin.snapshot import take_snapshot
    from partage.measured_loads.prometheus import LABELS, labels_of, prometheus_rates
    from partage.outputs import check_file, json_with_checksum, write_file
    from partage.report.live_tables import print_snapshot
    from partage.units import Duration

    if out is not None:
        check_file(out, "out")
    seconds = None if watch is None else read_parameter("watch", Duration.of, watch)
    names = LABELS if labels is None else read_parameter("labels", labels_of, labels)
    if watch is not None and prometheus:
        raise InputError("prometheus", "cannot be combined with --watch")
    if labels is not None and not prometheus:
        raise InputError("labels", "needs `prometheus`")
    connection = running.connection()
    with output.progress(quiet=json) as progress, connection.admin() as admin:
        rates = None
        if seconds is not None:
            # a missing permission is reported before the measurement
            take_snapshot(admin, groups=False, throttles=False, settings=False, progress=progress)
            rates = _measured(admin, seconds, progress)
        taken = take_snapshot(admin, progress=progress)
    if prometheus:
        rates = prometheus_rates(
            prometheus, {one.key: one.size_bytes for one in taken.partitions}, names
        )
    found = (taken if rates is None else taken.with_rates(rates)).to_json()
    if out is not None:
        write_file(out, json_with_checksum(found, indent=1))
    if json:
        output.print_json(found)
        return
    console = output.console()
    print_snapshot(found, console)
    balance = () if rates is None else ("--balance", "load")
    if out is None:
        words = next_step.cluster_options("plan")
        next_step.show(console, "plan", *words, "-o", "plan/")
    else:
        next_step.show(console, "plan", out, *balance, "-o", "plan/", written=out)


def _measured(admin: Any, seconds: float, progress: Callable[[str], None]) -> MeasuredRates:
    """Rates measured for so many seconds, or until the first interrupt; a second one, or one before
    anything was measured, ends the command."""
    from threading import Event

    from partage import interrupts
    from partage.live.admin.rates import measure_rates

    stop = Event()

    def interrupt(*_: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    def sleep(rest: float) -> None:
        stop.wait(rest)

    with interrupts.handled_by(interrupt):
        rates = measure_rates(admin, seconds, progress=progress, sleep=sleep, stopped=stop.is_set)
    if stop.is_set() and not rates.of:
        raise KeyboardInterrupt
    return rates


def groups(
    name: Annotated[
        str | None, typer.Argument(metavar="GROUP", help="Default: all groups.")
    ] = None,
    *,
    running: Running,
    racks_first: RacksFirst = False,
    max_skew: MaxSkew = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Show bytes read across racks, by the rates of partage profile."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write GROUP as a file for partage assign and simulate.",
        ),
    ] = None,
    report: ResultPage = None,
    json: Json = False,
) -> None:
    """Show consumer groups: members with their partitions, lag, and the exact assignment.

    Examples:

        partage groups --bootstrap-server localhost:9092
        partage groups billing --bootstrap-server localhost:9092
        partage groups billing --bootstrap-server localhost:9092 -o billing.json
        partage groups billing --racks-first --max-skew 20% --profile profile/
    """
    from partage.errors import InputError
    from partage.live.admin.groups import read_groups
    from partage.live.admin.permissions import acl_to_see_all_topics, missing_acls
    from partage.outputs import check_file, json_with_checksum, write_file
    from partage.report.live_tables import furthest_behind, print_group, print_groups
    from partage.report.printing import remark

    output.check_files(report=report)
    if out is not None:
        if name is None:
            raise InputError("out", "writes one group: name a GROUP")
        check_file(out, "out")
    if max_skew is not None and not racks_first:
        raise InputError("max_skew", "needs `racks_first`")
    measured = profile_of(profile, None, None, "mean")
    rates = None if measured is None else measured.byte_rates()
    if measured is not None and rates is None:
        raise InputError(measured.path, "has no rates: no records were measured")
    skew = skew_of(max_skew)
    connection = running.connection()
    warnings: list[str] = []
    with output.progress(quiet=json) as progress, connection.admin() as admin:
        progress("groups")
        topics = [topic["name"] for topic in admin.describe_topics()]
        if missing := acl_to_see_all_topics(admin, topics):
            warnings.append(f"some topics may be hidden: {missing_acls([missing])}")
        read = read_groups(admin, warnings, None if name is None else [name])
    found = [
        replace(group, racks_first=racks_first, max_skew=skew, bytes_in=rates) for group in read
    ]
    if rates is not None:
        warnings += [
            f"group {group.name}: {profile} has no rates of its topics"
            for group in found
            if group.topics and not group.topics.keys() & rates.keys()
        ]
    rows = [group.described() for group in found]

    def show(console: Console) -> None:
        if name is None:
            print_groups(rows, console)
        for group, row in zip(found, rows, strict=True) if name is not None else ():
            print_group(row, console)
            _show_exact(group, row, console)
        for warning in warnings:
            remark(warning, console)

    output.write_page(report, "groups", show)
    if out is not None:
        write_file(out, json_with_checksum(found[0].to_group_file(), indent=1))
    if json:
        output.print_json({"groups": rows, "warnings": warnings})
        return
    console = output.console()
    show(console)
    if out is not None:
        assignor = "share" if found[0].kind == "share" else found[0].exact_assignor
        next_step.show(console, "assign", out, "--assignor", assignor, written=out)
    elif name is None and found:
        behind = furthest_behind(rows)["group"]
        next_step.show(console, "groups", behind, *next_step.cluster_options("groups"))


def _show_exact(group: LiveGroup, row: dict[str, Any], console: Console) -> None:
    """Print the exact assignment of a group, if it has one, and what range would lose by it."""
    from partage.report.group_tables import print_assignment
    from partage.report.live_tables import member_names
    from partage.report.printing import remark
    from partage.units import listed

    exact = group.exact
    if exact is None:
        return
    console.print("\nThe exact assignment, starting from this one:", highlight=False)
    print_assignment(exact, group.exact_assignor, console, member_names(row["members"]))
    if lost := group.co_partitioning_lost:
        remark(
            f"range gives partitions of the same number of {listed(lost, 3)} to one member, as "
            "joins need; the exact assignment does not",
            console,
        )
