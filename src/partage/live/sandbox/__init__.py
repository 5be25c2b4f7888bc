"""A real Kafka on this machine, to try things on: its nodes are processes, its state is a folder.

``cluster.py`` starts, stops and ends it; ``state.py`` is its file; ``nodes.py`` are its nodes with
their addresses, ``process.py`` their processes; ``settings.py`` is what each is told;
``security.py`` has its certificates, users and clients' files; ``logs.py`` finds why one did not
start.
"""

from __future__ import annotations

from partage.live.sandbox.cluster import Sandbox
from partage.live.sandbox.nodes import Node
from partage.live.sandbox.state import MARKER

__all__ = ["MARKER", "Node", "Sandbox"]
