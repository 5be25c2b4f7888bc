"""The clients whose logs are read. A new one is one file beside this and one line here."""

from partage.consumers.history.clients.java import JavaLog
from partage.consumers.history.clients.kafka_python import KafkaPythonLog
from partage.consumers.history.clients.librdkafka import LibrdkafkaLog
from partage.consumers.history.events import Log

CLIENTS: dict[str, type[Log]] = {
    "java": JavaLog,
    "librdkafka": LibrdkafkaLog,
    "kafka-python": KafkaPythonLog,
}
