"""``partage.snapshot``, ``partage.apply`` and ``partage.rollback``: the commands from Python."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from partage.cluster import Cluster
from partage.errors import read_parameter
from partage.units import Duration, count_of, throttle_of

if TYPE_CHECKING:  # the public names load without kafka-python
    from kafka import KafkaAdminClient

    from partage.live.execution.outcome import Outcome
    from partage.live.execution.progress import ProgressUpdate

Path = str | os.PathLike[str]


def snapshot(
    bootstrap_server: str | None = None,
    *,
    command_config: Path | None = None,
    watch: str | int | None = None,
    admin: KafkaAdminClient | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Cluster:
    """Read a running cluster: brokers with racks and disks, replicas with sizes.

    ``watch``: measure rates of the partitions for this long, in seconds or text such as "60s".

    The address is ``bootstrap_server``, that of the client settings in ``command_config``
    (default: PARTAGE_COMMAND_CONFIG), or PARTAGE_BOOTSTRAP_SERVERS. ``admin``: a connected admin
    client instead, or that of a ``partage.testing.FakeCluster``.

    Raises PartageError if the cluster cannot be reached or an ACL is missing.
    """
    from partage.live.admin.rates import measure_rates
    from partage.live.admin.snapshot import take_snapshot

    seconds = None if watch is None else read_parameter("watch", Duration.of, watch)
    with _connected(bootstrap_server, command_config, admin) as client:
        rates = (
            None if seconds is None else measure_rates(client, seconds, clock=clock, sleep=sleep)
        )
        found = take_snapshot(client, groups=False, throttles=False, sleep=sleep)
    return (found.with_rates(rates) if rates else found).cluster()


def apply(
    plan: Path,
    bootstrap_server: str | None = None,
    *,
    throttle: str | float | None = None,
    concurrency: int | None = None,
    on_broker_failure: str = "cancel",
    force: bool = False,
    command_config: Path | None = None,
    admin: KafkaAdminClient | None = None,
    progress: Callable[[ProgressUpdate], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Apply the plan of a directory to a running cluster, or resume it; returns how the run ended.

    Only ``state`` ``done`` means that the cluster is as planned: a broker may fail, or the run be
    stopped. ``apply(...).raise_unless_done()`` raises PartageError then, for a job that must fail.

    ``throttle``: bytes per second of each broker, as a number or text such as "50MB", or "auto";
    ``on_broker_failure``: cancel, replan, wait or stop; ``force``: accept a throttle at which the
    run takes over a month; the cluster as in ``partage.snapshot``.

    Raises PartageError if the plan cannot start, one line per reason, and if another process
    applies it; InputError for a directory that is not a plan or breaks a rule (``partage.check``).
    """
    from partage.live.execution.execute import execute
    from partage.live.execution.proven_plan import read_proven

    options = _options(throttle, concurrency, force) | {"on_broker_failure": on_broker_failure}
    read = read_proven(plan)
    with _connected(bootstrap_server, command_config, admin) as client:
        return execute(read, client, progress=progress, clock=clock, sleep=sleep, **options)


def rollback(
    plan: Path,
    bootstrap_server: str | None = None,
    *,
    throttle: str | float | None = None,
    concurrency: int | None = None,
    on_broker_failure: str = "cancel",
    force: bool = False,
    command_config: Path | None = None,
    admin: KafkaAdminClient | None = None,
    progress: Callable[[ProgressUpdate], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Roll a plan back to the original placement, however far it has come.

    Arguments and errors as of ``partage.apply``; ``on_broker_failure``: cancel, wait or stop.
    """
    from partage.live.execution.execute import execute
    from partage.live.execution.execution_plan import Direction
    from partage.live.execution.proven_plan import read_proven

    options = _options(throttle, concurrency, force) | {"on_broker_failure": on_broker_failure}
    read = read_proven(plan, Direction.ROLLBACK)
    with _connected(bootstrap_server, command_config, admin) as client:
        return execute(read, client, progress=progress, clock=clock, sleep=sleep, **options)


def _options(throttle: str | float | None, concurrency: int | None, force: bool) -> dict[str, Any]:
    from partage.live.execution.preflight import refuse_months

    rate = None if throttle is None else read_parameter("throttle", throttle_of, throttle)
    count = None if concurrency is None else read_parameter("concurrency", count_of, concurrency)
    confirm = {} if force else {"confirm": partial(refuse_months, throttle=rate)}
    return {"throttle": rate, "concurrency": count, **confirm}


@contextmanager
def _connected(
    bootstrap_server: str | None, command_config: Path | None, admin: KafkaAdminClient | None
) -> Iterator[KafkaAdminClient]:
    """``admin``, or a connection that is closed at the end."""
    if admin is not None:
        yield admin
        return
    from partage.live.admin.connection import Connection
    from partage.live.execution.executor import REQUEST_MS

    settings = command_config or os.environ.get("PARTAGE_COMMAND_CONFIG")
    connection = Connection.of(bootstrap_server, settings)
    with connection.admin(request_timeout_ms=REQUEST_MS) as client:
        yield client
