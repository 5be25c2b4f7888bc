"""A sandbox whose nodes have further settings."""

from __future__ import annotations

from typing import ClassVar

from partage.files import read_text
from partage.live.sandbox import Sandbox
from partage.live.sandbox.nodes import Node
from partage.live.sandbox.settings import to_properties
from partage.outputs import lines_with_checksum, write_file


class ConfiguredSandbox(Sandbox):
    """``settings`` are those of every broker, ``controller_settings`` those of the controller. They
    take precedence; set them in a subclass."""

    settings: ClassVar[dict[str, object]] = {}
    controller_settings: ClassVar[dict[str, object]] = {}

    def _own_settings(self, node: Node) -> dict[str, object]:
        return self.settings if node.id else self.controller_settings

    def _write_settings(self, node: Node) -> None:
        super()._write_settings(node)
        own = self._own_settings(node)
        file = self._folder / node.name / "server.properties"
        kept = "".join(
            line + "\n"
            for line in read_text(file).splitlines()
            if not line.startswith(("#", *(f"{name}=" for name in own)))
        )
        write_file(file, lines_with_checksum(kept + to_properties(own)), root=self._folder)
