"""Kafka's own Java classes, called from Python: a Java process with Kafka's jars, through Py4J."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from py4j.java_gateway import (
    CallbackServerParameters,
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

CONSUMER = "org.apache.kafka.clients.consumer"


@contextmanager
def java_with(jars: Path, *more: Path) -> Iterator[Any]:
    """The gateway to a new JVM with ``more`` jars, which is stopped after the block."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (py4j,) = (Path(spec.origin).parent / "jars").glob("py4j-*.jar")
    port, process = launch_gateway(
        jarpath=str(py4j),
        classpath=":".join([f"{jars}/*", *map(str, more)]),
        die_on_exit=True,
        return_proc=True,
        javaopts=["-Xmx256m", "-XX:TieredStopAtLevel=1"],
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=20)


@contextmanager
def called_back(gateway: Any) -> Iterator[None]:
    """Let Java call Python's objects within the block."""
    gateway.start_callback_server(CallbackServerParameters(port=0, daemonize=True))
    port = gateway.get_callback_server().get_listening_port()
    server = gateway.java_gateway_server
    server.resetCallbackClient(server.getCallbackClient().getAddress(), port)
    try:
        yield
    finally:
        gateway.shutdown_callback_server()


class Java:
    """The calls that the tests need."""

    def __init__(self, jvm: Any) -> None:
        self.jvm = jvm

    def named(self, name: str) -> Any:
        """A class by its full name."""
        found = self.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def buffer(self, data: bytes | None) -> Any:
        return None if data is None else self.jvm.java.nio.ByteBuffer.wrap(data)

    def unbuffer(self, buffer: Any) -> bytes | None:
        if buffer is None:
            return None
        # Py4J passes a byte[] as bytes
        return bytes(self.named("org.apache.kafka.common.utils.Utils").toArray(buffer.duplicate()))

    def partition(self, topic: str, number: int) -> Any:
        return self.named("org.apache.kafka.common.TopicPartition")(topic, number)

    def subscription(self, encoded: bytes) -> Any:
        """Kafka's Subscription decoded from its message."""
        return self.named(f"{CONSUMER}.internals.ConsumerProtocol").deserializeSubscription(
            self.buffer(encoded)
        )

    def assign(
        self, assignor: Any, counts: Mapping[str, int], subscriptions: Mapping[str, Any]
    ) -> dict[str, list[tuple[str, int]]]:
        """The assignment of Kafka's assignor as the leader; every partition has one replica, on a
        broker without a rack."""
        node = self.named("org.apache.kafka.common.Node")(1, "localhost", 9092)
        nodes = self.jvm.java.util.ArrayList()
        nodes.add(node)
        array = self._nodes(node)
        infos = self.jvm.java.util.ArrayList()
        for topic, count in counts.items():
            for number in range(count):
                infos.add(
                    self.named("org.apache.kafka.common.PartitionInfo")(
                        topic, number, node, array, array
                    )
                )
        empty = self.jvm.java.util.HashSet()
        cluster = self.named("org.apache.kafka.common.Cluster")("test", nodes, infos, empty, empty)
        asked = self.jvm.java.util.HashMap()
        for member, subscription in subscriptions.items():
            asked.put(member, subscription)
        group = self.named(f"{CONSUMER}.ConsumerPartitionAssignor").GroupSubscription
        answer = assignor.assign(cluster, group(asked)).groupAssignment()
        return {
            member: sorted((p.topic(), p.partition()) for p in answer.get(member).partitions())
            for member in subscriptions
        }

    def _nodes(self, *nodes: Any) -> Any:
        array = self._array("org.apache.kafka.common.Node", len(nodes))
        for at, node in enumerate(nodes):
            array[at] = node
        return array

    def _array(self, name: str, length: int) -> Any:
        return self.jvm.java.lang.reflect.Array.newInstance(
            self.jvm.java.lang.Class.forName(name), length
        )


def partitions_of(listed: Sequence[Any]) -> list[tuple[str, int]]:
    return sorted((p.topic(), p.partition()) for p in listed)
