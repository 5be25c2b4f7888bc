"""A simulation as the log that Kafka's Java clients would have written, all members in one.

The words are those of Kafka since 2.6, at INFO. A cooperative member logs the four lines of an
update: assigned, owned before, added, revoked. An eager member has revoked what it owned before it
joins. ``partage history`` reads such a log. Time 0 of the simulation is the start of 2000, in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from operator import itemgetter

from partage.consumers.protocol import CONSUMER, COOPERATIVE, Partition
from partage.consumers.simulation import SimulatedRound, Simulation
from partage.errors import InputError
from partage.printable import printable

_START = datetime(2000, 1, 1)
GROUP = "simulated"


def client_log(found: Simulation) -> str:
    """The lines, in the order of time. Raises InputError for the consumer protocol, whose clients
    write other lines."""
    if CONSUMER in found.protocols.values():
        raise InputError("--client-log", "needs a classic protocol: eager or cooperative")
    lines = [*_starts_and_ends(found), *_rounds(found)]
    return "".join(f"{line}\n" for _, _, line in sorted(lines, key=itemgetter(0, 1)))


def _starts_and_ends(found: Simulation) -> Iterator[tuple[float, int, str]]:
    """(time, order at the same time, line) of members that subscribe and leave."""
    until = found.scenario.until
    for member in found.scenario.members:
        if member.joins_at <= until:
            message = f"Subscribed to topic(s): {printable(', '.join(member.topics))}"
            if member.pattern is not None:
                message = f"Subscribed to pattern: '{printable(member.pattern)}'"
            yield member.joins_at, 0, _line(found, member.joins_at, member.id, message)
        leaves = member.leaves_at
        if leaves is not None and leaves <= until and member.instance_id is None:
            message = f"Member {printable(member.id)} sending LeaveGroup request to coordinator"
            yield leaves, 2, _line(found, leaves, member.id, message)


def _rounds(found: Simulation) -> Iterator[tuple[float, int, str]]:
    """The lines of the members' callbacks, each with what led to it."""
    of_generation = {(one.generation, id): one for one in found.rounds for id in one.assignment}
    led: set[int] = set()
    gone: dict[str, tuple[Partition, ...]] = {}
    for at, client, call in found.callbacks:
        if call.generation is None:
            kind = "Lost" if call.kind == "lost" else "Revoke"
            message = f"{kind} previously assigned partitions {_plain(call.partitions)}"
            yield at, 1, _line(found, at, client, message)
        elif call.kind == "revoked":
            gone[client] = call.partitions
        else:
            one = of_generation[call.generation, client]
            if one.generation not in led:
                led.add(one.generation)
                yield at, 1, _line(found, at, one.leader, _finished(one))
            for message in _assigned(found, client, one, call.partitions, gone.pop(client, ())):
                yield at, 1, _line(found, at, client, message)


def _finished(one: SimulatedRound) -> str:
    given = (
        f"{printable(id)}=Assignment(partitions=[{_plain(p)}])" for id, p in one.assignment.items()
    )
    return f"Finished assignment for group at generation {one.generation}: {{{', '.join(given)}}}"


def _assigned(
    found: Simulation,
    client: str,
    one: SimulatedRound,
    added: tuple[Partition, ...],
    revoked: tuple[Partition, ...],
) -> Iterator[str]:
    """The messages of a member that receives its partitions."""
    assignor = printable(one.assignor)
    of = f"generationId={one.generation}, memberId='{printable(client)}', protocol='{assignor}'"
    yield f"Successfully joined group with generation Generation{{{of}}}"
    assigned = one.assignment[client]
    if found.protocols[client] == COOPERATIVE:
        owned = sorted({*assigned, *revoked} - set(added))
        parts = {
            "Assigned partitions:                       ": assigned,
            "Current owned partitions:                  ": owned,
            "Added partitions (assigned - owned):       ": added,
            "Revoked partitions (owned - assigned):     ": revoked,
        }
        listed = "\n".join(f"\t{name}[{_plain(which)}]" for name, which in parts.items())
        yield f"Updating assignment with\n{listed}\n"
    if revoked:
        yield f"Revoke previously assigned partitions {_plain(revoked)}"
    yield f"Adding newly assigned partitions: {_plain(added)}"


def _plain(partitions: Iterable[Partition]) -> str:
    return ", ".join(f"{printable(topic)}-{number}" for topic, number in partitions)


def _line(found: Simulation, at: float, client: str, message: str) -> str:
    time = (_START + timedelta(seconds=at)).isoformat(" ", "milliseconds").replace(".", ",")
    instance = found.members[client].instance_id
    static = "" if instance is None else f"instanceId={printable(instance)}, "
    of = f"[Consumer {static}clientId={printable(client)}, groupId={GROUP}]"
    return f"{time} INFO [ConsumerCoordinator] {of} {message}"
