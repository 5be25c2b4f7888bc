"""The applications by the name of their assignor."""

from __future__ import annotations

from partage.consumers.applications import Application
from partage.consumers.applications.connect import ConnectCluster
from partage.consumers.applications.streams import StreamsApplication

APPLICATIONS: dict[str, type[Application]] = {
    one.assignor: one for one in (ConnectCluster, StreamsApplication)
}
