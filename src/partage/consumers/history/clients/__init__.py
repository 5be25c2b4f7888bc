"""The clients whose logs can be read. A new one is one file in this folder and one line here."""

from partage.consumers.history.clients.java import JavaLog
from partage.consumers.history.clients.kafka_python import KafkaPythonLog
from partage.consumers.history.clients.librdkafka import LibrdkafkaLog
from partage.consumers.history.events import ClientLog

CLIENTS: dict[str, type[ClientLog]] = {
    "java": JavaLog,
    "librdkafka": LibrdkafkaLog,
    "kafka-python": KafkaPythonLog,
}
