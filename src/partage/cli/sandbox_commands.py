"""sandbox: a real Kafka on this machine to try things on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from partage import interrupts
from partage.cli import next_step, output
from partage.cli.arguments import Json

if TYPE_CHECKING:
    from partage.live.sandbox import Sandbox

Dir = Annotated[
    str, typer.Option("--dir", metavar="FOLDER", help="Folder of its state, data and logs.")
]
BrokerArgument = Annotated[int, typer.Argument(metavar="ID", help="A broker of the sandbox.")]

_FOLDER = "sandbox"
"""In the current directory, so that each project has its own."""


def up(
    brokers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of brokers; 3 in a new sandbox.")
    ] = None,
    racks: Annotated[
        str | None,
        typer.Option(metavar="RACK,…", help="Racks, a,b,c, assigned to the brokers round robin."),
    ] = None,
    log_dirs: Annotated[
        int | None, typer.Option(metavar="N", help="Log dirs of each broker; 1 in a new sandbox.")
    ] = None,
    directory: Dir = _FOLDER,
    kafka: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Kafka's version; 4.3.0 in a new sandbox.")
    ] = None,
    secure: Annotated[
        bool,
        typer.Option(
            "--secure", help="Add TLS, logins and ACLs, with properties files for clients."
        ),
    ] = False,
    assignor: Annotated[
        bool,
        typer.Option("--assignor", help="Offer partage's assignor to groups; make jar builds it."),
    ] = False,
    example: Annotated[
        bool,
        typer.Option(
            "--example", help="Add a topic, orders, that only the first brokers hold: plan for it."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Start a Kafka, or the nodes of an existing one that are down, and wait until all are ready.

    Examples:

        partage sandbox up
        partage sandbox up --brokers 4 --racks a,b --example
    """
    from partage.live.sandbox import Sandbox

    if example:
        from partage.live.sandbox.example import add_example

    with _starting(json) as report:
        sandbox = Sandbox.start(
            directory,
            brokers=brokers,
            racks=None if racks is None else racks.split(","),
            log_dirs=log_dirs,
            kafka=kafka,
            secure=secure,
            assignor=assignor,
            progress=report,
        )
        if example:
            report("adding the topic orders")
            add_example(sandbox)
    _show(sandbox, json, _started(sandbox), then="plan" if example else "snapshot")


def down(
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the data: up starts it again.")
    ] = False,
    directory: Dir = _FOLDER,
    json: Json = False,
) -> None:
    """Stop the Kafka and remove its folder.

    Examples:

        partage sandbox down
        partage sandbox down --keep
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    with output.progress(quiet=json) as report:
        report(f"stopping Kafka {sandbox.kafka}")
        ended, left = sandbox.down(keep=keep)
    if json:
        output.print_json({"directory": directory, "ended": ended, "left": left})
        return
    console = output.console()
    output.print_line(console, f"Stopped: {', '.join(ended) or 'nothing was running'}")
    if keep:
        output.print_line(console, f"Kept: {directory}")
        next_step.show(console, *next_step.same_call("sandbox", "up"))
    elif left:
        output.print_line(
            console, f"Left in {directory}, not written by the sandbox: {', '.join(left)}"
        )


def add(
    rack: Annotated[str | None, typer.Option(metavar="NAME", help="The broker's rack.")] = None,
    directory: Dir = _FOLDER,
    json: Json = False,
) -> None:
    """Add an empty broker with the next id.

    Examples:

        partage sandbox add --rack d
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    with _starting(json) as report:
        broker = sandbox.add_broker(rack, report)
    _show(sandbox, json, f"added broker {broker}", then="plan")


def stop(
    broker: BrokerArgument,
    kill: Annotated[
        bool,
        typer.Option(
            "--kill", help="Kill it, as a failure would: without handing over its leaderships."
        ),
    ] = False,
    directory: Dir = _FOLDER,
    json: Json = False,
) -> None:
    """Stop a broker; its data stays.

    Examples:

        partage sandbox stop 2
        partage sandbox stop 2 --kill
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    (sandbox.kill_broker if kill else sandbox.stop_broker)(broker)
    _show(sandbox, json, f"{'killed' if kill else 'stopped'} broker {broker}")


def start(broker: BrokerArgument, directory: Dir = _FOLDER, json: Json = False) -> None:
    """Start a stopped broker again.

    Examples:

        partage sandbox start 2
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    with _starting(json) as report:
        sandbox.start_broker(broker, report)
    _show(sandbox, json, _started(sandbox))


@contextmanager
def _starting(json: bool) -> Iterator[Callable[[str], None]]:
    """Progress; SIGTERM ends the started nodes again, as Ctrl-C does."""
    with interrupts.once(), output.progress(quiet=json) as report:
        yield report


def _started(sandbox: Sandbox) -> str:
    brokers = ", ".join(map(str, sandbox.started))
    return f"started broker {brokers}" if brokers else "already running"


def _show(sandbox: Sandbox, json: bool, done: str, then: str = "snapshot") -> None:
    """Print what was ``done``, the brokers with their addresses, how to stop them, and the command
    to run ``then``."""
    found = sandbox.to_json()
    if json:
        output.print_json(found)
        return
    from rich.text import Text

    from partage.report.printing import table

    brokers = table()
    for name in ("broker", "rack", "address", "process", "log"):
        brokers.add_column(name, overflow="fold")
    for one in found["brokers"]:
        pid = "down" if one["pid"] is None else str(one["pid"])
        row = str(one["id"]), one["rack"] or "-", one["address"], pid, one["log"]
        brokers.add_row(*map(Text, row))
    console = output.console()
    output.print_line(console, f"Kafka {sandbox.kafka} in {sandbox.directory}: {done}\n")
    console.print(brokers)
    console.print()
    output.print_line(console, f"Bootstrap servers: {sandbox.bootstrap_servers}")
    for client in found["client_properties"] if sandbox.secure else ():
        option = f"--command-config {client['file']}"
        output.print_line(console, f"As {client['user']} on {client['listener']}: {option}")
    properties = shlex.quote(sandbox.client_properties)
    output.print_line(console, f"For this shell: export PARTAGE_COMMAND_CONFIG={properties}")
    output.print_line(console, f"Stop it: partage sandbox down{_dir(sandbox.directory)}")
    if any(one["pid"] is not None for one in found["brokers"]):
        out = "plan/" if then == "plan" else "cluster.json"
        next_step.show(console, then, "--command-config", sandbox.client_properties, "-o", out)


def _dir(directory: str) -> str:
    return "" if directory == _FOLDER else f" --dir {shlex.quote(directory)}"


sandbox = (up, down, add, stop, start)
"""The commands of this group."""
