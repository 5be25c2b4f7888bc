"""A topic to plan for: *orders*, which only the first brokers of a sandbox hold."""

from __future__ import annotations

from kafka import KafkaProducer
from kafka.errors import TopicAlreadyExistsError

from partage.live.admin.connection import Connection, one_line_errors
from partage.live.sandbox.cluster import Sandbox

TOPIC = "orders"
PARTITIONS = 4
RECORDS_PER_PARTITION, RECORD_BYTES = 50, 20_000


def add_example(sandbox: Sandbox) -> bool:
    """Create the topic: four partitions of 1 MB, with two replicas on brokers 1 and 2 if there are
    more than two brokers, else with one on broker 1. Returns whether it is new; one that exists
    stays as it is. Raises PartageError."""
    connection = Connection.of(command_config=sandbox.client_properties, environment={})
    ids = [node.id for node in sandbox.brokers]
    holders = ids[: min(2, max(1, len(ids) - 1))]
    lists = {number: holders[number % len(holders) :] + holders for number in range(PARTITIONS)}
    assignments = {number: brokers[: len(holders)] for number, brokers in lists.items()}
    with connection.admin() as admin:
        try:
            admin.create_topics({TOPIC: {"assignments": assignments}})
        except TopicAlreadyExistsError:
            return False
    with one_line_errors(connection.servers):
        producer = KafkaProducer(
            bootstrap_servers=connection.servers.split(","), acks="all", **connection.config
        )
        try:
            for number in range(PARTITIONS * RECORDS_PER_PARTITION):
                producer.send(TOPIC, b"x" * RECORD_BYTES, partition=number % PARTITIONS)
            producer.flush()
        finally:
            producer.close()
    return True
