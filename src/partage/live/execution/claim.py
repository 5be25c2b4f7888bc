"""A run's claim on its cluster: one plan at a time, also from other machines.

Two runs of different plans would take each other's throttles for those from before, and leave them.
So a run first sets a dynamic configuration, ``partage.run.HOST.ID``, for all brokers, and removes
it when it ends. Kafka accepts names that it does not know, and ignores them. Then the run reads
back: the controller puts all changes in one order, and a broker that shows a run its own claim
shows every earlier change. So of two runs at least the later one sees the other, and refuses. And
once all brokers show the claim, whichever is asked knows the throttles that were set before the
run, even a moment before: they are saved, and restored at its end.

Each run has a separate id, kept in the journal of its plan directory: after a kill, the same
plan can go on, from another machine too. Its next run, of the directory or of a copy, sets its
claim beside the earlier one. A run that still runs removes any claim but its own within a round,
and so refuses the other; otherwise that one removes the claim of the killed run. A run that was
only asleep finds its claim gone, and changes nothing more.
"""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable, Collection
from functools import partial

from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.errors import PartageError
from partage.live.admin.permissions import CLUSTER, Acl, require_acls
from partage.live.compat_kafka_python import accept_all_brokers
from partage.live.execution.journal import Journal
from partage.live.execution.journal_entries import CLAIMED
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.live.execution.throttles import alter_configs

_PREFIX = "partage.run."
_ALL_BROKERS = ""
_UNNOTICED = "another partage on this cluster will not be noticed"
_ROUNDS = 30
"""How often to look for the own claim: brokers learn of it a moment later."""

_CHECK_ROUNDS = 3
"""How often in a row the claim must be missing: a broker that is just back may not know it."""

_ANSWER_ROUNDS = 10
"""How many rounds an earlier run of the plan has to remove the claim of this one."""


class TakenOverError(PartageError):
    """The run has lost its claim on the cluster: throttles and reassignments are another's now."""


class Claim:
    """The claim of one run. ``note`` reports why there is none."""

    def __init__(self, admin: RetryingAdmin, journal: Journal, note: Callable[[str], None]) -> None:
        self._admin, self._journal, self._note = admin, journal, note
        self._held: str | None = None
        accept_all_brokers(admin.client)

    def take(self, pause: Callable[[], None]) -> None:
        """Claim the cluster. Raises PartageError if another plan has claimed it.

        Where the ACL is missing, or Kafka refuses, the run goes on without a claim. So does one
        with a damaged journal: the other claim may be its own.
        """
        own = f"{_PREFIX}{_host()}.{secrets.token_hex(4)}"
        if not self._is_allowed():
            self._note(f"{_UNNOTICED}: that needs AlterConfigs on the cluster")
            return
        try:
            claims = self._claims()
        except PartageError as error:
            self._note(f"{_UNNOTICED}: {error}")
            return
        earlier = claims & self._journal.claims
        others = sorted(claims - earlier)
        if not others:
            self._journal.write(CLAIMED, name=own)
            try:
                self._alter((), own)
            except PartageError as error:
                self._note(f"{_UNNOTICED}: {error}")
                return
            self._held = own
            if earlier:
                self._outlast(earlier, pause)
            others = self._others_after(own, pause)
        if others:
            self.release()
            if not self._journal.claims and self._journal.damaged:
                self._note(f"the journal is damaged: continues, although {_refusal(others[0])}")
                return
            raise PartageError(_refusal(others[0]))

    @property
    def is_left(self) -> bool:
        """Whether the cluster has a claim of this plan, of a run that was killed or still runs."""
        return bool(self._claims() & self._journal.claims)

    def check(self, pause: Callable[[], None]) -> None:
        """Remove claims of others, which are refused thereby. Raises TakenOverError if the own one
        was removed."""
        if self._held is None:
            return
        failed = False
        for _ in range(_CHECK_ROUNDS):
            try:
                claims = self._read()
                if self._held in claims:
                    self._alter(claims - {self._held})
                    return
            except (kafka_errors.KafkaError, PartageError):
                if failed:
                    return  # unknown now: the next check shows it
                failed = True  # perhaps only because the process was suspended meanwhile
            pause()
        raise TakenOverError(
            "another partage has taken over, or removed this run's claim on the cluster: this run "
            "has ended, and leaves its reassignments and throttles as they are"
        )

    def _outlast(self, earlier: Collection[str], pause: Callable[[], None]) -> None:
        """Remove the claim of an earlier run of this plan. Raises PartageError if that still
        runs."""
        host = _host_of(min(earlier))
        self._note(
            f"an earlier run of this plan, from host {host}, has not ended: checking for "
            f"{_ANSWER_ROUNDS} s whether it still runs"
        )
        missing = 0
        for _ in range(_ANSWER_ROUNDS):
            pause()
            missing = 0 if self._held in self._claims() else missing + 1
            if missing == _CHECK_ROUNDS:
                break
        if missing:
            self._held = None
            raise PartageError(
                f"another partage is applying this plan, from host {host}: wait until it ends"
            )
        self._alter(earlier)

    def _is_allowed(self) -> bool:
        try:
            require_acls(self._admin.client, [Acl("AlterConfigs", CLUSTER)], [])
        except PartageError:
            return False
        return True

    def _others_after(self, own: str, pause: Callable[[], None]) -> list[str]:
        """The other claims once every broker shows the own one."""
        behind = self._admin.alive_brokers()
        for _ in range(_ROUNDS):
            behind = [broker for broker in behind if not self._shows(broker, own)]
            if not behind:
                break
            pause()
        else:
            self._note(
                f"broker {behind[0]} does not show this run's claim: throttles that were set just "
                "now may not be restored"
            )
        return sorted(self._claims() - self._journal.claims)

    def _shows(self, broker: int, own: str) -> bool:
        """Whether a broker has learned of the claim; one that is unreachable from here is not asked
        for settings later either."""
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {own: None})
        try:
            described = self._admin.client.describe_configs([resource], config_filter="all")
        except kafka_errors.KafkaError:
            return True
        return own in described.get("broker", {}).get(str(broker), {})

    def release(self) -> None:
        """Remove the claims of this plan's runs, if there are any."""
        self._alter(self._journal.claims)

    def _alter(self, removed: Collection[str], own: str | None = None) -> None:
        """Remove claims, or set the own one."""
        operations: dict[str, tuple[str, str | None]] = dict.fromkeys(removed, ("DELETE", None))
        if own is not None:
            operations[own] = ("SET", "1")
        if operations:
            resource = ConfigResource(ConfigResourceType.BROKER, _ALL_BROKERS, operations)
            self._admin.retry(partial(alter_configs, self._admin.client, [resource]))

    def _claims(self) -> set[str]:
        return self._admin.retry(self._read)

    def _read(self) -> set[str]:
        resource = ConfigResource(ConfigResourceType.BROKER, _ALL_BROKERS)
        described = self._admin.client.describe_configs([resource], config_filter="all")
        names = described.get("broker", {}).get(_ALL_BROKERS, {})
        return {name for name in names if name.startswith(_PREFIX)}


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:60] or "unknown"


def _host_of(claim: str) -> str:
    return claim.removeprefix(_PREFIX).rpartition(".")[0]


def _refusal(claim: str) -> str:
    return (
        f"another plan is being applied to this cluster, from host {_host_of(claim)}: wait until "
        "it ends, or, if it was killed, resume it or roll it back; if its directory is lost, "
        "remove its claim: kafka-configs.sh --alter --entity-type brokers --entity-default "
        f"--delete-config {claim}"
    )
