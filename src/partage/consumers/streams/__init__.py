"""Tasks of Kafka Streams: what an application says of itself, and how its tasks are shared out.

``assignors.streams`` puts these together into the assignor.
"""
