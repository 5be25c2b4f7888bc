"""Kafka's messages that kafka-python 3.0 has no schema of, in the form that it reads its own."""
