"""How many brokers a cluster needs, for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from partage.brokers.sizing import ClusterSize
from partage.brokers.sizing.bounds import Bound
from partage.brokers.sizing.resources import LOG_DIR
from partage.report import printing, units

_MANY = 60
_NAMES = {"disk": "disk", "in": "network in", "out": "network out", LOG_DIR: "log dir"}
_DOWN = {
    "broker": ", also with any one broker down",
    "rack": ", also with any one broker or rack down",
    "none": "",
}


def print_cluster_size(found: ClusterSize, console: Console) -> None:
    """Print the answer, why it is not less, and the use of each resource and broker."""
    printing.answered(
        console, lambda: _print_answer(found, console), lambda: _print_details(found, console)
    )


def _print_answer(found: ClusterSize, console: Console) -> None:
    console.print(
        Text(
            f"{units.plural(found.brokers, 'broker')} with {float(found.asked.headroom):.0%} "
            f"headroom{_counted(found)}{_DOWN[found.asked.survive]}; today {found.today:,}",
            "bold",
        )
    )
    bound = found.bound
    if found.proven:
        console.print(Text(f"Fewer are proven not to suffice: {_reason(bound)}."))
    else:
        console.print(Text(f"At least {bound.brokers:,} are proven necessary: {_reason(bound)}."))
        gap = range(bound.brokers, found.brokers)
        numbers = f"{gap[0]:,}" if len(gap) == 1 else f"{gap[0]:,} to {gap[-1]:,}"
        console.print(Text(f"For {numbers}, no placement was found{_missed(found)}."))
    _print_changes(found, console)
    most = int(found.found.problem.target.max())
    if found.asked.failures and found.brokers <= most:
        lack = f"While one of {found.brokers:,} is down, partitions with {most} replicas lack one"
        console.print(Text(f"{lack}: no other broker can get it."))


def _counted(found: ClusterSize) -> str:
    """Which resources the headroom is of, if not all are counted."""
    counted = [_NAMES[one.name] for one in found.resources]
    if not found.left_out:
        return ""
    return f" of {' and '.join(counted)}{' alone' if len(counted) == 1 else ''}"


def _print_details(found: ClusterSize, console: Console) -> None:
    _print_resources(found, console)
    console.print()
    _print_brokers(found, console)
    if found.usage.offline:
        lost = units.plural(found.usage.offline, "partition")
        verb = "is" if found.usage.offline == 1 else "are"
        console.print(Text(f"! {lost} without another replica {verb} offline in a failure"))
    for name, why in found.left_out.items():
        console.print(Text(f"{_NAMES[name]} is not counted: {why}", "dim"))
    for note in found.notes:
        console.print(Text(note, "dim"))


def _reason(bound: Bound) -> str:
    """What one broker fewer would exceed."""
    if bound.resource is None:
        return f"a partition has {units.plural(bound.brokers, 'replica')} on distinct brokers"
    fewer, name = units.plural(bound.brokers - 1, "broker"), _NAMES[bound.resource]
    shown = units.size if bound.resource == "disk" else units.rate
    sums = f"{shown(bound.available)} of {name}, and {shown(bound.needed)} is needed"
    if bound.rule == "total":
        return f"{fewer} can use {sums}"
    if bound.resource == LOG_DIR:
        return f"large partitions do not fit together into the log dirs of {fewer}"
    if bound.rule == "large partitions":
        return f"large partitions do not fit together on {fewer} ({name})"
    if bound.rule == "racks":
        return f"with {fewer}, a rack has too little {name} for the replicas it must hold"
    down = "a rack" if bound.rule == "rack down" else "one"
    if bound.needed is None:
        return f"with {down} of {fewer} down, the others have too little {name}"
    return f"with {down} of {fewer} down, the others can use {sums}"


def _missed(found: ClusterSize) -> str:
    """What the closest plan with one broker fewer exceeds."""
    below = found.below
    if below is None or below.usage is None:
        return ""
    if below.failed:
        return f" (with {below.brokers:,}, {below.failed})"
    share, use, broker = below.usage.worst()
    name = "fullest log dir" if use.resource.name == LOG_DIR else _NAMES[use.resource.name]
    return f" (with {below.brokers:,}, broker {broker.id} would use {share:.1%} of its {name})"


def _print_changes(found: ClusterSize, console: Console) -> None:
    options = found.found.options
    if options.remove_broker:
        removed = [str(one) for one in options.remove_broker]
        console.print(Text(f"Not needed: {printing.some(removed, _MANY)}"))
    if options.add_broker:
        added = [str(one) for one in options.add_broker]
        console.print(
            Text(f"To add, with the capacities that most have: {printing.some(added, _MANY)}")
        )
    if found.brokers == found.today:
        fits = "keeps" if found.now.fits else "does not keep"
        console.print(Text(f"Today's placement {fits} the headroom."))


def _print_resources(found: ClusterSize, console: Console) -> None:
    table = printing.table(("resource",), ("brokers needed", "highest use", "after a failure"))
    for use in found.usage.uses:
        after = max(use.shares(use.after)) if found.asked.failures else None
        table.add_row(
            _NAMES[use.resource.name],
            f"≥ {found.bound_of(use.resource.name).brokers:,}",
            f"{max(use.shares(use.load)):.1%}",
            units.MISSING if after is None else f"{after:.1%}",
        )
    console.print(table)


def _print_brokers(found: ClusterSize, console: Console) -> None:
    usage = found.usage
    columns = []
    for use in usage.uses:
        columns.append((_NAMES[use.resource.name], use.shares(use.load)))
        if use.resource.led and found.asked.failures:
            columns.append(("after a failure", use.shares(use.after)))
    table = printing.table(("broker", "rack"), [title for title, _ in columns])
    for at, broker in enumerate(usage.brokers[:_MANY]):
        rack = Text(broker.rack or units.MISSING)
        table.add_row(str(broker.id), rack, *(f"{shares[at]:.1%}" for _, shares in columns))
    console.print(table)
    if len(usage.brokers) > _MANY:
        rest = len(usage.brokers) - _MANY
        console.print(Text(f"and {rest} more brokers: --json prints all", "dim"))
