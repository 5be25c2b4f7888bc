"""A real Kafka on this machine to try things on: its nodes are processes, its state is a folder.

- ``cluster.py``: create, open, change and end a sandbox
- ``launch.py``: start the nodes, wait until they are ready, end them
- ``nodes.py``: ids, racks, addresses; ``process.py``: their processes
- ``settings.py``: Kafka's and Java's settings of each node; ``security.py``: certificates, users
  and client properties
- ``folder.py``: the lock on the folder; ``state.py``: the file that lists the nodes
- ``assignor.py``: partage's assignor on the brokers
- ``example.py``: a topic to plan for
- ``logs.py``: why a node did not start; ``jars.py``: Kafka's jars
"""

from __future__ import annotations

from partage.live.sandbox.cluster import Sandbox
from partage.live.sandbox.nodes import Node
from partage.live.sandbox.state import MARKER

__all__ = ["MARKER", "Node", "Sandbox"]
