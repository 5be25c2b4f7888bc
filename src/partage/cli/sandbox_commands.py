"""sandbox: a real Kafka on this machine to try things on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from partage.cli import interrupts, next_step, output
from partage.cli.arguments import RUNNING, Json

if TYPE_CHECKING:
    from partage.live.sandbox import Sandbox

Dir = Annotated[
    str, typer.Option("--dir", metavar="FOLDER", help="Where its state, data and logs are.")
]
BrokerArgument = Annotated[int, typer.Argument(metavar="ID", help="A broker of the sandbox.")]

_FOLDER = "sandbox"
"""In the current directory: in sight, and one for each piece of work."""


def register(app: typer.Typer) -> None:
    """Add this room's commands."""
    sandbox = typer.Typer(
        name="sandbox",
        help="A real Kafka on this machine to try things on: no Docker, only on the loopback.",
        no_args_is_help=True,
    )
    for command in (up, down, add, stop, start):
        sandbox.command()(command)
    app.add_typer(sandbox, rich_help_panel=RUNNING)


def up(
    brokers: Annotated[
        int | None, typer.Option(metavar="N", help="How many; 3 for a new sandbox.")
    ] = None,
    racks: Annotated[
        str | None, typer.Option(metavar="a,b,c", help="Racks that the brokers are dealt round.")
    ] = None,
    directory: Dir = _FOLDER,
    kafka: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Kafka's version; 4.3.0 for a new one.")
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure", help="With TLS, logins and ACLs, and files for clients.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a Kafka, or what is down of one that is there; returns when every broker is ready.

    Examples:

        partage sandbox up
        partage sandbox up --brokers 5 --racks a,b,c
    """
    from partage.live.sandbox import Sandbox

    with _launching(json) as tell:
        sandbox = Sandbox.start(
            directory,
            brokers=brokers,
            racks=None if racks is None else racks.split(","),
            kafka=kafka,
            secure=secure,
            tell=tell,
        )
    _show(sandbox, json, _started(sandbox))


def down(
    keep: Annotated[
        bool, typer.Option("--keep", help="End its processes only; up starts them on its data.")
    ] = False,
    directory: Dir = _FOLDER,
    json: Json = False,
) -> None:
    """End the Kafka and remove its folder.

    Examples:

        partage sandbox down
        partage sandbox down --keep
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    with output.progress(quiet=json) as tell:
        tell(f"ending Kafka {sandbox.kafka}")
        ended, left = sandbox.down(keep=keep)
    if json:
        output.print_json({"directory": directory, "ended": ended, "left": left})
        return
    console = output.console()
    output.say(console, f"Ended: {', '.join(ended) or 'nothing ran'}")
    if keep:
        output.say(console, f"Kept: {directory}")
        next_step.show(console, *next_step.again("sandbox", "up"))
    elif left:
        output.say(console, f"Left in {directory}, which is not the sandbox's: {', '.join(left)}")


def add(
    rack: Annotated[str | None, typer.Option(metavar="NAME", help="The rack it stands in.")] = None,
    directory: Dir = _FOLDER,
    json: Json = False,
) -> None:
    """Start one more broker, empty, with the next id.

    Examples:

        partage sandbox add --rack d
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    with _launching(json) as tell:
        broker = sandbox.add_broker(rack, tell)
    _show(sandbox, json, f"added broker {broker}", then="plan")


def stop(
    broker: BrokerArgument,
    kill: Annotated[
        bool, typer.Option("--kill", help="As a failure would: it hands nothing over.")
    ] = False,
    directory: Dir = _FOLDER,
    json: Json = False,
) -> None:
    """End one broker; its data stays.

    Examples:

        partage sandbox stop 2
        partage sandbox stop 2 --kill
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    (sandbox.kill_broker if kill else sandbox.stop_broker)(broker)
    _show(sandbox, json, f"{'killed' if kill else 'stopped'} broker {broker}")


def start(broker: BrokerArgument, directory: Dir = _FOLDER, json: Json = False) -> None:
    """Start a broker again that was stopped.

    Examples:

        partage sandbox start 2
    """
    from partage.live.sandbox import Sandbox

    sandbox = Sandbox.open(directory)
    with _launching(json) as tell:
        sandbox.start_broker(broker, tell)
    _show(sandbox, json, _started(sandbox))


@contextmanager
def _launching(json: bool) -> Iterator[Callable[[str], None]]:
    """Progress; what was launched is ended again on SIGTERM as on Ctrl-C."""
    with interrupts.once(), output.progress(quiet=json) as tell:
        yield tell


def _started(sandbox: Sandbox) -> str:
    brokers = ", ".join(map(str, sandbox.started))
    return f"started broker {brokers}" if brokers else "runs already"


def _show(sandbox: Sandbox, json: bool, done: str, then: str = "snapshot") -> None:
    """What was done, where the brokers are, how to end them, and what to do ``then``."""
    found = sandbox.to_json()
    if json:
        output.print_json(found)
        return
    from rich.text import Text

    from partage.report.printing import table

    brokers = table()
    for name in ("broker", "rack", "address", "process", "log"):
        brokers.add_column(name, overflow="fold")
    for of in found["brokers"]:
        pid = "down" if of["pid"] is None else str(of["pid"])
        row = str(of["id"]), of["rack"] or "-", of["address"], pid, of["log"]
        brokers.add_row(*map(Text, row))
    console = output.console()
    output.say(console, f"Kafka {sandbox.kafka} in {sandbox.directory}: {done}\n")
    console.print(brokers)
    console.print()
    output.say(console, f"Bootstrap servers: {sandbox.bootstrap_servers}")
    for client in found["client_properties"]:
        how = f"by {client['listener']}: --command-config {client['file']}"
        output.say(console, f"As {client['user']}, {how}")
    output.say(console, f"End it: partage sandbox down{_dir(sandbox.directory)}")
    up = [of["address"] for of in found["brokers"] if of["pid"] is not None]
    there = [word for address in up[:1] for word in ("--bootstrap-server", address)]
    there += [
        word for of in found["client_properties"][:1] for word in ("--command-config", of["file"])
    ]
    out = ("-o", "plan/" if then == "plan" else "cluster.json")
    if up:
        next_step.show(console, then, *there, *out)


def _dir(directory: str) -> str:
    return "" if directory == _FOLDER else f" --dir {shlex.quote(directory)}"
