"""Names as Kafka checks them."""

from __future__ import annotations

import pytest

from partage.kafka_names import is_topic

GOOD = ["a", "A.b_c-9", "...", "..a", "-", "_", "a" * 249, "__consumer_offsets"]
BAD = [
    "",
    ".",
    "..",
    "a" * 250,
    "a b",
    "a\n",
    "\na",
    "ä",
    "a/b",
    "a,b",
    "[red]",
    "a\x1b",
    "a\u202e",
]


@pytest.mark.parametrize("name", GOOD)
def test_names_of_topics(name: str) -> None:
    assert is_topic(name)


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_no_names_of_topics(name: str) -> None:
    assert not is_topic(name)


@pytest.mark.long
@pytest.mark.kafka
def test_kafka_has_the_same_rule(kafka: object, admin: object) -> None:
    """The same names, tried on a broker without creating the topics."""
    from typing import Any

    from kafka.errors import InvalidTopicError, KafkaError

    client: Any = admin
    for name in [*GOOD, *BAD]:
        try:
            client.create_topics(
                {name: {"num_partitions": 1, "replication_factor": 1}}, validate_only=True
            )
            accepted = True
        except InvalidTopicError:
            accepted = False
        except KafkaError as error:  # __consumer_offsets may exist; names that collide
            accepted = "exist" in str(error).lower() or "collide" in str(error).lower()
        assert accepted is is_topic(name), name
