"""Assignors and partitioners as plug-ins for Python's Kafka clients."""
