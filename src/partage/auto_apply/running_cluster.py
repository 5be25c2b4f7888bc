"""The running cluster as the source of a watch, read whenever windows close."""

from __future__ import annotations

from partage.cluster import Cluster
from partage.errors import PartageError
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take_snapshot


class RunningCluster:
    """Raises PartageError if it cannot be read at the start."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._problem: str | None = None
        self._cluster = self._read()

    def now(self) -> tuple[Cluster, str | None]:
        """The cluster, and a new problem with reading it; then it is the one as read before."""
        before, self._problem = self._problem, None
        try:
            self._cluster = self._read()
        except PartageError as error:
            self._problem = f"{error}; the cluster as read before is used"
        return self._cluster, None if self._problem == before else self._problem

    def _read(self) -> Cluster:
        with self._connection.admin() as admin:
            found = take_snapshot(
                admin, groups=False, throttles=False, settings=False, complete=False
            )
            return found.cluster()
