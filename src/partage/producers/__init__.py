"""Record → partition: the partitioners of Kafka's producers, and which one wrote a topic."""

from partage.producers.custom import Partitioner
from partage.producers.keys import Keys
from partage.producers.model import ProducerRecord, SerializedRecord, Topic
from partage.producers.path import ProducerPath, RoutedRecord

__all__ = [
    "Keys",
    "Partitioner",
    "ProducerPath",
    "ProducerRecord",
    "RoutedRecord",
    "SerializedRecord",
    "Topic",
]
