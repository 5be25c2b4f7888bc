"""A sandbox with one more listener, for logins that a secured sandbox does not have."""

from __future__ import annotations

from partage.live.sandbox.nodes import CONTROLLER, Node
from tests.configured_sandbox import ConfiguredSandbox


class SaslSandbox(ConfiguredSandbox):
    """Brokers that talk to each other by PLAINTEXT, and to clients also by SASL_PLAINTEXT with the
    mechanisms that ``settings`` describe (``sasl.enabled.mechanisms`` and so on)."""

    @property
    def listeners(self) -> tuple[str, ...]:
        return ("PLAINTEXT", "SASL_PLAINTEXT")

    def _own_settings(self, node: Node) -> dict[str, object]:
        if node.id == CONTROLLER:
            return {}
        protocols = ",".join(f"{name}:{name}" for name in self.listeners)
        return {
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocols}",
            "inter.broker.listener.name": "PLAINTEXT",
            **self.settings,
        }

    def _write_client_properties(self) -> None:
        """Clients have their own settings."""
