"""A run's claim on its cluster: one plan at a time, also from other machines.

Two runs of different plans would take each other's throttles for those from before, and leave them.
So a run first sets a dynamic configuration, ``partage.run.HOST.ID``, for all brokers, and removes
it when it ends. Kafka accepts names that it does not know, and ignores them. Then the run reads
back: the controller puts all changes in one order, and a broker that shows a run its own claim
shows every earlier change. So of two runs at least the later one sees the other, and refuses. And
once all brokers show the claim, whichever is asked knows the throttles that were set before the
run, even a moment before: they are saved, and restored at its end.

The id is the plan directory's, kept in its journal: after a kill, the same plan can go on, from
another machine too.
"""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable
from functools import partial

from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.errors import PartageError
from partage.live.admin.permissions import CLUSTER, Acl, require_acls
from partage.live.compat_kafka_python import accept_all_brokers
from partage.live.execution.journal import Journal
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.live.execution.throttles import alter_configs

_PREFIX = "partage.run."
_ALL_BROKERS = ""
_UNNOTICED = "another partage on this cluster will not be noticed"
_ROUNDS = 30
"""How often to look for the own claim: brokers learn of it a moment later."""


class Claim:
    """The claim of a plan directory's runs. ``note`` reports why there is none."""

    def __init__(self, admin: RetryingAdmin, journal: Journal, note: Callable[[str], None]) -> None:
        self._admin, self._journal, self._note = admin, journal, note
        accept_all_brokers(admin.client)

    def take(self, pause: Callable[[], None]) -> None:
        """Claim the cluster. Raises PartageError if another plan has claimed it.

        Where the ACL is missing, or Kafka refuses, the run goes on without a claim. So does one
        with a damaged journal: the other claim may be its own.
        """
        own = self._journal.claim or f"{_PREFIX}{_host()}.{secrets.token_hex(4)}"
        if not self._is_allowed():
            self._note(f"{_UNNOTICED}: that needs AlterConfigs on the cluster")
            return
        try:
            others = self._others(own)
        except PartageError as error:
            self._note(f"{_UNNOTICED}: {error}")
            return
        if not others:
            self._journal.take_claim(own)
            try:
                self._set(own, "SET", "1")
            except PartageError as error:
                self._note(f"{_UNNOTICED}: {error}")
                return
            others = self._others_after(own, pause)
        if others:
            self.release()
            if self._journal.claim is None and self._journal.damaged:
                self._note(f"the journal is damaged: continues, although {_refusal(others[0])}")
                return
            raise PartageError(_refusal(others[0]))

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
        return self._others(own)

    def _shows(self, broker: int, own: str) -> bool:
        """Whether a broker has learned of the claim; one that is unreachable from here is not asked
        for settings later either."""
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {own: None})
        try:
            described = self._admin.client.describe_configs([resource], config_filter="all")
        except kafka_errors.KafkaError:
            return True
        return own in described.get("broker", {}).get(str(broker), {})

    def _others(self, own: str) -> list[str]:
        return sorted(self._claims() - {own})

    def release(self) -> None:
        """Remove the claim, if there is one."""
        if self._journal.claim is not None:
            self._set(self._journal.claim, "DELETE", None)

    def _set(self, name: str, operation: str, value: str | None) -> None:
        resource = ConfigResource(
            ConfigResourceType.BROKER, _ALL_BROKERS, {name: (operation, value)}
        )
        self._admin.retry(partial(alter_configs, self._admin.client, [resource]))

    def _claims(self) -> set[str]:
        resource = ConfigResource(ConfigResourceType.BROKER, _ALL_BROKERS)
        described = self._admin.retry(
            partial(self._admin.client.describe_configs, [resource], config_filter="all")
        )
        names = described.get("broker", {}).get(_ALL_BROKERS, {})
        return {name for name in names if name.startswith(_PREFIX)}


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:60] or "unknown"


def _refusal(claim: str) -> str:
    host = claim.removeprefix(_PREFIX).rpartition(".")[0]
    return (
        f"another plan is being applied to this cluster, from host {host}: wait until it ends, or, "
        "if it was killed, resume it or roll it back; if its directory is lost, remove its claim: "
        "kafka-configs.sh --alter --entity-type brokers --entity-default "
        f"--delete-config {claim}"
    )
