"""The kernel: integral min-cost flows and their certificates. It is independent of Kafka."""
