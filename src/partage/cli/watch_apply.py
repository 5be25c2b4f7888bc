"""watch --apply: its options, and the applier that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partage.cli import settings

if TYPE_CHECKING:
    from partage.auto_apply.policy import Limits
    from partage.live.admin.connection import Connection
    from partage.pipeline.watch import Applier

_PANEL = "Applying plans"


@dataclass(frozen=True)
class ApplyOptions:
    """The options of ``watch --apply``, as typed."""

    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Plan for the running cluster and apply: a dry run, unless with --yes.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Apply plans, without asking.", rich_help_panel=_PANEL),
    ] = False
    bytes_per_day: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Move at most this much in any 24 hours, for instance 200GB.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    hours: Annotated[
        str | None,
        typer.Option(
            metavar="HOURS",
            help="Start waves only then: 22:00-06:00 in UTC, or '22:00-06:00 Europe/Paris'.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    racks: Annotated[
        str | None,
        typer.Option(
            metavar="RACK,…",
            help="Give replicas and leaders only to brokers of these racks.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    throttle: Annotated[
        str | None,
        typer.Option(
            metavar="RATE|auto",
            help="What moves may take of each broker's bandwidth: 50MB (per second), or auto.",
            rich_help_panel=_PANEL,
        ),
    ] = None

    def limits(self, *, moves: bool, over: int, late: int) -> Limits | None:
        """The limits; None without ``--apply``. ``over``: the seconds over which rates are
        averaged, ``late``: by how much closed windows are behind. Raises InputError."""
        from partage.auto_apply.policy import Hours, Limits
        from partage.errors import InputError, read_parameter
        from partage.units import Bytes

        if not self.apply:
            for name in ("yes", "bytes_per_day", "hours", "racks", "throttle"):
                if settings.typed(name):  # a project's settings may set them for other commands
                    raise InputError(f"`{name}`", "needs --apply")
            return None
        for name in ("bytes_per_day", "throttle"):
            if moves and getattr(self, name) is None:
                raise InputError(f"`{name}`", "is needed for --apply with --plan moves")
        self.rate()
        budget = self.bytes_per_day
        return Limits(
            bytes_per_day=None
            if budget is None or not moves
            else read_parameter("bytes_per_day", Bytes.of, budget),
            hours=None if self.hours is None else read_parameter("hours", Hours.of, self.hours),
            racks=None if self.racks is None else read_parameter("racks", _racks, self.racks),
            settling=timedelta(seconds=over),
            oldest=timedelta(seconds=over + late),
        )

    def rate(self) -> int | str | None:
        """The throttle. Raises InputError."""
        from partage.errors import read_parameter
        from partage.units import throttle_of

        if self.throttle is None:
            return None
        return read_parameter("throttle", throttle_of, self.throttle)


def applier(
    options: ApplyOptions,
    limits: Limits,
    connection: Connection,
    out: str,
    *,
    threshold: float,
    moves: bool,
    once: bool,
    emit: Callable[[dict[str, Any]], None],
    render: Callable[[dict[str, Any], str], str],
    stop: Event,
) -> Applier:
    """What acts on the judgements of the watch; in the background, unless it processes what is
    there ``once``."""
    from partage.auto_apply.background import Background
    from partage.auto_apply.keeper import Keeper, Settings
    from partage.live.execution.executor import REQUEST_MS

    keeper = Keeper(
        Path(out),
        lambda: connection.admin(request_timeout_ms=REQUEST_MS),
        Settings(limits, threshold, moves=moves, throttle=options.rate(), act=options.yes),
        emit,
        render=render,
        stopping=stop.is_set,
    )
    return keeper if once else Background(keeper, stop)


def _racks(text: str) -> frozenset[str]:
    racks = frozenset(name.strip() for name in text.split(","))
    if "" in racks:
        raise ValueError("expected names of racks, separated by commas")
    return racks
