"""A sandbox with one more listener, for logins that a secured sandbox does not have."""

from __future__ import annotations

from partage.files import read_text
from partage.live.sandbox import Sandbox
from partage.live.sandbox.nodes import Node
from partage.live.sandbox.settings import to_properties
from partage.outputs import lines_with_checksum, write_file


class SaslSandbox(Sandbox):
    """Brokers that talk to each other by PLAINTEXT, and to clients also by SASL_PLAINTEXT with the
    mechanisms that ``settings`` describe (``sasl.enabled.mechanisms`` and so on)."""

    settings: dict[str, object]

    @property
    def listeners(self) -> tuple[str, ...]:
        return ("PLAINTEXT", "SASL_PLAINTEXT")

    def _write_settings(self, node: Node) -> None:
        super()._write_settings(node)
        if node.id:
            file = self._folder / node.name / "server.properties"
            protocols = ",".join(f"{name}:{name}" for name in self.listeners)
            more = {
                "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocols}",
                "inter.broker.listener.name": "PLAINTEXT",
                **self.settings,
            }
            kept = "".join(
                line + "\n"
                for line in read_text(file).splitlines()
                if not line.startswith(("#", *(f"{name}=" for name in more)))
            )
            text = lines_with_checksum(kept + to_properties(more))
            write_file(file, text, root=self._folder)

    def _write_client_properties(self) -> None:
        """Clients have their own settings."""
