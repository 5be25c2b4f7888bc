"""A real Kafka on this machine, to try things on: its nodes are processes, its state is a folder.

``cluster.py`` starts, stops and ends it; ``nodes.py`` are its processes with their addresses;
``settings.py`` is what each is told; ``security.py`` has its certificates, users and clients'
files; ``logs.py`` finds why one did not start.
"""

from __future__ import annotations

from partage.live.sandbox.cluster import MARKER, Sandbox
from partage.live.sandbox.nodes import Node

__all__ = ["MARKER", "Node", "Sandbox"]
