"""``sandbox.json``, which marks a folder as a sandbox and lists its nodes and processes."""

from __future__ import annotations

import base64
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text, to_json
from partage.live.sandbox.nodes import CONTROLLER, Node
from partage.outputs import write_file

MARKER = "sandbox.json"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class State:
    """The content of the file. ``folder``: where it was written; ``nodes``: controller first."""

    kafka: str
    cluster_id: str
    secure: bool
    folder: Path
    nodes: tuple[Node, ...]
    assignor: bool = False

    def write(self, path: Path) -> None:
        """Write the file atomically; one that is there was read before."""
        state = {
            "format_version": FORMAT_VERSION,
            "kafka": self.kafka,
            "cluster_id": self.cluster_id,
            "folder": str(self.folder),
            "secure": self.secure,
            "assignor": self.assignor,
            "nodes": [asdict(node) for node in self.nodes],
        }
        write_file(path, to_json(state, indent=1), root=path.parent, recognised=True)

    @classmethod
    def read(cls, path: Path, where: str) -> Self:
        """Read the file. Raises InputError that calls it ``where``."""
        state = parse_json(read_text(path), where)
        try:
            if state["format_version"] != FORMAT_VERSION:
                raise ValueError
            nodes = tuple(
                Node(**{**node, "more_ports": tuple(node.get("more_ports", ()))})
                for node in state["nodes"]
            )
            numbers = [
                number
                for node in nodes
                for number in (node.id, node.port, node.pid or 1, node.log_dirs, *node.more_ports)
            ]
            if not all(type(n) is int and n >= 0 for n in numbers) or nodes[0].id != CONTROLLER:
                raise ValueError
            secure = bool(state.get("secure", False))
            kafka, cluster_id = str(state["kafka"]), str(state["cluster_id"])
            assignor = bool(state.get("assignor", False))
            return cls(kafka, cluster_id, secure, Path(state["folder"]), nodes, assignor)
        except MISSHAPEN:
            raise InputError(
                where, "is not the state of a sandbox, or of another version of partage"
            ) from None


def random_id() -> str:
    """A cluster id as Kafka generates it: 16 bytes in 22 characters, without a leading ``-``, which
    its tools would read as an option."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not made.startswith("-"):
            return made
