"""Tasks of Kafka Streams: the application's configuration and the placement of its tasks.

``assignors.streams`` puts these together into the assignor.
"""
